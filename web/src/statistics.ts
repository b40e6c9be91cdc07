// Figures about a connection: rates over the last seconds, round trips and their jitter.

/** Rates are taken over this long, so that they are calm and still follow. */
const WINDOW_MS = 2_000;

/** Shares of the newest value in the smoothed ones; the usual ones of TCP. */
const RTT_GAIN = 1 / 8;
const JITTER_GAIN = 1 / 4;

/** An amount per second. */
export class Rate {
  private readonly entries: { readonly at: number; readonly amount: number }[] = [];
  private sum = 0;
  private since = 0;

  add(amount: number, now: number): void {
    if (this.entries.length === 0 && this.sum === 0 && this.since === 0) this.since = now;
    this.entries.push({ at: now, amount });
    this.sum += amount;
  }

  perSecond(now: number): number {
    while (this.entries[0] !== undefined && this.entries[0].at < now - WINDOW_MS) {
      this.sum -= this.entries.shift()?.amount ?? 0;
    }
    // In the first moments there is less than a window to look back on.
    const span = Math.min(WINDOW_MS, Math.max(now - this.since, WINDOW_MS / 4));
    return (this.sum * 1000) / span;
  }

  reset(): void {
    this.entries.length = 0;
    this.sum = 0;
    this.since = 0;
  }
}

/** Round trips, smoothed, with their jitter. */
export class RoundTrips {
  rttMs: number | undefined;
  jitterMs: number | undefined;
  private count = 0;

  add(milliseconds: number): void {
    const measured = Math.max(0, milliseconds);
    if (this.rttMs === undefined || this.jitterMs === undefined) {
      this.rttMs = measured;
      this.jitterMs = 0;
      return;
    }
    // The first few count alike, so that a slow start is soon forgotten.
    this.count += 1;
    const early = 1 / (this.count + 1);
    this.jitterMs += (Math.abs(measured - this.rttMs) - this.jitterMs) * Math.max(JITTER_GAIN, early);
    this.rttMs += (measured - this.rttMs) * Math.max(RTT_GAIN, early);
  }

  reset(): void {
    this.rttMs = undefined;
    this.jitterMs = undefined;
    this.count = 0;
  }
}
