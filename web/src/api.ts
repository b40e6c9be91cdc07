// The server's HTTP interface, as far as the page needs it.

export interface RoomType {
  readonly name: string;
  /** 0 for a relay. */
  readonly tickHz: number;
  readonly snapshotHz: number;
  readonly playersMax: number;
}

export interface WebTransportPlace {
  readonly url: string;
  /** The SHA-256 of a generated certificate in base64; absent when a real one is used. */
  readonly certificateHash?: string;
}

export interface ServerInfo {
  readonly version: string;
  readonly protocol: number;
  readonly roomTypes: readonly RoomType[];
  readonly webTransport: WebTransportPlace | null;
  readonly guests: boolean;
}

/** What the account behind a token may do. */
export type Role = "admin" | "developer" | "read-only" | "player";

export interface Guest {
  readonly token: string;
  readonly role: Role;
  readonly user: string;
  /** Seconds since 1970. */
  readonly expiresAt: number;
}

export interface RoomEntry {
  readonly id: string;
  readonly code: string;
  readonly type: string;
  readonly label: string;
  readonly players: number;
  readonly playersMax: number;
  readonly tickHz: number;
}

/** An answer that is no success, with the server's own words. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A server that takes longer than this is treated as one that is not there. */
const ANSWER_MS_MAX = 5_000;

export function serverInfo(): Promise<ServerInfo> {
  return request<ServerInfo>("/api/server", "GET");
}

export function guest(): Promise<Guest> {
  return request<Guest>("/api/guest", "POST");
}

export async function rooms(): Promise<readonly RoomEntry[]> {
  return (await request<{ readonly rooms: readonly RoomEntry[] }>("/api/rooms", "GET")).rooms;
}

/** Whether the role may use the playground commands. */
export function mayUsePlayground(role: Role): boolean {
  return role === "admin" || role === "developer";
}

/** Whether the role sees the whole manifest. */
export function mayInspect(role: Role): boolean {
  return mayUsePlayground(role) || role === "read-only";
}

async function request<Answer>(path: string, method: "GET" | "POST"): Promise<Answer> {
  const response = await fetch(path, { method, cache: "no-store", signal: AbortSignal.timeout(ANSWER_MS_MAX) });
  if (!response.ok) {
    const told = (await response.json().catch(() => ({}))) as { readonly error?: string };
    throw new ApiError(response.status, told.error ?? `The server answered ${response.status}.`);
  }
  return (await response.json()) as Answer;
}
