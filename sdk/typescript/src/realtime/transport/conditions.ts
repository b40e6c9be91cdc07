// Simulated network conditions, for panels and tests.

import type { Time } from "../../time.ts";
import { type Conditions, Conditioner, NO_CONDITIONS } from "./conditioner.ts";
import type { DeliveryOrder, Transport, TransportEnd, TransportEvents, TransportKind } from "./transport.ts";

/** Simulated network around a room's transports. The same seed gives the same delays and losses. */
export class Network {
  conditions: Conditions = NO_CONDITIONS;
  private readonly time: Time;
  private seed: bigint;

  constructor(time: Time, seed = 1) {
    this.time = time;
    this.seed = BigInt(Math.trunc(seed));
  }

  /** Opens a transport through this network. */
  async open(open: (events: TransportEvents) => Promise<Transport>, events: TransportEvents): Promise<Transport> {
    let overflow = (): void => undefined;
    const inbound = this.direction(() => overflow());
    const outbound = this.direction(() => overflow());
    let isOver = false;
    const closed = (end: TransportEnd): void => {
      if (isOver) return;
      isOver = true;
      events.closed(end);
    };
    const transport = await open({
      message: (bytes, isReliable = true) => inbound.pass(isReliable, bytes.length, () => events.message(bytes, isReliable)),
      // The end is delivered after the messages before it.
      closed: (end) => inbound.pass(true, 0, () => closed(end)),
    });
    const conditioned = new ConditionedTransport(transport, inbound, outbound, closed);
    overflow = () => conditioned.close("The simulated network is too slow for this room.");
    return conditioned;
  }

  private direction(overflow: () => void): Direction {
    this.seed += 2n;
    return new Direction(this, this.time, this.seed, overflow);
  }
}

/** Messages in flight. A simulated network with more is too slow for the room, as a real one would be. */
const IN_FLIGHT_MAX = 16_384;

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
  private readonly overflow: () => void;
  private readonly stream: Conditioner;
  private readonly datagrams: Conditioner;
  private cancel: (() => void) | undefined;
  private isClosed = false;

  constructor(network: Network, time: Time, seed: bigint, overflow: () => void) {
    this.network = network;
    this.time = time;
    this.overflow = overflow;
    this.stream = new Conditioner("stream", seed);
    this.datagrams = new Conditioner("datagrams", seed + 1n);
  }

  pass(isReliable: boolean, bytes: number, arrive: () => void): void {
    if (this.isClosed) return;
    if (this.inFlight.length >= IN_FLIGHT_MAX) return this.overflow();
    const now = this.time.nowMs();
    const path = isReliable ? this.stream : this.datagrams;
    for (const atMs of path.arrivalsMs(this.network.conditions, now, bytes)) this.arriveAt(atMs, now, arrive);
  }

  private arriveAt(atMs: number, now: number, arrive: () => void): void {
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
    this.outbound.pass(true, bytes.length, () => this.transport.sendReliable(bytes));
  }

  sendUnreliable(bytes: Uint8Array): void {
    // With ordered delivery nothing is lost or overtaken.
    this.outbound.pass(this.link === "ordered", bytes.length, () => this.transport.sendUnreliable(bytes));
  }

  close(text = "You closed the connection."): void {
    this.outbound.close();
    this.inbound.close();
    this.transport.close(text);
    this.closed({ code: undefined, text });
  }
}
