// Connection of the services socket: opens it, checks that it is alive, and opens it again after a loss.

import { AetherError, isPermanent } from "../error.ts";
import type { Attention, Occasion } from "../realtime/attention.ts";
import { Liveness, PROBE_MS } from "../realtime/liveness.ts";
import type { Transport, TransportEnd, TransportEvents } from "../realtime/transport/transport.ts";
import type { CallOptions } from "../services/requests.ts";
import { type Backoff, type Time, pauseMs } from "../time.ts";
import { Calls, type Reading } from "./calls.ts";
import type { ClientMessage, ServerMessage } from "./wire.ts";

/** Phase of a socket. "waiting": the connection was lost, and the next attempt is scheduled. */
export type SocketPhase = "connecting" | "connected" | "waiting" | "ended";

/** Parts that a connection is built from. */
export interface ConnectionParts {
  /** Opens a transport with an access token. */
  readonly open: (token: string, events: TransportEvents, signal: AbortSignal) => Promise<Transport>;
  /** Returns an access token; one that the server has accepted, if the last attempt failed. */
  readonly token: (isChecked: boolean) => Promise<string>;
  readonly time: Time;
  readonly attention: Attention;
  /** Longest message that the server reads. */
  readonly messageBytesMax: number;
}

/** Callbacks of a connection. */
export interface ConnectionEvents {
  /** Restores the session on an open connection. It counts as connected afterwards. */
  restore(): Promise<void>;
  connected(): void;
  /** Handles a message that answers no request. */
  received(message: ServerMessage): void;
  /** A connection was lost that had been connected. The next attempt is scheduled. */
  lost(text: string): void;
  /** An attempt failed. The next one is scheduled. */
  failed(error: Error): void;
  ended(reason: string, text: string): void;
}

/** Options of a request. */
export interface RequestOptions extends CallOptions {
  /** Also sent before the connection counts as connected. */
  readonly isRestoring?: boolean;
}

const BACKOFF: Backoff = { firstMs: 200, lastMs: 5_000, spread: 0.3 };

/** A connection that lasted this long was good, so that the next loss starts with the shortest pause. */
const STEADY_MS = 5_000;

/** Interval of pings. */
const PING_MS = 5_000;

/** Two pings without an answer. */
const LIVENESS = { silenceMsMax: 2.5 * PING_MS, checkMsMax: PING_MS };

export class Connection {
  private readonly parts: ConnectionParts;
  private readonly events: ConnectionEvents;
  private readonly time: Time;
  private readonly calls: Calls;
  private readonly liveness = new Liveness(LIVENESS);
  private readonly encoder = new TextEncoder();
  private readonly decoder = new TextDecoder();
  private state: SocketPhase = "connecting";
  private transport: Transport | undefined;
  private opening: AbortController | undefined;
  private openedMs = 0;
  private failures = 0;
  private needsCheckedToken = false;
  private cancelTimer: () => void = () => undefined;
  private stopAttention: () => void = () => undefined;
  /** Number of messages of the server that could not be read. */
  faults = 0;

  constructor(parts: ConnectionParts, events: ConnectionEvents) {
    this.parts = parts;
    this.events = events;
    this.time = parts.time;
    this.calls = new Calls(parts.time);
  }

  get phase(): SocketPhase {
    return this.state;
  }

  /** Opens the first connection. */
  start(): void {
    this.stopAttention = this.parts.attention((occasion) => this.handleWake(occasion));
    this.attempt();
  }

  /** Sends a request; resolves with its answer. */
  request<Answer>(message: ClientMessage, reading: Reading<Answer>, options: RequestOptions = {}): Promise<Answer> {
    if (!this.maySend(options)) return Promise.reject(notConnected());
    return this.calls.call((cid) => this.write({ cid, ...message }), reading, options);
  }

  /** Sends a message that has no answer. Throws if the socket is not connected. */
  send(message: ClientMessage): void {
    if (!this.maySend()) throw notConnected();
    this.write(message);
  }

  /** Sends a request whose answer does not matter, if the socket is connected. */
  tell(message: ClientMessage): void {
    this.request(message, { read: () => undefined }).catch(() => undefined);
  }

  /** Drops the connection and opens another one at once. */
  reconnect(): void {
    if (this.state === "connected") this.lose("Reconnecting.");
    if (this.state === "waiting") this.attempt();
  }

  /** Closes the connection for good. */
  close(reason: string, text: string): void {
    if (this.state === "ended") return;
    this.state = "ended";
    this.stopAttention();
    this.drop();
    this.events.ended(reason, text);
  }

  private maySend({ isRestoring = false }: RequestOptions = {}): boolean {
    return this.transport !== undefined && (this.state === "connected" || isRestoring);
  }

  private write(message: object): void {
    const bytes = this.encoder.encode(JSON.stringify(message));
    const { messageBytesMax } = this.parts;
    if (bytes.length > messageBytesMax) throw new AetherError("limit_reached", `The message has ${bytes.length} bytes; the server reads up to ${messageBytesMax}.`);
    this.transport?.sendReliable(bytes);
  }

  private attempt(): void {
    this.cancelTimer();
    this.state = "connecting";
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
      closed: (end) => (isInUse() ? this.lose(end.text) : void (early = end)),
    };
    try {
      const token = await this.parts.token(this.needsCheckedToken);
      if (!isCurrent()) return;
      // Browsers do not tell a refused token from an unreachable server.
      this.needsCheckedToken = true;
      transport = await this.parts.open(token, events, opening.signal);
      if (!isCurrent()) return transport.close();
      if (early !== undefined) throw new AetherError("disconnected", early.text);
      this.begin(transport);
      await this.events.restore();
    } catch (error) {
      if (isCurrent()) this.fail(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    if (!isCurrent()) return;
    this.opening = undefined;
    this.state = "connected";
    this.events.connected();
  }

  private begin(transport: Transport): void {
    this.transport = transport;
    this.needsCheckedToken = false;
    this.openedMs = this.time.nowMs();
    this.liveness.received(this.openedMs);
    this.scheduleCheck(PING_MS);
  }

  /** Closes a dead connection, or pings. */
  private check(): void {
    if (this.liveness.isDead(this.time.nowMs())) return this.lose("The server went silent.");
    this.write({ ping: {} });
    this.scheduleCheck(PING_MS);
  }

  private scheduleCheck(milliseconds: number): void {
    this.cancelTimer();
    this.cancelTimer = this.time.after(milliseconds, () => this.check());
  }

  private receive(bytes: Uint8Array): void {
    this.liveness.received(this.time.nowMs());
    const message = this.parsed(bytes);
    if (message === undefined) return;
    if (message.cid !== undefined && message.cid !== "") this.calls.answer(message);
    else this.events.received(message);
  }

  private parsed(bytes: Uint8Array): ServerMessage | undefined {
    try {
      const message: unknown = JSON.parse(this.decoder.decode(bytes));
      if (typeof message === "object" && message !== null) return message;
    } catch {
      // Counted below.
    }
    this.faults += 1;
    return undefined;
  }

  /** Handles an open connection that was lost. */
  private lose(text: string): void {
    const wasConnected = this.state === "connected";
    if (this.time.nowMs() - this.openedMs >= STEADY_MS) this.failures = 0;
    this.retryLater();
    if (wasConnected) this.events.lost(text);
    else this.events.failed(new AetherError("disconnected", text));
  }

  /** Handles a failed attempt. */
  private fail(error: Error): void {
    if (isPermanent(error)) return this.close(error.code, error.message);
    this.retryLater();
    this.events.failed(error);
  }

  private retryLater(): void {
    this.drop();
    this.state = "waiting";
    this.cancelTimer = this.time.after(pauseMs(BACKOFF, this.failures, this.time), () => this.attempt());
    this.failures += 1;
  }

  private drop(): void {
    this.cancelTimer();
    const { opening, transport } = this;
    [this.opening, this.transport] = [undefined, undefined];
    opening?.abort(new AetherError("disconnected", "The connection was closed."));
    transport?.close();
    this.calls.abandonAll();
  }

  private handleWake(occasion: Occasion): void {
    if (this.state === "waiting") {
      if (occasion === "online") this.failures = 0;
      return this.attempt();
    }
    if (this.transport === undefined) return;
    this.liveness.probe(this.time.nowMs());
    this.write({ ping: {} });
    this.scheduleCheck(PROBE_MS + 1);
  }
}

function notConnected(): AetherError {
  return new AetherError("disconnected", "The socket is not connected; wait for the event `connected`.");
}
