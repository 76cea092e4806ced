// The one WebSocket. It connects again by itself, and everything that is followed goes on then.

import { url } from "./api.js";

/**
 * @typedef {object} Following
 * @property {any} what What to follow. It is asked for again after a break.
 * @property {(part: any) => void} part Called with each part.
 * @property {() => void} [again] Called when the parts begin anew after a break.
 * @property {(error: any) => void} [error] Called if it is refused.
 * @property {() => void} [end] Called when no more will come.
 */

/** @typedef {{ job: string, id: string, text?: string, size?: any }} Input */

const SHORTEST_PAUSE = 100;
const LONGEST_PAUSE = 5000;

export class Stream extends EventTarget {
  /** @type {Map<number, Following>} */
  #following = new Map();
  /** What was typed and not answered yet, in order. @type {Map<string, { input: Input, done: (error: any) => void }>} */
  #typed = new Map();
  /** @type {WebSocket | null} */
  #socket = null;
  #next = 1;
  #pause = SHORTEST_PAUSE;
  #own = Math.random().toString(36).slice(2, 12);
  #wasOpen = false;
  isOpen = false;

  connect() {
    const address = new URL(url("/v1/stream"), location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    this.#socket = socket;
    socket.addEventListener("open", () => this.#opened());
    socket.addEventListener("message", (event) => this.#received(event.data));
    socket.addEventListener("close", () => {
      if (this.#socket !== socket) return;
      this.isOpen = false;
      this.dispatchEvent(new Event("change"));
      setTimeout(() => this.#socket === socket && this.connect(), this.#pause);
      this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
    });
  }

  /** Connects anew, because something about the connection changed. */
  reconnect() {
    const old = this.#socket;
    this.#pause = SHORTEST_PAUSE;
    this.connect();
    old?.close();
  }

  #opened() {
    this.isOpen = true;
    this.#pause = SHORTEST_PAUSE;
    for (const [sub, following] of this.#following) {
      if (this.#wasOpen) following.again?.();
      this.#send({ do: "follow", sub, what: following.what });
    }
    this.#wasOpen = true;
    for (const { input } of this.#typed.values()) this.#send({ do: "type", ...input });
    this.dispatchEvent(new Event("change"));
  }

  /** @param {any} message */
  #send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  /** @param {any} data */
  #received(data) {
    if (typeof data !== "string") return;
    const message = JSON.parse(data);
    if (message.id !== undefined) return this.#answered(message);
    const following = this.#following.get(message.sub);
    if (!following) return;
    if (message.error) {
      this.#following.delete(message.sub);
      following.error?.(message.error);
    } else if (message.end) {
      this.#following.delete(message.sub);
      following.end?.();
    } else {
      following.part(message.part);
      this.#send({ do: "taken", sub: message.sub, sent: message.sent });
    }
  }

  /** @param {any} message */
  #answered(message) {
    const typed = this.#typed.get(message.id);
    this.#typed.delete(message.id);
    typed?.done(message.error);
  }

  /**
   * Follows something until the returned function is called.
   * @param {Following} following
   * @returns {() => void}
   */
  follow(following) {
    const sub = this.#next++;
    this.#following.set(sub, following);
    this.#send({ do: "follow", sub, what: following.what });
    return () => {
      if (this.#following.delete(sub)) this.#send({ do: "end", sub });
    };
  }

  /**
   * Types into a job. It arrives once, also if the connection breaks.
   * @param {Omit<Input, "id">} input
   * @returns {Promise<void>}
   */
  type(input) {
    const id = `${this.#own}-${this.#next++}`;
    return new Promise((resolve, reject) => {
      const done = (/** @type {any} */ error) => (error ? reject(new Error(error.message)) : resolve());
      this.#typed.set(id, { input: { ...input, id }, done });
      this.#send({ do: "type", ...input, id });
    });
  }
}

export const stream = new Stream();
