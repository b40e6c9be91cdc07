// Reaction test: the player presses a button as soon as it changes.

/** Waiting time before the signal: random, so that it cannot be guessed. */
const WAIT_MS_MIN = 1_200;
const WAIT_MS_MAX = 3_200;

/** A slower press counts as none. */
const REACTION_MS_MAX = 5_000;

export type ReflexPhase =
  | { readonly name: "idle" }
  | { readonly name: "waiting" }
  | { readonly name: "signal" }
  | { readonly name: "early" }
  | { readonly name: "late" }
  | { readonly name: "done"; readonly milliseconds: number };

export class Reflex {
  phase: ReflexPhase = { name: "idle" };
  private readonly changed: () => void;
  private readonly done: (milliseconds: number) => void;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private signalMs = 0;

  constructor(changed: () => void, done: (milliseconds: number) => void) {
    this.changed = changed;
    this.done = done;
  }

  /** Starts, or ends the run. */
  press(): void {
    if (this.phase.name === "waiting") return this.end({ name: "early" });
    if (this.phase.name !== "signal") return this.start();
    const milliseconds = Math.max(1, Math.round(performance.now() - this.signalMs));
    this.end({ name: "done", milliseconds });
    this.done(milliseconds);
  }

  private start(): void {
    this.enter({ name: "waiting" });
    this.timer = setTimeout(() => this.signal(), WAIT_MS_MIN + Math.random() * (WAIT_MS_MAX - WAIT_MS_MIN));
  }

  private signal(): void {
    this.enter({ name: "signal" });
    // The reaction starts when the player can see the change.
    requestAnimationFrame(() => void (this.signalMs = performance.now()));
    this.signalMs = performance.now();
    this.timer = setTimeout(() => this.end({ name: "late" }), REACTION_MS_MAX);
  }

  private end(phase: ReflexPhase): void {
    clearTimeout(this.timer);
    this.enter(phase);
  }

  private enter(phase: ReflexPhase): void {
    this.phase = phase;
    this.changed();
  }
}
