// Real server in its own process, with a data folder that is removed afterwards.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before } from "node:test";

/** Generous, because the machine may be busy. */
const START_MS_MAX = 60_000;
const STOP_MS_MAX = 30_000;

export class Server {
  #settings;
  #program;
  #child;
  #data;
  #log = [];
  /** Host and port of the server, such as `127.0.0.1:40123`. */
  address;
  /** Host and port of the admin listener. */
  adminAddress;
  /** Fragment of a URL with the developer secret, such as `#developer=…`. */
  developerFragment;

  /** Creates a server with settings such as `room.arena.players_max=200`, of the program that a variable names. */
  constructor(settings = [], program = "AETHER_PROGRAM") {
    this.#settings = settings;
    this.#program = program;
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

  /** Log lines of the server, for failed tests. */
  get log() {
    return this.#log.join("\n");
  }

  /** Starts the server on a free port, or restarts it with the same data at the same address. */
  async start() {
    const program = process.env[this.#program];
    if (program === undefined) throw new Error(`${this.#program} is not set; run the tests with \`cargo xtask\`, or set it to the server program`);
    this.#data ??= await mkdtemp(join(tmpdir(), "aether-test-"));
    const options = ["serve", "--address", this.address ?? "127.0.0.1:0", "--admin-address", "127.0.0.1:0", "--data-dir", this.#data];
    // The port need not stay the same after a restart.
    options.push("--set", "udp.address=127.0.0.1:0");
    for (const setting of this.#settings) options.push("--set", setting);
    const child = spawn(program, options, { env: environment(), stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    createInterface({ input: child.stderr }).on("line", (line) => this.#log.push(line));
    const listening = await this.#listening(child);
    this.address = listening.http;
    this.adminAddress = listening.admin;
    this.developerFragment = new URL(listening.url).hash;
  }

  /** Waits for the line with the server's addresses. */
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

  /** Secret that makes a guest a developer. */
  get developerSecret() {
    return this.developerFragment.split("=")[1];
  }

  /** Stops the server gracefully. */
  async stop() {
    await this.#end("SIGTERM");
  }

  /** Kills the server: no client is notified, nothing is written. */
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

  /** Stops the server and removes its data. */
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
  return serveProgram("AETHER_PROGRAM", ...settings);
}

/** Does so with the program that a variable names. */
export function serveProgram(program, ...settings) {
  const server = new Server(["log.filter=warn", ...settings], program);
  before(() => server.start());
  after(() => server.remove());
  return server;
}

/** Returns our environment without the server's settings, so that tests behave the same everywhere. */
export function environment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("AETHER_")));
}

function listeningIn(line) {
  try {
    const { listening, url } = JSON.parse(line);
    return listening === undefined ? undefined : { ...listening, url };
  } catch {
    return undefined;
  }
}
