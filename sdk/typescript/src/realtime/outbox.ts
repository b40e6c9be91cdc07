// Outgoing messages, sent within the server's rate limits.

import { AetherError } from "../error.ts";

/** Maximum number of queued messages. */
const QUEUED_MAX = 1_024;

/** Server limit for all messages but inputs is 60 a second, bursts of 30. Pings and the leave must fit as well. */
const DEFAULT_RATE = { perSecond: 50, burst: 24 };

/** Relay limit for game messages is 120 a second, bursts of 60. */
const RELAY_RATE = { perSecond: 110, burst: 50 };

export class Outbox {
  private readonly defaultBucket = new TokenBucket(DEFAULT_RATE);
  private readonly relayBucket = new TokenBucket(RELAY_RATE);
  private readonly isRelay: boolean;
  private queue: { readonly bytes: Uint8Array; readonly isPart: boolean }[] = [];

  constructor(isRelay: boolean) {
    this.isRelay = isRelay;
  }

  /** Throws if the queue is full. */
  ensureRoom(): void {
    if (this.queue.length >= QUEUED_MAX) throw new AetherError("limit_reached", "Too many messages are queued; send less.");
  }

  push(bytes: Uint8Array, isPart: boolean): void {
    this.queue.push({ bytes, isPart });
  }

  /** Sends queued messages in order, as far as the rate limits allow. */
  drain(nowMs: number, send: (bytes: Uint8Array) => void): void {
    for (let first = this.queue[0]; first !== undefined; first = this.queue[0]) {
      const bucket = this.isRelay && !first.isPart ? this.relayBucket : this.defaultBucket;
      if (!bucket.take(nowMs)) return;
      this.queue.shift();
      send(first.bytes);
    }
  }
}

/** Token bucket. */
class TokenBucket {
  private readonly perSecond: number;
  private readonly burst: number;
  private tokens: number;
  private filledMs = Number.NEGATIVE_INFINITY;

  constructor({ perSecond, burst }: { readonly perSecond: number; readonly burst: number }) {
    this.perSecond = perSecond;
    this.burst = burst;
    this.tokens = burst;
  }

  take(nowMs: number): boolean {
    this.tokens = Math.min(this.burst, this.tokens + (Math.max(0, nowMs - this.filledMs) * this.perSecond) / 1000);
    this.filledMs = nowMs;
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }
}
