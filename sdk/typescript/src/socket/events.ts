// Events of a socket.

import type { AetherError, ErrorCode } from "../error.ts";
import type { ChatMessage } from "../services/chat.ts";
import type { Notification } from "../services/notification.ts";
import type { BracketUpdate } from "./bracket_update.ts";
import type { ChatChannel } from "./chat_channel.ts";
import type { Gap } from "./chat_log.ts";
import type { Match, MatchChoice } from "./match.ts";
import type { Connection } from "./connection.ts";
import type { Party } from "./party.ts";
import type { Presence } from "./wire.ts";

/** Something that could not be restored after a lost connection. */
export interface NotRestored {
  readonly what: "status" | "party" | "match" | "chat" | "remote_values";
  /** Id of the party, match or channel; empty otherwise. */
  readonly id: string;
  readonly error: AetherError;
}

/** Reason why the player is not in a party, match or channel any more. */
export type LeaveReason =
  /** The leader has closed the party, or removed the player from it: the server does not tell which. */
  | "closed"
  /** The player is not a member any more: it was removed, or the match or group has ended. */
  | "removed"
  /** It could not be rejoined after a lost connection. */
  | "not_restored";

/** Player of a match that the matchmaker has made. */
export interface MatchedUser {
  readonly presence: Presence;
  /** Absent for a player without a party. */
  readonly partyId: string | undefined;
  readonly strings: Readonly<Record<string, string>>;
  readonly numbers: Readonly<Record<string, number>>;
}

/** Name of a stream of server code. */
export interface StreamName {
  readonly mode: number;
  readonly subject: string;
  readonly subcontext: string;
  readonly label: string;
}

/** Event of a socket. */
export type SocketEvent =
  /** The socket is connected. After a lost connection, everything is restored except what `notRestored` lists. */
  | { readonly kind: "connected"; readonly isReconnect: boolean; readonly notRestored: readonly NotRestored[] }
  /** The connection was lost; the socket reconnects by itself. */
  | { readonly kind: "lost"; readonly text: string }
  /** The socket is over: it was closed, or the server does not accept the user any more. */
  | { readonly kind: "ended"; readonly reason: ErrorCode; readonly text: string }
  /** The server rejected a message that has no answer, such as data. */
  | { readonly kind: "error"; readonly error: AetherError }
  /** Statuses of followed users changed, or of the own user on another device. A changed status is in both lists. */
  | { readonly kind: "status"; readonly joins: readonly Presence[]; readonly leaves: readonly Presence[] }
  /** The player is a member of a party that was not awaited: the leader has accepted an earlier request. */
  | { readonly kind: "party"; readonly party: Party }
  | { readonly kind: "party_members"; readonly party: Party; readonly joins: readonly Presence[]; readonly leaves: readonly Presence[] }
  | { readonly kind: "party_leader"; readonly party: Party; readonly leader: Presence }
  /** Label or visibility changed. */
  | { readonly kind: "party_updated"; readonly party: Party }
  /** Players ask the leader to join a closed party. */
  | { readonly kind: "party_join_requests"; readonly party: Party; readonly presences: readonly Presence[] }
  | { readonly kind: "party_data"; readonly party: Party; readonly sender: Presence | undefined; readonly opCode: number; readonly data: Uint8Array }
  /** The leader has added the party to the matchmaker. */
  | { readonly kind: "party_ticket"; readonly party: Party; readonly ticket: string }
  | { readonly kind: "party_left"; readonly party: Party; readonly reason: LeaveReason; readonly text: string }
  | { readonly kind: "match_members"; readonly match: Match; readonly joins: readonly Presence[]; readonly leaves: readonly Presence[] }
  | {
      readonly kind: "match_data";
      readonly match: Match;
      /** Absent for data of the match itself. */
      readonly sender: Presence | undefined;
      readonly opCode: number;
      readonly data: Uint8Array;
      readonly isReliable: boolean;
    }
  | { readonly kind: "match_left"; readonly match: Match; readonly reason: LeaveReason; readonly text: string }
  /** The matchmaker has made a match. Join it with `matches.join(event.match)`. */
  | {
      readonly kind: "matched";
      readonly ticket: string;
      readonly match: MatchChoice;
      readonly users: readonly MatchedUser[];
      readonly self: MatchedUser | undefined;
    }
  /** Tickets ended without a match: with a lost connection, or because the members of their party changed. */
  | { readonly kind: "tickets_lost"; readonly tickets: readonly string[]; readonly reason: "disconnected" | "party_changed" }
  /** A member of a channel, or the player, has sent a message. Each message is reported once, in order. */
  | { readonly kind: "chat_message"; readonly channel: ChatChannel; readonly message: ChatMessage }
  /** The author has changed a message. */
  | { readonly kind: "chat_edited"; readonly channel: ChatChannel; readonly message: ChatMessage }
  | { readonly kind: "chat_removed"; readonly channel: ChatChannel; readonly message: ChatMessage }
  | { readonly kind: "chat_members"; readonly channel: ChatChannel; readonly joins: readonly Presence[]; readonly leaves: readonly Presence[] }
  /** Stored messages are missing: there are too many, or the history could not be read. Read them with `channel.history`. */
  | ({ readonly kind: "chat_gap"; readonly channel: ChatChannel } & Gap)
  | { readonly kind: "chat_left"; readonly channel: ChatChannel; readonly reason: LeaveReason; readonly text: string }
  | { readonly kind: "notifications"; readonly notifications: readonly Notification[] }
  /** A remote value has changed, after `remoteValues.watch`. Without a version it was deleted. */
  | { readonly kind: "remote_value"; readonly key: string; readonly version: number | undefined }
  /** A bracket that the player has entered has changed. */
  | ({ readonly kind: "bracket" } & BracketUpdate)
  /** Server code sent data to a stream. */
  | { readonly kind: "stream_data"; readonly stream: StreamName; readonly sender: Presence | undefined; readonly data: string }
  | { readonly kind: "stream_members"; readonly stream: StreamName; readonly joins: readonly Presence[]; readonly leaves: readonly Presence[] };

/** Parts of a socket that its nouns share. */
export interface SocketContext {
  readonly connection: Connection;
  readonly emit: (event: SocketEvent) => void;
}
