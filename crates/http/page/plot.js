// Small plots of what a running job uses.

import { el, fill, svg } from "./dom.js";
import { stream } from "./stream.js";
import * as words from "./words.js";

/** @typedef {any} Job */

/** Two minutes. */
const POINTS = 120;
const WIDTH = 120;
const HEIGHT = 28;

/** @param {number[]} values @param {number} most */
function line(values, most) {
  const x = (/** @type {number} */ at) => WIDTH - (values.length - 1 - at) * (WIDTH / (POINTS - 1));
  const y = (/** @type {number} */ value) => HEIGHT - 1 - (value / (most || 1)) * (HEIGHT - 2);
  return values.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
}

/** @param {string} label @param {number[]} values @param {string} text */
function plot(label, values, text) {
  const most = Math.max(...values, 0);
  const drawn = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: "img", "aria-label": `${label}: ${text}` },
    svg("polyline", { points: line(values, most) }),
  );
  return el("div", { class: "plot" }, el("span", { class: "quiet" }, label), drawn, el("span", {}, text));
}

export class Plots extends HTMLElement {
  /** @type {number[]} */ #cpu = [];
  /** @type {number[]} */ #memory = [];
  /** @type {any} */ #before = null;
  #stop = () => {};

  /** @param {Job} job @param {(sampled: any) => void} sampled */
  show(job, sampled) {
    this.#stop = stream.follow({
      what: { samples: { jobs: [job.id], usage: true } },
      part: (part) => {
        sampled(part);
        this.#took(Date.parse(part.at), part.jobs[0]?.usage);
      },
      again: () => {
        this.#before = null;
      },
    });
  }

  disconnectedCallback() {
    this.#stop();
  }

  /** @param {number} at @param {any} usage */
  #took(at, usage) {
    if (!usage) return;
    const used = usage.user_ms + usage.system_ms;
    if (this.#before) {
      const share = ((used - this.#before.used) / Math.max(1, at - this.#before.at)) * 100;
      this.#cpu = [...this.#cpu, Math.max(0, share)].slice(-POINTS);
    }
    this.#before = { at, used };
    this.#memory = [...this.#memory, usage.memory_bytes ?? 0].slice(-POINTS);
    const processes = usage.processes ? `${usage.processes} process${usage.processes === 1 ? "" : "es"}` : "";
    fill(
      this,
      this.#cpu.length > 0 && plot("CPU", this.#cpu, `${Math.round(this.#cpu.at(-1) ?? 0)} %`),
      plot("Memory", this.#memory, words.size(this.#memory.at(-1) ?? 0)),
      el("span", { class: "quiet" }, processes),
    );
  }
}

customElements.define("outlive-plots", Plots);
