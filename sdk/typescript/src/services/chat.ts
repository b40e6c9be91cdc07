// Messages of chat: their history. They are sent and received over the socket.

import { type CallOptions, path } from "./requests.ts";
import type { Session } from "./session.ts";
import { type JsonObject, cursorOf, toDate, toObject } from "./values.ts";

/**
 * Kind of a message, indexed by its code. "chat" is written by a user; "edited" and "removed" change an earlier message;
 * those of groups say what happened to a member.
 */
const MESSAGE_KINDS = [
  "chat",
  "edited",
  "removed",
  "group_joined",
  "group_added",
  "group_left",
  "group_kicked",
  "group_promoted",
  "group_banned",
  "group_demoted",
] as const;

/** Kind of a message. A newer server may have more kinds, which are "unknown". */
export type MessageKind = (typeof MESSAGE_KINDS)[number] | "unknown";

export interface ChatMessage<Content = JsonObject> {
  readonly channelId: string;
  readonly id: string;
  readonly kind: MessageKind;
  /** Author of a message; in a message of a group, the member concerned. */
  readonly senderId: string;
  readonly username: string;
  /** Written by another player, so it may contain anything. */
  readonly content: Content;
  readonly createdAt: Date;
  /** Later than `createdAt` if the message was edited. */
  readonly updatedAt: Date;
  /** True if the message is in the history. */
  readonly isPersistent: boolean;
  /** Number of the message in its channel, from 1 and without gaps; 0 if it is not stored. */
  readonly sequence: number;
}

export interface MessagePage<Content = JsonObject> {
  readonly messages: readonly ChatMessage<Content>[];
  /** Cursor of the next page in the same direction; absent on the last. */
  readonly nextCursor: string | undefined;
  /** Cursor of the page before this one; absent on the first. */
  readonly previousCursor: string | undefined;
  /** Cursor after the newest message of this page. Keep it to read newer messages later, with `isForward`. */
  readonly cacheableCursor: string | undefined;
}

export interface MessageListOptions extends CallOptions {
  /** 1 to 100; 50 by default. */
  readonly limit?: number;
  readonly cursor?: string;
  /** True for the oldest message first. False by default: the newest first. */
  readonly isForward?: boolean;
}

const PAGE_MESSAGES = 50;

/** Part of a session that reads the history. */
export type SessionCall = Pick<Session, "call">;

export class ChatHistory {
  private readonly session: SessionCall;

  constructor(session: SessionCall) {
    this.session = session;
  }

  /** Returns a page of the stored messages of a channel. The player must be allowed to read it. */
  async list<Content = JsonObject>(channelId: string, options: MessageListOptions = {}): Promise<MessagePage<Content>> {
    const query = { limit: options.limit ?? PAGE_MESSAGES, forward: options.isForward ?? false, cursor: options.cursor };
    const call = { method: "GET", path: path`/v2/channel/${channelId}`, query, isIdempotent: true } as const;
    const page = await this.session.call<WirePage>(call, options);
    return {
      messages: (page.messages ?? []).map((message) => messageOf<Content>(message)),
      nextCursor: cursorOf(page.next_cursor),
      previousCursor: cursorOf(page.prev_cursor),
      cacheableCursor: cursorOf(page.cacheable_cursor),
    };
  }
}

/** A message on the wire. */
export interface WireMessage {
  readonly channel_id?: string;
  readonly message_id?: string;
  readonly code?: number;
  readonly sender_id?: string;
  readonly username?: string;
  readonly content?: string;
  readonly create_time?: string;
  readonly update_time?: string;
  readonly persistent?: boolean;
  readonly sequence?: string | number;
}

interface WirePage {
  readonly messages?: readonly WireMessage[];
  readonly next_cursor?: string;
  readonly prev_cursor?: string;
  readonly cacheable_cursor?: string;
}

export function messageOf<Content = JsonObject>(wire: WireMessage): ChatMessage<Content> {
  const createdAt = toDate(wire.create_time ?? "");
  return {
    channelId: wire.channel_id ?? "",
    id: wire.message_id ?? "",
    kind: MESSAGE_KINDS[wire.code ?? 0] ?? "unknown",
    senderId: wire.sender_id ?? "",
    username: wire.username ?? "",
    content: toObject(wire.content) as Content,
    createdAt,
    updatedAt: wire.update_time === undefined ? createdAt : toDate(wire.update_time),
    isPersistent: wire.persistent ?? false,
    sequence: Number(wire.sequence ?? 0),
  };
}
