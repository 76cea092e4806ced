// What a person does with a job: stop, signal, send, start, copy the command that does the same.

import { call } from "./api.js";
import { dialog, el, say } from "./dom.js";
import { store } from "./store.js";
import * as words from "./words.js";

/** @typedef {any} Job */

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGSTOP", "SIGCONT", "SIGWINCH", "SIGKILL"];

/** Says what failed. @param {unknown} error */
function failed(error) {
  say(/** @type {Error} */ (error).message, true);
}

/** @param {string} text @param {string} value @param {string} [kind] */
function closing(text, value, kind = "") {
  return el("button", { value, class: kind, autofocus: value === "" }, text);
}

/** Asks, and stops the job. @param {Job} job */
export async function stop(job) {
  const grace = el("input", { type: "number", min: 0, step: 1, placeholder: "as started", id: "grace" });
  const chosen = await dialog(
    `Stop ${words.title(job)}?`,
    [
      el("p", {}, "All its processes get TERM, and KILL after the grace period."),
      el("p", { class: "command" }, job.command),
      el("label", { for: "grace" }, "Grace period in seconds ", grace),
    ],
    [closing("Keep it running", ""), closing("Stop", "stop", "danger")],
  );
  if (chosen !== "stop") return;
  const grace_ms = grace.value === "" ? null : Number(grace.value) * 1000;
  say(`Stopping ${words.title(job)}`);
  try {
    const { jobs, failed: not } = await call("stop", { jobs: [job.id], grace_ms, detail: "the web page" });
    for (const job of jobs) say(`${words.title(job)}: ${words.state(job)}`);
    for (const { error } of not ?? []) say(error.message, true);
  } catch (error) {
    failed(error);
  }
}

/** Asks which signal, and sends it. @param {Job} job */
export async function signal(job) {
  const choice = el("select", { id: "signal" }, SIGNALS.map((name) => el("option", {}, name)));
  const chosen = await dialog(
    `Send a signal to ${words.title(job)}`,
    [el("label", { for: "signal" }, "Every process of it gets ", choice)],
    [closing("Cancel", ""), closing("Send", "send", "primary")],
  );
  if (chosen !== "send") return;
  try {
    const { reached } = await call("signal", { job: job.id, signal: choice.value });
    say(`${choice.value} reached ${reached} process${reached === 1 ? "" : "es"}`);
  } catch (error) {
    failed(error);
  }
}

/** Sends a line to the input of a job. @param {Job} job @param {string} text @param {boolean} [eof] */
export async function send(job, text, eof = false) {
  const write_id = `page-${Math.random().toString(36).slice(2, 12)}`;
  try {
    await call("send", eof ? { job: job.id, eof, write_id } : { job: job.id, text, enter: true, write_id });
    return true;
  } catch (error) {
    failed(error);
    return false;
  }
}

/** Records that the session was told of what waits of this job. @param {Job} job */
export async function acknowledge(job) {
  const events = store.waiting(job.id).map((event) => event.event);
  try {
    await call("inbox/ack", { events });
    store.acked((event) => event.job === job.id);
    say("acknowledged");
  } catch (error) {
    failed(error);
  }
}

/** The commands that do the same in a shell. @param {Job} job */
export function commands(job) {
  const id = words.quoted(job.id);
  return [
    ["Show its log", `outlive log ${id} --follow`],
    ["Wait for its end", `outlive wait ${id}`],
    ...(job.pty ? [["Attach to its terminal", `outlive attach ${id}`]] : []),
    ["Stop it", `outlive stop ${id}`],
    ["Start it again", again(job)],
  ];
}

/** @param {Job} job */
function again(job) {
  const options = [
    job.name && `--name ${words.quoted(job.name)}`,
    job.session && `--session ${words.quoted(job.session)}`,
    job.place !== "local" && `--place ${words.quoted(job.place)}`,
    job.pty && "--pty",
    `--cwd ${words.quoted(job.cwd)}`,
  ];
  return ["outlive run", ...options.filter(Boolean), "--", ...job.argv.map(words.quoted)].join(" ");
}

/** Shows the commands, each with a button that copies it. @param {Job} job */
export async function copyCommand(job) {
  const rows = commands(job).map(([what, command]) => {
    const copy = el("button", { type: "button", onclick: () => copied(command) }, "Copy");
    return el("li", {}, el("b", {}, what), el("code", {}, command), copy);
  });
  await dialog("Do it in a shell", [el("ul", { class: "commands" }, rows)], [closing("Close", "")]);
}

/** @param {string} text */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("copied");
  } catch {
    say("the browser did not allow that; select the text and copy it", true);
  }
}

/** Asks what to start, and starts it. */
export async function start() {
  const field = (/** @type {string} */ id, /** @type {string} */ label, /** @type {any} */ control) => el("p", { class: "field" }, el("label", { for: id }, label), control);
  const text = (/** @type {string} */ id, /** @type {any} */ more = {}) => el("input", { id, name: id, autocomplete: "off", ...more });
  const command = el("textarea", { id: "command", rows: 3, required: true, spellcheck: "false", autofocus: true });
  const cwd = text("cwd", { placeholder: "where outlive serve was started" });
  const name = text("name");
  const session = text("session");
  const place = el("select", { id: "place" }, el("option", { value: "" }, "this machine"));
  const pty = el("input", { type: "checkbox", id: "pty" });
  call("place/list")
    .then(({ places }) => places.forEach((/** @type {any} */ known) => place.append(el("option", {}, known.name))))
    .catch(() => {});
  const chosen = await dialog(
    "Start a job",
    [
      field("command", "Command, for a shell", command),
      field("cwd", "Directory", cwd),
      field("name", "Name", name),
      field("session", "Session", session),
      field("place", "Place", place),
      el("p", { class: "field" }, el("label", { class: "toggle", for: "pty" }, pty, "with a terminal")),
    ],
    [el("button", { value: "", formnovalidate: true }, "Cancel"), closing("Start", "start", "primary")],
  );
  if (chosen !== "start" || !command.value.trim()) return;
  const request = {
    command: { shell: command.value },
    cwd: cwd.value || null,
    name: name.value || null,
    session: session.value || null,
    place: place.value || null,
    input: pty.checked ? { pty: { rows: 30, cols: 120 } } : "pipe",
  };
  try {
    const job = await call("run", request);
    store.jobs.set(job.id, job);
    location.hash = `#/job/${encodeURIComponent(job.id)}`;
  } catch (error) {
    failed(error);
  }
}
