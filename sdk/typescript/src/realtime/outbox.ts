// What waits to be sent, at the rates that the server takes it.

import { Refusal } from "../refusal.ts";

/** Messages that wait. A game that says more at once is at fault. */
const WAITING_MAX = 1_024;

/** What the server takes of all messages but inputs: 60 a second, 30 at once. Pings and the leave have to fit too. */
const USUAL = { perSecond: 50, atOnce: 24 };

/** What a relay takes of messages to the game: 120 a second, 60 at once. */
const RELAYED = { perSecond: 110, atOnce: 50 };

export class Outbox {
  private readonly usual = new Bucket(USUAL);
  private readonly relayed = new Bucket(RELAYED);
  private readonly isRelay: boolean;
  private waiting: { readonly bytes: Uint8Array; readonly isPart: boolean }[] = [];

  constructor(isRelay: boolean) {
    this.isRelay = isRelay;
  }

  /** Refuses what would wait behind too much. */
  ensureRoom(): void {
    if (this.waiting.length >= WAITING_MAX) throw new Refusal("limit_reached", "Too much waits to be sent.");
  }

  push(bytes: Uint8Array, isPart: boolean): void {
    this.waiting.push({ bytes, isPart });
  }

  /** Sends what may be sent now, in order. */
  drain(nowMs: number, send: (bytes: Uint8Array) => void): void {
    for (let first = this.waiting[0]; first !== undefined; first = this.waiting[0]) {
      const bucket = this.isRelay && !first.isPart ? this.relayed : this.usual;
      if (!bucket.take(nowMs)) return;
      this.waiting.shift();
      send(first.bytes);
    }
  }
}

/** Lets through so many at once, and so many a second. */
class Bucket {
  private readonly perSecond: number;
  private readonly atOnce: number;
  private left: number;
  private filledMs = Number.NEGATIVE_INFINITY;

  constructor({ perSecond, atOnce }: { readonly perSecond: number; readonly atOnce: number }) {
    this.perSecond = perSecond;
    this.atOnce = atOnce;
    this.left = atOnce;
  }

  take(nowMs: number): boolean {
    this.left = Math.min(this.atOnce, this.left + (Math.max(0, nowMs - this.filledMs) * this.perSecond) / 1000);
    this.filledMs = nowMs;
    if (this.left < 1) return false;
    this.left -= 1;
    return true;
  }
}
