// Tick at which remote entities are shown: slightly behind the server's, so that there is a state before and after it.

/** Minimum delay behind the newest state: two snapshots at 20 a second, and some jitter. */
const DELAY_MS = 110;

/** Share by which a late arrival moves the clock. Early ones move it at once, because nothing arrives too early. */
const DRIFT_GAIN = 0.02;

/** Error above which the clock is reset: the server or this client stood still. */
const ERROR_MS_MAX = 1_000;

export class Clock {
  private readonly tickMs: number;
  readonly delayMs: number;
  /** Local time of the server's tick 0, by the fastest arrivals. */
  private originMs: number | undefined;

  constructor(tickHz: number, snapshotHz: number) {
    // A relay has no ticks.
    this.tickMs = 1000 / Math.max(1, tickHz);
    this.delayMs = Math.max(DELAY_MS, 2000 / Math.max(1, snapshotHz));
  }

  /** Records the arrival of a tick's state. */
  arrived(tick: number, nowMs: number): void {
    const origin = nowMs - tick * this.tickMs;
    if (this.originMs === undefined || origin < this.originMs || origin - this.originMs > ERROR_MS_MAX) {
      this.originMs = origin;
    } else {
      this.originMs += (origin - this.originMs) * DRIFT_GAIN;
    }
  }

  /** Returns the server's time minus the local one; undefined before the first state. Arriving state is half a round trip old. */
  offsetMs(roundTripMs: number): number | undefined {
    return this.originMs === undefined ? undefined : roundTripMs / 2 - this.originMs;
  }

  /** Returns the tick to show now, with its fraction; 0 before the first state. */
  shownTick(nowMs: number): number {
    if (this.originMs === undefined) return 0;
    return Math.max(0, (nowMs - this.delayMs - this.originMs) / this.tickMs);
  }
}
