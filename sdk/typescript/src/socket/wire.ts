// Messages of the services socket in JSON: fields with zero values are left out, 64-bit integers are strings, bytes are
// base64.

import { fromBase64 } from "../base64.ts";
import type { WireMessage } from "../services/chat.ts";
import type { WireNotification } from "../services/notification.ts";

/** A message to the server: its name and its fields. */
export type ClientMessage = Readonly<Record<string, object>>;

/** A message from the server. At most one field besides `cid` is set. */
export interface ServerMessage {
  /** Copied from the request; absent in messages that the server sends unasked. */
  readonly cid?: string;
  readonly error?: { readonly code?: number; readonly message?: string };
  readonly channel?: WireChannel;
  readonly channel_message?: WireMessage;
  readonly channel_message_ack?: WireMessage;
  readonly channel_presence_event?: WireChange & { readonly channel_id?: string };
  readonly match?: WireMatch;
  readonly match_data?: WireMatchData;
  readonly match_presence_event?: WireChange & { readonly match_id?: string };
  readonly matchmaker_matched?: WireMatched;
  readonly matchmaker_ticket?: { readonly ticket?: string };
  readonly notifications?: { readonly notifications?: readonly WireNotification[] };
  readonly party?: WireParty;
  readonly party_close?: { readonly party_id?: string };
  readonly party_data?: WireData & { readonly party_id?: string };
  readonly party_join_request?: { readonly party_id?: string; readonly presences?: readonly WirePresence[] };
  readonly party_leader?: { readonly party_id?: string; readonly presence?: WirePresence };
  readonly party_matchmaker_ticket?: { readonly party_id?: string; readonly ticket?: string };
  readonly party_presence_event?: WireChange & { readonly party_id?: string };
  readonly party_update?: Pick<WireParty, "party_id" | "label" | "open" | "hidden">;
  readonly rpc?: { readonly payload?: string };
  readonly status?: { readonly presences?: readonly WirePresence[] };
  readonly status_presence_event?: WireChange;
  readonly stream_data?: { readonly stream?: WireStream; readonly sender?: WirePresence; readonly data?: string };
  readonly stream_presence_event?: WireChange & { readonly stream?: WireStream };
}

export interface WirePresence {
  readonly user_id?: string;
  readonly session_id?: string;
  readonly username?: string;
  readonly status?: string | null;
}

export interface WireChange {
  readonly joins?: readonly WirePresence[];
  readonly leaves?: readonly WirePresence[];
}

export interface WireData {
  readonly presence?: WirePresence;
  readonly op_code?: string;
  readonly data?: string;
}

export interface WireChannel {
  readonly id?: string;
  readonly presences?: readonly WirePresence[];
  readonly self?: WirePresence;
}

export interface WireMatch {
  readonly match_id?: string;
  readonly authoritative?: boolean;
  readonly label?: string | null;
  readonly presences?: readonly WirePresence[];
  readonly self?: WirePresence;
}

export interface WireMatchData extends WireData {
  readonly match_id?: string;
  readonly reliable?: boolean;
}

export interface WireMatchedUser {
  readonly presence?: WirePresence;
  readonly party_id?: string;
  readonly string_properties?: Readonly<Record<string, string>>;
  readonly numeric_properties?: Readonly<Record<string, number>>;
}

export interface WireMatched {
  readonly ticket?: string;
  readonly match_id?: string;
  readonly token?: string;
  readonly users?: readonly WireMatchedUser[];
  readonly self?: WireMatchedUser;
}

export interface WireParty {
  readonly party_id?: string;
  readonly open?: boolean;
  readonly hidden?: boolean;
  readonly max_size?: number;
  readonly label?: string;
  readonly self?: WirePresence;
  readonly leader?: WirePresence;
  readonly presences?: readonly WirePresence[];
}

export interface WireStream {
  readonly mode?: number;
  readonly subject?: string;
  readonly subcontext?: string;
  readonly label?: string;
}

/** A session of a user. A user with two devices has two. */
export interface Presence {
  readonly userId: string;
  readonly sessionId: string;
  readonly username: string;
  /** Text of a status; absent elsewhere. */
  readonly status: string | undefined;
}

export function presenceOf(wire: WirePresence = {}): Presence {
  return { userId: wire.user_id ?? "", sessionId: wire.session_id ?? "", username: wire.username ?? "", status: wire.status ?? undefined };
}

export function presencesOf(wire: readonly WirePresence[] = []): Presence[] {
  return wire.map(presenceOf);
}

/** Returns a presence as the server reads it. It closes the socket for a field that it does not know. */
export function wirePresence({ userId, sessionId, username }: Presence): WirePresence {
  return { user_id: userId, session_id: sessionId, username };
}

/** Returns the sender, the code and the bytes of a data message. */
export function dataOf({ presence, op_code, data }: WireData): { sender: Presence | undefined; opCode: number; data: Uint8Array } {
  return { sender: presence && presenceOf(presence), opCode: Number(op_code ?? 0), data: fromBase64(data ?? "") };
}
