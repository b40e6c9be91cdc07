// A room, from joining to leaving: whatever happens to the connection, it comes back by itself.

import { Refusal } from "../refusal.ts";
import type { CallOptions } from "../services/requests.ts";
import type { Time } from "../time.ts";
import type { Attention, Occasion } from "./attention.ts";
import type { Command, Core, CoreStatistics, Entity, Fields, RoomEvent, Welcome } from "./core.ts";
import { Emitter, type OfKind, type Stream } from "./events.ts";
import { Liveness } from "./liveness.ts";
import { DEFAULT_SETTINGS, type Settings, type Surroundings } from "./rules.ts";
import type { Choice, TransportWish } from "./transport/choice.ts";
import { type Conditions, Network, checkedConditions } from "./transport/conditions.ts";
import type { Transport, TransportEnd, TransportEvents, TransportKind } from "./transport/transport.ts";

/** What a room stands on. */
export interface RoomParts {
  /** Makes a core that has not joined yet. */
  readonly core: () => Core;
  readonly choice: Choice;
  /** An access token for the hello; a fresh one if the last was not accepted. */
  readonly token: (isFresh: boolean) => Promise<string | undefined>;
  readonly time: Time;
  readonly attention: Attention;
}

/** Where a room stands. "waiting": the connection was lost, and the next attempt is made by itself. */
export type RoomPhase = "connecting" | "joined" | "waiting" | "ended";

export interface RoomStatistics extends CoreStatistics {
  readonly transport: TransportKind | undefined;
  readonly bytesReceived: number;
  readonly bytesSent: number;
  /** Bytes that wait to leave. If they grow, say less. */
  readonly waitingBytes: number;
  /** How often the connection was lost. */
  readonly losses: number;
}

/** How often it is looked after where no tick asks for more. */
const CARE_INTERVAL_MS = 250;

/** The server answers a hello within this time, or something else is there. */
const WELCOME_MS_MAX = 8_000;

/** A command that is not answered for this long was dropped on the way, beyond its rate for example. */
const ANSWER_MS_MAX = 10_000;

/** Commands that wait for their answer. A game that says more at once is at fault. */
const COMMANDS_WAITING_MAX = 256;

/** How long the server may take to close after `leave`. */
const LEAVE_MS_MAX = 1_000;

/** What is drawn twice within this time is drawn as of one moment. */
const DRAWN_MS = 1;

interface Waiting {
  readonly settle: (refusal: Refusal | undefined) => void;
  readonly cancel: () => void;
}

export class Room<Input extends object = Fields> implements AsyncIterable<RoomEvent> {
  private readonly parts: RoomParts;
  private readonly time: Time;
  private readonly emitter = new Emitter<RoomEvent>();
  private readonly commands = new Map<number, Waiting>();
  private readonly liveness = new Liveness();
  private readonly network: Network;
  private core: Core;
  private shown = DEFAULT_SETTINGS;
  private advancedMs = Number.NEGATIVE_INFINITY;
  private input: Input | undefined;
  private transport: Transport | undefined;
  private opening: AbortController | undefined;
  private openedMs = 0;
  private isHurried = false;
  private needsFreshToken = false;
  private hasRenewedToken = false;
  private end: { readonly reason: string; readonly text: string } | undefined;
  private losses = 0;
  private bytesReceived = 0;
  private bytesSent = 0;
  private dropped: () => void = () => undefined;
  private cancelCare: () => void = () => undefined;
  private readonly stopAttention: () => void;

  /** Use `client.join` or `joinRoom`. */
  constructor(parts: RoomParts) {
    this.parts = parts;
    this.time = parts.time;
    this.network = new Network(parts.time);
    this.core = parts.core();
    this.stopAttention = parts.attention((occasion) => this.noticed(occasion));
    this.care();
  }

  get phase(): RoomPhase {
    if (this.end !== undefined) return "ended";
    if (this.core.phase === "joined") return "joined";
    return this.transport === undefined && this.opening === undefined ? "waiting" : "connecting";
  }

  /** What the server said of the room when it let the player in the last time. */
  get welcome(): Welcome | undefined {
    return this.core.welcome;
  }

  /** The entity that the player steers. */
  get ownEntity(): number | undefined {
    return this.core.ownEntity;
  }

  /** The newest tick whose state has arrived. */
  get tick(): number {
    return this.core.tick;
  }

  get statistics(): RoomStatistics {
    const { transport, bytesReceived, bytesSent, losses } = this;
    return { ...this.core.statistics, transport: transport?.kind, bytesReceived, bytesSent, losses, waitingBytes: transport?.waitingBytes ?? 0 };
  }

  /** What is shown: prediction, its correction, interpolation. What is not said stays as it is. */
  get settings(): Settings {
    return this.shown;
  }

  set settings(settings: Partial<Settings>) {
    this.shown = { ...this.shown, ...settings };
    this.core.settings = this.shown;
  }

  /** A network that is worse than it is, for panels and tests: what is done to messages in each direction. What is not said
   * stays as it is. */
  get conditions(): Conditions {
    return this.network.conditions;
  }

  set conditions(conditions: Partial<Conditions>) {
    this.network.conditions = checkedConditions({ ...this.network.conditions, ...conditions });
  }

  /** The newest state of everything as the server sent it, neither predicted nor between two states: what rules see. */
  get surroundings(): Surroundings {
    return this.core.surroundings;
  }

  /** Sets what the player does from now on, one input a tick, until it is set again. Before the first time, one only watches. */
  setInput(input: Input): void {
    this.core.setInput(input as Fields);
    this.input = input;
  }

  /** The entities of a channel as they are to be drawn now. */
  entities<Values = Fields>(channel: string): Iterable<Entity<Values>> {
    return this.core.entities(channel, this.drawnMs()) as Iterable<Entity<Values>>;
  }

  /** One entity's values in a channel as they are to be drawn now. */
  entity<Values = Fields>(channel: string, id: number): Entity<Values> | undefined {
    return this.core.entity(channel, id, this.drawnMs()) as Entity<Values> | undefined;
  }

  /** The entity that the player steers, as it is to be drawn now. */
  own<Values = Fields>(channel: string): Entity<Values> | undefined {
    return this.ownEntity === undefined ? undefined : this.entity<Values>(channel, this.ownEntity);
  }

  /** Says a `feature.action` to the game; resolves when it was done, rejects with a `Refusal` when it was not. */
  command(feature: string, action: string, fields?: object, options?: CallOptions): Promise<void> {
    return this.say({ feature, action, ...(fields === undefined ? {} : { fields: fields as Fields }) }, options);
  }

  /** Says bytes by a code, as in a relay room, where all others get them. */
  send(code: number, bytes: Uint8Array, options?: CallOptions): Promise<void> {
    return this.say({ code, bytes }, options);
  }

  /** Calls the listener with every event of a kind, until what this returns is called. */
  on<Kind extends RoomEvent["kind"]>(kind: Kind, listener: (event: OfKind<RoomEvent, Kind>) => void): () => void {
    return this.emitter.on(kind, listener);
  }

  /** The next event of a kind. It rejects when the room is over before. */
  next<Kind extends RoomEvent["kind"]>(kind: Kind, options: { readonly signal?: AbortSignal } = {}): Promise<OfKind<RoomEvent, Kind>> {
    return this.emitter.next(kind, options.signal);
  }

  /** The events of some kinds from now on, for `for await`. It ends with the room. */
  events<Kind extends RoomEvent["kind"]>(...kinds: readonly Kind[]): Stream<OfKind<RoomEvent, Kind>> {
    return this.emitter.stream(kinds.length === 0 ? undefined : kinds);
  }

  /** All events from now on. */
  [Symbol.asyncIterator](): Stream<RoomEvent> {
    return this.emitter.stream();
  }

  /** Goes on over another transport, as the same player. */
  switchTransport(wish: TransportWish): void {
    this.parts.choice.wish = wish;
    this.reconnect();
    this.parts.choice.forgetFailures();
  }

  /** Gives up the connection and comes back at once. */
  reconnect(): void {
    this.isHurried = true;
    if (this.transport === undefined && this.opening === undefined) return this.care();
    this.lost({ code: undefined, text: "The connection is made anew." });
  }

  /** Leaves for good, so that the player's place is not kept. Resolves when it is over. */
  async leave(): Promise<void> {
    if (this.end !== undefined) return;
    let cancel = (): void => undefined;
    const closed = new Promise<void>((resolve) => {
      if (this.core.phase !== "joined") return resolve();
      this.dropped = resolve;
      cancel = this.time.after(LEAVE_MS_MAX, resolve);
    });
    this.core.leave();
    this.care();
    await closed;
    cancel();
    this.drop();
  }

  /** Goes on to now, because a frame is drawn: what the player does takes effect in the next frame, and not with the next
   * timer. What happened is told later, and not in the middle of a frame. */
  private drawnMs(): number {
    const now = this.time.nowMs();
    if (this.end === undefined && now - this.advancedMs >= DRAWN_MS) this.advance(now);
    return now;
  }

  private advance(now: number): void {
    this.advancedMs = now;
    this.core.advance(now, (bytes, isReliable) => this.transmit(bytes, isReliable));
  }

  private say(command: Command, options: CallOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      if (options.signal?.aborted === true) return reject(options.signal.reason as Error);
      if (this.commands.size >= COMMANDS_WAITING_MAX) return reject(new Refusal("limit_reached", "Too many commands wait for their answer."));
      const seq = this.core.command(command);
      if (seq === undefined) return reject(new Refusal("disconnected", "There is no connection to the room."));
      const late = (): void => this.answered(seq, new Refusal("timed_out", "The room did not answer in time."));
      const settle = (refusal: Refusal | undefined): void => (refusal === undefined ? resolve() : reject(refusal));
      this.commands.set(seq, { settle, cancel: this.time.after(options.timeoutMs ?? ANSWER_MS_MAX, late) });
      options.signal?.addEventListener("abort", () => reject(options.signal?.reason as Error), { once: true });
      this.care();
    });
  }

  /** Looks after everything that is due, and comes again when something may be. Messages call it too: in the background
   * browsers let timers wait for up to a minute, but not what arrives. */
  private care(): void {
    this.cancelCare();
    this.cancelCare = () => undefined;
    if (this.end !== undefined) return;
    const now = this.time.nowMs();
    this.advance(now);
    this.deliver();
    if (this.end !== undefined) return;
    this.watch(now);
    this.openIfDue(now);
    this.cancelCare();
    this.cancelCare = this.time.after(this.careIntervalMs(now), () => this.care());
  }

  private careIntervalMs(now: number): number {
    const { welcome, retryAtMs, phase } = this.core;
    if (phase === "joined" && welcome !== undefined && welcome.tickHz > 0) return 1000 / welcome.tickHz;
    if (retryAtMs !== undefined && this.opening === undefined) return Math.max(0, retryAtMs - now);
    return CARE_INTERVAL_MS;
  }

  private transmit(bytes: Uint8Array, isReliable: boolean): void {
    if (this.transport === undefined) return;
    this.bytesSent += bytes.length;
    if (isReliable) this.transport.sendReliable(bytes);
    else this.transport.sendUnreliable(bytes);
  }

  /** Notices a connection that is dead, or leads nowhere. */
  private watch(now: number): void {
    if (this.transport === undefined) return;
    if (this.core.retryAtMs !== undefined) return this.drop();
    const isSilent = this.liveness.isDead(now);
    const isLate = now - this.openedMs > WELCOME_MS_MAX;
    if (this.core.phase === "joined" ? !isSilent : !isLate) return;
    this.lost({ code: undefined, text: isSilent ? "Nothing is heard from the server." : "The server does not answer." });
  }

  private openIfDue(now: number): void {
    const { retryAtMs } = this.core;
    if (retryAtMs === undefined || this.opening !== undefined || this.transport !== undefined) return;
    if (retryAtMs > now && !this.isHurried) return;
    this.isHurried = false;
    const opening = new AbortController();
    this.opening = opening;
    void this.open(opening);
  }

  private async open(opening: AbortController): Promise<void> {
    const isCurrent = (): boolean => this.opening === opening;
    let transport: Transport | undefined;
    let early: TransportEnd | undefined;
    const isInUse = (): boolean => transport !== undefined && this.transport === transport;
    const events: TransportEvents = {
      message: (bytes) => isInUse() && this.receive(bytes),
      closed: (end) => (isInUse() ? this.lost(end) : void (early = end)),
    };
    try {
      this.core.setToken(await this.tokenForHello());
      if (!isCurrent()) return;
      const open = (behind: TransportEvents): Promise<Transport> => this.parts.choice.open(this.core.encoding, behind, opening.signal);
      transport = await this.network.open(open, events);
      if (!isCurrent()) return transport.close();
      this.opening = undefined;
      this.transport = transport;
      this.openedMs = this.time.nowMs();
      this.liveness.heard(this.openedMs);
      this.core.connected(transport.link, this.openedMs);
      // It may have ended before anyone was told that it was open.
      if (early !== undefined) return this.lost(early);
    } catch (error) {
      if (!isCurrent()) return;
      this.opening = undefined;
      if (isHopeless(error)) return this.finish({ reason: error.code, text: error.message });
      this.core.disconnected(error instanceof Error ? error.message : String(error), this.time.nowMs());
    }
    this.care();
  }

  /** The resume token stands for a login: whoever has one may come back though no token is to be had. */
  private async tokenForHello(): Promise<string | undefined> {
    const isFresh = this.needsFreshToken;
    this.needsFreshToken = false;
    try {
      return await this.parts.token(isFresh);
    } catch (error) {
      if (this.core.phase === "resuming") return undefined;
      throw error;
    }
  }

  private receive(bytes: Uint8Array): void {
    const now = this.time.nowMs();
    this.liveness.heard(now);
    this.bytesReceived += bytes.length;
    this.core.receive(bytes, now);
    this.care();
  }

  private deliver(): void {
    const events = this.core.takeEvents();
    if (this.knocksAgain(events)) return;
    for (const event of events) {
      // A listener may have left the room.
      if (this.end !== undefined) return;
      if (event.kind === "answer") this.answered(event.seq, refusalOf(event));
      if (event.kind === "lost") this.losses += 1;
      if (event.kind === "joined") this.hasRenewedToken = false;
      if (event.kind === "ended") this.finish(event);
      else this.emitter.emit(event);
    }
  }

  /** A token that was kept may be of a server that has forgotten it: a fresh one is tried, once. */
  private knocksAgain(events: readonly RoomEvent[]): boolean {
    const isUnknown = events.some((event) => event.kind === "ended" && event.reason === "unauthenticated");
    if (!isUnknown || this.hasRenewedToken) return false;
    this.hasRenewedToken = true;
    this.needsFreshToken = true;
    this.drop();
    this.core = this.parts.core();
    this.core.settings = this.shown;
    if (this.input !== undefined) this.core.setInput(this.input as Fields);
    return true;
  }

  private answered(seq: number, refusal: Refusal | undefined): void {
    const waiting = this.commands.get(seq);
    this.commands.delete(seq);
    waiting?.cancel();
    waiting?.settle(refusal);
  }

  private lost(end: TransportEnd): void {
    if (this.transport !== undefined && this.core.phase !== "joined") this.parts.choice.failed(this.transport.kind);
    this.drop();
    this.core.disconnected(end.text, this.time.nowMs());
    this.abandonCommands();
    this.care();
  }

  private abandonCommands(): void {
    for (const seq of [...this.commands.keys()]) {
      this.answered(seq, new Refusal("disconnected", "The connection was lost before the answer came."));
    }
  }

  private drop(): void {
    this.opening?.abort(new Refusal("disconnected", "The connection is given up."));
    this.opening = undefined;
    const { transport } = this;
    this.transport = undefined;
    transport?.close();
    this.dropped();
  }

  private noticed(occasion: Occasion): void {
    const now = this.time.nowMs();
    if (occasion === "online") this.parts.choice.forgetFailures();
    this.liveness.probe(now);
    this.isHurried = this.core.retryAtMs !== undefined;
    this.care();
  }

  private finish(end: { readonly reason: string; readonly text: string }): void {
    if (this.end !== undefined) return;
    this.end = { reason: end.reason, text: end.text };
    this.cancelCare();
    this.stopAttention();
    // After `leave` the server closes by itself, once it has read that.
    if (end.reason !== "left" || this.transport === undefined) this.drop();
    this.abandonCommands();
    this.emitter.emit({ kind: "ended", ...this.end });
    this.emitter.end();
  }
}

function refusalOf(event: OfKind<RoomEvent, "answer">): Refusal | undefined {
  return event.code === undefined ? undefined : new Refusal(event.code, event.text ?? "The room refused it.");
}

/** Whether the next attempt would fail in the same way. */
function isHopeless(error: unknown): error is Refusal {
  if (!(error instanceof Refusal)) return false;
  return error.status === 401 || error.status === 403 || error.code === "signed_out" || error.code === "unsupported";
}
