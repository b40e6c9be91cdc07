// Requests to the server over HTTP: deadlines, and further attempts where one more does no harm.

import { Refusal, refusalOf } from "../refusal.ts";
import { type Pauses, type Time, pauseMs, sleep, systemTime } from "../time.ts";

/** What a caller may say with each call. */
export interface CallOptions {
  /** Ends the call; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** How long the call may take, all attempts together. */
  readonly timeoutMs?: number | undefined;
}

/** One request. */
export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Begins with a slash; what comes from outside is escaped by `path`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, QueryValue | readonly QueryValue[]>>;
  readonly body?: unknown;
  readonly authorization?: string;
  /** Whether doing it twice is as good as doing it once. Only then is it tried again. */
  readonly isIdempotent?: boolean;
}

type QueryValue = string | number | boolean | bigint | undefined;

export interface RequestsOptions {
  /** Where the server is, such as `https://play.example.com`. On a page it is the page's own origin unless it is said. */
  readonly url?: string;
  /** How long a call may take, all attempts together: 7 seconds unless it is said. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
  readonly time?: Time;
}

/** Longer than a server takes that is well, shorter than the ten seconds in which a refresh token may be shown again. */
const TIMEOUT_MS = 7_000;

/** Attempts of one call. More would only add to the load of a server that has too much. */
const ATTEMPTS_MAX = 4;

const PAUSES: Pauses = { firstMs: 200, lastMs: 2_000, spread: 0.3 };

/** The port that servers listen on unless they were told another. */
const URL_DEFAULT = "http://127.0.0.1:7350";

export class Requests {
  /** The server's origin, without a slash at its end. */
  readonly url: string;
  readonly time: Time;
  private readonly timeoutMs: number;
  private readonly fetch: typeof fetch | undefined;

  constructor(options: RequestsOptions = {}) {
    this.url = (options.url ?? pageOrigin() ?? URL_DEFAULT).replace(/\/+$/, "");
    this.time = options.time ?? systemTime;
    this.timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.fetch = options.fetch;
  }

  /** Sends a call; resolves with its JSON. It rejects with a `Refusal`, or with the reason of the caller's signal. */
  async send<Answer>(call: Call, options: CallOptions = {}): Promise<Answer> {
    const ending = new AbortController();
    const timedOut = new Refusal("timed_out", "The server did not answer in time.");
    const cancelDeadline = this.time.after(options.timeoutMs ?? this.timeoutMs, () => ending.abort(timedOut));
    const abort = (): void => ending.abort(options.signal?.reason);
    if (options.signal?.aborted === true) abort();
    options.signal?.addEventListener("abort", abort, { once: true });
    try {
      return (await this.sendUntilDone(call, ending.signal)) as Answer;
    } finally {
      cancelDeadline();
      options.signal?.removeEventListener("abort", abort);
    }
  }

  private async sendUntilDone(call: Call, signal: AbortSignal): Promise<unknown> {
    for (let failures = 0; ; failures += 1) {
      try {
        return await this.sendOnce(call, signal);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        const isLast = failures + 1 >= ATTEMPTS_MAX || call.isIdempotent !== true;
        if (isLast || !(error instanceof Refusal) || !mayPass(error)) throw error;
        await sleep(Math.max(pauseMs(PAUSES, failures, this.time), error.retryAfterMs ?? 0), signal, this.time);
      }
    }
  }

  private async sendOnce(call: Call, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    const { fetch = globalThis.fetch } = this;
    const headers: Record<string, string> = { accept: "application/json" };
    if (call.authorization !== undefined) headers["authorization"] = call.authorization;
    const init: RequestInit = { method: call.method, headers, cache: "no-store", credentials: "omit", signal };
    if (call.body !== undefined) {
      headers["content-type"] = "application/json";
      init.body = JSON.stringify(call.body);
    }
    let response: Response;
    let text: string;
    try {
      response = await fetch(this.url + call.path + queryText(call.query), init);
      text = await response.text();
    } catch {
      throw new Refusal("unreachable", "The server cannot be reached.");
    }
    if (!response.ok) throw refusalOf(response.status, text, response.headers.get("retry-after"));
    try {
      return JSON.parse(text === "" ? "{}" : text);
    } catch {
      throw new Refusal("unknown", "The answer is not of this server.", { status: response.status });
    }
  }
}

/** A path whose parts may be any text: path`/v2/storage/${collection}`. */
export function path(parts: TemplateStringsArray, ...names: readonly string[]): string {
  return parts.map((part, index) => part + encodeURIComponent(names[index] ?? "")).join("");
}

/** Whether another attempt may fare better. */
function mayPass(refusal: Refusal): boolean {
  return refusal.code === "unreachable" || refusal.status === 503 || refusal.status === 429;
}

function queryText(query: Call["query"]): string {
  const pairs = new URLSearchParams();
  for (const [name, values] of Object.entries(query ?? {})) {
    for (const value of Array.isArray(values) ? (values as readonly QueryValue[]) : [values as QueryValue]) {
      if (value !== undefined) pairs.append(name, String(value));
    }
  }
  const text = pairs.toString();
  return text === "" ? "" : `?${text}`;
}

function pageOrigin(): string | undefined {
  // A page of a file has no server of its own.
  return "location" in globalThis && location.protocol.startsWith("http") ? location.origin : undefined;
}
