// The lines of one output, read from the server in pieces when they are needed. An output may have any number of them.

import { get } from "./api.js";

/** @typedef {{ t: string, f?: number | string, b?: number | string, s?: number }} Part */
/** @typedef {{ line: number, from_byte: number, at: string | null, parts: Part[], cut?: number }} Line */
/** @typedef {{ total_lines: number, total_bytes: number, dropped_bytes: number, gaps?: number[][], lines: Line[] }} Window */
/** What stands in one row: a line, or lines that were not kept. @typedef {{ line: number, to?: number, bytes?: number }} Place */

/** So many lines are read at once. */
const PIECE = 200;
/** So many pieces are kept. */
const PIECES = 60;

export class Lines extends EventTarget {
  /** @type {Map<number, Map<number, Line>>} */
  #pieces = new Map();
  /** @type {Set<number>} */
  #asked = new Set();
  total = 0;
  bytes = 0;
  dropped = 0;
  /** Lines that were not kept: first, last, bytes. @type {number[][]} */
  gaps = [];

  /** @param {string} job */
  constructor(job) {
    super();
    this.job = job;
  }

  /** How many rows there are: each gap is one. */
  get rows() {
    return this.gaps.reduce((rows, [first, last]) => rows - (last - first), this.total);
  }

  /** What stands in a row, counted from 0. @param {number} row @returns {Place} */
  at(row) {
    let line = row + 1;
    for (const [first, last, bytes] of this.gaps) {
      if (line < first) break;
      if (line === first) return { line: first, to: last, bytes };
      line += last - first;
    }
    return { line };
  }

  /** The row of a line. @param {number} line */
  rowOf(line) {
    let row = line - 1;
    for (const [first, last] of this.gaps) {
      if (line > last) row -= last - first;
      else if (line > first) return row - (line - first);
    }
    return row;
  }

  /** A line, if it was read. If not, it is read now. @param {number} line @returns {Line | undefined} */
  line(line) {
    const number = Math.floor((line - 1) / PIECE);
    const piece = this.#pieces.get(number);
    const found = piece?.get(line);
    if (!found && !this.#asked.has(number)) this.#read(number);
    if (piece) {
      // The piece that was used last is the last to be forgotten.
      this.#pieces.delete(number);
      this.#pieces.set(number, piece);
    }
    return found;
  }

  /** @param {number} number */
  async #read(number) {
    this.#asked.add(number);
    try {
      const path = `/v1/jobs/${encodeURIComponent(this.job)}/lines?from=${number * PIECE + 1}&count=${PIECE}`;
      this.take(await get(path));
      this.#pieces.set(number, this.#pieces.get(number) ?? new Map());
    } catch (error) {
      this.dispatchEvent(new CustomEvent("failed", { detail: error }));
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    this.#asked.delete(number);
    this.dispatchEvent(new Event("change"));
  }

  /** Takes lines that the server has sent. @param {Window} window */
  take(window) {
    this.total = Math.max(this.total, window.total_lines);
    this.bytes = Math.max(this.bytes, window.total_bytes);
    this.dropped = window.dropped_bytes;
    this.gaps = window.gaps ?? [];
    for (const line of window.lines) {
      const number = Math.floor((line.line - 1) / PIECE);
      const piece = this.#pieces.get(number) ?? new Map();
      piece.set(line.line, line);
      this.#pieces.set(number, piece);
    }
    for (const number of this.#pieces.keys()) {
      if (this.#pieces.size <= PIECES) break;
      this.#pieces.delete(number);
    }
  }

  /** Forgets everything. */
  clear() {
    this.#pieces.clear();
    this.total = this.bytes = this.dropped = 0;
    this.gaps = [];
  }
}
