// Requests without an answer yet.

import { AetherError, socketErrorOf } from "../error.ts";
import type { CallOptions } from "../services/requests.ts";
import type { Time } from "../time.ts";
import type { ServerMessage } from "./wire.ts";

/** Default time limit for an answer. */
const ANSWER_MS_MAX = 10_000;

/** Maximum number of requests without an answer. The server reads no more than 16 ahead. */
const CALLS_MAX = 64;

/** Reading of an answer. */
export interface Reading<Answer> {
  /** Converts the answer. Called when it arrives, before any later message. */
  readonly read: (answer: ServerMessage) => Answer;
  /** Takes a request back whose caller does not wait any more. */
  readonly undo?: (answer: ServerMessage) => void;
}

interface PendingCall {
  readonly succeed: (answer: ServerMessage) => void;
  readonly fail: (error: Error) => void;
  readonly undo: ((answer: ServerMessage) => void) | undefined;
  /** True if the caller does not wait any more. */
  isAbandoned: boolean;
}

export class Calls {
  private readonly time: Time;
  private readonly pending = new Map<string, PendingCall>();
  private count = 0;

  constructor(time: Time) {
    this.time = time;
  }

  /** Sends a request by its `cid`; resolves with its answer. */
  call<Answer>(send: (cid: string) => void, { read, undo }: Reading<Answer>, options: CallOptions = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const { signal } = options;
      if (signal?.aborted === true) return reject(signal.reason as Error);
      if (this.pending.size >= CALLS_MAX) return reject(new AetherError("limit_reached", "Too many requests are unanswered; wait for answers before sending more."));
      this.count += 1;
      const cid = String(this.count);
      const stop = (): void => {
        cancel();
        signal?.removeEventListener("abort", aborted);
      };
      const succeed = (answer: ServerMessage): void => {
        stop();
        resolve(read(answer));
      };
      const fail = (error: Error): void => {
        stop();
        reject(error);
      };
      const call: PendingCall = { succeed, fail, undo, isAbandoned: false };
      const abandon = (error: Error): void => {
        call.isAbandoned = true;
        fail(error);
      };
      const aborted = (): void => abandon(signal?.reason as Error);
      const cancel = this.time.after(options.timeoutMs ?? ANSWER_MS_MAX, () => abandon(new AetherError("timed_out", "The server did not answer in time.")));
      signal?.addEventListener("abort", aborted, { once: true });
      this.pending.set(cid, call);
      try {
        send(cid);
      } catch (error) {
        this.pending.delete(cid);
        fail(error as Error);
      }
    });
  }

  /** Settles the request that a message answers. */
  answer(message: ServerMessage): void {
    const { cid = "", error } = message;
    const call = this.pending.get(cid);
    this.pending.delete(cid);
    if (call === undefined) return;
    if (call.isAbandoned) return error === undefined ? call.undo?.(message) : undefined;
    if (error === undefined) call.succeed(message);
    else call.fail(socketErrorOf(error));
  }

  /** Rejects all requests, because the connection is gone. */
  abandonAll(): void {
    const calls = [...this.pending.values()];
    this.pending.clear();
    for (const call of calls) {
      if (!call.isAbandoned) call.fail(new AetherError("disconnected", "The connection was lost before the request was answered."));
    }
  }
}
