// How long frames take: the last few seconds, as shares of them.

/** Frames that are looked back on: five seconds at 60 a second. */
const FRAMES_MAX = 300;

export interface FrameTimes {
  /** From one frame to the next, in milliseconds. */
  readonly interval: Shares;
  /** What this page did in a frame, in milliseconds; the browser's own drawing is not in it. */
  readonly work: Shares;
  readonly perSecond: number;
}

export interface Shares {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

export class Frames {
  private readonly intervals: number[] = [];
  private readonly works: number[] = [];
  private lastMs: number | undefined;

  /** Does the work of a frame, and notes how long it took. */
  measure(nowMs: number, work: () => void): void {
    if (this.lastMs !== undefined) note(this.intervals, nowMs - this.lastMs);
    this.lastMs = nowMs;
    const began = performance.now();
    work();
    note(this.works, performance.now() - began);
  }

  get times(): FrameTimes {
    const mean = this.intervals.reduce((sum, value) => sum + value, 0) / Math.max(1, this.intervals.length);
    return { interval: sharesOf(this.intervals), work: sharesOf(this.works), perSecond: mean > 0 ? 1000 / mean : 0 };
  }
}

/** The values that so many of a hundred do not exceed. */
export function sharesOf(values: readonly number[]): Shares {
  const sorted = [...values].sort((a, b) => a - b);
  const share = (percent: number): number => sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? 0;
  return { p50: share(50), p95: share(95), p99: share(99) };
}

function note(values: number[], value: number): void {
  values.push(value);
  if (values.length > FRAMES_MAX) values.shift();
}
