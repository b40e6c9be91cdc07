// Rates over the last seconds.

/** Window of a rate: smooth, and still responsive. */
const WINDOW_MS = 2_000;

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
    // At the start there is less than one window of data.
    const span = Math.min(WINDOW_MS, Math.max(now - this.since, WINDOW_MS / 4));
    return (this.sum * 1000) / span;
  }

  reset(): void {
    this.entries.length = 0;
    this.sum = 0;
    this.since = 0;
  }
}
