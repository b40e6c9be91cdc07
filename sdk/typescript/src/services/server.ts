// Server information, running rooms, and guest tokens.

import type { CallOptions, Requests } from "./requests.ts";

export interface RoomType {
  readonly name: string;
  /** 0 for a relay. */
  readonly tickHz: number;
  readonly snapshotHz: number;
  readonly playersMax: number;
}

export interface WebTransportAddress {
  readonly url: string;
  /** SHA-256 of a self-signed certificate in base64; absent for one of a public authority. */
  readonly certificateHash?: string;
}

export interface ServerInfo {
  readonly version: string;
  readonly protocol: number;
  readonly roomTypes: readonly RoomType[];
  readonly webTransport: WebTransportAddress | null;
  /** Endpoint of reliable UDP, for native clients; absent if it is disabled. Browsers cannot use it. */
  readonly udp?: { readonly port: number };
  /** True if `guest` returns tokens. */
  readonly guests: boolean;
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

/** Role of the account behind a token. */
export type Role = "admin" | "developer" | "moderator" | "read-only" | "player";

export interface Guest {
  readonly token: string;
  readonly role: Role;
  readonly userId: string;
  readonly expiresAt: Date;
}

export class Server {
  private readonly requests: Requests;

  constructor(requests: Requests) {
    this.requests = requests;
  }

  info(options?: CallOptions): Promise<ServerInfo> {
    return this.requests.send<ServerInfo>({ method: "GET", path: "/api/server", isIdempotent: true }, options);
  }

  /** Returns running rooms, optionally of one type or with one label. */
  async rooms(options: CallOptions & { readonly type?: string; readonly label?: string } = {}): Promise<readonly RoomEntry[]> {
    const query = { type: options.type, label: options.label };
    const call = { method: "GET", path: "/api/rooms", query, isIdempotent: true } as const;
    return (await this.requests.send<{ readonly rooms: readonly RoomEntry[] }>(call, options)).rooms;
  }

  /**
   * Returns a token without an account, if the server allows it; usually only during development. The secret in the URL
   * that a server prints during development gives the role `developer`, on the machine of the server.
   */
  async guest(options: CallOptions & { readonly developerSecret?: string | undefined } = {}): Promise<Guest> {
    const { developerSecret: secret } = options;
    const call = { method: "POST", path: "/api/guest", ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }) } as const;
    const guest = await this.requests.send<{ token: string; role: Role; user: string; expiresAt: number }>(call, options);
    return { token: guest.token, role: guest.role, userId: guest.user, expiresAt: new Date(guest.expiresAt * 1000) };
  }
}
