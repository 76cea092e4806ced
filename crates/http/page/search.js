// A search through the whole output, on the server. Hits come as they are found, and it can be given up.

import { lines as read } from "./api.js";
import { el, fill, say } from "./dom.js";
import * as words from "./words.js";

/** @typedef {import("./ansi.js").Part} Part */

/** So many hits are listed. All are counted. */
const LISTED = 2000;
/** So many of them have a row of their own. */
const ROWS = 200;

export class Search {
  /** @type {{ line: number, text: string }[]} */ #hits = [];
  /** @type {Set<number>} */ #numbers = new Set();
  #current = -1;
  /** @type {AbortController | null} */ #running = null;
  #found = 0;
  #share = 1;
  #pattern = "";

  /** @param {string} job @param {(line: number) => void} show */
  constructor(job, show) {
    this.job = job;
    this.show = show;
    this.input = el("input", {
      type: "search",
      placeholder: "Search all of it",
      "aria-label": "Search the whole output",
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
      onsearch: () => this.input.value || this.close(),
    });
    this.regex = el("input", { type: "checkbox" });
    this.exact = el("input", { type: "checkbox" });
    this.status = el("span", { class: "quiet", role: "status" });
    this.save = el("button", { hidden: true, onclick: () => this.#download() }, "Download matches");
    this.cancel = el("button", { hidden: true, onclick: () => this.#running?.abort() }, "Cancel");
    const toggles = [
      el("label", { class: "toggle" }, this.regex, "regex"),
      el("label", { class: "toggle" }, this.exact, "Aa"),
    ];
    this.bar = el("div", { class: "search" }, this.input, toggles, this.status, this.cancel, this.save);
    this.results = el("ol", { class: "results", hidden: true, "aria-label": "Matches", tabindex: 0 });
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Enter") {
      event.preventDefault();
      if (this.input.value === this.#pattern && this.#hits.length) this.step(event.shiftKey ? -1 : 1);
      else this.#begin();
    } else if (event.key === "Escape") {
      this.close();
    }
  }

  get #request() {
    return { job: this.job, pattern: this.input.value, regex: this.regex.checked, ignore_case: !this.exact.checked };
  }

  async #begin() {
    this.close();
    this.#pattern = this.input.value;
    if (!this.#pattern) return;
    const running = new AbortController();
    this.#running = running;
    this.cancel.hidden = false;
    try {
      const request = { ...this.#request, limit: LISTED };
      await read("search", request, (part) => this.#took(part), running.signal);
      this.#status();
    } catch (error) {
      const isOurs = running.signal.aborted;
      this.#status(isOurs ? ", cancelled" : "");
      if (!isOurs) say(/** @type {Error} */ (error).message, true);
    }
    this.cancel.hidden = true;
    this.save.hidden = this.#found === 0;
  }

  /** @param {any} part */
  #took(part) {
    const isFirst = this.#hits.length === 0;
    for (const { line, text } of part.lines ?? []) {
      this.#hits.push({ line, text });
      this.#numbers.add(line);
      if (this.#hits.length <= ROWS) this.results.append(this.#row(this.#hits.length - 1));
    }
    this.#found = part.found;
    this.#share = part.of ? part.searched / part.of : 1;
    this.results.hidden = this.#hits.length === 0;
    this.#status(part.done ? "" : ` so far (${Math.floor(this.#share * 100)} %)`);
    if (isFirst && this.#hits.length) this.step(1);
  }

  /** @param {string} [more] */
  #status(more = "") {
    const place = this.#current >= 0 ? `${words.grouped(this.#current + 1)} of ` : "";
    this.status.textContent = this.#pattern ? `${place}${words.grouped(this.#found)} matches${more}` : "";
  }

  /** @param {number} index */
  #row(index) {
    const { line, text } = this.#hits[index];
    const link = el("button", { class: "link", onclick: () => this.#go(index) }, el("b", {}, words.grouped(line)), ` ${text}`);
    return el("li", {}, link);
  }

  /** Goes to the next hit, or to the one before. @param {number} by */
  step(by) {
    const count = this.#hits.length;
    if (count) this.#go((this.#current + by + count) % count);
  }

  /** @param {number} index */
  #go(index) {
    this.#current = index;
    this.#status(this.#running && !this.cancel.hidden ? " so far" : "");
    this.show(this.#hits[index].line);
  }

  /** Whether this line is a hit. @param {number} line */
  has(line) {
    return this.#numbers.has(line);
  }

  /** The parts of a line, with what was found in parts of their own. @param {Part[]} parts @returns {Part[]} */
  highlighted(parts) {
    if (!this.#pattern || this.regex.checked) return parts;
    const fold = (/** @type {string} */ text) => (this.exact.checked ? text : text.toLowerCase());
    const wanted = fold(this.#pattern);
    return parts.flatMap((part) => {
      const pieces = [];
      let from = 0;
      for (let at = fold(part.t).indexOf(wanted); at >= 0; at = fold(part.t).indexOf(wanted, from)) {
        pieces.push({ ...part, t: part.t.slice(from, at) });
        pieces.push({ ...part, t: part.t.slice(at, at + wanted.length), s: (part.s ?? 0) ^ 16 });
        from = at + wanted.length;
      }
      return from ? [...pieces, { ...part, t: part.t.slice(from) }].filter((piece) => piece.t) : [part];
    });
  }

  /** Saves every matching line. */
  async #download() {
    /** @type {string[]} */
    const found = [];
    const request = { ...this.#request, limit: Number.MAX_SAFE_INTEGER };
    const each = (/** @type {any} */ part) => found.push(...(part.lines ?? []).map((/** @type {any} */ hit) => `${hit.text}\n`));
    await read("search", request, each, new AbortController().signal);
    const link = el("a", { href: URL.createObjectURL(new Blob(found, { type: "text/plain" })), download: `${this.job}-matches.log` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  /** Gives it up and forgets what was found. */
  close() {
    this.#running?.abort();
    this.#hits = [];
    this.#numbers.clear();
    this.#current = -1;
    this.#found = 0;
    this.#pattern = "";
    this.save.hidden = true;
    this.results.hidden = true;
    fill(this.results);
    this.#status();
  }
}
