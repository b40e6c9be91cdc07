// The tick that is shown: a little behind the server's, so that there is always a state on either side of it.

/** How far behind the newest state the world is shown. */
const DELAY_MS = 100;

/** The share by which a late arrival moves the clock; early ones move it at once, because nothing arrives too early. */
const DRIFT_GAIN = 0.02;

/** A clock that is this wrong is set anew: the server or this page stood still. */
const ERROR_MS_MAX = 1_000;

export class Clock {
  private tickMs = 25;
  private delayMs = DELAY_MS;
  /** This page's time at the server's tick 0, for the fastest arrivals. */
  private originMs: number | undefined;

  /** Begins anew with a room's rates. */
  reset(tickHz: number, snapshotHz: number): void {
    // A relay has no ticks.
    this.tickMs = 1000 / Math.max(1, tickHz);
    this.delayMs = Math.max(DELAY_MS, 2000 / Math.max(1, snapshotHz));
    this.originMs = undefined;
  }

  /** The state of a tick has arrived. */
  arrived(tick: number, now: number): void {
    const origin = now - tick * this.tickMs;
    if (this.originMs === undefined || origin < this.originMs || origin - this.originMs > ERROR_MS_MAX) {
      this.originMs = origin;
    } else {
      this.originMs += (origin - this.originMs) * DRIFT_GAIN;
    }
  }

  /** The tick to show now, with its fraction; 0 before the first state. */
  shownTick(now: number): number {
    if (this.originMs === undefined) return 0;
    return Math.max(0, (now - this.delayMs - this.originMs) / this.tickMs);
  }

  /** Seconds of so many ticks. */
  seconds(ticks: number): number {
    return (ticks * this.tickMs) / 1000;
  }
}
