// Chat: joining channels, and joining them again after a lost connection.

import type { ChatHistory } from "../services/chat.ts";
import { type MessageKind, type WireMessage, messageOf } from "../services/chat.ts";
import type { CallOptions } from "../services/requests.ts";
import type { Time } from "../time.ts";
import type { Reading } from "./calls.ts";
import { CHANNEL_KINDS, type ChannelJoin, ChatChannel, type MessageReceipt } from "./chat_channel.ts";
import type { LogEvents } from "./chat_log.ts";
import type { RequestOptions } from "./connection.ts";
import type { LeaveReason, NotRestored, SocketContext } from "./events.ts";
import { changeOf, isChange } from "./members.ts";
import { paced, restoreErrorOf } from "./restore.ts";
import type { ClientMessage, Presence, WireChange, WireChannel } from "./wire.ts";

export interface ChatJoinOptions extends CallOptions {
  /** True if the server stores the player's messages in this channel. True by default. */
  readonly isPersistent?: boolean;
  /** True if other members do not see the player in the channel. False by default. */
  readonly isHidden?: boolean;
  /** Number of earlier messages to read: up to 100, 50 by default. They are in `channel.messages`. */
  readonly backlog?: number;
}

const BACKLOG_MESSAGES = 50;

/** Messages of a group after which the member concerned is not in its channel any more. */
const GONE: readonly MessageKind[] = ["group_left", "group_kicked", "group_banned"];

export class Chat {
  private readonly context: SocketContext;
  private readonly history: ChatHistory;
  private readonly time: Time;
  private readonly joined = new Map<string, ChatChannel>();

  constructor(context: SocketContext, history: ChatHistory, time: Time) {
    this.context = context;
    this.history = history;
    this.time = time;
  }

  /** Channels that the player has joined. */
  get all(): readonly ChatChannel[] {
    return [...this.joined.values()];
  }

  /** Joins a room, which anyone may join by its name: 1 to 64 characters. */
  joinRoom(name: string, options?: ChatJoinOptions): Promise<ChatChannel> {
    return this.join("room", name, options);
  }

  /** Joins the channel of a group that the player is a member of. */
  joinGroup(groupId: string, options?: ChatJoinOptions): Promise<ChatChannel> {
    return this.join("group", groupId, options);
  }

  /** Joins the channel with another user. If the user has not joined it, a notification invites to it. */
  joinDirect(userId: string, options?: ChatJoinOptions): Promise<ChatChannel> {
    return this.join("direct", userId, options);
  }

  async leave(channel: ChatChannel, options?: CallOptions): Promise<void> {
    const read = (): void => this.forget(channel);
    // Without a connection the player has left already, and must not join again.
    if (this.context.connection.phase !== "connected") return read();
    await this.context.connection.request({ channel_leave: { channel_id: channel.id } }, { read }, options);
  }

  /** Sends a message, an edit or a removal. */
  write(message: ClientMessage, options?: CallOptions): Promise<MessageReceipt> {
    return this.context.connection.request(message, { read: ({ channel_message_ack = {} }) => receiptOf(channel_message_ack) }, options);
  }

  handleMessage(wire: WireMessage): void {
    const channel = this.joined.get(wire.channel_id ?? "");
    if (channel === undefined) return;
    const message = messageOf(wire);
    channel.received(message);
    // The server removes the player from the channel afterwards, without telling it.
    if (GONE.includes(message.kind) && message.senderId === channel.self.userId) this.lose(channel, "removed", "You are not in the group any more.");
  }

  handleMembers(event: WireChange & { readonly channel_id?: string }): void {
    const channel = this.joined.get(event.channel_id ?? "");
    if (channel === undefined) return;
    const change = channel.changed(changeOf(event));
    if (!isChange(change)) return;
    this.context.emit({ kind: "chat_members", channel, ...change });
    const isSelf = ({ sessionId }: Presence): boolean => sessionId === channel.self.sessionId;
    if (change.leaves.some(isSelf) && !change.joins.some(isSelf)) this.lose(channel, "removed", "You are not in the channel any more.");
  }

  /** Joins all channels again. What was missed is read afterwards. */
  async restore(): Promise<NotRestored[]> {
    const failures: NotRestored[] = [];
    for (const channel of this.all) {
      try {
        await this.enter(channel.joining, { isRestoring: true });
      } catch (thrown) {
        const error = restoreErrorOf(thrown);
        this.lose(channel, "not_restored", error.message);
        failures.push({ what: "chat", id: channel.id, error });
      }
    }
    return failures;
  }

  private async join(kind: ChannelJoin["kind"], target: string, options: ChatJoinOptions = {}): Promise<ChatChannel> {
    const { isPersistent = true, isHidden = false, backlog = BACKLOG_MESSAGES, signal, timeoutMs } = options;
    const before = this.all;
    const channel = await this.enter({ kind, target, isPersistent, isHidden }, { signal, timeoutMs }, backlog);
    await channel.ready;
    if (signal?.aborted !== true) return channel;
    // Nobody waits for a channel that was given up.
    if (!before.includes(channel)) await this.leave(channel).catch(() => undefined);
    throw signal.reason;
  }

  private enter(joining: ChannelJoin, options: RequestOptions, backlog = 0): Promise<ChatChannel> {
    const { kind, target, isPersistent: persistence, isHidden: hidden } = joining;
    const message = { channel_join: { target, type: CHANNEL_KINDS.indexOf(kind) + 1, persistence, hidden } };
    const reading: Reading<ChatChannel> = {
      read: ({ channel = {} }) => this.entered(joining, channel, backlog),
      undo: ({ channel }) => this.context.connection.tell({ channel_leave: { channel_id: channel?.id ?? "" } }),
    };
    return paced(() => this.context.connection.request(message, reading, options), this.time, options.signal);
  }

  /** Records the state of a channel, and reports what changed since it was known. */
  private entered(joining: ChannelJoin, wire: WireChannel, backlog: number): ChatChannel {
    const known = this.joined.get(wire.id ?? "");
    if (known === undefined) {
      const channel: ChatChannel = new ChatChannel(this, this.history, joining, wire, this.logEvents(() => channel));
      this.joined.set(channel.id, channel);
      channel.start(backlog);
      return channel;
    }
    const change = known.rejoined(wire);
    if (isChange(change)) this.context.emit({ kind: "chat_members", channel: known, ...change });
    return known;
  }

  private logEvents(channelOf: () => ChatChannel): LogEvents {
    const { emit } = this.context;
    return {
      message: (message) => emit({ kind: "chat_message", channel: channelOf(), message }),
      edited: (message) => emit({ kind: "chat_edited", channel: channelOf(), message }),
      removed: (message) => emit({ kind: "chat_removed", channel: channelOf(), message }),
      gap: (gap) => emit({ kind: "chat_gap", channel: channelOf(), ...gap }),
    };
  }

  private lose(channel: ChatChannel, reason: LeaveReason, text: string): void {
    this.forget(channel);
    this.context.emit({ kind: "chat_left", channel, reason, text });
  }

  private forget(channel: ChatChannel): void {
    this.joined.delete(channel.id);
    channel.closed();
  }
}

function receiptOf(wire: WireMessage): MessageReceipt {
  const { id, createdAt, updatedAt, isPersistent, sequence } = messageOf(wire);
  return { messageId: id, createdAt, updatedAt, isPersistent, sequence };
}
