// The terminal of a job, as every viewer sees it. The server sends the state of the screen and then what changes on it, so
// a reload or a slow line loses nothing, and no terminal is emulated here.

import { me } from "./api.js";
import { el, fill, say } from "./dom.js";
import { moused, pasted, sent } from "./keys.js";
import { stream } from "./stream.js";
import { styled } from "./ansi.js";

/** @typedef {any} Job */

const LEAVE = "]";

export class Terminal extends HTMLElement {
  /** @type {Job} */ job = null;
  /** @type {any} */ modes = { application_cursor: false, bracketed_paste: false, mouse: 0, sgr_mouse: false };
  /** The size of the terminal. */
  size = { rows: 0, cols: 0 };
  /** The size that this page has given it. @type {{ rows: number, cols: number } | null} */
  #own = null;
  #fits = false;
  #types = false;
  #ended = false;
  #stop = () => {};
  /** What is typed in a moment is sent together. */
  #typed = "";
  /** @type {any[]} */ #rows = [];
  /** @type {any} */ #screen;
  /** @type {any} */ #cursor;
  /** @type {any} */ #input;
  /** @type {any} */ #switch;
  /** @type {any} */ #fit;
  /** @type {any} */ #about;
  /** @type {ResizeObserver | null} */ #observer = null;

  /** @param {Job} job */
  show(job) {
    this.job = job;
    this.#ended = Boolean(job.outcome);
    this.#build();
    this.#stop = stream.follow({
      what: { screen: { job: job.id } },
      part: (update) => this.#update(update),
      error: (error) => say(error.message, true),
      end: () => {
        this.#ended = true;
        this.#type(false);
        this.#tell();
      },
    });
  }

  disconnectedCallback() {
    this.#stop();
    this.#observer?.disconnect();
  }

  #build() {
    this.#cursor = el("div", { class: "cursor", "aria-hidden": "true" });
    this.#input = el("textarea", {
      class: "keys",
      "aria-label": "Type into the terminal. Control and ] leaves it",
      autocapitalize: "off",
      autocomplete: "off",
      spellcheck: "false",
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
      oninput: () => this.#composed(),
      oncompositionend: () => this.#composed(),
      onpaste: (/** @type {ClipboardEvent} */ event) => this.#paste(event),
      onblur: () => this.classList.remove("focused"),
      onfocus: () => this.classList.add("focused"),
    });
    this.#screen = el("div", { class: "screen", role: "region", "aria-label": "Terminal", tabindex: 0 });
    const frame = el("div", { class: "terminal-frame" }, this.#screen, this.#cursor, this.#input);
    for (const kind of /** @type {const} */ (["down", "up", "move"])) {
      frame.addEventListener(`mouse${kind}`, (/** @type {MouseEvent} */ event) => this.#mouse(kind, event));
    }
    frame.addEventListener("wheel", (/** @type {WheelEvent} */ event) => this.#mouse("wheel", event), { passive: false });
    frame.addEventListener("click", () => this.#types && !getSelection()?.toString() && this.#input.focus({ preventScroll: true }));
    this.#switch = el("input", { type: "checkbox", onchange: () => this.#type(this.#switch.checked) });
    this.#fit = el("input", { type: "checkbox", onchange: () => this.#fitting(this.#fit.checked) });
    this.#about = el("span", { class: "quiet", role: "status" });
    const mayType = me.rights === "owner";
    const bar = el(
      "div",
      { class: "bar" },
      mayType && el("label", { class: "toggle switch" }, this.#switch, "Type here"),
      mayType && el("label", { class: "toggle" }, this.#fit, "Fit to this window"),
      this.#about,
    );
    const scroller = el("div", { class: "terminal-scroll" }, frame);
    fill(this, bar, scroller);
    this.#observer = new ResizeObserver(() => this.#fits && this.#resize());
    this.#observer.observe(scroller);
  }

  /** @param {any} update */
  #update(update) {
    if (update.rows !== this.size.rows || update.cols !== this.size.cols) {
      this.size = { rows: update.rows, cols: update.cols };
      this.#rows = Array.from({ length: update.rows }, () => el("div", { class: "screen-row" }));
      fill(this.#screen, this.#rows);
      this.#screen.parentElement.style.width = `calc(${update.cols}ch + 8px)`;
    }
    this.modes = update;
    for (const [number, parts] of update.lines) fill(this.#rows[number], parts.map(styled));
    const { row, col, visible } = update.cursor;
    this.#cursor.hidden = !visible || this.#ended;
    this.#cursor.style.left = `calc(${col}ch + 4px)`;
    this.#cursor.style.top = `calc(${row} * var(--row) + 4px)`;
    this.#tell();
    this.dispatchEvent(new Event("drawn"));
  }

  #tell() {
    const { rows, cols } = this.size;
    const owner = this.#own ? (this.#own.rows === rows && this.#own.cols === cols ? ", sized by this page" : ", sized by another viewer") : "";
    const typing = this.#ended ? "it has ended" : this.#types ? "you type here; Ctrl-] leaves" : "read-only";
    this.#about.textContent = rows ? `${rows}x${cols}${owner}, ${typing}` : "";
  }

  /** Turns typing on or off. @param {boolean} on */
  #type(on) {
    this.#types = on && !this.#ended;
    this.#switch.checked = this.#types;
    this.classList.toggle("types", this.#types);
    if (this.#types) this.#input.focus({ preventScroll: true });
    this.#tell();
  }

  toggleTyping() {
    this.#type(!this.#types);
  }

  /** @param {boolean} on */
  #fitting(on) {
    this.#fits = on;
    if (on) this.#resize();
    else this.#own = null;
  }

  #resize() {
    const frame = this.#screen.parentElement;
    const room = frame.parentElement.getBoundingClientRect();
    const probe = el("span", { class: "probe" }, "M".repeat(100));
    this.#screen.append(probe);
    const width = probe.getBoundingClientRect().width / 100;
    probe.remove();
    const height = parseFloat(getComputedStyle(this).getPropertyValue("--row"));
    const size = {
      rows: Math.max(2, Math.min(1000, Math.floor((room.height - 10) / height))),
      cols: Math.max(10, Math.min(1000, Math.floor((room.width - 10) / width))),
    };
    if (this.#own?.rows === size.rows && this.#own?.cols === size.cols) return;
    this.#own = size;
    stream.type({ job: this.job.id, size }).catch((error) => say(error.message, true));
  }

  /** @param {string} text */
  #send(text) {
    if (!this.#types || !text) return;
    if (!this.#typed) queueMicrotask(() => this.#flush());
    this.#typed += text;
  }

  #flush() {
    const text = this.#typed;
    this.#typed = "";
    stream.type({ job: this.job.id, text }).catch((error) => {
      say(error.message, true);
      this.#type(false);
    });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey && event.key === LEAVE) {
      event.preventDefault();
      this.#type(false);
      this.#screen.focus({ preventScroll: true });
      return;
    }
    // Copying and pasting belong to the browser.
    const isBrowsers = event.ctrlKey && event.shiftKey && ["C", "V"].includes(event.key.toUpperCase());
    const text = isBrowsers ? null : sent(event, this.modes);
    event.stopPropagation();
    if (text === null) return;
    event.preventDefault();
    this.#send(text);
  }

  /** Text that came without a key: a keyboard of a phone, or several keys that make a letter. */
  #composed() {
    const text = this.#input.value;
    this.#input.value = "";
    this.#send(text.replaceAll("\n", "\r"));
  }

  /** @param {ClipboardEvent} event */
  #paste(event) {
    event.preventDefault();
    this.#send(pasted(event.clipboardData?.getData("text") ?? "", this.modes));
  }

  /** @param {"down" | "up" | "move" | "wheel"} kind @param {any} event */
  #mouse(kind, event) {
    if (!this.#types || !this.modes.mouse) return;
    const box = this.#screen.getBoundingClientRect();
    const { rows, cols } = this.size;
    const at = {
      button: event.button,
      buttons: event.buttons,
      row: Math.min(rows - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * rows))),
      col: Math.min(cols - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * cols))),
      up: event.deltaY < 0,
    };
    const text = moused(kind, at, event, this.modes);
    if (text === null) return;
    event.preventDefault();
    this.#input.focus({ preventScroll: true });
    this.#send(text);
  }
}

customElements.define("outlive-terminal", Terminal);
