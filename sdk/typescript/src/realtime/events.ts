// Events, for listeners and for `for await` loops.

import { AetherError } from "../error.ts";

interface Kinded {
  readonly kind: string;
}

/** Event type of a kind. */
export type OfKind<Event extends Kinded, Kind extends Event["kind"]> = Extract<Event, { readonly kind: Kind }>;

/** Number of events that are queued for a loop. A slower loop loses the oldest. All entities may leave and others enter at once. */
const WAITING_MAX = 32_768;

export class Emitter<Event extends Kinded> {
  private readonly listeners = new Map<string, Set<(event: Event) => void>>();
  private readonly streams = new Set<Stream<Event>>();
  private readonly overText: string;
  private isOver = false;

  /** Creates an emitter. Calls after its end reject with the given sentence. */
  constructor(overText = "The room is over.") {
    this.overText = overText;
  }

  /** Calls the listener for every event of a kind, until the returned function is called. */
  on<Kind extends Event["kind"]>(kind: Kind, listener: (event: OfKind<Event, Kind>) => void): () => void {
    const listeners = this.listeners.get(kind) ?? new Set();
    this.listeners.set(kind, listeners);
    // A listener added twice is called twice, and each removed separately.
    const wrapped = (event: Event): void => listener(event as OfKind<Event, Kind>);
    listeners.add(wrapped);
    return () => void listeners.delete(wrapped);
  }

  /** Resolves with the next event of a kind. Rejects after the end, or with the signal's reason. */
  next<Kind extends Event["kind"]>(kind: Kind, signal?: AbortSignal): Promise<OfKind<Event, Kind>> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      if (this.isOver) return reject(this.over());
      const stream = this.stream([kind], signal);
      stream.next().then(
        ({ done, value }) => {
          void stream.return();
          if (done !== true) resolve(value as OfKind<Event, Kind>);
          else reject(signal?.aborted === true ? (signal.reason as Error) : this.over());
        },
        reject,
      );
    });
  }

  /** Returns events of the given kinds, or of all, for `for await`. Ends with the signal or the emitter. */
  stream<Kind extends Event["kind"]>(kinds?: readonly Kind[], signal?: AbortSignal): Stream<OfKind<Event, Kind>> {
    const stream = new Stream<Event>(kinds, () => void this.streams.delete(stream));
    this.streams.add(stream);
    if (this.isOver || signal?.aborted === true) stream.end();
    signal?.addEventListener("abort", () => stream.end(), { once: true });
    return stream as unknown as Stream<OfKind<Event, Kind>>;
  }

  emit(event: Event): void {
    for (const stream of this.streams) stream.push(event);
    for (const listener of [...(this.listeners.get(event.kind) ?? [])]) {
      try {
        listener(event);
      } catch (error) {
        // An error in a listener is the game's: report it as uncaught and continue.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  /** Ends all streams. */
  end(): void {
    this.isOver = true;
    for (const stream of [...this.streams]) stream.end();
  }

  private over(): AetherError {
    return new AetherError("disconnected", this.overText);
  }
}

/** Stream of events for one loop. */
export class Stream<Event extends Kinded> implements AsyncIterableIterator<Event, undefined> {
  /** Number of events lost because the loop was too slow. */
  dropped = 0;
  private readonly kinds: readonly string[] | undefined;
  private readonly ended: () => void;
  private waiting: Event[] = [];
  private takers: ((result: IteratorResult<Event, undefined>) => void)[] = [];
  private isOver = false;

  constructor(kinds: readonly string[] | undefined, ended: () => void) {
    this.kinds = kinds;
    this.ended = ended;
  }

  next(): Promise<IteratorResult<Event, undefined>> {
    const value = this.waiting.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.isOver) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.takers.push(resolve));
  }

  return(): Promise<IteratorResult<Event, undefined>> {
    this.waiting = [];
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  push(event: Event): void {
    if (this.isOver || this.kinds?.includes(event.kind) === false) return;
    const taker = this.takers.shift();
    if (taker !== undefined) return taker({ done: false, value: event });
    if (this.waiting.length >= WAITING_MAX) {
      this.waiting.shift();
      this.dropped += 1;
    }
    this.waiting.push(event);
  }

  /** Ends the stream. Queued events can still be read. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    for (const taker of this.takers) taker({ done: true, value: undefined });
    this.takers = [];
    this.ended();
  }
}
