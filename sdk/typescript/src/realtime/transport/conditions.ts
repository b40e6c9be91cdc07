// A network that is worse than it is: for panels that show what a bad one does, and for tests.

import type { Time } from "../../time.ts";
import type { Link, Transport, TransportEnd, TransportEvents, TransportKind } from "./transport.ts";

/** What is done to messages, in each direction. */
export interface Conditions {
  /** How much later they arrive: half of what a round trip takes longer. */
  readonly latencyMs: number;
  /** By how much more at most, differently each time. */
  readonly jitterMs: number;
  /** The share from 0 to 1 that is lost. What has to arrive is sent again, and so arrives late. */
  readonly loss: number;
}

export const NO_CONDITIONS: Conditions = { latencyMs: 0, jitterMs: 0, loss: 0 };

/** Longer delays are of no network that anyone plays over. */
const DELAY_MS_MAX = 10_000;

/** How long it takes until what was lost is sent again, beside the way there and back. */
const RETRY_MS = 50;

/** How often a message is lost in a row at most, so that it arrives at all. */
const RETRIES_MAX = 5;

/** Conditions within their bounds. It throws if they are no numbers. */
export function checkedConditions({ latencyMs, jitterMs, loss }: Conditions): Conditions {
  if (![latencyMs, jitterMs, loss].every(Number.isFinite)) throw new RangeError("Latency, jitter and loss have to be numbers.");
  const bounded = (value: number, max: number): number => Math.min(Math.max(0, value), max);
  return { latencyMs: bounded(latencyMs, DELAY_MS_MAX), jitterMs: bounded(jitterMs, DELAY_MS_MAX), loss: bounded(loss, 1) };
}

/** The simulated network in front of a room's transports. The same seed makes the same network. */
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
    const inbound = new Way(this, this.time);
    let isOver = false;
    const closed = (end: TransportEnd): void => {
      if (isOver) return;
      isOver = true;
      events.closed(end);
    };
    const transport = await open({
      message: (bytes, isReliable = true) => inbound.pass(isReliable, () => events.message(bytes, isReliable)),
      // It ends after what was said before has arrived.
      closed: (end) => inbound.pass(true, () => closed(end)),
    });
    return new Conditioned(transport, inbound, new Way(this, this.time), closed);
  }

  /** How much later a message arrives; nothing if it is lost. */
  delayMs(isReliable: boolean): number | undefined {
    const { latencyMs, jitterMs, loss } = this.conditions;
    let delay = latencyMs + jitterMs * this.random();
    for (let lost = 0; lost < RETRIES_MAX && this.random() < loss; lost += 1) {
      if (!isReliable) return undefined;
      delay += 2 * latencyMs + RETRY_MS;
    }
    return delay;
  }

  /** A number from 0 up to 1 (mulberry32). */
  private random(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }
}

interface Passing {
  readonly atMs: number;
  readonly arrive: () => void;
}

/** One direction. */
class Way {
  private readonly network: Network;
  private readonly time: Time;
  /** In the order in which they arrive. */
  private passing: Passing[] = [];
  /** When the last of those arrives that keep their order. */
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
    // Over a good network nothing waits for a timer.
    if (atMs <= now && this.passing.length === 0) return arrive();
    let place = this.passing.length;
    while (place > 0 && (this.passing[place - 1] as Passing).atMs > atMs) place -= 1;
    this.passing.splice(place, 0, { atMs, arrive });
    this.wait();
  }

  close(): void {
    this.isClosed = true;
    this.cancel?.();
    this.passing = [];
  }

  private wait(): void {
    this.cancel?.();
    this.cancel = undefined;
    const first = this.passing[0];
    if (first !== undefined) this.cancel = this.time.after(Math.max(0, first.atMs - this.time.nowMs()), () => this.arrived());
  }

  private arrived(): void {
    const now = this.time.nowMs();
    for (let first = this.passing[0]; first !== undefined && first.atMs <= now; first = this.passing[0]) {
      this.passing.shift();
      first.arrive();
    }
    this.wait();
  }
}

class Conditioned implements Transport {
  readonly kind: TransportKind;
  readonly link: Link;
  private readonly transport: Transport;
  private readonly inbound: Way;
  private readonly outbound: Way;
  private readonly closed: (end: TransportEnd) => void;

  constructor(transport: Transport, inbound: Way, outbound: Way, closed: (end: TransportEnd) => void) {
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
    // On an ordered link nothing is lost or overtaken.
    this.outbound.pass(this.link === "ordered", () => this.transport.sendUnreliable(bytes));
  }

  close(text = "You closed the connection."): void {
    this.outbound.close();
    this.inbound.close();
    this.transport.close(text);
    this.closed({ code: undefined, text });
  }
}
