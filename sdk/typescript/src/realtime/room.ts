// A room from joining to leaving. It reconnects by itself.

import { AetherError, isPermanent } from "../error.ts";
import type { CallOptions } from "../services/requests.ts";
import type { Time } from "../time.ts";
import type { Attention, Occasion } from "./attention.ts";
import type { Command, Core, CoreStatistics, Entity, Fields, RoomEvent, Welcome } from "./core.ts";
import { Emitter, type OfKind, type Stream } from "./events.ts";
import { Liveness } from "./liveness.ts";
import { DEFAULT_SETTINGS, type Settings, type Surroundings } from "./rules.ts";
import type { TransportChooser, TransportPreference } from "./transport/chooser.ts";
import { type Conditions, checkedConditions } from "./transport/conditioner.ts";
import { Network } from "./transport/conditions.ts";
import type { Transport, TransportEnd, TransportEvents, TransportKind } from "./transport/transport.ts";

/** Parts that a room is built from. */
export interface RoomParts {
  /** Creates a core that has not joined yet. */
  readonly core: () => Core;
  readonly choice: TransportChooser;
  /** Returns an access token for the hello; a fresh one if the last was rejected. */
  readonly token: (isFresh: boolean) => Promise<string | undefined>;
  readonly time: Time;
  readonly attention: Attention;
}

/** Phase of a room. "waiting": the connection was lost, and the next attempt is scheduled. */
export type RoomPhase = "connecting" | "joined" | "waiting" | "ended";

export interface RoomStatistics extends CoreStatistics {
  readonly transport: TransportKind | undefined;
  readonly bytesReceived: number;
  readonly bytesSent: number;
  /** Bytes queued for sending. If they grow, send less. */
  readonly waitingBytes: number;
  /** Number of lost connections. */
  readonly losses: number;
}

/** Interval of updates where no tick asks for more. */
const UPDATE_INTERVAL_MS = 250;

/** Time limit for the answer to a hello. */
const WELCOME_MS_MAX = 8_000;

/** Time limit for the answer to a command. One beyond its rate limit gets none. */
const ANSWER_MS_MAX = 10_000;

/** Maximum number of commands without an answer yet. */
const COMMANDS_WAITING_MAX = 256;

/** Time limit for the server to close the connection after `leave`. */
const LEAVE_MS_MAX = 1_000;

/** Reads within this time see the same moment. */
const DRAWN_MS = 1;

interface PendingCommand {
  readonly settle: (error: AetherError | undefined) => void;
  readonly cancel: () => void;
}

export class Room<Input extends object = Fields> implements AsyncIterable<RoomEvent> {
  private readonly parts: RoomParts;
  private readonly time: Time;
  private readonly emitter = new Emitter<RoomEvent>();
  private readonly commands = new Map<number, PendingCommand>();
  private readonly liveness = new Liveness();
  private readonly network: Network;
  private core: Core;
  private displaySettings = DEFAULT_SETTINGS;
  private advancedMs = Number.NEGATIVE_INFINITY;
  private input: Input | undefined;
  private transport: Transport | undefined;
  private opening: AbortController | undefined;
  private openedMs = 0;
  private retriesNow = false;
  private needsFreshToken = false;
  private hasRenewedToken = false;
  private end: { readonly reason: string; readonly text: string } | undefined;
  private losses = 0;
  private bytesReceived = 0;
  private bytesSent = 0;
  private onDropped: () => void = () => undefined;
  private cancelUpdate: () => void = () => undefined;
  private readonly stopAttention: () => void;

  /** Use `client.join` or `joinRoom`. */
  constructor(parts: RoomParts) {
    this.parts = parts;
    this.time = parts.time;
    this.network = new Network(parts.time);
    this.core = parts.core();
    this.stopAttention = parts.attention((occasion) => this.handleWake(occasion));
    this.update();
  }

  get phase(): RoomPhase {
    if (this.end !== undefined) return "ended";
    if (this.core.phase === "joined") return "joined";
    return this.transport === undefined && this.opening === undefined ? "waiting" : "connecting";
  }

  /** Server's answer to the last join. */
  get welcome(): Welcome | undefined {
    return this.core.welcome;
  }

  /** The entity that the player controls. */
  get ownEntity(): number | undefined {
    return this.core.ownEntity;
  }

  /** Newest tick whose state has arrived. */
  get tick(): number {
    return this.core.tick;
  }

  get statistics(): RoomStatistics {
    const { transport, bytesReceived, bytesSent, losses } = this;
    return { ...this.core.statistics, transport: transport?.kind, bytesReceived, bytesSent, losses, waitingBytes: transport?.waitingBytes ?? 0 };
  }

  /** Switches for prediction, reconciliation and interpolation. Fields that are not set keep their value. */
  get settings(): Settings {
    return this.displaySettings;
  }

  set settings(settings: Partial<Settings>) {
    this.displaySettings = { ...this.displaySettings, ...settings };
    this.core.settings = this.displaySettings;
  }

  /** Simulated network conditions in each direction, for panels and tests. Fields that are not set keep their value. */
  get conditions(): Conditions {
    return this.network.conditions;
  }

  set conditions(conditions: Partial<Conditions>) {
    this.network.conditions = checkedConditions({ ...this.network.conditions, ...conditions });
  }

  /** Newest state of everything as the server sent it, neither predicted nor interpolated. Rules get the same. */
  get surroundings(): Surroundings {
    return this.core.surroundings;
  }

  /**
   * Sets the player's input. It is sent once a tick until it is set again. Until the first call, the player only
   * watches.
   */
  setInput(input: Input): void {
    this.core.setInput(input as Fields);
    this.input = input;
  }

  /** Entities of a channel as they are drawn now. */
  entities<Values = Fields>(channel: string): Iterable<Entity<Values>> {
    return this.core.entities(channel, this.drawnMs()) as Iterable<Entity<Values>>;
  }

  /** One entity's values in a channel as they are drawn now. */
  entity<Values = Fields>(channel: string, id: number): Entity<Values> | undefined {
    return this.core.entity(channel, id, this.drawnMs()) as Entity<Values> | undefined;
  }

  /** The entity that the player controls, as it is drawn now. */
  own<Values = Fields>(channel: string): Entity<Values> | undefined {
    return this.ownEntity === undefined ? undefined : this.entity<Values>(channel, this.ownEntity);
  }

  /** Sends a `feature.action` to the game. Resolves when it succeeded, rejects with an `AetherError` otherwise. */
  command(feature: string, action: string, fields?: object, options?: CallOptions): Promise<void> {
    if (feature === "movement" && action === "delta") {
      return Promise.reject(new AetherError("unknown_command", "A movement is not answered: send it with `room.moveBy`."));
    }
    return this.sendCommand({ feature, action, ...(fields === undefined ? {} : { fields: fields as Fields }) }, options);
  }

  /** Sends bytes with a numeric code. A relay room passes them on to all other members. */
  send(code: number, bytes: Uint8Array, options?: CallOptions): Promise<void> {
    return this.sendCommand({ code, bytes }, options);
  }

  /**
   * Proposes to move the player's entity by a distance, in a game that accepts movement. Returns the number of the
   * movement, which snapshots and corrections acknowledge as `inputAck`, or undefined without an entity. A movement that
   * breaks the game's rules is followed by the event `correction`; one that the game rejects, by `error`.
   */
  moveBy(dx: number, dy: number): number | undefined {
    if (!Number.isFinite(dx) || !Number.isFinite(dy)) throw new TypeError("A distance must be a finite number.");
    if (this.end !== undefined) return undefined;
    const seq = this.core.moveBy(dx, dy, this.time.nowMs());
    this.update();
    return seq;
  }

  /** Calls the listener for every event of a kind, until the returned function is called. */
  on<Kind extends RoomEvent["kind"]>(kind: Kind, listener: (event: OfKind<RoomEvent, Kind>) => void): () => void {
    return this.emitter.on(kind, listener);
  }

  /** Resolves with the next event of a kind. Rejects when the room is over. */
  next<Kind extends RoomEvent["kind"]>(kind: Kind, options: { readonly signal?: AbortSignal } = {}): Promise<OfKind<RoomEvent, Kind>> {
    return this.emitter.next(kind, options.signal);
  }

  /** Returns events of some kinds from now on, for `for await`. Ends with the room. */
  events<Kind extends RoomEvent["kind"]>(...kinds: readonly Kind[]): Stream<OfKind<RoomEvent, Kind>> {
    return this.emitter.stream(kinds.length === 0 ? undefined : kinds);
  }

  /** Returns all events from now on. */
  [Symbol.asyncIterator](): Stream<RoomEvent> {
    return this.emitter.stream();
  }

  /** Reconnects over another transport, as the same player. */
  switchTransport(preference: TransportPreference): void {
    this.parts.choice.preference = preference;
    this.reconnect();
    this.parts.choice.forgetFailures();
  }

  /** Drops the connection and reconnects at once. */
  reconnect(): void {
    this.retriesNow = true;
    if (this.transport === undefined && this.opening === undefined) return this.update();
    this.lost({ code: undefined, text: "Reconnecting." });
  }

  /** Leaves for good: the player cannot resume. Resolves when the connection is closed. */
  async leave(): Promise<void> {
    if (this.end !== undefined) return;
    let cancel = (): void => undefined;
    const closed = new Promise<void>((resolve) => {
      if (this.core.phase !== "joined") return resolve();
      this.onDropped = resolve;
      cancel = this.time.after(LEAVE_MS_MAX, resolve);
    });
    this.core.leave();
    this.update();
    await closed;
    cancel();
    this.drop();
  }

  /**
   * Advances to now because a frame is drawn, so that input takes effect in the next frame and not with the next timer.
   * Events are delivered later, not in the middle of a frame.
   */
  private drawnMs(): number {
    const now = this.time.nowMs();
    if (this.end === undefined && now - this.advancedMs >= DRAWN_MS) this.advance(now);
    return now;
  }

  private advance(now: number): void {
    this.advancedMs = now;
    this.core.advance(now, (bytes, isReliable) => this.transmit(bytes, isReliable));
  }

  private sendCommand(command: Command, options: CallOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      if (options.signal?.aborted === true) return reject(options.signal.reason as Error);
      if (this.commands.size >= COMMANDS_WAITING_MAX) return reject(new AetherError("limit_reached", "Too many commands are unanswered; wait for answers before sending more."));
      const seq = this.core.command(command);
      if (seq === undefined) return reject(new AetherError("disconnected", "The room is not connected; wait for the event `joined`."));
      const late = (): void => this.settleCommand(seq, new AetherError("timed_out", "The room did not answer in time."));
      const settle = (error: AetherError | undefined): void => (error === undefined ? resolve() : reject(error));
      this.commands.set(seq, { settle, cancel: this.time.after(options.timeoutMs ?? ANSWER_MS_MAX, late) });
      options.signal?.addEventListener("abort", () => reject(options.signal?.reason as Error), { once: true });
      this.update();
    });
  }

  /**
   * Does everything that is due and schedules the next call. Received messages call it too: in the background, browsers
   * delay timers for up to a minute, but not messages.
   */
  private update(): void {
    this.cancelUpdate();
    this.cancelUpdate = () => undefined;
    if (this.end !== undefined) return;
    const now = this.time.nowMs();
    this.advance(now);
    this.deliverEvents();
    if (this.end !== undefined) return;
    this.closeIfDead(now);
    this.openIfDue(now);
    this.cancelUpdate();
    this.cancelUpdate = this.time.after(this.updateIntervalMs(now), () => this.update());
  }

  private updateIntervalMs(now: number): number {
    const { welcome, retryAtMs, phase } = this.core;
    if (phase === "joined" && welcome !== undefined && welcome.tickHz > 0) return 1000 / welcome.tickHz;
    if (retryAtMs !== undefined && this.opening === undefined) return Math.max(0, retryAtMs - now);
    return UPDATE_INTERVAL_MS;
  }

  private transmit(bytes: Uint8Array, isReliable: boolean): void {
    if (this.transport === undefined) return;
    this.bytesSent += bytes.length;
    if (isReliable) this.transport.sendReliable(bytes);
    else this.transport.sendUnreliable(bytes);
  }

  /** Closes a connection that is dead or was never answered. */
  private closeIfDead(now: number): void {
    if (this.transport === undefined) return;
    if (this.core.retryAtMs !== undefined) return this.drop();
    const isSilent = this.liveness.isDead(now);
    const isLate = now - this.openedMs > WELCOME_MS_MAX;
    if (this.core.phase === "joined" ? !isSilent : !isLate) return;
    this.lost({ code: undefined, text: isSilent ? "The server went silent." : "The server did not answer the hello." });
  }

  private openIfDue(now: number): void {
    const { retryAtMs } = this.core;
    if (retryAtMs === undefined || this.opening !== undefined || this.transport !== undefined) return;
    if (retryAtMs > now && !this.retriesNow) return;
    this.retriesNow = false;
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
      this.liveness.received(this.openedMs);
      this.core.connected(transport.link, this.openedMs);
      // The transport may have ended before it was stored.
      if (early !== undefined) return this.lost(early);
    } catch (error) {
      if (!isCurrent()) return;
      this.opening = undefined;
      if (isPermanent(error)) return this.finish({ reason: error.code, text: error.message });
      this.core.disconnected(error instanceof Error ? error.message : String(error), this.time.nowMs());
    }
    this.update();
  }

  /** A resume token replaces a login, so a resume works without an access token. */
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
    this.liveness.received(now);
    this.bytesReceived += bytes.length;
    this.core.receive(bytes, now);
    this.update();
  }

  private deliverEvents(): void {
    const events = this.core.takeEvents();
    if (this.retryWithFreshToken(events)) return;
    for (const event of events) {
      // A listener may have left the room.
      if (this.end !== undefined) return;
      if (event.kind === "answer") this.settleCommand(event.seq, errorOf(event));
      if (event.kind === "lost") this.losses += 1;
      if (event.kind === "joined") this.hasRenewedToken = false;
      if (event.kind === "ended") this.finish(event);
      else this.emitter.emit(event);
    }
  }

  /** The stored token may be from a server that does not know it any more. Tries a fresh one, once. */
  private retryWithFreshToken(events: readonly RoomEvent[]): boolean {
    const isUnknown = events.some((event) => event.kind === "ended" && event.reason === "unauthenticated");
    if (!isUnknown || this.hasRenewedToken) return false;
    this.hasRenewedToken = true;
    this.needsFreshToken = true;
    this.drop();
    this.core = this.parts.core();
    this.core.settings = this.displaySettings;
    if (this.input !== undefined) this.core.setInput(this.input as Fields);
    return true;
  }

  private settleCommand(seq: number, error: AetherError | undefined): void {
    const pending = this.commands.get(seq);
    this.commands.delete(seq);
    pending?.cancel();
    pending?.settle(error);
  }

  private lost(end: TransportEnd): void {
    if (this.transport !== undefined && this.core.phase !== "joined") this.parts.choice.failed(this.transport.kind);
    this.drop();
    this.core.disconnected(end.text, this.time.nowMs());
    this.abandonCommands();
    this.update();
  }

  private abandonCommands(): void {
    for (const seq of [...this.commands.keys()]) {
      this.settleCommand(seq, new AetherError("disconnected", "The connection was lost before the command was answered."));
    }
  }

  private drop(): void {
    this.opening?.abort(new AetherError("disconnected", "The connection was closed."));
    this.opening = undefined;
    const { transport } = this;
    this.transport = undefined;
    transport?.close();
    this.onDropped();
  }

  private handleWake(occasion: Occasion): void {
    const now = this.time.nowMs();
    if (occasion === "online") this.parts.choice.forgetFailures();
    this.liveness.probe(now);
    this.retriesNow = this.core.retryAtMs !== undefined;
    this.update();
  }

  private finish(end: { readonly reason: string; readonly text: string }): void {
    if (this.end !== undefined) return;
    this.end = { reason: end.reason, text: end.text };
    this.cancelUpdate();
    this.stopAttention();
    // After `leave` the server closes by itself once it has read the message.
    if (end.reason !== "left" || this.transport === undefined) this.drop();
    this.abandonCommands();
    this.emitter.emit({ kind: "ended", ...this.end });
    this.emitter.end();
  }
}

function errorOf(event: OfKind<RoomEvent, "answer">): AetherError | undefined {
  return event.code === undefined ? undefined : new AetherError(event.code, event.text ?? "The room rejected the command.");
}
