// Virtual time, advanced by the test.

export class VirtualTime {
  #nowMs = 1_000;
  #wallMs = Date.UTC(2026, 0, 1);
  #timers = new Map();
  #count = 0;

  nowMs() {
    return this.#nowMs;
  }

  wallMs() {
    return this.#wallMs;
  }

  after(milliseconds, callback) {
    this.#count += 1;
    const id = this.#count;
    this.#timers.set(id, { atMs: this.#nowMs + milliseconds, callback });
    return () => void this.#timers.delete(id);
  }

  /** The middle of the range, so that pauses have no random part. */
  random() {
    return 0.5;
  }

  /** Number of pending timers. */
  get waiting() {
    return this.#timers.size;
  }

  /** Advances time, timer by timer; the effects of each are done before the next. */
  async pass(milliseconds) {
    const untilMs = this.#nowMs + milliseconds;
    await settled();
    for (;;) {
      const [first] = [...this.#timers].filter(([, { atMs }]) => atMs <= untilMs).sort(([, a], [, b]) => a.atMs - b.atMs);
      if (first === undefined) break;
      const [id, { atMs, callback }] = first;
      this.#timers.delete(id);
      this.#set(Math.max(atMs, this.#nowMs));
      callback();
      await settled();
    }
    this.#set(untilMs);
    await settled();
  }

  /** Advances time as on a suspended machine: timers fire after waking. */
  sleep(milliseconds) {
    this.#set(this.#nowMs + milliseconds);
  }

  #set(nowMs) {
    this.#wallMs += nowMs - this.#nowMs;
    this.#nowMs = nowMs;
  }
}

/** Runs everything that is possible without time passing. */
export async function settled() {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
