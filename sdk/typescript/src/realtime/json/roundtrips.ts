// Smoothed round trip and jitter, and the schedule of pings.

/** Shares of the newest value in the smoothed ones, as in TCP. */
const RTT_GAIN = 1 / 8;
const JITTER_GAIN = 1 / 4;

/** Interval of pings. They also keep the connection alive: the server closes it after 30 seconds of silence. */
const PING_INTERVAL_MS = 500;

export class RoundTrips {
  roundTripMs: number | undefined;
  jitterMs: number | undefined;
  private count = 0;
  private sentMs: number | undefined;

  isDue(nowMs: number): boolean {
    return this.sentMs === undefined || nowMs - this.sentMs >= PING_INTERVAL_MS;
  }

  sent(nowMs: number): void {
    this.sentMs = nowMs;
  }

  add(milliseconds: number): void {
    const measured = Math.max(0, milliseconds);
    if (this.roundTripMs === undefined || this.jitterMs === undefined) {
      this.roundTripMs = measured;
      this.jitterMs = 0;
      return;
    }
    // The first measurements weigh more, so that a slow start is soon forgotten.
    this.count += 1;
    const early = 1 / (this.count + 1);
    this.jitterMs += (Math.abs(measured - this.roundTripMs) - this.jitterMs) * Math.max(JITTER_GAIN, early);
    this.roundTripMs += (measured - this.roundTripMs) * Math.max(RTT_GAIN, early);
  }

  reset(): void {
    this.roundTripMs = undefined;
    this.jitterMs = undefined;
    this.count = 0;
    this.sentMs = undefined;
  }
}
