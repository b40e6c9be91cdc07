// HTTP requests with deadlines, and retries of idempotent calls.

import { AetherError, errorOf } from "../error.ts";
import { type Backoff, type Time, pauseMs, sleep, systemTime } from "../time.ts";

/** Options of each call. */
export interface CallOptions {
  /** Aborts the call, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Time limit of the call, all attempts together. */
  readonly timeoutMs?: number | undefined;
}

/** One request. */
export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Begins with a slash. Use the tag `path` to escape values. */
  readonly path: string;
  readonly query?: Readonly<Record<string, QueryValue | readonly QueryValue[]>>;
  readonly body?: unknown;
  readonly authorization?: string;
  /** True if repeating the call is harmless. Only such calls are retried. */
  readonly isIdempotent?: boolean;
}

type QueryValue = string | number | boolean | bigint | undefined;

export interface RequestsOptions {
  /** URL of the server, such as `https://play.example.com`. Defaults to the origin of the page. */
  readonly url?: string;
  /** Time limit of a call, all attempts together: 7 seconds by default. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
  readonly time?: Time;
}

/** Longer than a healthy server takes; shorter than the ten seconds in which a refresh token may be presented again. */
const TIMEOUT_MS = 7_000;

/** Attempts of one call. More would only add load to an overloaded server. */
const ATTEMPTS_MAX = 4;

const BACKOFF: Backoff = { firstMs: 200, lastMs: 2_000, spread: 0.3 };

/** Default port of a server. */
const URL_DEFAULT = "http://127.0.0.1:7350";

export class Requests {
  /** Origin of the server, without a trailing slash. */
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

  /** Sends a call; resolves with its JSON. Rejects with an `AetherError`, or with the reason of the caller's signal. */
  async send<Answer>(call: Call, options: CallOptions = {}): Promise<Answer> {
    const ending = new AbortController();
    const timedOut = new AetherError("timed_out", "The server did not answer in time.");
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
        if (isLast || !(error instanceof AetherError) || !mayPass(error)) throw error;
        await sleep(Math.max(pauseMs(BACKOFF, failures, this.time), error.retryAfterMs ?? 0), signal, this.time);
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
      throw new AetherError("unreachable", "The server cannot be reached; check its URL and the network.");
    }
    if (!response.ok) throw errorOf(response.status, text, response.headers.get("retry-after"));
    try {
      return JSON.parse(text === "" ? "{}" : text);
    } catch {
      throw new AetherError("unknown", "The answer is not JSON; the URL may be of another server.", { status: response.status });
    }
  }
}

/** Builds a path with escaped values: path`/v2/storage/${collection}`. */
export function path(parts: TemplateStringsArray, ...names: readonly string[]): string {
  return parts.map((part, index) => part + encodeURIComponent(names[index] ?? "")).join("");
}

/** Returns whether another attempt may succeed. */
function mayPass(refusal: AetherError): boolean {
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
  // A page opened from a file has no server.
  return "location" in globalThis && location.protocol.startsWith("http") ? location.origin : undefined;
}
