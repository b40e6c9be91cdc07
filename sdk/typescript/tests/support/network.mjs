// In-memory transports; the test is the server at the other end.
import { TransportChooser, JsonCore, Room } from "../../dist/index.js";
import { VirtualTime, settled } from "./time.mjs";

const bytes = (value) => new TextEncoder().encode(JSON.stringify(value));
const value = (message) => JSON.parse(new TextDecoder().decode(message));

export const WELCOME = {
  player: 1,
  room: "room-1",
  session: "s",
  connection: 1,
  roomCode: "K7QX",
  tickHz: 40,
  snapshotHz: 20,
  serverTick: 1,
  world: { min: { x: -1000, y: -1000 }, max: { x: 1000, y: 1000 }, interestRadius: 200 },
  schema: "0000000000000000",
  resumeToken: "resume-1",
};

/** Server end of an open transport. */
export class Peer {
  sent = [];
  isOpen = true;
  waitingBytes = 0;

  constructor(kind, events) {
    this.kind = kind;
    this.link = kind === "websocket" ? "ordered" : "unordered";
    this.events = events;
  }

  sendReliable(message) {
    this.sent.push({ ...value(message), isReliable: true, bytes: message.length });
  }

  sendUnreliable(message) {
    this.sent.push({ ...value(message), isReliable: false, bytes: message.length });
  }

  close(text = "closed") {
    this.cut(text);
  }

  /** Sends a message from the server. */
  say(kind, payload = {}, more = {}) {
    if (this.isOpen) this.events.message(bytes({ v: 2, kind, ...more, payload }));
  }

  /** Breaks the connection. */
  cut(text = "cut") {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.events.closed({ code: undefined, text });
  }

  of(kind) {
    return this.sent.filter((message) => message.kind === kind);
  }

  get inputs() {
    return this.of("command").filter((message) => message.action === "input_batch").flatMap((message) => message.payload.inputs);
  }
}

export class Network {
  time = new VirtualTime();
  peers = [];
  events = [];
  tokens = [];
  occasions = new Set();
  /** Outcome of attempts: "open", "fail" or "hang"; WebTransport may be "absent" or "unknown". */
  webSocket = "open";
  webTransport = "absent";

  opener(kind) {
    return (encoding, events, signal) =>
      new Promise((resolve, reject) => {
        const fate = kind === "websocket" ? this.webSocket : this.webTransport;
        if (fate === "fail") return reject(new Error("The server cannot be reached."));
        signal.addEventListener("abort", () => reject(signal.reason));
        if (fate === "hang") return;
        const peer = new Peer(kind, events);
        this.peers.push(peer);
        resolve(peer);
      });
  }

  /** Creates a room with everything in memory. */
  room({ room = { type: { name: "arena" } }, wish = "auto", metadata, motions, token = async () => "token-1" } = {}) {
    const { time } = this;
    const webTransport = async () => {
      if (this.webTransport === "unknown") throw new Error("The server does not say.");
      return this.webTransport === "absent" ? undefined : this.opener("webtransport");
    };
    const made = new Room({
      core: () => new JsonCore({ room, metadata, motions, time }),
      choice: new TransportChooser(wish, { webSocket: this.opener("websocket"), webTransport }, time),
      token: async (isFresh) => {
        this.tokens.push(isFresh);
        return token(isFresh);
      },
      time,
      attention: (noticed) => {
        this.occasions.add(noticed);
        return () => this.occasions.delete(noticed);
      },
    });
    for (const kind of ["joined", "lost", "ended", "error", "snapshot", "enter", "leave", "event", "message", "member", "possession", "correction", "closing"]) {
      made.on(kind, (event) => this.events.push(event));
    }
    return made;
  }

  /** Creates a room that the player has joined. */
  async joined(options, welcome = {}) {
    const room = this.room(options);
    await settled();
    this.peer.say("welcome", { ...WELCOME, ...welcome });
    await settled();
    return room;
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
}
