// Clock, timers and random numbers, passed in so that tests control them.

export interface Time {
  /** Monotonic milliseconds. */
  nowMs(): number;
  /** Milliseconds since 1970 by the local clock, which may be wrong. */
  wallMs(): number;
  /** Calls back once after the given time. The returned function cancels it. */
  after(milliseconds: number, callback: () => void): () => void;
  /** Random number in [0, 1), to spread clients out. Not cryptographically secure. */
  random(): number;
}

/** Clock of this machine. */
export const systemTime: Time = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/**
 * Exponential backoff from `firstMs` to `lastMs`, with a random share of `spread`, so that clients do not retry at the
 * same time.
 */
export interface Backoff {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly spread: number;
}

/** Returns the pause after the given number of failures in a row. */
export function pauseMs(backoff: Backoff, failures: number, time: Time): number {
  // Beyond 2^16 every pause has reached `lastMs`.
  const pause = Math.min(backoff.lastMs, backoff.firstMs * 2 ** Math.min(failures, 16));
  return pause * (1 + backoff.spread * (2 * time.random() - 1));
}

/** Resolves after the given time; rejects with the signal's reason if it aborts first. */
export function sleep(milliseconds: number, signal: AbortSignal, time: Time): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const aborted = (): void => {
      cancel();
      reject(signal.reason as Error);
    };
    const cancel = time.after(milliseconds, () => {
      signal.removeEventListener("abort", aborted);
      resolve();
    });
    signal.addEventListener("abort", aborted, { once: true });
  });
}
