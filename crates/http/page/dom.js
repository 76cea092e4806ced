// Making elements. Text always becomes text: nothing that a job prints is ever parsed as HTML.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Makes an element. A property that begins with "on" is a listener, `class` a class, and what is false is left out.
 * @param {string} tag
 * @param {Record<string, any>} [properties]
 * @param {...(Child | Child[])} children
 * @returns {any}
 */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked") /** @type {any} */ (element)[key] = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  put(element, ...children);
  return element;
}

/**
 * Appends children.
 * @param {Element} parent
 * @param {...(Child | Child[])} children
 */
export function put(parent, ...children) {
  for (const child of children.flat()) {
    if (child === undefined || child === null || child === false) continue;
    parent.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Replaces the children of an element.
 * @param {Element} parent
 * @param {...(Child | Child[])} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  put(parent, ...children);
}

/**
 * An SVG element.
 * @param {string} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {...Node} children
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/**
 * Calls `work` once before the next frame, however often it is asked for.
 * @param {() => void} work
 * @returns {() => void}
 */
export function framed(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      work();
    });
  };
}

/**
 * Shows a dialog until it is closed. Resolves with the value of the button that closed it.
 * @param {string} title
 * @param {Child[]} content
 * @param {HTMLElement[]} buttons
 * @returns {Promise<string>}
 */
export function dialog(title, content, buttons) {
  const heading = el("h2", { id: "dialog-title" }, title);
  const form = el("form", { method: "dialog" }, heading, content, el("div", { class: "buttons" }, buttons));
  const shown = el("dialog", { "aria-labelledby": "dialog-title" }, form);
  document.body.append(shown);
  shown.showModal();
  return new Promise((resolve) => {
    shown.addEventListener("close", () => {
      shown.remove();
      resolve(shown.returnValue);
    });
  });
}

/**
 * Says something for a few seconds, also to a screen reader.
 * @param {string} text
 * @param {boolean} [isError]
 */
export function say(text, isError = false) {
  const place = document.getElementById("said");
  const line = el("p", { class: isError ? "said error" : "said" }, text);
  place?.append(line);
  setTimeout(() => line.remove(), isError ? 10000 : 4000);
}
