// A real server in a process of its own, with a data folder that is gone afterwards.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before } from "node:test";

const START_MS_MAX = 20_000;
const STOP_MS_MAX = 15_000;

/** Starts a server before the tests of a file and ends it after them. */
export function serve(...settings) {
  const server = new Server(settings);
  before(() => server.start());
  after(() => server.remove());
  return server;
}

export class Server {
  #settings;
  #child;
  #data;
  #log = [];
  address;

  constructor(settings) {
    this.#settings = ["log.filter=warn", ...settings];
  }

  get url() {
    return `http://${this.address}`;
  }

  /** Starts it on a free port, or with the same data at the same address. */
  async start() {
    const program = process.env.AETHER_PROGRAM;
    if (program === undefined) throw new Error("AETHER_PROGRAM names no server program");
    this.#data ??= await mkdtemp(join(tmpdir(), "aether-sdk-"));
    const options = ["serve", "--address", this.address ?? "127.0.0.1:0", "--admin-address", "127.0.0.1:0", "--data-dir", this.#data];
    for (const setting of this.#settings) options.push("--set", setting);
    // Variables of this name are settings of the server, and ours are none.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("AETHER_")));
    const child = spawn(program, options, { env, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    createInterface({ input: child.stderr }).on("line", (line) => this.#log.push(line));
    this.address = await new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`the server did not start:\n${this.#log.join("\n")}`)), START_MS_MAX);
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`the server ended with ${code}:\n${this.#log.join("\n")}`)));
      createInterface({ input: child.stdout }).once("line", (line) => {
        clearTimeout(late);
        resolve(JSON.parse(line).listening.http);
      });
    });
  }

  /** Ends it: by asking, or as a power cut would. */
  async stop(signal = "SIGTERM") {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS_MAX);
    await ended;
    clearTimeout(late);
  }

  async remove() {
    await this.stop();
    if (this.#data !== undefined) await rm(this.#data, { recursive: true, force: true });
  }
}

/** Stands between a client and a server, so that a test can cut their connections, or hold them up. */
export class Wire {
  #listener;
  #sockets = new Set();

  static async to(address) {
    const wire = new Wire();
    const port = Number(address.split(":").at(-1));
    wire.#listener = createServer((near) => {
      const far = connect(port, "127.0.0.1");
      for (const socket of [near, far]) {
        wire.#sockets.add(socket);
        socket.on("error", () => undefined);
        socket.on("close", () => {
          wire.#sockets.delete(socket);
          near.destroy();
          far.destroy();
        });
      }
      near.pipe(far).pipe(near);
    });
    wire.#listener.listen(0, "127.0.0.1");
    await once(wire.#listener, "listening");
    return wire;
  }

  get url() {
    return `http://127.0.0.1:${this.#listener.address().port}`;
  }

  cut() {
    for (const socket of this.#sockets) socket.destroy();
  }

  close() {
    this.cut();
    this.#listener.close();
  }
}

/** Waits until a condition gives something; returns that. */
export async function until(what, condition, milliseconds = 15_000) {
  const deadline = Date.now() + milliseconds;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
