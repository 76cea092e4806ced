// The jobs as this page knows them.

import { call } from "./api.js";
import { stream } from "./stream.js";

/** @typedef {any} Job */

/** How many ended jobs are known at first. More are read when somebody scrolls to them. */
const ENDED = 200;

class Store extends EventTarget {
  /** @type {Map<string, Job>} */
  jobs = new Map();
  /** What changes all the time: the last sample of each job. @type {Map<string, any>} */
  samples = new Map();
  /** Events that wait in inboxes, by their ids. @type {Map<string, any>} */
  events = new Map();
  /** Whether there may be older ended jobs. */
  hasMore = true;
  isCurrent = false;
  #stale = false;

  begin() {
    stream.follow({
      what: { jobs: { ended: ENDED } },
      part: (changes) => this.#changed(changes),
      again: () => {
        this.#stale = true;
      },
    });
    stream.follow({
      what: { events: {} },
      part: (events) => {
        for (const event of events) this.events.set(event.event, event);
        this.#tell();
      },
      again: () => this.events.clear(),
    });
    // Nobody tells that a session was told of an end, so that is looked at again now and then.
    setInterval(() => document.visibilityState === "visible" && this.refresh(), 30000);
  }

  /** @param {any[]} changes */
  #changed(changes) {
    if (this.#stale) {
      // What was removed meanwhile is not among those that are given again.
      this.#stale = false;
      this.jobs.clear();
      this.hasMore = true;
    }
    for (const change of changes) {
      if (change.job) this.jobs.set(change.job.id, change.job);
      else if (change.gone) this.jobs.delete(change.gone);
      else if (change.current) this.isCurrent = true;
    }
    this.#tell();
  }

  /** Reads the newest ended jobs again. */
  async refresh() {
    const { jobs } = await call("list", { state: "ended", limit: ENDED }).catch(() => ({ jobs: [] }));
    for (const job of jobs) {
      this.jobs.set(job.id, job);
      if (job.told?.state === "told") this.acked((event) => event.job === job.id);
    }
    this.#tell();
  }

  /** Reads older ended jobs: twice as many as are known. */
  async more() {
    if (!this.hasMore) return;
    this.hasMore = false;
    const known = [...this.jobs.values()].filter((job) => job.outcome).length;
    const limit = Math.max(1000, known * 2);
    const { jobs } = await call("list", { state: "ended", limit });
    for (const job of jobs) this.jobs.set(job.id, job);
    this.hasMore = jobs.length >= limit;
    this.#tell();
  }

  /** @param {any} sampled */
  sampled(sampled) {
    const at = Date.parse(sampled.at);
    for (const sample of sampled.jobs) {
      const before = this.samples.get(sample.id);
      const seconds = before ? (at - before.at) / 1000 : 0;
      const rate = seconds > 0 ? Math.max(0, (sample.bytes - before.bytes) / seconds) : null;
      this.samples.set(sample.id, { ...sample, at, rate });
    }
    this.#tell();
  }

  /** Forgets events that somebody was told of. @param {(event: any) => boolean} which */
  acked(which) {
    for (const [id, event] of this.events) if (which(event)) this.events.delete(id);
    this.#tell();
  }

  /** The events of a job that wait. @param {string} job */
  waiting(job) {
    return [...this.events.values()].filter((event) => event.job === job);
  }

  #tell() {
    this.dispatchEvent(new Event("change"));
  }
}

export const store = new Store();
