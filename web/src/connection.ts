// The connection to a room: login, joining, resuming, and coming back when it was lost.

import { ApiError, type Guest, type Role, type ServerInfo, guest, mayInspect, serverInfo } from "./api.ts";
import { Fragments } from "./fragments.ts";
import { Pilot } from "./pilot.ts";
import {
  type ClientMessage,
  type Manifest,
  type RoomChoice,
  type ServerMessage,
  type SpawnPayload,
  type Welcome,
  decode,
  encode,
  isFinal,
  reasonText,
} from "./protocol.ts";
import { Rate, RoundTrips } from "./statistics.ts";
import type { Transport, TransportKind } from "./transport/transport.ts";
import { openWebSocket } from "./transport/websocket.ts";
import { hasWebTransport, openWebTransport } from "./transport/webtransport.ts";
import type { World } from "./world.ts";

/** Where the connection stands. */
export type Phase =
  | { readonly name: "connecting"; readonly text: string }
  | { readonly name: "playing" }
  /** Lost; the next attempt is made by itself at this time of `performance.now()`. */
  | { readonly name: "waiting"; readonly text: string; readonly untilMs: number }
  /** Ended for good, until the player asks for it again. */
  | { readonly name: "ended"; readonly text: string };

/** What the connection reports. */
export interface ConnectionEvents {
  phase(phase: Phase): void;
  /** Something worth a sentence. */
  notice(text: string, tone: "plain" | "good" | "bad"): void;
}

/** Pauses before the attempts after a loss; the last one goes on for as long as it takes. */
const PAUSES_MS = [200, 500, 1_000, 2_000, 4_000];

/** Pauses differ by up to this share, so that players do not all come back at the same moment. */
const PAUSE_SPREAD = 0.3;

/** The server answers a hello within this time, or something else is there. */
const WELCOME_MS_MAX = 8_000;

const PING_INTERVAL_MS = 500;
const MANIFEST_INTERVAL_MS = 1_000;

/** With pings twice a second, silence for this long means that the connection is dead. */
const SILENCE_MS_MAX = 6_000;

/** So often may WebTransport fail to lead into a room before WebSocket is taken instead. */
const OPEN_FAILURES_MAX = 2;

/** A token this close to its end is not worth connecting with. */
const TOKEN_MARGIN_MS = 10_000;

export class Connection {
  phase: Phase = { name: "connecting", text: "Looking for the server…" };
  server: ServerInfo | undefined;
  welcome: Welcome | undefined;
  manifest: Manifest | undefined;
  role: Role | undefined;
  reconnects = 0;
  readonly pilot = new Pilot();
  readonly roundTrips = new RoundTrips();
  readonly down = new Rate();
  readonly up = new Rate();
  readonly snapshots = new Rate();
  readonly ticks = new Rate();
  private readonly world: World;
  private readonly events: ConnectionEvents;
  private room: RoomChoice | undefined;
  private wanted: TransportKind;
  private login: Guest | undefined;
  private resumeToken: string | undefined;
  private transport: Transport | undefined;
  private fragments = new Fragments();
  private commandSeq = 0;
  private readonly unanswered = new Map<number, (error: string | undefined) => void>();
  private attempt = 0;
  private failures = 0;
  private openFailures = 0;
  private heardMs = 0;
  private lastWords: { readonly text: string; readonly final: boolean } | undefined;
  private timers: ReturnType<typeof setInterval>[] = [];
  private retry: ReturnType<typeof setTimeout> | undefined;

  constructor(world: World, events: ConnectionEvents, room: RoomChoice | undefined, transport: TransportKind) {
    this.world = world;
    this.events = events;
    this.room = room;
    this.wanted = transport;
  }

  /** The transport in use, or the one that will be. */
  get transportKind(): TransportKind {
    return this.transport?.kind ?? this.wanted;
  }

  /** Connects; gives up a connection that is there. */
  connect(): void {
    clearTimeout(this.retry);
    // What the connection before this one still reports is no longer of interest.
    this.attempt += 1;
    this.drop();
    void this.tryOnce(this.attempt);
  }

  /** Someone looks again, or the network is back: does not wait for the next attempt, if there is one to wait for. */
  hurry(): void {
    if (this.phase.name === "waiting") return this.connect();
    if (this.phase.name !== "playing") return;
    // A page that was asleep has heard nothing; that alone does not mean that the connection is dead.
    this.heardMs = performance.now();
    this.ping();
  }

  /** Goes on over another transport, with the same ship. */
  switchTransport(kind: TransportKind): void {
    if (kind === this.wanted && this.phase.name === "playing") return;
    this.wanted = kind;
    this.openFailures = 0;
    this.failures = 0;
    this.connect();
  }

  /** Leaves this room for another. */
  join(code: string): void {
    if (code === this.welcome?.roomCode && this.phase.name === "playing") return;
    this.leave();
    this.room = { code };
    this.failures = 0;
    this.connect();
  }

  /** Leaves for good, so that the ship does not wait. */
  leave(): void {
    this.send({ v: 2, kind: "leave" });
    this.resumeToken = undefined;
  }

  spawn(payload: SpawnPayload): Promise<string | undefined> {
    return this.command((seq) => ({ v: 2, kind: "command", seq, feature: "playground", action: "spawn", payload }));
  }

  stress(count: number, rotate: boolean): Promise<string | undefined> {
    const payload = { count, rotate };
    return this.command((seq) => ({ v: 2, kind: "command", seq, feature: "playground", action: "stress", payload }));
  }

  clear(): Promise<string | undefined> {
    return this.command((seq) => ({ v: 2, kind: "command", seq, feature: "playground", action: "clear" }));
  }

  /** Sends a numbered command; resolves with the error's words, or with nothing when it was done. */
  private command(message: (seq: number) => ClientMessage): Promise<string | undefined> {
    if (this.phase.name !== "playing") return Promise.resolve("There is no connection.");
    this.commandSeq += 1;
    const seq = this.commandSeq;
    return new Promise((resolve) => {
      this.unanswered.set(seq, resolve);
      this.send(message(seq));
    });
  }

  private async tryOnce(attempt: number): Promise<void> {
    const stale = (): boolean => attempt !== this.attempt;
    try {
      this.enter({ name: "connecting", text: "Looking for the server…" });
      this.server = await serverInfo();
      if (stale()) return;
      await this.logIn();
      if (stale()) return;
      const kind = this.usableTransport(this.server);
      this.enter({ name: "connecting", text: `Connecting over ${transportName(kind)}…` });
      const transport = await this.open(kind, attempt);
      if (stale()) {
        transport.close();
        return;
      }
      this.transport = transport;
      this.sayHello();
    } catch (error) {
      if (stale()) return;
      // Where guests are not let in, asking again changes nothing.
      if (error instanceof ApiError && error.status === 403) this.lastWords = { text: error.message, final: true };
      this.lost(sentence(error));
    }
  }

  private async open(kind: TransportKind, attempt: number): Promise<Transport> {
    const current = (): boolean => attempt === this.attempt;
    const events = {
      message: (text: string, bytes: number) => {
        if (current()) this.receive(text, bytes);
      },
      closed: (why: string) => {
        if (current()) this.lost(why);
      },
    };
    const place = this.server?.webTransport;
    if (kind === "websocket" || place === undefined || place === null) {
      return openWebSocket(`${location.origin.replace(/^http/, "ws")}/rt`, events);
    }
    // It counts as a failure until the server's welcome has come over it.
    this.openFailures += 1;
    return openWebTransport(place, events);
  }

  /** The wanted transport, or WebSocket where that one cannot be had. */
  private usableTransport(server: ServerInfo): TransportKind {
    if (this.wanted === "websocket") return "websocket";
    let why: string | undefined;
    if (!hasWebTransport()) why = "This browser has no WebTransport for this page.";
    else if (server.webTransport === null) why = "This server does not offer WebTransport.";
    else if (this.openFailures >= OPEN_FAILURES_MAX) why = "WebTransport cannot reach the server.";
    if (why === undefined) return "webtransport";
    this.wanted = "websocket";
    this.events.notice(`${why} WebSocket is used instead.`, "bad");
    return "websocket";
  }

  /** Makes sure of a token that is good for a while. */
  private async logIn(): Promise<void> {
    if (this.login !== undefined && this.login.expiresAt * 1000 > Date.now() + TOKEN_MARGIN_MS) return;
    this.login = await guest();
    this.role = this.login.role;
  }

  private sayHello(): void {
    if (this.login === undefined || this.server === undefined) return;
    const { token } = this.login;
    const room: RoomChoice = this.room ?? { type: { name: shownType(this.server) } };
    const resume = this.resumeToken === undefined ? {} : { resumeToken: this.resumeToken };
    this.enter({ name: "connecting", text: "Joining a room…" });
    this.heardMs = performance.now();
    this.send({ v: 2, kind: "hello", payload: { token, room, ...resume } });
    this.timers.push(
      setTimeout(() => {
        if (this.phase.name !== "playing") this.lost("The server does not answer.");
      }, WELCOME_MS_MAX),
    );
  }

  private receive(text: string, bytes: number): void {
    const now = performance.now();
    this.heardMs = now;
    this.down.add(bytes, now);
    const message = decode(text);
    if (message !== undefined) this.handle(message, now);
  }

  private handle(message: ServerMessage, now: number): void {
    switch (message.kind) {
      case "welcome":
        return this.joined(message.payload, now);
      case "snapshot":
        this.snapshots.add(1, now);
        if (this.world.tick > 0) this.ticks.add(Math.max(0, message.payload.tick - this.world.tick), now);
        return this.world.apply(message.payload, now);
      case "possession":
        this.world.ownEntity = message.payload.entity;
        return;
      case "cleared":
        return this.world.forget();
      case "pong":
        return this.roundTrips.add(now - message.clientTime - message.payload.holdUs / 1000);
      case "manifest":
        this.manifest = message.payload;
        return;
      case "ack":
        return this.answer(message.seq, message.payload.error?.message);
      case "error":
        return this.refused(message.payload.code, message.payload.message, message.payload.fatal);
      case "closing":
        if (!message.payload.mayResume) this.resumeToken = undefined;
        if (message.payload.reason === "session_ended") this.login = undefined;
        this.lastWords = { text: reasonText(message.payload), final: isFinal(message.payload.reason) };
        return;
      case "fragment": {
        const whole = this.fragments.add(message.payload);
        const inner = whole === undefined ? undefined : decode(whole);
        if (inner !== undefined && inner.kind !== "fragment") this.handle(inner, now);
        return;
      }
      default:
        // Events, corrections and the rest are of no use to a page that only shows snapshots.
        return;
    }
  }

  private joined(welcome: Welcome, now: number): void {
    const back = this.welcome !== undefined && this.welcome.player === welcome.player && this.welcome.room === welcome.room;
    if (this.welcome !== undefined && this.failures > 0) {
      this.reconnects += 1;
      this.events.notice(back ? "Back in the same ship." : "Back, in a new ship.", "good");
    }
    this.welcome = welcome;
    this.resumeToken = welcome.resumeToken;
    this.room = { id: welcome.room };
    this.failures = 0;
    this.openFailures = 0;
    this.lastWords = undefined;
    for (const rate of [this.snapshots, this.ticks]) rate.reset();
    this.roundTrips.reset();
    this.world.enter(welcome);
    this.pilot.reset(welcome.tickHz, now);
    this.enter({ name: "playing" });
    this.ping();
    this.askManifest();
    this.timers.push(setInterval(() => this.ping(), PING_INTERVAL_MS));
    if (welcome.tickHz > 0) this.timers.push(setInterval(() => this.steer(), this.pilot.intervalMs));
    else this.events.notice("This room has no world to show.", "plain");
    if (this.role !== undefined && mayInspect(this.role)) {
      this.timers.push(setInterval(() => this.askManifest(), MANIFEST_INTERVAL_MS));
    }
  }

  private steer(): void {
    const now = performance.now();
    if (this.transport === undefined) return;
    this.up.add(this.pilot.steer(this.transport, this.world.clock.shownTick(now), now), now);
  }

  private ping(): void {
    const now = performance.now();
    if (now - this.heardMs > SILENCE_MS_MAX) return this.lost("Nothing is heard from the server.");
    // The protocol counts microseconds, so a finer fraction would not come back as it was.
    const clientTime = Math.round(now * 1000) / 1000;
    const message: ClientMessage = { v: 2, kind: "ping", clientTime, payload: { tick: this.world.tick } };
    this.up.add(this.transport?.sendUnreliable(encode(message)) ?? 0, now);
  }

  private askManifest(): void {
    this.send({ v: 2, kind: "command", feature: "system", action: "manifest" });
  }

  private send(message: ClientMessage): void {
    this.up.add(this.transport?.sendReliable(encode(message)) ?? 0, performance.now());
  }

  private answer(seq: number, error: string | undefined): void {
    this.unanswered.get(seq)?.(error);
    this.unanswered.delete(seq);
  }

  private refused(code: string, text: string, fatal: boolean): void {
    if (!fatal && this.phase.name === "playing") return this.events.notice(text, "bad");
    this.lastWords = { text, final: false };
    const helps = this.giveUp(code, text);
    // After a fatal error the server closes; otherwise it waits for a better hello.
    if (fatal) return;
    if (helps) this.sayHello();
    else this.lost(text);
  }

  /** Gives up what the server did not accept in a hello; returns whether the same login may try again without it. */
  private giveUp(code: string, text: string): boolean {
    if (code === "unauthenticated") {
      this.login = undefined;
      this.resumeToken = undefined;
      return false;
    }
    if (code === "resume_refused" && this.resumeToken !== undefined) {
      this.resumeToken = undefined;
      return true;
    }
    // The room that was meant is not to be had; any other of its kind is better than none.
    const roomless = code === "room_not_found" || code === "room_full" || code === "join_refused";
    if (!roomless || this.room === undefined) return false;
    this.room = undefined;
    this.resumeToken = undefined;
    this.events.notice(text, "bad");
    return true;
  }

  /** The connection is gone: says so, and comes back by itself unless that is pointless. */
  private lost(why: string): void {
    const words = this.lastWords;
    this.lastWords = undefined;
    this.attempt += 1;
    this.drop();
    const text = words?.text ?? why;
    if (words?.final === true) return this.enter({ name: "ended", text });
    const pause = PAUSES_MS[Math.min(this.failures, PAUSES_MS.length - 1)] as number;
    this.failures += 1;
    const spread = 1 + PAUSE_SPREAD * (2 * Math.random() - 1);
    this.enter({ name: "waiting", text, untilMs: performance.now() + pause * spread });
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.connect(), pause * spread);
  }

  private drop(): void {
    for (const timer of this.timers) clearInterval(timer);
    this.timers = [];
    for (const resolve of this.unanswered.values()) resolve("The connection was lost before the answer came.");
    this.unanswered.clear();
    this.fragments = new Fragments();
    const transport = this.transport;
    this.transport = undefined;
    transport?.close();
  }

  private enter(phase: Phase): void {
    this.phase = phase;
    this.events.phase(phase);
  }
}

/** What people call a transport. */
export function transportName(kind: TransportKind): string {
  return kind === "websocket" ? "WebSocket" : "WebTransport";
}

/** The room type to show: the sandbox, or the first that has a world. A relay has no ticks and no world. */
function shownType(server: ServerInfo): string {
  const types = server.roomTypes.filter((type) => type.tickHz > 0);
  return (types.find((type) => type.name === "sandbox") ?? types[0])?.name ?? "sandbox";
}

/** The server's own words where it had some; a failed fetch only says that nobody was there. */
function sentence(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  if (error instanceof Error && !(error instanceof TypeError) && error.name !== "TimeoutError") return error.message;
  return "The server cannot be reached.";
}
