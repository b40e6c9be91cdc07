// Model of a network in one direction, the same as `Conditioner` of the Rust client: the same seed gives the same
// delays and losses.

/** Simulated conditions, applied to each direction. */
export interface Conditions {
  /** Added latency; a round trip takes twice as much longer. */
  readonly latencyMs: number;
  /** Maximum of the additional random delay of each message. Jitter alone keeps the order. */
  readonly jitterMs: number;
  /** Share of lost messages, from 0 to 1. A reliable message is sent again, and so arrives late. */
  readonly loss: number;
  /** Share of datagrams that arrive twice. No effect over WebSocket. */
  readonly duplication: number;
  /** Share of datagrams that later ones overtake. No effect over WebSocket. */
  readonly reordering: number;
  /** Bandwidth in bytes per second; 0 for no limit. */
  readonly bytesPerSecond: number;
  /** Bytes that wait for bandwidth at most. Datagrams beyond it are lost, reliable messages wait. */
  readonly queueBytesMax: number;
}

export const NO_CONDITIONS: Conditions = { latencyMs: 0, jitterMs: 0, loss: 0, duplication: 0, reordering: 0, bytesPerSecond: 0, queueBytesMax: 24_000 };

/** Delivery guarantee of a path. On a stream everything arrives once and in order. */
export type Delivery = "datagrams" | "stream";

/** Upper bound of a delay. */
const DELAY_MS_MAX = 10_000;

/** Delay of a reordered datagram even without latency and jitter. */
const OVERTAKING_MS_MIN = 50;

/** Maximum number of retransmissions of a message on a stream, so that it arrives at all. */
const RESENDS_MAX = 6;

/** Upper bound of bandwidth and queue: more than any connection has. */
const BYTES_MAX = 2 ** 40;

/** Returns conditions within their bounds. Throws if a value is not a finite number. */
export function checkedConditions(conditions: Conditions): Conditions {
  if (!Object.values(conditions).every(Number.isFinite)) throw new RangeError("Network conditions must be finite numbers.");
  const { latencyMs, jitterMs, loss, duplication, reordering, bytesPerSecond, queueBytesMax } = conditions;
  const bounded = (value: number, max: number): number => Math.min(Math.max(0, value), max);
  return {
    latencyMs: bounded(latencyMs, DELAY_MS_MAX),
    jitterMs: bounded(jitterMs, DELAY_MS_MAX),
    loss: bounded(loss, 1),
    duplication: bounded(duplication, 1),
    reordering: bounded(reordering, 1),
    bytesPerSecond: bounded(bytesPerSecond, BYTES_MAX),
    queueBytesMax: bounded(queueBytesMax, BYTES_MAX),
  };
}

/** Network of one direction and one path. */
export class Conditioner {
  private readonly delivery: Delivery;
  private readonly random: Random;
  /** Time at which the bandwidth is free again. */
  private freeMs = 0;
  /** Time of arrival of the last message in order. */
  private lastMs = 0;

  constructor(delivery: Delivery, seed: bigint) {
    this.delivery = delivery;
    this.random = new Random(seed);
  }

  /** Returns the times at which a message arrives: none if it is lost, two if it is duplicated. */
  arrivalsMs(conditions: Conditions, nowMs: number, bytes: number): number[] {
    const departedMs = this.departMs(conditions, nowMs, bytes);
    if (departedMs === undefined) return [];
    return this.delivery === "stream" ? [this.streamMs(conditions, departedMs)] : this.datagramMs(conditions, departedMs);
  }

  /** Returns the time at which a message has passed the bandwidth limit; undefined if the queue is full. */
  private departMs({ bytesPerSecond, queueBytesMax }: Conditions, nowMs: number, bytes: number): number | undefined {
    if (bytesPerSecond === 0) return nowMs;
    const waitMs = Math.max(0, this.freeMs - nowMs);
    const isFull = Math.floor((waitMs * bytesPerSecond) / 1_000) + bytes > queueBytesMax;
    if (isFull && this.delivery === "datagrams") return undefined;
    // Rounded up to a microsecond: a shorter time would exceed the bandwidth.
    this.freeMs = nowMs + waitMs + Math.ceil((bytes * 1_000_000) / bytesPerSecond) / 1_000;
    return this.freeMs;
  }

  private datagramMs({ latencyMs, jitterMs, loss, duplication, reordering }: Conditions, departedMs: number): number[] {
    if (this.random.happens(loss)) return [];
    const direct = departedMs + latencyMs + this.random.upTo(jitterMs);
    let atMs = direct;
    if (this.random.happens(reordering)) {
      atMs += this.random.upTo(latencyMs + jitterMs + OVERTAKING_MS_MIN);
    } else {
      this.lastMs = Math.max(this.lastMs, direct);
      atMs = this.lastMs;
    }
    return this.random.happens(duplication) ? [atMs, atMs + this.random.upTo(jitterMs + OVERTAKING_MS_MIN)] : [atMs];
  }

  private streamMs({ latencyMs, jitterMs, loss }: Conditions, departedMs: number): number {
    let direct = departedMs + latencyMs + this.random.upTo(jitterMs);
    for (let lost = 0; lost < RESENDS_MAX && this.random.happens(loss); lost += 1) direct += 2 * latencyMs + jitterMs;
    this.lastMs = Math.max(this.lastMs, direct);
    return this.lastMs;
  }
}

/** SplitMix64. */
class Random {
  private state: bigint;

  constructor(seed: bigint) {
    this.state = seed;
  }

  happens(share: number): boolean {
    return share > 0 && this.unit() < Math.fround(share);
  }

  upTo(ms: number): number {
    return ms === 0 ? 0 : ms * this.unit();
  }

  /** Returns a number from 0 up to, but not including, 1, with 24 random bits. */
  private unit(): number {
    this.state = BigInt.asUintN(64, this.state + 0x9e3779b97f4a7c15n);
    let bits = this.state;
    bits = BigInt.asUintN(64, (bits ^ (bits >> 30n)) * 0xbf58476d1ce4e5b9n);
    bits = BigInt.asUintN(64, (bits ^ (bits >> 27n)) * 0x94d049bb133111ebn);
    bits ^= bits >> 31n;
    return Number(bits >> 40n) / 2 ** 24;
  }
}
