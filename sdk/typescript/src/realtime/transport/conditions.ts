// Simulated network conditions, for panels and tests.

import type { Time } from "../../time.ts";
import type { DeliveryOrder, Transport, TransportEnd, TransportEvents, TransportKind } from "./transport.ts";

/** Simulated conditions, applied to each direction. */
export interface Conditions {
  /** Added latency; a round trip takes twice as much longer. */
  readonly latencyMs: number;
  /** Maximum of the additional random delay of each message. */
  readonly jitterMs: number;
  /** Share of lost messages, from 0 to 1. A reliable message is sent again, and so arrives late. */
  readonly loss: number;
}

export const NO_CONDITIONS: Conditions = { latencyMs: 0, jitterMs: 0, loss: 0 };

/** Upper bound of a delay. */
const DELAY_MS_MAX = 10_000;

/** Time until a lost message is sent again, in addition to a round trip. */
const RETRY_MS = 50;

/** Maximum number of losses of a reliable message in a row, so that it arrives at all. */
const RETRIES_MAX = 5;

/** Returns conditions within their bounds. Throws if a value is not a finite number. */
export function checkedConditions({ latencyMs, jitterMs, loss }: Conditions): Conditions {
  if (![latencyMs, jitterMs, loss].every(Number.isFinite)) throw new RangeError("Latency, jitter and loss must be finite numbers.");
  const bounded = (value: number, max: number): number => Math.min(Math.max(0, value), max);
  return { latencyMs: bounded(latencyMs, DELAY_MS_MAX), jitterMs: bounded(jitterMs, DELAY_MS_MAX), loss: bounded(loss, 1) };
}

/** Simulated network around a room's transports. The same seed gives the same delays and losses. */
export class Network {
  conditions = NO_CONDITIONS;
  private readonly time: Time;
  private state: number;

  constructor(time: Time, seed = 1) {
    this.time = time;
    this.state = seed;
  }

  /** Opens a transport through this network. */
  async open(open: (events: TransportEvents) => Promise<Transport>, events: TransportEvents): Promise<Transport> {
    const inbound = new Direction(this, this.time);
    let isOver = false;
    const closed = (end: TransportEnd): void => {
      if (isOver) return;
      isOver = true;
      events.closed(end);
    };
    const transport = await open({
      message: (bytes, isReliable = true) => inbound.pass(isReliable, () => events.message(bytes, isReliable)),
      // The end is delivered after the messages before it.
      closed: (end) => inbound.pass(true, () => closed(end)),
    });
    return new ConditionedTransport(transport, inbound, new Direction(this, this.time), closed);
  }

  /** Returns the delay of a message, or undefined if it is lost. */
  delayMs(isReliable: boolean): number | undefined {
    const { latencyMs, jitterMs, loss } = this.conditions;
    let delay = latencyMs + jitterMs * this.random();
    for (let lost = 0; lost < RETRIES_MAX && this.random() < loss; lost += 1) {
      if (!isReliable) return undefined;
      delay += 2 * latencyMs + RETRY_MS;
    }
    return delay;
  }

  /** Returns a number in [0, 1) (mulberry32). */
  private random(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }
}

interface MessageInFlight {
  readonly atMs: number;
  readonly arrive: () => void;
}

/** One direction of a connection. */
class Direction {
  private readonly network: Network;
  private readonly time: Time;
  /** Messages in flight, ordered by their time of arrival. */
  private inFlight: MessageInFlight[] = [];
  /** Time of arrival of the last reliable message. */
  private orderedMs = Number.NEGATIVE_INFINITY;
  private cancel: (() => void) | undefined;
  private isClosed = false;

  constructor(network: Network, time: Time) {
    this.network = network;
    this.time = time;
  }

  pass(isReliable: boolean, arrive: () => void): void {
    if (this.isClosed) return;
    const delay = this.network.delayMs(isReliable);
    if (delay === undefined) return;
    const now = this.time.nowMs();
    let atMs = now + delay;
    if (isReliable) {
      atMs = Math.max(atMs, this.orderedMs);
      this.orderedMs = atMs;
    }
    // Without conditions, messages pass without a timer.
    if (atMs <= now && this.inFlight.length === 0) return arrive();
    let index = this.inFlight.length;
    while (index > 0 && (this.inFlight[index - 1] as MessageInFlight).atMs > atMs) index -= 1;
    this.inFlight.splice(index, 0, { atMs, arrive });
    this.wait();
  }

  close(): void {
    this.isClosed = true;
    this.cancel?.();
    this.inFlight = [];
  }

  private wait(): void {
    this.cancel?.();
    this.cancel = undefined;
    const first = this.inFlight[0];
    if (first !== undefined) this.cancel = this.time.after(Math.max(0, first.atMs - this.time.nowMs()), () => this.arrived());
  }

  private arrived(): void {
    const now = this.time.nowMs();
    for (let first = this.inFlight[0]; first !== undefined && first.atMs <= now; first = this.inFlight[0]) {
      this.inFlight.shift();
      first.arrive();
    }
    this.wait();
  }
}

class ConditionedTransport implements Transport {
  readonly kind: TransportKind;
  readonly link: DeliveryOrder;
  private readonly transport: Transport;
  private readonly inbound: Direction;
  private readonly outbound: Direction;
  private readonly closed: (end: TransportEnd) => void;

  constructor(transport: Transport, inbound: Direction, outbound: Direction, closed: (end: TransportEnd) => void) {
    this.transport = transport;
    this.kind = transport.kind;
    this.link = transport.link;
    this.inbound = inbound;
    this.outbound = outbound;
    this.closed = closed;
  }

  get waitingBytes(): number {
    return this.transport.waitingBytes;
  }

  sendReliable(bytes: Uint8Array): void {
    this.outbound.pass(true, () => this.transport.sendReliable(bytes));
  }

  sendUnreliable(bytes: Uint8Array): void {
    // With ordered delivery nothing is lost or overtaken.
    this.outbound.pass(this.link === "ordered", () => this.transport.sendUnreliable(bytes));
  }

  close(text = "You closed the connection."): void {
    this.outbound.close();
    this.inbound.close();
    this.transport.close(text);
    this.closed({ code: undefined, text });
  }
}
