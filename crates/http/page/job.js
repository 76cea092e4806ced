// One job: what it is, its output or terminal, and what can be done with it.

import * as actions from "./actions.js";
import { call, me } from "./api.js";
import { el, fill, framed } from "./dom.js";
import { Log } from "./log.js";
import { Plots } from "./plot.js";
import { store } from "./store.js";
import { Terminal } from "./terminal.js";
import * as words from "./words.js";

/** @typedef {any} Job */

export class JobView extends HTMLElement {
  /** @type {Job} */ job = null;
  #tab = "";
  #wasRunning = false;
  #draw = framed(() => this.#head());
  /** @type {any} */ #timer;
  #heading = el("div", { class: "job-head" });
  #banner = el("div", {});
  #asked = "";
  #plots = el("div", {});
  #body = el("div", { class: "job-body" });

  /** @param {string} id @param {string} tab @param {number | null} line */
  async show(id, tab, line) {
    try {
      this.job = store.jobs.get(id) ?? (await call("show", { job: id }));
    } catch (error) {
      return fill(this, el("p", { class: "error" }, /** @type {Error} */ (error).message), el("a", { href: "#/" }, "All jobs"));
    }
    this.#wasRunning = !this.job.outcome;
    fill(this, this.#heading, this.#banner, this.#plots, this.#body);
    if (this.#wasRunning && this.job.place === "local") {
      const plots = /** @type {Plots} */ (el("outlive-plots"));
      fill(this.#plots, plots);
      plots.show(this.job, (sampled) => store.sampled(sampled));
    }
    this.#open(tab || (this.job.pty && !this.job.outcome ? "terminal" : "log"), line);
    this.#head();
  }

  connectedCallback() {
    store.addEventListener("change", this.#draw);
    this.#timer = setInterval(() => document.visibilityState === "visible" && this.#draw(), 1000);
  }

  disconnectedCallback() {
    store.removeEventListener("change", this.#draw);
    clearInterval(this.#timer);
  }

  /** The part that is shown. @returns {any} */
  get part() {
    return this.#body.firstElementChild;
  }

  /** @param {string} tab @param {number | null} line */
  #open(tab, line) {
    this.#tab = tab;
    if (tab === "details") return fill(this.#body, this.#details());
    const part = tab === "terminal" ? /** @type {Terminal} */ (el("outlive-terminal")) : /** @type {Log} */ (el("outlive-log"));
    fill(this.#body, part);
    part.show(this.job, line);
  }

  #head() {
    if (!this.job) return;
    const job = store.jobs.get(this.job.id) ?? this.job;
    this.job = job;
    if (this.#wasRunning && job.outcome) {
      this.#wasRunning = false;
      fill(this.#plots);
    }
    const now = Date.now();
    const mayAct = me.rights === "owner";
    const link = (/** @type {string} */ tab, /** @type {string} */ text) =>
      el("a", { href: `#/job/${encodeURIComponent(job.id)}/${tab}`, "aria-current": this.#tab === tab ? "page" : undefined }, text);
    const button = (/** @type {string} */ text, /** @type {() => void} */ work, /** @type {string} */ key) =>
      el("button", { onclick: work, title: `${text} (${key})`, "data-act": key }, text);
    const runs = !job.outcome || job.lingering > 0;
    const focused = this.#heading.contains(document.activeElement) ? document.activeElement?.textContent : null;
    fill(
      this.#heading,
      el("h1", {}, words.title(job), job.name && el("span", { class: "quiet command" }, job.command)),
      el(
        "p",
        { class: "facts" },
        el("span", { class: `state ${words.tone(job)}`, role: "status" }, words.state(job)),
        el("span", {}, words.ran(job, now)),
        job.session && el("a", { href: `#/session/${encodeURIComponent(job.session)}` }, `session ${job.session}`),
        job.place !== "local" && el("span", {}, `at ${job.place}`),
        job.ended_by_detail && el("span", { class: "quiet" }, `ended by ${job.ended_by_detail}`),
        job.lingering > 0 && el("span", { class: "badge" }, `${job.lingering} processes left running`),
        job.output.dropped_bytes > 0 && el("span", { class: "badge" }, `${words.size(job.output.dropped_bytes)} of output not kept`),
      ),
      el(
        "div",
        { class: "bar" },
        el("nav", { "aria-label": "Parts of the job", class: "tabs" }, job.pty && link("terminal", "Terminal"), link("log", "Log"), link("details", "Details")),
        mayAct && runs && button("Stop", () => actions.stop(this.job), "s"),
        mayAct && runs && button("Signal", () => actions.signal(this.job), "x"),
        button("In a shell", () => actions.copyCommand(this.job), "c"),
      ),
    );
    if (focused) [...this.#heading.querySelectorAll("button, a")].find((element) => element.textContent === focused)?.focus();
    this.#ask(job, mayAct);
    if (this.#tab === "details") fill(this.#body, this.#details());
  }

  /** A question that the job waits to have answered, and what its session has not been told. @param {Job} job @param {boolean} mayAct */
  #ask(job, mayAct) {
    const sample = store.samples.get(job.id);
    const waits = !job.outcome && (sample?.awaiting_input ?? job.awaiting_input);
    const kind = waits ? (sample?.input_kind ?? job.input_kind ?? "line") : "";
    const untold = store.waiting(job.id);
    const key = `${kind} ${untold.length} ${mayAct}`;
    if (key === this.#asked) return;
    this.#asked = key;
    const told = untold.length > 0 && el(
      "div",
      { class: "banner" },
      `The session ${job.session} has not been told: ${untold.map((event) => event.kind.replaceAll("_", " ")).join(", ")}. `,
      mayAct && el("button", { onclick: () => actions.acknowledge(job) }, "Acknowledge"),
    );
    fill(this.#banner, kind && mayAct && kind !== "keys" && this.#question(job, kind), told);
  }

  /** @param {Job} job @param {string} kind */
  #question(job, kind) {
    const isSecret = kind === "password";
    const answer = el("input", { type: isSecret ? "password" : "text", id: "answer", autocomplete: "off", spellcheck: "false" });
    const submit = async (/** @type {Event} */ event) => {
      event.preventDefault();
      if (await actions.send(job, answer.value)) answer.value = "";
    };
    return el(
      "form",
      { class: "banner ask", onsubmit: submit },
      el("label", { for: "answer" }, isSecret ? "It waits for a password" : "It waits for input"),
      answer,
      el("button", { class: "primary" }, "Send"),
      el("button", { type: "button", onclick: () => actions.send(job, "", true) }, "End of input"),
    );
  }

  #details() {
    const job = this.job;
    const rows = [
      ["Id", job.id],
      ["Command", job.command],
      ["Directory", job.cwd],
      ["Place", job.place],
      ["Session", job.session],
      ["Task", job.task],
      ["Labels", Object.entries(job.labels ?? {}).map(([key, value]) => `${key}=${value}`).join(", ")],
      ["Process", job.pid],
      ["Started", job.started_at && words.clock(job.started_at)],
      ["Ended", job.ended_at && words.clock(job.ended_at)],
      ["Ended by", job.ended_by && `${job.ended_by}${job.ended_by_detail ? `: ${job.ended_by_detail}` : ""}`],
      ["Told", job.told && `${job.told.state}${job.told.by ? ` by ${job.told.by}` : ""}`],
      ["Output", `${words.grouped(job.output.bytes)} bytes in ${job.output.path}`],
      ["CPU", job.usage && `${words.duration(job.usage.user_ms + job.usage.system_ms)}`],
      ["Most memory", job.usage && words.size(job.usage.peak_memory_bytes ?? job.usage.max_rss_bytes)],
    ];
    const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
    return el("dl", { class: "details" }, shown.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
  }
}

customElements.define("outlive-job", JobView);
export { Log, Plots, Terminal };
