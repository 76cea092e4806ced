// The page as a whole: the login, which view is shown, keys.

import * as actions from "./actions.js";
import { login, me, secrets, settings, whoami } from "./api.js";
import { dialog, el, fill, say } from "./dom.js";
import { Jobs } from "./jobs.js";
import { JobView } from "./job.js";
import { store } from "./store.js";
import { stream } from "./stream.js";
import { Timeline } from "./timeline.js";

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const connection = /** @type {HTMLElement} */ (document.getElementById("connection"));

/** Takes the token out of the address, and exchanges it for a cookie. */
async function enter() {
  const token = new URLSearchParams(location.hash.slice(1)).get("t");
  if (token) {
    history.replaceState(null, "", "#/");
    await login(token);
  } else {
    await whoami();
  }
}

/** @returns {{ path: string[], query: URLSearchParams }} */
function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { path: path.split("/").filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) };
}

function show() {
  const { path, query } = route();
  const [view, id, tab] = path;
  if (view === "job" && id) {
    const line = Number(query.get("line")) || null;
    const shown = /** @type {JobView} */ (main.firstElementChild);
    if (shown instanceof JobView && shown.job?.id === id && line && shown.part?.goTo) return shown.part.goTo(line);
    const job = /** @type {JobView} */ (el("outlive-job"));
    fill(main, job);
    job.show(id, tab ?? "", line);
  } else if (view === "session") {
    const timeline = /** @type {Timeline} */ (el("outlive-timeline"));
    fill(main, timeline);
    timeline.show(id ?? "");
  } else {
    const jobs = /** @type {Jobs} */ (el("outlive-jobs"));
    jobs.filter(query.get("q") ?? "");
    fill(main, jobs);
  }
}

const THEMES = ["light dark", "light", "dark"];

function theme() {
  const chosen = settings.get("theme", THEMES[0]);
  document.documentElement.dataset.theme = chosen;
  return chosen;
}

function nextTheme() {
  const at = THEMES.indexOf(theme());
  settings.set("theme", THEMES[(at + 1) % THEMES.length]);
  const names = ["as the system", "light", "dark"];
  say(`colours: ${names[THEMES.indexOf(theme())]}`);
}

function toggleSecrets() {
  if (me.rights !== "owner") return say("this link does not show secrets", true);
  secrets.shown = !secrets.shown;
  document.getElementById("secrets")?.setAttribute("aria-pressed", String(secrets.shown));
  stream.reconnect();
  show();
  say(secrets.shown ? "secrets are shown on this page" : "secrets are hidden");
}

/** @type {[string, string][]} */
const KEYS = [
  ["?", "these keys"],
  ["/", "filter the jobs, or search the output"],
  ["j k ↓ ↑", "the next and the previous job, or scroll"],
  ["Enter", "open the job; while searching, the next match"],
  ["Escape", "back to all jobs"],
  ["g G", "the beginning and the end of the output; the end is followed"],
  ["n N", "the next and the previous match"],
  ["t l d", "terminal, log, details of the job"],
  ["i", "type into the terminal"],
  ["Ctrl-]", "leave the terminal"],
  ["s", "stop the job (asks)"],
  ["x", "send a signal"],
  ["c", "the commands that do the same in a shell"],
  ["r", "start a job"],
  ["v", "show or hide secrets"],
  ["m", "light or dark"],
];

function help() {
  const rows = KEYS.map(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)]).flat();
  dialog("Keys", [el("dl", { class: "details keys-list" }, rows)], [el("button", { value: "", autofocus: true }, "Close")]);
}

/** @param {KeyboardEvent} event */
function key(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const isField = target.closest("input:not([type=checkbox]), textarea, select, dialog");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (isField) {
    if (event.key === "Escape" && target.id === "filter") focusView();
    return;
  }
  const view = main.firstElementChild;
  const job = view instanceof JobView ? view.job : view instanceof Jobs ? view.selected : null;
  const mayAct = job && me.rights === "owner";
  const tab = (/** @type {string} */ name) => job && (location.hash = `#/job/${encodeURIComponent(job.id)}/${name}`);
  const work = {
    "?": help,
    "/": () => (view instanceof Jobs ? view.focusFilter() : view instanceof JobView ? view.part?.focusSearch?.() : undefined),
    Escape: () => (location.hash = "#/"),
    s: () => mayAct && actions.stop(job),
    x: () => mayAct && actions.signal(job),
    c: () => job && actions.copyCommand(job),
    r: () => me.rights === "owner" && actions.start(),
    t: () => job?.pty && tab("terminal"),
    l: () => tab("log"),
    d: () => tab("details"),
    i: () => view instanceof JobView && view.part?.toggleTyping?.(),
    v: toggleSecrets,
    m: nextTheme,
  }[event.key];
  if (work) {
    event.preventDefault();
    work();
  } else if (view instanceof Jobs && ["j", "k", "ArrowDown", "ArrowUp"].includes(event.key) && target === document.body) {
    view.focusRows();
    event.preventDefault();
  }
}

function focusView() {
  const view = main.firstElementChild;
  if (view instanceof Jobs) view.focusRows();
}

function connected() {
  connection.textContent = stream.isOpen ? "" : "not connected, trying again";
  document.body.classList.toggle("cut-off", !stream.isOpen);
}

async function begin() {
  theme();
  try {
    await enter();
  } catch (error) {
    document.body.classList.add("outside");
    fill(main, el("h1", {}, "Outlive"), el("p", {}, "Open the link that ", el("code", {}, "outlive serve"), " prints."), el("p", { class: "error" }, /** @type {Error} */ (error).message));
    return;
  }
  document.body.classList.add(me.rights ?? "");
  const buttons = { start: actions.start, help, theme: nextTheme, secrets: toggleSecrets };
  for (const [id, work] of Object.entries(buttons)) document.getElementById(id)?.addEventListener("click", () => work());
  stream.addEventListener("change", connected);
  stream.connect();
  store.begin();
  addEventListener("hashchange", show);
  addEventListener("keydown", key);
  show();
}

begin();
