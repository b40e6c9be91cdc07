// The tick that is shown: a little behind the server's, so that there is always a state on either side of it.

/** How far behind the newest state the world is shown, at the least: two snapshots at 20 a second, and some jitter. */
const DELAY_MS = 110;

/** The share by which a late arrival moves the clock; early ones move it at once, because nothing arrives too early. */
const DRIFT_GAIN = 0.02;

/** A clock that is this wrong is set anew: the server or this side stood still. */
const ERROR_MS_MAX = 1_000;

export class Clock {
  private readonly tickMs: number;
  readonly delayMs: number;
  /** This side's time at the server's tick 0, for the fastest arrivals. */
  private originMs: number | undefined;

  constructor(tickHz: number, snapshotHz: number) {
    // A relay has no ticks.
    this.tickMs = 1000 / Math.max(1, tickHz);
    this.delayMs = Math.max(DELAY_MS, 2000 / Math.max(1, snapshotHz));
  }

  /** The state of a tick has arrived. */
  arrived(tick: number, nowMs: number): void {
    const origin = nowMs - tick * this.tickMs;
    if (this.originMs === undefined || origin < this.originMs || origin - this.originMs > ERROR_MS_MAX) {
      this.originMs = origin;
    } else {
      this.originMs += (origin - this.originMs) * DRIFT_GAIN;
    }
  }

  /** The tick to show now, with its fraction; 0 before the first state. */
  shownTick(nowMs: number): number {
    if (this.originMs === undefined) return 0;
    return Math.max(0, (nowMs - this.delayMs - this.originMs) / this.tickMs);
  }
}
