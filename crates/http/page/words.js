// Numbers and jobs in words.

/** @typedef {any} Job */

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** @param {number} bytes */
export function size(bytes) {
  let unit = 0;
  while (bytes >= 1000 && unit < UNITS.length - 1) {
    bytes /= 1000;
    unit += 1;
  }
  const digits = unit > 0 && bytes < 10 ? 1 : 0;
  return `${bytes.toFixed(digits)} ${UNITS[unit]}`;
}

/** @param {number} count */
export function grouped(count) {
  return count.toLocaleString("en-US");
}

/**
 * A length of time in two units.
 * @param {number} ms
 */
export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  const s = Math.floor(ms / 1000);
  if (s < 10) return `${(ms / 1000).toFixed(1)}s`;
  if (s < 60) return `${s}s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m}m ${s % 60}s`;
  const h = Math.floor(m / 60);
  if (h < 24) return `${h}h ${m % 60}m`;
  return `${Math.floor(h / 24)}d ${h % 24}h`;
}

/**
 * How long a job ran, or has run.
 * @param {Job} job
 * @param {number} now
 */
export function ran(job, now) {
  if (job.ended_at || !job.started_at) return job.duration_ms == null ? "" : duration(job.duration_ms);
  return duration(Math.max(0, now - Date.parse(job.started_at)));
}

/**
 * How a job stands, in a few words, as the command line says it.
 * @param {Job} job
 */
export function state(job) {
  const outcome = job.outcome;
  if (!outcome) {
    if (job.state === "waiting" && job.waiting_for) return waiting(job.waiting_for);
    return job.suspended ? `${job.state} (suspended)` : job.state;
  }
  const by = BY[/** @type {keyof typeof BY} */ (job.ended_by)] ?? "";
  if (outcome.kind === "exited") return `exited ${outcome.code}${by}`;
  if (outcome.kind === "signaled") return `${outcome.signal}${outcome.core_dumped ? ", core dumped" : ""}${by}`;
  if (outcome.kind === "not_started") return `not started: ${outcome.reason}`;
  return `lost: ${outcome.reason}`;
}

const BY = {
  stop: " (stopped)",
  timeout: " (timed out)",
  memory: " (out of memory)",
  place: " (stopped with its foreground process)",
};

/** @param {any} on */
function waiting(on) {
  if (on.lock !== undefined) return `waits for the lock ${on.lock}${on.holder ? `, held by ${on.holder}` : ""}`;
  if (on.queue !== undefined) return `waits in ${on.queue}, position ${on.position}`;
  return on.after?.length ? `waits for ${on.after.join(", ")}` : "waits for other jobs";
}

/**
 * The kind of state, for its colour.
 * @param {Job} job
 */
export function tone(job) {
  if (!job.outcome) return job.state === "unreachable" ? "odd" : job.state === "waiting" ? "waiting" : "running";
  if (job.outcome.kind === "exited" && job.outcome.code === 0) return "good";
  return job.outcome.kind === "lost" || job.ended_by === "stop" ? "odd" : "bad";
}

/** What a person calls a job. @param {Job} job */
export function title(job) {
  return job.name ?? job.command;
}

/** @param {string | null | undefined} at */
export function clock(at) {
  if (!at) return "";
  const time = new Date(at);
  const today = new Date().toDateString() === time.toDateString();
  const options = /** @type {const} */ ({ hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
  return today ? time.toLocaleTimeString("en-GB", options) : time.toLocaleString("en-GB", { ...options, month: "short", day: "numeric" });
}

/** A word as a shell reads it. @param {string} word */
export function quoted(word) {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
