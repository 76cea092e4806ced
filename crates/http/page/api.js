// The verbs of the server, and what this page remembers.

/** What the server refused, in the words of the contract. */
export class Refused extends Error {
  /** @param {number} status @param {any} failure */
  constructor(status, failure) {
    super(failure?.hint ? `${failure.message}; ${failure.hint}` : (failure?.message ?? `the server answered ${status}`));
    this.status = status;
    this.code = failure?.code;
  }
}

/** What is remembered for this page, in this browser. */
export const settings = {
  /** @param {string} key @param {string} usual */
  get(key, usual) {
    try {
      return localStorage.getItem(`outlive.${key}`) ?? usual;
    } catch {
      return usual;
    }
  },
  /** @param {string} key @param {string} value */
  set(key, value) {
    try {
      localStorage.setItem(`outlive.${key}`, value);
    } catch {
      // It is remembered until the page is closed.
    }
  },
};

/** Whether secrets are shown. It is never remembered: a new page hides them. */
export const secrets = { shown: false };

/** What the token of this page allows. @type {{ rights: "owner" | "reader" | null }} */
export const me = { rights: null };

/** @param {string} path */
export function url(path) {
  const mark = path.includes("?") ? "&" : "?";
  return secrets.shown ? `${path}${mark}secrets=show` : path;
}

/** @param {Response} response */
async function checked(response) {
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  throw new Refused(response.status, body?.error);
}

/**
 * Calls a verb.
 * @param {string} verb
 * @param {any} [request]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function call(verb, request = {}, signal) {
  const response = await checked(await post(verb, request, signal));
  return response.status === 204 ? null : response.json();
}

/** @param {string} verb @param {any} request @param {AbortSignal} [signal] */
function post(verb, request, signal) {
  const headers = { "Content-Type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(request), signal };
  return fetch(url(`/v1/${verb}`), init);
}

/**
 * Calls a verb that answers line by line, and passes on each line as it comes.
 * @param {string} verb
 * @param {any} request
 * @param {(line: any) => void} each
 * @param {AbortSignal} signal
 */
export async function lines(verb, request, each, signal) {
  const response = await checked(await post(verb, request, signal));
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  while (reader) {
    const { value, done } = await reader.read();
    const parts = (rest + (value ?? "")).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) each(JSON.parse(part));
    if (done) return;
  }
}

/** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} */
export async function get(path, signal) {
  return (await checked(await fetch(url(path), { signal }))).json();
}

/** Exchanges a token for a cookie. @param {string} token */
export async function login(token) {
  me.rights = (await call("login", { token })).rights;
}

/** Asks what the cookie of this page allows. Without one this is refused. */
export async function whoami() {
  me.rights = (await get("/v1/login")).rights;
}
