// What keys and the mouse send to a terminal.

/** @typedef {{ application_cursor: boolean, bracketed_paste: boolean, mouse: number, sgr_mouse: boolean }} Modes */

const CURSOR = { ArrowUp: "A", ArrowDown: "B", ArrowRight: "C", ArrowLeft: "D", Home: "H", End: "F" };
const TILDE = { Insert: 2, Delete: 3, PageUp: 5, PageDown: 6, F5: 15, F6: 17, F7: 18, F8: 19, F9: 20, F10: 21, F11: 23, F12: 24 };
const FUNCTION = { F1: "P", F2: "Q", F3: "R", F4: "S" };

/** The number that stands for Shift, Alt and Ctrl in a sequence. @param {KeyboardEvent} event */
function modifiers(event) {
  return 1 + (event.shiftKey ? 1 : 0) + (event.altKey ? 2 : 0) + (event.ctrlKey ? 4 : 0);
}

/**
 * What a key sends; `null` if it is not for the terminal.
 * @param {KeyboardEvent} event
 * @param {Modes} modes
 * @returns {string | null}
 */
export function sent(event, modes) {
  const { key } = event;
  if (event.metaKey || event.isComposing) return null;
  const modified = modifiers(event);
  const cursor = CURSOR[/** @type {keyof typeof CURSOR} */ (key)];
  if (cursor) {
    if (modified > 1) return `\x1b[1;${modified}${cursor}`;
    return `\x1b${modes.application_cursor ? "O" : "["}${cursor}`;
  }
  const tilde = TILDE[/** @type {keyof typeof TILDE} */ (key)];
  if (tilde) return modified > 1 ? `\x1b[${tilde};${modified}~` : `\x1b[${tilde}~`;
  const named = FUNCTION[/** @type {keyof typeof FUNCTION} */ (key)];
  if (named) return modified > 1 ? `\x1b[1;${modified}${named}` : `\x1bO${named}`;
  const escape = event.altKey ? "\x1b" : "";
  if (key === "Enter") return `${escape}\r`;
  if (key === "Tab") return event.shiftKey ? "\x1b[Z" : "\t";
  if (key === "Escape") return "\x1b";
  if (key === "Backspace") return event.ctrlKey ? "\b" : `${escape}\x7f`;
  if ([...key].length !== 1) return null;
  if (event.ctrlKey) return control(key, escape);
  // Alt with a letter that the keyboard made of it is that letter.
  return event.altKey && /^[\x20-\x7e]$/.test(key) ? escape + key : key;
}

/** @param {string} key @param {string} escape */
function control(key, escape) {
  const upper = key.toUpperCase();
  if (/^[@A-Z[\\\]^_]$/.test(upper)) return escape + String.fromCharCode(upper.charCodeAt(0) & 31);
  if (key === " " || key === "2") return `${escape}\0`;
  if (key === "/") return `${escape}\x1f`;
  return key === "?" ? `${escape}\x7f` : null;
}

/** A paste, as the program wants it. @param {string} text @param {Modes} modes */
export function pasted(text, modes) {
  const lines = text.replace(/\r?\n/g, "\r");
  if (!modes.bracketed_paste) return lines;
  // An end mark in the text would have its rest typed.
  return `\x1b[200~${lines.replaceAll("\x1b[201~", "")}\x1b[201~`;
}

/**
 * What the mouse sends; `null` if the program does not want it.
 * @param {"down" | "up" | "move" | "wheel"} kind
 * @param {{ button: number, buttons: number, row: number, col: number, up: boolean }} at
 * @param {MouseEvent} event
 * @param {Modes} modes
 * @returns {string | null}
 */
export function moused(kind, at, event, modes) {
  const { mouse } = modes;
  if (!mouse || (kind === "up" && mouse < 2)) return null;
  if (kind === "move" && (mouse < 3 || (mouse === 3 && !at.buttons))) return null;
  let code = kind === "wheel" ? (at.up ? 64 : 65) : at.button;
  if (kind === "move") code = 32 + (at.buttons & 1 ? 0 : at.buttons & 4 ? 1 : at.buttons & 2 ? 2 : 3);
  code += (event.shiftKey ? 4 : 0) + (event.altKey ? 8 : 0) + (event.ctrlKey ? 16 : 0);
  const [col, row] = [at.col + 1, at.row + 1];
  if (modes.sgr_mouse) return `\x1b[<${code};${col};${row}${kind === "up" ? "m" : "M"}`;
  if (col > 94 || row > 94) return null;
  const old = kind === "up" ? 3 : code;
  return `\x1b[M${String.fromCharCode(32 + old, 32 + col, 32 + row)}`;
}
