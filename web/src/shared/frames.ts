// Frame times of the last few seconds, as percentiles.

/** Number of frames in the window: five seconds at 60 a second. */
const FRAMES_MAX = 300;

export interface FrameTimes {
  /** Time between two frames, in milliseconds. */
  readonly interval: Percentiles;
  /** Time spent by the page in a frame, in milliseconds, without the browser's own rendering. */
  readonly work: Percentiles;
  readonly perSecond: number;
}

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

export class Frames {
  private readonly intervals: number[] = [];
  private readonly works: number[] = [];
  private lastMs: number | undefined;

  /** Runs the work of a frame and measures it. */
  measure(nowMs: number, work: () => void): void {
    if (this.lastMs !== undefined) record(this.intervals, nowMs - this.lastMs);
    this.lastMs = nowMs;
    const began = performance.now();
    work();
    record(this.works, performance.now() - began);
  }

  get times(): FrameTimes {
    const mean = this.intervals.reduce((sum, value) => sum + value, 0) / Math.max(1, this.intervals.length);
    return { interval: percentilesOf(this.intervals), work: percentilesOf(this.works), perSecond: mean > 0 ? 1000 / mean : 0 };
  }
}

/** Returns percentiles of the values. */
export function percentilesOf(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((a, b) => a - b);
  const share = (percent: number): number => sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? 0;
  return { p50: share(50), p95: share(95), p99: share(99) };
}

function record(values: number[], value: number): void {
  values.push(value);
  if (values.length > FRAMES_MAX) values.shift();
}
