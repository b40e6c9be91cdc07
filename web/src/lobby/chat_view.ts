// Chat of the lobby: tabs of the chats, messages, and the field for a new one.

import type { ChatMessage } from "@aether-game/client";
import { button, element, write } from "../shared/elements.ts";
import { type Conversation, type Conversations, MESSAGE_CHARACTERS_MAX } from "./conversations.ts";
import { Drawn, action, badge, group, text, userText } from "./drawing.ts";
import { countText, messageText, timeText } from "./texts.ts";

/** Messages of a user within this time follow each other without a name. */
const CONTINUED_MS_MAX = 5 * 60_000;

/** Distance from the end at which the list follows new messages. */
const NEAR_END_PIXELS = 60;

/** Parts of a message that the page shows. */
interface Row {
  readonly element: HTMLElement;
  readonly key: string;
}

export interface ChatViewEvents {
  /** Reports a message of another player. */
  report(message: ChatMessage): void;
  /** Invites the author of a message. */
  addFriend(username: string): void;
}

export class ChatView {
  private readonly conversations: Conversations;
  private readonly events: ChatViewEvents;
  private readonly tabs = element("chat-tabs", HTMLElement);
  private readonly log = element("chat-log", HTMLElement);
  private readonly list = element("chat-messages", HTMLElement);
  private readonly form = element("chat-form", HTMLFormElement);
  private readonly field = element("chat-text", HTMLInputElement);
  private readonly error = element("chat-error", HTMLElement);
  private readonly newer = button("chat-newer");
  private readonly earlier = button("chat-earlier");
  private readonly drawn = new Drawn();
  private readonly rows = new Map<string, Row>();
  private shown: Conversation | undefined;
  private editing: ChatMessage | undefined;
  private ownId = "";

  constructor(conversations: Conversations, events: ChatViewEvents) {
    this.conversations = conversations;
    this.events = events;
    this.field.maxLength = MESSAGE_CHARACTERS_MAX;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.submit();
    });
    this.field.addEventListener("keydown", (event) => event.key === "Escape" && this.editing !== undefined && this.edit(undefined));
    button("chat-cancel-edit").addEventListener("click", () => this.edit(undefined));
    this.newer.addEventListener("click", () => this.scrollToEnd());
    this.earlier.addEventListener("click", () => void conversations.readEarlier());
    this.log.addEventListener("scroll", () => this.isNearEnd() && (this.newer.hidden = true));
    this.tabs.addEventListener("keydown", (event) => this.moveTab(event));
  }

  show(ownId: string, isConnected: boolean): void {
    this.ownId = ownId;
    const { active } = this.conversations;
    this.showTabs();
    if (active !== this.shown) this.switchTo(active);
    this.showMessages(active);
    const isReady = isConnected && active.channel !== undefined;
    // The player may write while the chat is being joined.
    this.field.disabled = !isConnected || active.error !== undefined;
    button("chat-send").disabled = !isReady;
    this.earlier.hidden = !active.hasEarlier;
    this.earlier.disabled = !isReady || this.conversations.isReading;
    write(element("chat-here", HTMLElement), hereText(active));
    element("chat-close", HTMLElement).hidden = active.kind === "room";
    this.showEmpty(active, isConnected);
  }

  private showTabs(): void {
    const { all, active } = this.conversations;
    const tabs = all.map((conversation) => ({ title: conversation.title, unread: conversation.unread, isActive: conversation === active }));
    const hadFocus = this.tabs.contains(document.activeElement);
    this.drawn.draw(this.tabs, tabs, () => all.map((conversation) => this.tab(conversation)));
    if (hadFocus) this.tabs.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
  }

  private tab(conversation: Conversation): HTMLElement {
    const isActive = conversation === this.conversations.active;
    const made = group("button", "tab", userText("span", "name", conversation.title));
    made.type = "button";
    made.setAttribute("role", "tab");
    made.setAttribute("aria-selected", String(isActive));
    made.setAttribute("aria-controls", "chat-panel");
    made.tabIndex = isActive ? 0 : -1;
    made.addEventListener("click", () => this.conversations.select(conversation));
    if (conversation.unread > 0) {
      const count = text("span", "count", conversation.unread > 99 ? "99+" : String(conversation.unread));
      count.setAttribute("aria-label", countText(conversation.unread, "new message"));
      made.append(count);
    }
    return made;
  }

  /** Arrow keys select the next tab. */
  private moveTab(event: KeyboardEvent): void {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const { all, active } = this.conversations;
    const next = all[(all.indexOf(active) + step + all.length) % all.length];
    if (next !== undefined) this.conversations.select(next);
    event.preventDefault();
  }

  private switchTo(conversation: Conversation): void {
    this.shown = conversation;
    // A reader is not told the whole history.
    this.log.setAttribute("aria-live", "off");
    this.rows.clear();
    this.list.replaceChildren();
    this.edit(undefined);
    write(element("chat-title", HTMLElement), conversation.kind === "room" ? "Chat" : conversation.title);
    this.field.setAttribute("aria-label", conversation.kind === "room" ? "Message to everyone" : `Message to ${conversation.title}`);
    const close = button("chat-close");
    close.setAttribute("aria-label", `Close the chat with ${conversation.title}`);
    close.onclick = () => this.conversations.close(conversation);
    requestAnimationFrame(() => this.log.setAttribute("aria-live", "polite"));
  }

  /** Changes only what is new, so that a reader is told new messages alone. */
  private showMessages({ messages }: Conversation): void {
    const wasNearEnd = this.isNearEnd();
    const heightBefore = this.log.scrollHeight;
    const firstBefore = this.list.firstElementChild;
    const present = new Set(messages.map(({ id }) => id));
    for (const [id, row] of this.rows) if (!present.has(id)) this.drop(id, row);
    let at: Element | null = this.list.firstElementChild;
    let before: ChatMessage | undefined;
    let hasNew = false;
    for (const message of messages) {
      const isNext = at !== null && at === this.rows.get(message.id)?.element;
      const row = this.row(message, isContinued(message, before));
      before = message;
      // A changed message was replaced in its place.
      if (isNext) at = row.element.nextElementSibling;
      else {
        hasNew = at === null;
        this.list.insertBefore(row.element, at);
      }
    }
    if (wasNearEnd) return this.scrollToEnd();
    // Earlier messages do not move those that are being read.
    if (firstBefore !== this.list.firstElementChild) this.log.scrollTop += this.log.scrollHeight - heightBefore;
    else if (hasNew) this.newer.hidden = false;
  }

  private drop(id: string, row: Row): void {
    if (row.element.contains(document.activeElement)) this.field.focus();
    row.element.remove();
    this.rows.delete(id);
  }

  /** Returns the element of a message. A changed one is replaced. */
  private row(message: ChatMessage, continued: boolean): Row {
    const key = JSON.stringify([message.content, message.updatedAt, continued]);
    const known = this.rows.get(message.id);
    if (known?.key === key) return known;
    const row = { key, element: message.kind === "chat" ? this.message(message, continued) : this.event(message) };
    known?.element.replaceWith(row.element);
    this.rows.set(message.id, row);
    return row;
  }

  private message(message: ChatMessage, continued: boolean): HTMLElement {
    const { username, senderId, createdAt, updatedAt } = message;
    const isOwn = senderId === this.ownId;
    const time = text("time", "", timeText(createdAt));
    time.dateTime = createdAt.toISOString();
    const name = userText("span", "name", username);
    const head = group("p", continued ? "head hidden-head" : "head", name, ...(isOwn ? [text("span", "tag", "You")] : []), time);
    const words = group("p", "words", userText("span", "", messageText(message)));
    if (updatedAt > createdAt) words.append(text("span", "edited", "edited"));
    const made = group("li", `message${continued ? " continued" : ""}${isOwn ? " own" : ""}`, badge(username, senderId), group("div", "body", head, words));
    made.dataset["id"] = message.id;
    // A tap shows the tools.
    made.tabIndex = -1;
    made.append(group("div", "tools", ...this.tools(message, isOwn)));
    return made;
  }

  private tools(message: ChatMessage, isOwn: boolean): HTMLButtonElement[] {
    const { username } = message;
    if (isOwn) {
      return [
        action("Edit", "Edit this message", "quiet small", () => this.edit(message)),
        action("Remove", "Remove this message", "quiet small", () => void this.conversations.remove(message)),
      ];
    }
    const add = action("Add friend", `Add ${username} to your friends`, "quiet small", () => this.events.addFriend(username));
    const report = action("Report", `Report this message of ${username}`, "quiet small", () => this.events.report(message));
    return this.conversations.active.kind === "direct" ? [report] : [add, report];
  }

  /** Draws a message of the server, such as a new member of a group. */
  private event(message: ChatMessage): HTMLElement {
    const made = group("li", "event", userText("span", "name", message.username), text("span", "", messageText(message)));
    made.dataset["id"] = message.id;
    return made;
  }

  private showEmpty(conversation: Conversation, isConnected: boolean): void {
    const empty = element("chat-empty", HTMLElement);
    empty.hidden = conversation.messages.length > 0;
    const hint = conversation.kind === "room" ? "Nobody has written yet. Say hello to everyone in the lobby." : "No messages yet. Write the first one.";
    const isJoining = conversation.channel === undefined && conversation.error === undefined;
    write(element("chat-empty-text", HTMLElement), isJoining || !isConnected ? "Connecting to the chat…" : hint);
    if (conversation.error !== undefined) {
      empty.hidden = true;
      return write(this.error, conversation.error);
    }
    if (this.field.disabled) write(this.error, "");
  }

  private edit(message: ChatMessage | undefined): void {
    const wasEditing = this.editing !== undefined;
    this.editing = message;
    this.form.classList.toggle("is-editing", message !== undefined);
    element("chat-editing", HTMLElement).hidden = message === undefined;
    write(button("chat-send"), message === undefined ? "Send" : "Save");
    write(this.error, "");
    if (message !== undefined) this.field.value = messageText(message);
    else if (wasEditing) this.field.value = "";
    if (message !== undefined || wasEditing) this.field.focus();
  }

  private async submit(): Promise<void> {
    const contents = this.field.value.trim();
    if (contents === "") return;
    const { editing, shown } = this;
    // The player may write the next message meanwhile.
    this.field.value = "";
    const error = editing === undefined ? await this.conversations.send(contents) : await this.conversations.edit(editing, contents);
    if (shown !== this.shown) return;
    if (error === undefined) {
      if (editing !== undefined && this.editing === editing) this.edit(undefined);
      write(this.error, "");
      return this.scrollToEnd();
    }
    if (this.field.value === "") this.field.value = contents;
    write(this.error, error);
  }

  private isNearEnd(): boolean {
    return this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < NEAR_END_PIXELS;
  }

  private scrollToEnd(): void {
    this.log.scrollTop = this.log.scrollHeight;
    this.newer.hidden = true;
  }
}

function isContinued(message: ChatMessage, before: ChatMessage | undefined): boolean {
  if (before === undefined || before.kind !== "chat" || message.kind !== "chat") return false;
  return before.senderId === message.senderId && message.createdAt.getTime() - before.createdAt.getTime() < CONTINUED_MS_MAX;
}

/** Returns who is in a chat now. */
function hereText({ kind, channel }: Conversation): string {
  if (channel === undefined) return "";
  const users = new Set(channel.members.map(({ userId }) => userId));
  if (kind === "direct") return users.size > 1 ? "Here now" : "Not here";
  return `${users.size.toLocaleString("en")} here`;
}
