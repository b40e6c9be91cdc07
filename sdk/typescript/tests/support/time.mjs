// Time that passes when the test says so.

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

  /** In the middle, so that pauses are what they are called. */
  random() {
    return 0.5;
  }

  /** How many timers wait: whoever has ended leaves none. */
  get waiting() {
    return this.#timers.size;
  }

  /** Lets time pass, timer by timer; what each sets off is done before the next. */
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

  /** Time passes as on a machine that is asleep: no timer goes off before it wakes. */
  sleep(milliseconds) {
    this.#set(this.#nowMs + milliseconds);
  }

  #set(nowMs) {
    this.#wallMs += nowMs - this.#nowMs;
    this.#nowMs = nowMs;
  }
}

/** Whatever can be done without time passing is done. */
export async function settled() {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
