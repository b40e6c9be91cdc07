// The error that calls reject with: the server rejected the call, or could not be reached.

/** Codes of the services API, indexed by their gRPC number. */
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

/** Code of the services API, over HTTP. */
export type ServiceCode = (typeof SERVICE_CODES)[number];

/** Code of a room, over a realtime connection. */
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

/** Codes of the services socket, indexed by their number. */
const SOCKET_CODES = [
  "runtime_exception",
  "unrecognized_payload",
  "missing_payload",
  "bad_input",
  "match_not_found",
  "match_join_rejected",
  "runtime_function_not_found",
  "runtime_function_exception",
] as const;

/** Code of a request over the services socket. */
export type SocketCode = (typeof SOCKET_CODES)[number];

/**
 * Code set by this client: the server is unreachable, the call timed out, there is no connection, nobody is signed in,
 * or a feature is missing here.
 */
export type LocalCode = "unreachable" | "timed_out" | "disconnected" | "signed_out" | "unsupported";

/** Code of the server's answer to a page whose origin may not connect. The message names the origin and the setting. */
export type OriginCode = "foreign_origin";

/** Any code. A newer server may send codes that this version does not list. */
export type ErrorCode = ServiceCode | RoomCode | SocketCode | OriginCode | LocalCode | (string & {});

/** Error that every call to the server rejects with, unless its `AbortSignal` ended it. */
export class AetherError extends Error {
  override readonly name = "AetherError";
  readonly code: ErrorCode;
  /** Status of the HTTP answer, or 0 if there was none. */
  readonly status: number;
  /** Time to wait before the next attempt, if the server gave one. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, about: { readonly status?: number; readonly retryAfterMs?: number | undefined } = {}) {
    super(message);
    this.code = code;
    this.status = about.status ?? 0;
    this.retryAfterMs = about.retryAfterMs;
  }
}

/** Returns whether the server refuses every page of this origin. */
export function isForeignOrigin(error: unknown): error is AetherError {
  const code: OriginCode = "foreign_origin";
  return error instanceof AetherError && error.code === code;
}

/** Returns whether the next attempt would fail in the same way. */
export function isPermanent(error: unknown): error is AetherError {
  if (!(error instanceof AetherError)) return false;
  return error.status === 401 || error.status === 403 || error.code === "signed_out" || error.code === "unsupported";
}

/** Returns the error of an HTTP answer that is not a success. */
export function errorOf(status: number, text: string, retryAfter: string | null): AetherError {
  const { code, message, error } = parsed(text);
  const about = { status, retryAfterMs: retryAfterMs(retryAfter) };
  const words = typeof message === "string" ? message : error;
  return new AetherError(codeOf(code, status), typeof words === "string" ? words : `The server answered ${status}.`, about);
}

/** Returns the error of a request over the services socket. */
export function socketErrorOf(error: { readonly code?: number; readonly message?: string }): AetherError {
  const words = error.message ?? "";
  return new AetherError(SOCKET_CODES[error.code ?? 0] ?? "unknown", words === "" ? "The server rejected the request." : words);
}

function codeOf(code: unknown, status: number): ErrorCode {
  if (typeof code === "string") return code;
  if (typeof code === "number") return SERVICE_CODES[code] ?? "unknown";
  // A proxy may answer without a code of ours.
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
