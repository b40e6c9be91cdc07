// What went wrong, in one class: the server refused, or it could not be asked.

/** The codes of the services, by their numbers. */
const SERVICE_CODES = [
  "ok",
  "cancelled",
  "unknown",
  "invalid_argument",
  "deadline_exceeded",
  "not_found",
  "already_exists",
  "permission_denied",
  "resource_exhausted",
  "failed_precondition",
  "aborted",
  "out_of_range",
  "unimplemented",
  "internal",
  "unavailable",
  "data_loss",
  "unauthenticated",
] as const;

/** A code of the services: what was asked over HTTP. */
export type ServiceCode = (typeof SERVICE_CODES)[number];

/** A code of a room: what was said over a realtime connection. */
export type RoomCode =
  | "unknown"
  | "bad_message"
  | "version_mismatch"
  | "unauthenticated"
  | "resume_refused"
  | "forbidden"
  | "room_not_found"
  | "room_full"
  | "join_refused"
  | "unknown_command"
  | "not_found"
  | "bad_value"
  | "limit_reached"
  | "rate_limited"
  | "refused"
  | "unavailable"
  | "internal";

/** What this side found by itself: nobody was there, it took too long, there is no connection, or nobody is signed in. */
export type LocalCode = "unreachable" | "timed_out" | "disconnected" | "signed_out" | "unsupported";

/** Codes of a newer server are texts too. */
export type RefusalCode = ServiceCode | RoomCode | LocalCode | (string & {});

/** The only error that calls to the server end with, except for that of an `AbortSignal`. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: RefusalCode;
  /** The status of the HTTP answer; 0 where there was none. */
  readonly status: number;
  /** How long the server asks to wait before the next attempt. */
  readonly retryAfterMs: number | undefined;

  constructor(code: RefusalCode, message: string, about: { readonly status?: number; readonly retryAfterMs?: number | undefined } = {}) {
    super(message);
    this.code = code;
    this.status = about.status ?? 0;
    this.retryAfterMs = about.retryAfterMs;
  }
}

/** The refusal in an HTTP answer that is no success. */
export function refusalOf(status: number, text: string, retryAfter: string | null): Refusal {
  const { code, message, error } = parsed(text);
  const about = { status, retryAfterMs: retryAfterMs(retryAfter) };
  const words = typeof message === "string" ? message : error;
  return new Refusal(codeOf(code, status), typeof words === "string" ? words : `The server answered ${status}.`, about);
}

function codeOf(code: unknown, status: number): RefusalCode {
  if (typeof code === "string") return code;
  if (typeof code === "number") return SERVICE_CODES[code] ?? "unknown";
  // A proxy on the way says nothing but the status.
  if (status === 429) return "resource_exhausted";
  return status === 502 || status === 503 || status === 504 ? "unavailable" : "unknown";
}

function parsed(text: string): { code?: unknown; message?: unknown; error?: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

function retryAfterMs(header: string | null): number | undefined {
  const seconds = header === null ? Number.NaN : Number(header);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}
