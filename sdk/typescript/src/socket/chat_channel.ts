// Channel of chat: a room, a group, or two users.

import type { ChatHistory, ChatMessage, MessageListOptions, MessagePage } from "../services/chat.ts";
import type { CallOptions } from "../services/requests.ts";
import type { JsonObject } from "../services/values.ts";
import type { Chat } from "./chat.ts";
import { ChatLog, type LogEvents } from "./chat_log.ts";
import { type Change, Members } from "./members.ts";
import { type Presence, type WireChannel, presenceOf, presencesOf } from "./wire.ts";

/** Kind of a channel, by its code on the wire minus one. */
export type ChannelKind = "room" | "direct" | "group";

export const CHANNEL_KINDS = ["room", "direct", "group"] as const;

/** Channel to join, and the options of the player in it. */
export interface ChannelJoin {
  readonly kind: ChannelKind;
  /** Name of the room, or id of the group or of the other user. */
  readonly target: string;
  readonly isPersistent: boolean;
  readonly isHidden: boolean;
}

/** Acknowledgement of a message, an edit or a removal. */
export interface MessageReceipt {
  readonly messageId: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly isPersistent: boolean;
  /** 0 if the message is not stored. */
  readonly sequence: number;
}

export class ChatChannel {
  readonly id: string;
  /** Channel that was joined. */
  readonly joining: ChannelJoin;
  private readonly chat: Chat;
  private readonly pages: ChatHistory;
  private readonly log: ChatLog;
  private readonly known = new Members();
  private presence: Presence;
  private started: Promise<void> = Promise.resolve();

  /** Use `socket.chat`. */
  constructor(chat: Chat, pages: ChatHistory, joining: ChannelJoin, wire: WireChannel, events: LogEvents) {
    this.chat = chat;
    this.pages = pages;
    this.joining = joining;
    this.id = wire.id ?? "";
    this.presence = presenceOf(wire.self);
    this.known.replace(membersOf(wire));
    this.log = new ChatLog(this.id, pages, events);
  }

  get kind(): ChannelKind {
    return this.joining.kind;
  }

  /** Name of the room, or id of the group or of the other user. */
  get target(): string {
    return this.joining.target;
  }

  /**
   * Newest known messages, the oldest first: those of the history when the channel was joined, and all later ones. Edits
   * are applied, and removed messages are left out. At most 200.
   */
  get messages(): readonly ChatMessage[] {
    return this.log.messages;
  }

  /** Last known members who are not hidden, including the player. */
  get members(): readonly Presence[] {
    return this.known.list;
  }

  /** Own presence; another one after a lost connection. */
  get self(): Presence {
    return this.presence;
  }

  /** True until the player leaves or `chat_left` follows; also while the connection is lost. */
  get isJoined(): boolean {
    return this.chat.all.includes(this);
  }

  /** Sends a message. `chat_message` follows, as for every member. */
  send(content: object, options?: CallOptions): Promise<MessageReceipt> {
    return this.chat.write({ channel_message_send: { channel_id: this.id, content: JSON.stringify(content) } }, options);
  }

  /** Replaces the content of one of the player's own messages. */
  edit(messageId: string, content: object, options?: CallOptions): Promise<MessageReceipt> {
    const fields = { channel_id: this.id, message_id: messageId, content: JSON.stringify(content) };
    return this.chat.write({ channel_message_update: fields }, options);
  }

  /** Removes one of the player's own messages. */
  remove(messageId: string, options?: CallOptions): Promise<MessageReceipt> {
    return this.chat.write({ channel_message_remove: { channel_id: this.id, message_id: messageId } }, options);
  }

  /** Returns a page of the stored messages, the newest first. */
  history<Content = JsonObject>(options?: MessageListOptions): Promise<MessagePage<Content>> {
    return this.pages.list<Content>(this.id, options);
  }

  leave(options?: CallOptions): Promise<void> {
    return this.chat.leave(this, options);
  }

  /** Resolves when the earlier messages were read. */
  get ready(): Promise<void> {
    return this.started;
  }

  /** Reads the newest messages of the history. */
  start(count: number): void {
    this.started = this.log.start(count);
  }

  /** Takes a message of the server. */
  received(message: ChatMessage): void {
    this.log.receive(message);
  }

  /** Takes over the state after joining again, and reads what was missed. Returns the change of the members. */
  rejoined(wire: WireChannel): Change {
    const own = [this.presence.sessionId, wire.self?.session_id];
    this.presence = presenceOf(wire.self);
    void this.log.catchUp();
    const { joins, leaves } = this.known.replace(membersOf(wire));
    const isOther = ({ sessionId }: Presence): boolean => !own.includes(sessionId);
    return { joins: joins.filter(isOther), leaves: leaves.filter(isOther) };
  }

  /** Applies a change of the members. Returns what was not known before. */
  changed(change: Change): Change {
    return this.known.apply(change);
  }

  /** Stops deliveries of a channel that was left. */
  closed(): void {
    this.log.close();
  }
}

/** Members of a channel: the list leaves a player out who has just joined. */
function membersOf({ presences, self }: WireChannel): Presence[] {
  const others = presencesOf(presences).filter(({ sessionId }) => sessionId !== self?.session_id);
  return self === undefined ? others : [...others, presenceOf(self)];
}
