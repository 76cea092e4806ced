// The list of jobs: running first, ended below. Only the rows that can be seen exist.

import { el, fill, framed } from "./dom.js";
import { settings } from "./api.js";
import { store } from "./store.js";
import { stream } from "./stream.js";
import * as words from "./words.js";

/** @typedef {any} Job */
/** @typedef {{ job: Job } | { heading: string, count: number }} Row */

const ROW = 34;
/** Rows beyond the edges, so that scrolling does not show blanks. */
const BEYOND = 8;

/** What a job is found by. @param {Job} job */
function haystack(job) {
  const labels = Object.entries(job.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return [job.id, job.name, job.command, job.session, job.task, job.place, job.state, ...labels].join("\n").toLowerCase();
}

/**
 * Whether a job fits every word of a filter: `make`, `session:ci`, `state:running`, `is:failed`.
 * @param {Job} job
 * @param {string} filter
 */
export function fits(job, filter) {
  const text = haystack(job);
  return filter.toLowerCase().split(/\s+/).every((word) => {
    const [key, value] = word.split(":", 2);
    if (value === undefined || value === "") return text.includes(word);
    if (key === "is" && value === "failed") return words.tone(job) === "bad";
    if (key === "is" && value === "untold") return store.waiting(job.id).length > 0;
    const field = { session: job.session, name: job.name, task: job.task, place: job.place, state: job.state }[key];
    return field === undefined ? text.includes(word) : String(field ?? "").toLowerCase().includes(value);
  });
}

export class Jobs extends HTMLElement {
  #filter = "";
  #group = settings.get("group", "");
  /** @type {Row[]} */
  #rows = [];
  /** @type {string | null} */
  #selected = null;
  #stopSamples = () => {};
  #sampled = "";
  #update = framed(() => this.#list());
  #draw = framed(() => this.#rendered());
  /** @type {any} */ #scroller;
  /** @type {any} */ #space;
  /** @type {any} */ #input;
  /** @type {any} */ #count;
  /** @type {any} */ #timer;

  connectedCallback() {
    this.#input = el("input", {
      type: "search",
      id: "filter",
      placeholder: "Filter: make session:ci is:failed",
      "aria-label": "Filter jobs",
      oninput: () => this.filter(this.#input.value, true),
    });
    const groups = ["", "session", "task", "place", "state"];
    const choice = el(
      "select",
      { "aria-label": "Group by", onchange: () => this.#groupBy(choice.value) },
      groups.map((group) => el("option", { value: group }, group ? `by ${group}` : "no groups")),
    );
    choice.value = this.#group;
    this.#count = el("span", { class: "quiet", role: "status" });
    this.#space = el("div", { class: "space", role: "presentation" });
    this.#scroller = el(
      "div",
      {
        class: "rows",
        role: "grid",
        tabindex: 0,
        "aria-label": "Jobs",
        "aria-colcount": 6,
        onscroll: this.#draw,
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
      },
      this.#space,
    );
    fill(this, el("div", { class: "bar" }, this.#input, choice, this.#count), this.#scroller);
    store.addEventListener("change", this.#update);
    addEventListener("resize", this.#draw);
    // Only what is shown is asked for, and only times that run are drawn again.
    this.#timer = setInterval(() => document.visibilityState === "visible" && this.#draw(), 1000);
    this.#list();
  }

  disconnectedCallback() {
    store.removeEventListener("change", this.#update);
    removeEventListener("resize", this.#draw);
    clearInterval(this.#timer);
    this.#stopSamples();
  }

  /** @param {string} text @param {boolean} [typed] */
  filter(text, typed = false) {
    this.#filter = text.trim();
    if (!typed && this.#input) this.#input.value = text;
    if (this.#scroller) this.#list();
    if (typed) history.replaceState(null, "", text.trim() ? `#/?q=${encodeURIComponent(text.trim())}` : "#/");
  }

  focusFilter() {
    this.#input.focus();
  }

  focusRows() {
    this.#scroller.focus({ preventScroll: true });
  }

  /** @param {string} group */
  #groupBy(group) {
    this.#group = group;
    settings.set("group", group);
    this.#list();
  }

  #list() {
    const all = [...store.jobs.values()].filter((job) => !this.#filter || fits(job, this.#filter));
    const running = all.filter((job) => !job.outcome).sort((a, b) => compare(a.started_at, b.started_at) || compare(a.id, b.id));
    const ended = all.filter((job) => job.outcome).sort((a, b) => compare(b.ended_at, a.ended_at) || compare(b.id, a.id));
    this.#rows = this.#grouped([...running, ...ended]);
    const more = store.hasMore ? ", more below" : "";
    this.#count.textContent = `${words.grouped(running.length)} running, ${words.grouped(ended.length)} ended${more}`;
    this.#space.style.height = `${this.#rows.length * ROW}px`;
    this.#scroller.setAttribute("aria-rowcount", String(this.#rows.length));
    this.#rendered();
  }

  /** @param {Job[]} jobs @returns {Row[]} */
  #grouped(jobs) {
    if (!this.#group) return jobs.map((job) => ({ job }));
    /** @type {Map<string, Job[]>} */
    const groups = new Map();
    for (const job of jobs) {
      const key = job[this.#group] ?? `no ${this.#group}`;
      groups.set(key, [...(groups.get(key) ?? []), job]);
    }
    return [...groups].flatMap(([heading, jobs]) => [{ heading, count: jobs.length }, ...jobs.map((job) => ({ job }))]);
  }

  #rendered() {
    const { scrollTop, clientHeight } = this.#scroller;
    const from = Math.max(0, Math.floor(scrollTop / ROW) - BEYOND);
    const to = Math.min(this.#rows.length, Math.ceil((scrollTop + clientHeight) / ROW) + BEYOND);
    const shown = this.#rows.slice(from, to);
    const now = Date.now();
    fill(this.#space, shown.map((row, at) => this.#row(row, from + at, now)));
    const active = this.#space.querySelector('[aria-selected="true"]');
    if (active) this.#scroller.setAttribute("aria-activedescendant", active.id);
    else this.#scroller.removeAttribute("aria-activedescendant");
    this.#sample(shown);
    if (to === this.#rows.length && store.hasMore && store.isCurrent && scrollTop > 0) store.more();
  }

  /** @param {Row} row @param {number} index @param {number} now */
  #row(row, index, now) {
    const top = `translateY(${index * ROW}px)`;
    const properties = { role: "row", "aria-rowindex": index + 1 };
    if ("heading" in row) {
      const cell = el("div", { role: "gridcell", class: "heading" }, row.heading, el("span", { class: "quiet" }, ` ${row.count}`));
      const line = el("div", { ...properties, class: "row group" }, cell);
      line.style.transform = top;
      return line;
    }
    const { job } = row;
    const isSelected = job.id === this.#selected;
    const line = el(
      "div",
      {
        ...properties,
        class: "row",
        id: `row-${job.id}`,
        "aria-selected": String(isSelected),
        onclick: () => this.#open(job.id),
      },
      cells(job, now),
    );
    line.style.transform = top;
    return line;
  }

  /** Follows what changes all the time of the running jobs that are shown. @param {Row[]} shown */
  #sample(shown) {
    const jobs = shown.flatMap((row) => ("job" in row && !row.job.outcome ? [row.job.id] : []));
    const key = jobs.join(" ");
    if (key === this.#sampled) return;
    this.#sampled = key;
    this.#stopSamples();
    this.#stopSamples = jobs.length
      ? stream.follow({ what: { samples: { jobs } }, part: (part) => store.sampled(part) })
      : () => {};
  }

  /** @param {string} id */
  #open(id) {
    this.#selected = id;
    location.hash = `#/job/${encodeURIComponent(id)}`;
  }

  /** The job that is selected. */
  get selected() {
    return this.#selected ? store.jobs.get(this.#selected) : null;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const page = Math.max(1, Math.floor(this.#scroller.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (step !== undefined && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      this.#move(step);
    } else if (event.key === "Enter" && this.#selected) {
      event.preventDefault();
      this.#open(this.#selected);
    }
  }

  /** @param {number} step */
  #move(step) {
    const last = this.#rows.length - 1;
    if (last < 0) return;
    const isSelected = (/** @type {Row} */ row) => "job" in row && row.job.id === this.#selected;
    const current = this.#rows.findIndex(isSelected);
    let next = Math.min(last, Math.max(0, (current < 0 ? (step > 0 ? -1 : last + 1) : current) + step));
    // A heading is passed over.
    while (this.#rows[next] && "heading" in this.#rows[next]) next += step < 0 && next > 0 ? -1 : 1;
    const row = this.#rows[next];
    if (!row || "heading" in row) return;
    this.#selected = row.job.id;
    const top = next * ROW;
    const { scrollTop, clientHeight } = this.#scroller;
    if (top < scrollTop) this.#scroller.scrollTop = top;
    else if (top + ROW > scrollTop + clientHeight) this.#scroller.scrollTop = top + ROW - clientHeight;
    this.#rendered();
  }
}

/** @param {Job} job @param {number} now */
function cells(job, now) {
  const sample = store.samples.get(job.id);
  const bytes = !job.outcome && sample ? sample.bytes : job.output.bytes;
  const rate = !job.outcome && sample?.rate ? `${words.size(sample.rate)}/s` : "";
  const waits = !job.outcome && (sample?.awaiting_input ?? job.awaiting_input);
  const untold = store.waiting(job.id).length;
  const cell = (/** @type {string} */ kind, /** @type {any[]} */ ...content) => el("div", { role: "gridcell", class: kind }, content);
  const where = [job.session, job.place === "local" ? null : `at ${job.place}`].filter(Boolean).join(" ");
  const when = job.ended_at ? words.clock(job.ended_at) : "";
  return [
    cell(`state ${words.tone(job)}`, words.state(job)),
    cell(
      "what",
      job.name && el("b", {}, job.name),
      el("span", { class: job.name ? "quiet command" : "command" }, job.command),
      waits && el("span", { class: "badge ask" }, `waits for ${sample?.input_kind ?? job.input_kind ?? "input"}`),
      untold > 0 && el("span", { class: "badge" }, `inbox ${untold}`),
      job.lingering > 0 && el("span", { class: "badge" }, `${job.lingering} left running`),
    ),
    cell("where quiet", where),
    cell("time", words.ran(job, now)),
    cell("size quiet", rate || words.size(bytes)),
    cell("when quiet", when),
  ];
}

/** @param {any} a @param {any} b */
function compare(a, b) {
  return a === b ? 0 : (a ?? "") < (b ?? "") ? -1 : 1;
}

customElements.define("outlive-jobs", Jobs);
