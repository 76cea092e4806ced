// A home with a real server and real jobs, and a browser that looks at it.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const PROGRAM = process.env.OUTLIVE_PROGRAM;
const SHOTS = process.env.OUTLIVE_SHOTS;

const BROWSER = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

export class World {
  constructor() {
    this.directory = mkdtempSync(join(tmpdir(), "outlive-web-"));
    this.home = join(this.directory, "home");
    this.env = { ...process.env, OUTLIVE_HOME: this.home, XDG_CONFIG_HOME: join(this.directory, "config") };
    for (const name of Object.keys(this.env)) if (/^(OUTLIVE_(SESSION|JOB)|CLAUDE|CODEX)/.test(name)) delete this.env[name];
  }

  path(name) {
    return join(this.directory, name);
  }

  /** Runs `outlive`, which must succeed. */
  ok(...args) {
    const ran = spawnSync(PROGRAM, args, { env: this.env, encoding: "utf8", maxBuffer: 1 << 30 });
    if (ran.status !== 0) throw new Error(`outlive ${args.join(" ")}: ${ran.stdout}${ran.stderr}`);
    return ran.stdout.trimEnd();
  }

  shell(script, ...options) {
    return this.ok("run", ...options, "--shell", script);
  }

  show(id) {
    return JSON.parse(this.ok("show", id, "--json"));
  }

  /** The exact output of a job. */
  output(id) {
    return readFileSync(join(this.home, "jobs", id, "output"));
  }

  write(name, text = "") {
    writeFileSync(this.path(name), text);
    return this.path(name);
  }

  /** Starts the server of this home, as often as it was ended before. */
  async serve() {
    this.server = spawn(PROGRAM, ["serve", "--json"], { env: this.env, stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: this.server.stdout });
    const { value } = await lines[Symbol.asyncIterator]().next();
    this.links = JSON.parse(value);
    this.url = this.links.url;
    this.token = this.links.link.split("#t=")[1];
    return this.links;
  }

  async kill() {
    const ended = new Promise((resolve) => this.server.once("exit", resolve));
    this.server.kill("SIGKILL");
    await ended;
  }

  /** Calls a verb as the owner. */
  async call(verb, request = {}) {
    const headers = { Authorization: `Bearer ${this.token}`, "Content-Type": "application/json" };
    const response = await fetch(`${this.url}v1/${verb}`, { method: "POST", headers, body: JSON.stringify(request) });
    return response.json();
  }

  async close() {
    await this.browser?.close();
    if (this.server && this.server.exitCode === null) await this.kill();
    // Jobs end with their home.
    spawnSync(PROGRAM, ["stop", "--all", "--grace", "0s"], { env: this.env });
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** A page of the owner, or of a reader. Violations of its policy and errors are counted. */
  async page({ link = this.links.link, size = { width: 1280, height: 800 }, ...options } = {}) {
    this.browser ??= await chromium.launch({ executablePath: "/usr/bin/chromium", args: BROWSER });
    const context = await this.browser.newContext({ viewport: size, acceptDownloads: true, ...options });
    const page = await context.newPage();
    page.violations = [];
    page.on("console", (message) => {
      const text = message.text();
      const isExpected = /WebSocket connection|ERR_CONNECTION_REFUSED|status of 4\d\d/.test(text);
      if (message.type() === "error" && !isExpected) page.violations.push(text);
    });
    page.on("pageerror", (error) => page.violations.push(String(error)));
    page.on("request", (request) => {
      const isOwn = request.url().startsWith(this.url) || /^(blob|data):/.test(request.url());
      if (!isOwn) page.violations.push(`a request to ${request.url()}`);
    });
    await page.addInitScript(() => {
      addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
    });
    await page.goto(link);
    return page;
  }
}

/** Keeps a picture for people to look at. */
export async function shot(page, name) {
  if (!SHOTS) return;
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`) });
}

/** Waits until this holds. */
export async function until(what, holds, limit = 20000) {
  const end = Date.now() + limit;
  for (;;) {
    const found = await holds();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited ${limit} ms, and still not true: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export function equal(found, expected, what = "") {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: found ${a.slice(0, 2000)}, expected ${b.slice(0, 2000)}`);
}

export function check(holds, what) {
  if (!holds) throw new Error(what);
}
