// A real server in a process of its own, with a data folder that is removed afterwards.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before } from "node:test";

/** Long, because the machine may have much else to do. */
const START_MS_MAX = 60_000;
const STOP_MS_MAX = 30_000;

export class Server {
  #settings;
  #child;
  #data;
  #log = [];
  /** Host and port that it listens on, such as `127.0.0.1:40123`. */
  address;
  /** Host and port of its metrics. */
  adminAddress;

  /** A server with settings such as `room.arena.players_max=200`. */
  constructor(settings = []) {
    this.#settings = settings;
  }

  get url() {
    return `http://${this.address}`;
  }

  get host() {
    return this.address.split(":")[0];
  }

  get port() {
    return this.address.split(":")[1];
  }

  /** Lines that the server wrote, for a failed test. */
  get log() {
    return this.#log.join("\n");
  }

  /** Starts it on a free port, or once more with the same data at the same address. */
  async start() {
    const program = process.env.AETHER_PROGRAM;
    if (program === undefined) throw new Error("AETHER_PROGRAM names no server program; `cargo xtask` sets it for its tests");
    this.#data ??= await mkdtemp(join(tmpdir(), "aether-test-"));
    const options = ["serve", "--address", this.address ?? "127.0.0.1:0", "--admin-address", "127.0.0.1:0", "--data-dir", this.#data];
    for (const setting of this.#settings) options.push("--set", setting);
    const child = spawn(program, options, { env: environment(), stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    createInterface({ input: child.stderr }).on("line", (line) => this.#log.push(line));
    const listening = await this.#listening(child);
    this.address = listening.http;
    this.adminAddress = listening.admin;
  }

  /** Waits for the line that says where the server listens. */
  #listening(child) {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`the server did not start:\n${this.log}`)), START_MS_MAX);
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`the server ended with ${code}:\n${this.log}`)));
      createInterface({ input: child.stdout }).on("line", (line) => {
        this.#log.push(line);
        const listening = listeningIn(line);
        if (listening === undefined) return;
        clearTimeout(late);
        resolve(listening);
      });
    });
  }

  /** Asks it to stop, and waits until it has. */
  async stop() {
    await this.#end("SIGTERM");
  }

  /** Ends it as a crash would: no client is notified, nothing is written. */
  async kill() {
    await this.#end("SIGKILL");
  }

  async #end(signal) {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS_MAX);
    await ended;
    clearTimeout(late);
  }

  /** Stops it and removes its data. */
  async remove() {
    await this.stop();
    if (this.#data !== undefined) await rm(this.#data, { recursive: true, force: true });
  }
}

/** Starts a server with these settings. */
export async function startServer(settings) {
  const server = new Server(settings);
  await server.start();
  return server;
}

/** Starts a server before the tests of a file and removes it after them. */
export function serve(...settings) {
  const server = new Server(["log.filter=warn", ...settings]);
  before(() => server.start());
  after(() => server.remove());
  return server;
}

/** Our own environment without the server's settings, so that a test is the same everywhere. */
export function environment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("AETHER_")));
}

function listeningIn(line) {
  try {
    return JSON.parse(line).listening;
  } catch {
    return undefined;
  }
}
