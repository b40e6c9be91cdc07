// A real server in a process of its own, with a data folder that is gone afterwards.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const START_MS_MAX = 60_000;
const STOP_MS_MAX = 30_000;

export class Server {
  #child;
  #data;
  #log = [];
  #settings = [];
  address;
  /** Where its metrics are. */
  adminAddress;

  /** Starts the server on a free port, with settings such as `room.arena.players_max=200`. */
  static async start(settings = []) {
    const server = new Server();
    server.#settings = settings;
    server.#data = await mkdtemp(join(tmpdir(), "aether-page-"));
    await server.startAgain("127.0.0.1:0");
    return server;
  }

  get url() {
    return `http://${this.address}/`;
  }

  /** What the server said, for a failed test. */
  get log() {
    return this.#log.join("\n");
  }

  /** Starts it with the same data, at the same address unless another is named. */
  async startAgain(address = this.address) {
    const program = process.env.AETHER_PROGRAM;
    if (program === undefined) throw new Error("AETHER_PROGRAM names no server; run `cargo xtask browser`");
    const options = ["serve", "--address", address, "--admin-address", "127.0.0.1:0", "--data-dir", this.#data];
    for (const setting of this.#settings) options.push("--set", setting);
    const child = spawn(program, options, { env: environment(), stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    createInterface({ input: child.stderr }).on("line", (line) => this.#log.push(line));
    this.address = await new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`the server did not start:\n${this.log}`)), START_MS_MAX);
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`the server ended with ${code}:\n${this.log}`)));
      createInterface({ input: child.stdout }).on("line", (line) => {
        this.#log.push(line);
        const found = listening(line);
        if (found === undefined) return;
        clearTimeout(late);
        this.adminAddress = found.admin;
        resolve(found.http);
      });
    });
  }

  /** Asks it to stop, and waits until it has. */
  async stop() {
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS_MAX);
    await ended;
    clearTimeout(late);
  }

  /** Ends it as a crash would: nothing is told, nothing is written. */
  async kill() {
    const child = this.#child;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  async remove() {
    await this.stop();
    await rm(this.#data, { recursive: true, force: true });
  }
}

/** Our own environment without the server's settings, so that a test is the same everywhere. */
export function environment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("AETHER_")));
}

/** The addresses in the line that says where the server listens. */
function listening(line) {
  try {
    return JSON.parse(line).listening;
  } catch {
    return undefined;
  }
}

/** Stands between a browser and a server, so that a test can cut their connections. */
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
    return `http://127.0.0.1:${this.#listener.address().port}/`;
  }

  cut() {
    for (const socket of this.#sockets) socket.destroy();
  }

  close() {
    this.cut();
    this.#listener.close();
  }
}
