// An output of any size. Only the rows that can be seen exist, and where the scroll bar cannot have a pixel for each row,
// it is scaled.

import { el, fill, framed, say } from "./dom.js";
import { settings, url } from "./api.js";
import { Lines } from "./lines.js";
import { Search } from "./search.js";
import { stream } from "./stream.js";
import { styled } from "./ansi.js";
import * as words from "./words.js";

/** @typedef {any} Job */

/** Browsers cannot make taller elements than 33 million pixels. */
const TALLEST = 8_000_000;
/** The tail that is followed. */
const TAIL = 300;

export class Log extends HTMLElement {
  /** @type {Job} */ job = null;
  /** The row at the top, which may be a part of one. */
  #top = 0;
  #follows = true;
  /** Lines when the reader stopped following. */
  #seen = 0;
  #height = 18;
  /** @type {number | null} */ #marked = null;
  #isOurs = false;
  #wraps = settings.get("wrap", "no") === "yes";
  #times = settings.get("times", "no") === "yes";
  #ended = false;
  #stop = () => {};
  #draw = framed(() => this.#rendered());
  /** @type {any} */ #lines;
  /** @type {any} */ #scroller;
  /** @type {any} */ #space;
  /** @type {any} */ #view;
  /** @type {any} */ #new;
  /** @type {any} */ #about;
  /** @type {any} */ #search;

  /** Shows an output, at this line if one is given. @param {Job} job @param {number | null} line */
  show(job, line) {
    this.job = job;
    this.#marked = line;
    this.#follows = line === null;
    this.#build();
    this.#lines = new Lines(job.id);
    this.#lines.addEventListener("change", this.#draw);
    this.#lines.addEventListener("failed", (/** @type {any} */ event) => say(event.detail.message, true));
    this.#stop = stream.follow({
      what: { tail: { job: job.id, lines: TAIL } },
      part: (part) => this.#grown(part),
      error: (error) => say(error.message, true),
    });
    addEventListener("resize", this.#draw);
  }

  disconnectedCallback() {
    this.#stop();
    this.#search?.close();
    removeEventListener("resize", this.#draw);
  }

  #build() {
    const toggle = (/** @type {string} */ text, /** @type {boolean} */ on, /** @type {() => void} */ change) => {
      const box = el("input", { type: "checkbox", checked: on, onchange: change });
      return el("label", { class: "toggle" }, box, text);
    };
    this.#search = new Search(this.job.id, (line) => this.goTo(line));
    this.#about = el("span", { class: "quiet" });
    this.#new = el("button", { class: "new", hidden: true, onclick: () => this.follow() });
    this.#view = el("div", { class: "lines" });
    this.#space = el("div", { class: "space" }, this.#view);
    this.#scroller = el(
      "div",
      {
        class: "output",
        tabindex: 0,
        role: "region",
        "aria-label": "Output",
        onscroll: () => this.#scrolled(),
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
      },
      this.#space,
    );
    this.#scroller.addEventListener("wheel", (/** @type {WheelEvent} */ event) => this.#wheel(event), { passive: false });
    const path = `/v1/jobs/${encodeURIComponent(this.job.id)}/output?download`;
    const bar = el(
      "div",
      { class: "bar" },
      this.#search.bar,
      toggle("wrap", this.#wraps, () => this.#toggle("wrap")),
      toggle("times", this.#times, () => this.#toggle("times")),
      el("a", { class: "button", href: url(path), download: `${this.job.id}.log` }, "Download"),
      this.#about,
    );
    fill(this, bar, this.#search.results, el("div", { class: "frame" }, this.#scroller, this.#new));
    this.classList.toggle("wrap", this.#wraps);
    this.classList.toggle("times", this.#times);
  }

  /** @param {"wrap" | "times"} what */
  #toggle(what) {
    const on = this.classList.toggle(what);
    settings.set(what, on ? "yes" : "no");
    if (what === "wrap") this.#wraps = on;
    else this.#times = on;
    this.#draw();
  }

  /** @param {any} part */
  #grown(part) {
    const first = this.#lines.total === 0;
    this.#lines.take(part);
    this.#ended = part.ended;
    if (first) this.#measure();
    if (first && this.#marked !== null) this.goTo(this.#marked);
    this.#draw();
  }

  #measure() {
    const probe = el("div", { class: "line" }, "M");
    this.#view.append(probe);
    this.#height = probe.getBoundingClientRect().height || 18;
    probe.remove();
  }

  get #visible() {
    return Math.max(1, Math.floor(this.#scroller.clientHeight / this.#height));
  }

  /** The greatest row that can be at the top. */
  get #last() {
    return Math.max(0, this.#lines.rows - this.#visible);
  }

  get #isScaled() {
    return this.#lines.rows * this.#height > TALLEST;
  }

  /** Follows the end again. */
  follow() {
    this.#follows = true;
    this.#draw();
    this.#scroller.focus({ preventScroll: true });
  }

  /** Shows a line in its context, marked. @param {number} line */
  goTo(line) {
    this.#marked = line;
    this.#stopFollowing();
    this.#move(this.#lines.rowOf(line) - Math.floor(this.#visible / 3));
  }

  #stopFollowing() {
    if (this.#follows) this.#seen = this.#lines.total;
    this.#follows = false;
  }

  /** @param {number} row */
  #move(row) {
    this.#top = Math.min(this.#last, Math.max(0, row));
    if (this.#top < this.#last) this.#stopFollowing();
    else this.#follows = true;
    this.#draw();
  }

  #scrolled() {
    if (this.#isOurs) {
      this.#isOurs = false;
      return;
    }
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    const room = scrollHeight - clientHeight;
    if (room <= 0) return;
    const row = this.#isScaled ? (scrollTop / room) * this.#last : scrollTop / this.#height;
    this.#move(scrollTop >= room - 1 ? this.#last : row);
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    if (!this.#isScaled || event.ctrlKey || !event.deltaY) return;
    // A pixel of the bar stands for many rows, but the wheel turns by rows.
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 1 : event.deltaMode === 2 ? this.#visible : 1 / this.#height;
    this.#move(this.#top + event.deltaY * unit);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = this.#visible - 1;
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, " ": page, PageUp: -page };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    const other = { Home: () => this.#move(0), g: () => this.#move(0), End: () => this.follow(), G: () => this.follow() };
    const work = step !== undefined ? () => this.#move(this.#top + step) : other[/** @type {keyof typeof other} */ (event.key)];
    if (work) {
      event.preventDefault();
      work();
    } else if (event.key === "n" || event.key === "N") {
      this.#search.step(event.key === "n" ? 1 : -1);
    }
  }

  /** Puts the cursor into the search. */
  focusSearch() {
    this.#search.focus();
  }

  focusLines() {
    this.#scroller.focus({ preventScroll: true });
  }

  #rendered() {
    if (!this.isConnected || !this.#lines) return;
    const lines = this.#lines;
    const full = lines.rows * this.#height;
    this.#space.style.height = `${Math.max(this.#scroller.clientHeight, Math.min(full, TALLEST))}px`;
    if (this.#follows) this.#top = this.#last;
    const first = Math.floor(this.#top);
    const count = Math.min(lines.rows - first, this.#visible + 2);
    const rows = [];
    for (let row = first; row < first + count; row += 1) rows.push(this.#row(lines.at(row)));
    fill(this.#view, rows);
    this.#place(this.#top - first);
    const fresh = lines.total - this.#seen;
    this.#new.hidden = this.#follows || fresh <= 0 || this.#ended;
    this.#new.textContent = `${words.grouped(Math.max(0, fresh))} new ↓`;
    const dropped = lines.dropped ? `, ${words.size(lines.dropped)} not kept` : "";
    const ended = this.#ended ? "" : this.#follows ? ", following" : ", not following";
    this.#about.textContent = `${words.grouped(lines.total)} lines, ${words.size(lines.bytes)}${dropped}${ended}`;
  }

  /** Puts the rows where the scroll bar is. @param {number} part The part of the first row that is above the edge. */
  #place(part) {
    const { clientHeight, scrollHeight } = this.#scroller;
    const room = scrollHeight - clientHeight;
    const share = this.#last ? this.#top / this.#last : 1;
    const wanted = this.#isScaled || this.#follows ? Math.round(share * room) : Math.round(this.#top * this.#height);
    if (Math.abs(this.#scroller.scrollTop - wanted) >= 1) {
      this.#isOurs = true;
      this.#scroller.scrollTop = wanted;
    }
    const shift = this.#wraps || this.#follows ? 0 : -part * this.#height;
    this.#view.style.top = `${this.#scroller.scrollTop + shift}px`;
    this.#view.classList.toggle("end", this.#follows);
    this.#view.style.height = this.#follows ? `${clientHeight}px` : "";
  }

  /** @param {{ line: number, to?: number, bytes?: number }} place */
  #row(place) {
    if (place.to !== undefined) {
      const text = `lines ${words.grouped(place.line)} to ${words.grouped(place.to)} (${words.size(place.bytes ?? 0)}) were not kept`;
      return el("div", { class: "line gap" }, `… ${text} …`);
    }
    const line = this.#lines.line(place.line);
    const isHit = this.#search.has(place.line);
    const mark = place.line === this.#marked ? " marked" : "";
    const number = el(
      "a",
      { class: "number", href: `#/job/${encodeURIComponent(this.job.id)}/log?line=${place.line}`, tabindex: -1, "aria-label": `line ${place.line}` },
      place.line,
    );
    const text = line ? this.#search.highlighted(line.parts).map(styled) : "";
    const time = this.#times && el("span", { class: "at quiet" }, words.clock(line?.at));
    const cut = line?.cut && el("span", { class: "quiet" }, ` … ${words.size(line.cut)} more`);
    return el("div", { class: `line${isHit ? " hit" : ""}${mark}` }, number, time, el("span", { class: "text" }, text, cut));
  }
}

customElements.define("outlive-log", Log);
