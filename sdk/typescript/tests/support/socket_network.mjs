// In-memory connections of the services socket; the test is the server at the other end.
import { ChatHistory } from "../../dist/index.js";
import { Socket } from "../../dist/socket/open.js";
import { VirtualTime, settled } from "./time.mjs";

const bytes = (value) => new TextEncoder().encode(JSON.stringify(value));

/** Returns a presence on the wire. */
export const wire = (name, session = `${name}-1`) => ({ user_id: name, session_id: session, username: name });

/** Returns a presence as the SDK shows it. */
export const shown = (name, session = `${name}-1`, status = undefined) => ({ userId: name, sessionId: session, username: name, status });

/** Server end of a connection. */
class SocketPeer {
  kind = "websocket";
  link = "ordered";
  waitingBytes = 0;
  isOpen = true;
  sent = [];

  constructor(network, events) {
    Object.assign(this, { network, events });
  }

  sendReliable(message) {
    const { cid, ...request } = JSON.parse(new TextDecoder().decode(message));
    const [name] = Object.keys(request);
    this.sent.push({ cid, name, fields: request[name] });
    const answer = this.network.answers[name];
    if (answer !== undefined) this.say({ ...(cid !== undefined && { cid }), ...answer(request[name], this) });
  }

  close(text = "closed") {
    this.cut(text);
  }

  /** Sends a message from the server. */
  say(message) {
    if (this.isOpen) this.events.message(bytes(message));
  }

  /** Answers the newest request of a name. */
  answer(name, message = {}) {
    this.say({ cid: this.of(name).at(-1).cid, ...message });
  }

  /** Breaks the connection. */
  cut(text = "cut") {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.events.closed({ code: undefined, text });
  }

  of(name) {
    return this.sent.filter((message) => message.name === name);
  }

  get names() {
    return this.sent.map(({ name }) => name);
  }
}

export class SocketNetwork {
  time = new VirtualTime();
  peers = [];
  events = [];
  tokens = [];
  occasions = new Set();
  /** Outcome of attempts: "open", "fail" or "hang". */
  fate = "open";
  /** Answers by the name of the request; others are left to the test. */
  answers = { status_update: () => ({}), ping: () => ({ pong: {} }) };

  /** Requests for the history of chat, and the answer to them. */
  asked = [];
  history = () => ({});

  /** Creates a socket with everything in memory. */
  socket({ status, token = async () => "token-1" } = {}) {
    const socket = new Socket(
      {
        open: (access, events, signal) => this.#open(access, events, signal),
        token: async (isChecked) => {
          this.tokens.push(isChecked);
          return token(isChecked);
        },
        time: this.time,
        attention: (noticed) => {
          this.occasions.add(noticed);
          return () => this.occasions.delete(noticed);
        },
        messageBytesMax: 65_536,
      },
      new ChatHistory({ call: (call) => this.#history(call) }),
      status,
    );
    void (async () => {
      for await (const event of socket) this.events.push(event);
    })();
    return socket;
  }

  /** Creates a connected socket. */
  async connected(options) {
    const socket = this.socket(options);
    await settled();
    return socket;
  }

  async #history(call) {
    this.asked.push(call);
    return this.history(call);
  }

  #open(access, events, signal) {
    return new Promise((resolve, reject) => {
      if (this.fate === "fail") return reject(new Error("The server cannot be reached."));
      signal.addEventListener("abort", () => reject(signal.reason));
      if (this.fate === "hang") return;
      const peer = new SocketPeer(this, events);
      this.peers.push(peer);
      resolve(peer);
    });
  }

  get peer() {
    return this.peers.at(-1);
  }

  notice(occasion) {
    for (const noticed of [...this.occasions]) noticed(occasion);
  }

  kinds() {
    return this.events.map((event) => event.kind);
  }

  of(kind) {
    return this.events.filter((event) => event.kind === kind);
  }
}

/** Returns the outcome of a promise, once it is settled. */
export function outcome(promise) {
  const end = {};
  promise.then(
    (value) => Object.assign(end, { value }),
    (error) => Object.assign(end, { error }),
  );
  return end;
}
