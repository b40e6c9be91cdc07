// Whether the other side is still there, also for a page that was asleep in between.

/** With pings twice a second, silence for this long means that the connection is dead. */
const SILENCE_MS_MAX = 6_000;

/** How long the answer may take that is waited for when someone looks again. */
const PROBE_MS = 2_000;

/** Between two looks no more than this counts as silence: whoever was asleep has heard nothing, which proves nothing. */
const LOOK_MS_MAX = 1_000;

export class Liveness {
  private silentMs = 0;
  private lookedMs = 0;

  /** Something arrived. */
  heard(nowMs: number): void {
    this.silentMs = 0;
    this.lookedMs = nowMs;
  }

  /** Someone looks again: what is alive has to show it soon. */
  probe(nowMs: number): void {
    this.silentMs = Math.max(this.silentMs, SILENCE_MS_MAX - PROBE_MS);
    this.lookedMs = nowMs;
  }

  isDead(nowMs: number): boolean {
    this.silentMs += Math.min(Math.max(0, nowMs - this.lookedMs), LOOK_MS_MAX);
    this.lookedMs = nowMs;
    return this.silentMs > SILENCE_MS_MAX;
  }
}
