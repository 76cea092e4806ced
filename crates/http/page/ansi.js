// Colours of a terminal as classes and styles. The server has read the escape sequences.

import { el } from "./dom.js";

/** @typedef {{ t: string, f?: number | string, b?: number | string, s?: number, w?: number }} Part */

const BOLD = 1;
const INVERSE = 16;
const FLAGS = [[BOLD, "bold"], [2, "dim"], [4, "italic"], [8, "underline"]];

/** The colours 16 to 255: a cube, and greys. @param {number} number */
function exact(number) {
  if (number >= 232) {
    const grey = 8 + 10 * (number - 232);
    return `rgb(${grey},${grey},${grey})`;
  }
  const level = (/** @type {number} */ at) => (at ? 55 + 40 * at : 0);
  const cube = number - 16;
  return `rgb(${level(Math.floor(cube / 36))},${level(Math.floor(cube / 6) % 6)},${level(cube % 6)})`;
}

/**
 * @param {HTMLElement} span
 * @param {"f" | "b"} ground
 * @param {number | string | undefined} colour
 */
function paint(span, ground, colour) {
  if (colour === undefined) return;
  if (typeof colour === "number" && colour < 16) span.classList.add(`${ground}${colour}`);
  else span.style[ground === "f" ? "color" : "backgroundColor"] = typeof colour === "number" ? exact(colour) : colour;
}

/** Text in its look. @param {Part} part @returns {Node} */
export function styled(part) {
  const flags = part.s ?? 0;
  const isGrid = part.w !== undefined && part.w !== part.t.length;
  const isOdd = isGrid || /[^\x20-\x7e]/.test(part.t);
  if (part.f === undefined && part.b === undefined && !flags && !(part.w !== undefined && isOdd)) {
    return document.createTextNode(part.t);
  }
  const span = el("span", {}, part.t);
  for (const [flag, name] of FLAGS) if (flags & Number(flag)) span.classList.add(String(name));
  const [fore, back] = flags & INVERSE ? [part.b, part.f] : [part.f, part.b];
  if (flags & INVERSE) span.classList.add("inverse");
  paint(span, "f", fore);
  paint(span, "b", back);
  if (part.w !== undefined && isOdd) {
    // Fonts give such characters other widths; the grid must not move.
    span.classList.add("cells");
    span.style.width = `${part.w}ch`;
  }
  return span;
}
