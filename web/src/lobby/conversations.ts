// Chats of the player: the room of everyone, friends, and groups.

import { type ChannelKind, type ChatChannel, type ChatMessage, NOTIFICATION_CODES, type Notification, type Socket } from "@aether-game/client";
import type { Tone } from "../shared/notices.ts";
import { visitor } from "../shared/visitor.ts";
import { errorText } from "./texts.ts";

/** Chat room of everyone in the lobby. */
const ROOM = "lobby";

/** Messages of a page of earlier messages. */
const PAGE_MESSAGES = 100;

/** Messages that the page keeps of a chat. */
const KEPT_MAX = 1_000;

/** Key of the open chats, which a reloaded page opens again. */
const STORE_KEY = "aether:lobby:chats";

/** Chats that are opened again, or by invitations. */
const STORED_MAX = 12;

/** Characters of a message that the page sends. The server takes 4,096 bytes. */
export const MESSAGE_CHARACTERS_MAX = 600;

export interface Conversation {
  readonly kind: ChannelKind;
  /** Name of the room, or id of the group or of the other user. */
  readonly target: string;
  readonly title: string;
  /** Undefined while it is being joined. */
  channel: ChatChannel | undefined;
  /** The oldest first. */
  messages: readonly ChatMessage[];
  hasEarlier: boolean;
  unread: number;
  /** Why the chat cannot be used. */
  error: string | undefined;
}

export interface ConversationEvents {
  changed(): void;
  notice(text: string, tone: Tone): void;
}

export class Conversations {
  all: readonly Conversation[] = [made("room", ROOM, "Everyone")];
  active: Conversation;
  /** True while earlier messages are read. */
  isReading = false;
  private readonly events: ConversationEvents;
  private socket: Socket | undefined;

  constructor(events: ConversationEvents) {
    this.events = events;
    this.active = this.all[0] as Conversation;
    this.all = [...this.all, ...storedConversations()];
  }

  /** Joins all chats over a new socket. */
  attach(socket: Socket): void {
    this.socket = socket;
    socket.on("chat_message", ({ channel, message }) => this.received(channel, message));
    socket.on("chat_edited", ({ channel, message }) => this.update(channel, (messages) => messages.map((each) => (each.id === message.id ? message : each))));
    socket.on("chat_removed", ({ channel, message }) => this.update(channel, (messages) => messages.filter(({ id }) => id !== message.id)));
    socket.on("chat_gap", ({ channel }) => this.update(channel, () => channel.messages));
    socket.on("chat_members", () => this.events.changed());
    socket.on("chat_left", ({ channel, reason, text }) => this.left(channel, reason === "removed" ? "You are not a member of this chat any more." : text));
    socket.on("notifications", ({ notifications }) => void this.handleInvitations(notifications));
    void this.readInvitations();
    for (const conversation of this.all) void this.join(conversation);
  }

  /** Forgets the channels of a closed socket. The messages stay. */
  detach(): void {
    this.socket = undefined;
    for (const conversation of this.all) conversation.channel = undefined;
  }

  /** Opens a chat, and selects it. */
  open(kind: ChannelKind, target: string, title: string): void {
    this.select(this.added(kind, target, title));
  }

  select(conversation: Conversation): void {
    this.active = conversation;
    conversation.unread = 0;
    this.events.changed();
  }

  /** Closes a chat. The room of everyone stays. */
  close(conversation: Conversation): void {
    if (conversation.kind === "room") return;
    const { channel } = conversation;
    if (channel?.isJoined === true) channel.leave().catch(() => undefined);
    this.all = this.all.filter((each) => each !== conversation);
    storeConversations(this.all);
    if (this.active === conversation) this.select(this.all[0] as Conversation);
    this.events.changed();
  }

  /** Closes the chat with a user or of a group, if it is open. */
  closeWith(target: string): void {
    const found = this.all.find((each) => each.target === target);
    if (found !== undefined) this.close(found);
  }

  /** Sends a message; resolves with why it failed. */
  send(contents: string): Promise<string | undefined> {
    return this.attempt((channel) => channel.send({ text: contents }));
  }

  edit(message: ChatMessage, contents: string): Promise<string | undefined> {
    return this.attempt((channel) => channel.edit(message.id, { text: contents }));
  }

  async remove(message: ChatMessage): Promise<void> {
    const error = await this.attempt((channel) => channel.remove(message.id));
    if (error !== undefined) this.events.notice(error, "bad");
  }

  /** Reads earlier messages of the active chat. */
  async readEarlier(): Promise<void> {
    const conversation = this.active;
    const { channel } = conversation;
    if (channel === undefined || this.isReading) return;
    this.isReading = true;
    this.events.changed();
    try {
      const earlier = await earlierMessages(channel, firstSequence(conversation.messages));
      conversation.messages = [...earlier, ...conversation.messages];
      conversation.hasEarlier = earlier.length > 0 && firstSequence(earlier) > 1;
    } catch (error) {
      this.events.notice(errorText(error), "bad");
    } finally {
      this.isReading = false;
      this.events.changed();
    }
  }

  private added(kind: ChannelKind, target: string, title: string): Conversation {
    const known = this.all.find((each) => each.kind === kind && each.target === target);
    if (known !== undefined) {
      if (known.channel === undefined) void this.join(known);
      return known;
    }
    const conversation = made(kind, target, title);
    this.all = [...this.all, conversation];
    storeConversations(this.all);
    void this.join(conversation);
    return conversation;
  }

  private async join(conversation: Conversation): Promise<void> {
    const { socket } = this;
    if (socket === undefined) return;
    const { kind, target } = conversation;
    conversation.error = undefined;
    this.events.changed();
    try {
      const { chat } = socket;
      const channel = await (kind === "room" ? chat.joinRoom(target) : kind === "group" ? chat.joinGroup(target) : chat.joinDirect(target));
      if (socket !== this.socket || !this.all.includes(conversation)) return;
      conversation.channel = channel;
      conversation.messages = channel.messages;
      conversation.hasEarlier = firstSequence(channel.messages) > 1;
    } catch (error) {
      if (socket === this.socket) conversation.error = errorText(error);
    }
    this.events.changed();
  }

  private received(channel: ChatChannel, message: ChatMessage): void {
    const conversation = this.update(channel, (messages) => [...messages, message].slice(-KEPT_MAX));
    if (conversation === undefined || message.senderId === channel.self.userId) return;
    if (conversation !== this.active || document.hidden) conversation.unread += 1;
    this.events.changed();
  }

  private update(channel: ChatChannel, change: (messages: readonly ChatMessage[]) => readonly ChatMessage[]): Conversation | undefined {
    const conversation = this.all.find((each) => each.channel === channel);
    if (conversation === undefined) return undefined;
    conversation.messages = change(conversation.messages);
    this.events.changed();
    return conversation;
  }

  private left(channel: ChatChannel, reason: string): void {
    const conversation = this.all.find((each) => each.channel === channel);
    if (conversation === undefined) return;
    conversation.channel = undefined;
    conversation.error = reason;
    this.events.changed();
  }

  /** Reads the invitations that arrived while the player was away. */
  private async readInvitations(): Promise<void> {
    try {
      const { notifications } = await visitor().notifications.list();
      await this.handleInvitations(notifications);
    } catch {
      // They are read when the page is opened again.
    }
  }

  /** Opens the chats of other users who have written to the player. */
  private async handleInvitations(notifications: readonly Notification[]): Promise<void> {
    const invitations = notifications.filter(({ code, senderId }) => code === NOTIFICATION_CODES.directChat && senderId !== "");
    if (invitations.length === 0) return;
    // The newest chats stay, if there are too many.
    for (const { senderId, content } of invitations.slice(-STORED_MAX)) this.invited(senderId, usernameIn(content));
    await visitor().notifications.delete(invitations.map(({ id }) => id)).catch(() => undefined);
  }

  private invited(userId: string, name: string): void {
    if (this.all.some(({ target }) => target === userId)) return;
    this.added("direct", userId, name).unread += 1;
    this.events.notice(`${name} wants to chat with you.`, "plain");
    this.events.changed();
  }

  /** Runs a request; resolves with the text of its error. */
  private async attempt(request: (channel: ChatChannel) => Promise<unknown>): Promise<string | undefined> {
    const { channel } = this.active;
    if (channel === undefined) return "The chat is not connected; try again in a moment.";
    try {
      await request(channel);
      return undefined;
    } catch (error) {
      return errorText(error);
    }
  }
}

function made(kind: ChannelKind, target: string, title: string): Conversation {
  return { kind, target, title, channel: undefined, messages: [], hasEarlier: false, unread: 0, error: undefined };
}

/** Reads the messages before a sequence, the oldest first. */
async function earlierMessages(channel: ChatChannel, before: number): Promise<readonly ChatMessage[]> {
  let cursor: string | undefined;
  do {
    const page = await channel.history({ limit: PAGE_MESSAGES, ...(cursor !== undefined && { cursor }) });
    const earlier = page.messages.filter(({ sequence }) => sequence < before);
    if (earlier.length > 0) return earlier.reverse();
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return [];
}

/** Returns the sequence of the first stored message; 0 if there is none. */
function firstSequence(messages: readonly ChatMessage[]): number {
  return messages.find(({ sequence }) => sequence > 0)?.sequence ?? 0;
}

/** The content of the notification is JSON of the server. */
function usernameIn(content: string): string {
  try {
    const { username } = JSON.parse(content) as { username?: unknown };
    if (typeof username === "string" && username !== "") return username;
  } catch {
    // The name stays unknown.
  }
  return "A player";
}

function storedConversations(): Conversation[] {
  try {
    const stored = JSON.parse(sessionStorage.getItem(STORE_KEY) ?? "[]") as { kind: ChannelKind; target: string; title: string }[];
    return stored.map(({ kind, target, title }) => made(kind, String(target), String(title)));
  } catch {
    return [];
  }
}

function storeConversations(all: readonly Conversation[]): void {
  const stored = all.filter(({ kind }) => kind !== "room").slice(-STORED_MAX).map(({ kind, target, title }) => ({ kind, target, title }));
  try {
    sessionStorage.setItem(STORE_KEY, JSON.stringify(stored));
  } catch {
    // A page without storage opens them anew.
  }
}
