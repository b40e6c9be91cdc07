// Detects a dead connection, also on a page that was suspended.

/** With two pings a second, silence for this long means that the connection is dead. */
const SILENCE_MS_MAX = 6_000;

/** Time limit for an answer after the page became visible again. */
const PROBE_MS = 2_000;

/** Upper bound of the silence counted between two checks: a suspended page received nothing, which proves nothing. */
const CHECK_MS_MAX = 1_000;

export class Liveness {
  private silentMs = 0;
  private checkedMs = 0;

  /** Handles a received message. */
  received(nowMs: number): void {
    this.silentMs = 0;
    this.checkedMs = nowMs;
  }

  /** Handles a page that is visible again: the server must answer soon. */
  probe(nowMs: number): void {
    this.silentMs = Math.max(this.silentMs, SILENCE_MS_MAX - PROBE_MS);
    this.checkedMs = nowMs;
  }

  isDead(nowMs: number): boolean {
    this.silentMs += Math.min(Math.max(0, nowMs - this.checkedMs), CHECK_MS_MAX);
    this.checkedMs = nowMs;
    return this.silentMs > SILENCE_MS_MAX;
  }
}
