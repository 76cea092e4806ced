// The jobs of a session over time.

import { el, fill, framed } from "./dom.js";
import { store } from "./store.js";
import * as words from "./words.js";

/** @typedef {any} Job */

/** The most bars. Earlier jobs are left out. */
const MOST = 300;

export class Timeline extends HTMLElement {
  #session = "";
  #draw = framed(() => this.#rendered());
  /** @type {any} */ #timer;

  /** @param {string} session */
  show(session) {
    this.#session = session;
    this.#rendered();
  }

  connectedCallback() {
    store.addEventListener("change", this.#draw);
    this.#timer = setInterval(() => document.visibilityState === "visible" && this.#draw(), 1000);
  }

  disconnectedCallback() {
    store.removeEventListener("change", this.#draw);
    clearInterval(this.#timer);
  }

  #rendered() {
    const jobs = [...store.jobs.values()]
      .filter((job) => (job.session ?? "") === this.#session && job.started_at)
      .sort((a, b) => (a.started_at < b.started_at ? -1 : 1))
      .slice(-MOST);
    const now = Date.now();
    const begin = (/** @type {Job} */ job) => Date.parse(job.started_at);
    const end = (/** @type {Job} */ job) => (job.ended_at ? Date.parse(job.ended_at) : now);
    const first = Math.min(...jobs.map(begin), now);
    const span = Math.max(1000, Math.max(...jobs.map(end), first) - first);
    const heading = el("h1", {}, this.#session ? `Session ${this.#session}` : "Jobs without a session");
    const axis = el("div", { class: "axis quiet" }, el("span", {}, words.clock(new Date(first).toISOString())), el("span", {}, words.duration(span)));
    const rows = jobs.map((job) => {
      const bar = el("span", { class: `bar-of-time ${words.tone(job)}` });
      bar.style.left = `${((begin(job) - first) / span) * 100}%`;
      bar.style.width = `max(3px, ${((end(job) - begin(job)) / span) * 100}%)`;
      const text = `${words.title(job)}, ${words.state(job)}, ${words.ran(job, now)}`;
      return el(
        "li",
        {},
        el("a", { href: `#/job/${encodeURIComponent(job.id)}`, "aria-label": text, title: text }, el("span", { class: "name" }, words.title(job)), el("span", { class: "track" }, bar)),
      );
    });
    const focused = this.contains(document.activeElement) ? document.activeElement?.getAttribute("href") : null;
    fill(this, heading, jobs.length ? axis : el("p", {}, "It has no jobs here."), el("ol", { class: "timeline" }, rows));
    if (focused) /** @type {any} */ (this.querySelector(`a[href="${CSS.escape(focused)}"]`))?.focus();
  }
}

customElements.define("outlive-timeline", Timeline);
