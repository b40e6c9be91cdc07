// Time and chance, as everything here takes them: so that tests decide both.

export interface Time {
  /** Milliseconds on a clock that never goes back. */
  nowMs(): number;
  /** Milliseconds since 1970, by this machine's clock, which may be wrong. */
  wallMs(): number;
  /** Calls back once after a while; what it returns takes that back. */
  after(milliseconds: number, callback: () => void): () => void;
  /** A number from 0 up to 1. It spreads clients out; it is no secret. */
  random(): number;
}

/** The time of this machine. */
export const systemTime: Time = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** Pauses that double from the first to the last, and differ by up to a share, so that clients do not all come at once. */
export interface Pauses {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly spread: number;
}

/** The pause after so many failures in a row. */
export function pauseMs(pauses: Pauses, failures: number, time: Time): number {
  // Beyond 2^16 every pause has reached the last one.
  const pause = Math.min(pauses.lastMs, pauses.firstMs * 2 ** Math.min(failures, 16));
  return pause * (1 + pauses.spread * (2 * time.random() - 1));
}

/** Resolves after a while; rejects with the signal's reason when that comes first. */
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
