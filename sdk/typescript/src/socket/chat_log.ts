// Messages of a channel in order and without gaps: live messages, and those of the history that were missed.

import type { ChatHistory, ChatMessage } from "../services/chat.ts";

/** Newest messages that are kept. */
const KEPT_MAX = 200;

/** Messages of a page of the history, and pages that are read to fill a gap. */
const PAGE_MESSAGES = 100;
const PAGES_MAX = 10;

/** Live messages that wait for the history. A dropped one is found in the history later. */
const HELD_MAX = 1_000;

/** Stored messages that could not be read. */
export interface Gap {
  /** Sequence of the last known message before the gap; undefined if no message was known. */
  readonly after: number | undefined;
  /** Sequence of the first known message after the gap; undefined if none is known yet. */
  readonly before: number | undefined;
  /** Absent if the gap is too large. */
  readonly error: Error | undefined;
}

/** Callbacks of a log, in the order of the messages. */
export interface LogEvents {
  message(message: ChatMessage): void;
  edited(message: ChatMessage): void;
  removed(message: ChatMessage): void;
  gap(gap: Gap): void;
}

/** Part of the history, the newest message first. */
interface Section {
  readonly messages: readonly ChatMessage[];
  /** Lowest sequence that the section covers. Messages from there on that it lacks were removed. */
  readonly from: number;
}

export class ChatLog {
  private readonly channelId: string;
  private readonly history: ChatHistory;
  private readonly events: LogEvents;
  private kept: readonly ChatMessage[] = [];
  /** Sequence of the newest stored message that was delivered; undefined before the first one is known. */
  private last: number | undefined;
  /** Live messages that wait for the history; undefined while none is read. */
  private held: ChatMessage[] | undefined;
  private reading: Promise<void> | undefined;
  private isStale = false;
  private isOpen = true;

  constructor(channelId: string, history: ChatHistory, events: LogEvents) {
    this.channelId = channelId;
    this.history = history;
    this.events = events;
  }

  /** Newest known messages, the oldest first, with edits applied and without removed ones. */
  get messages(): readonly ChatMessage[] {
    return this.kept;
  }

  /** Stops deliveries. */
  close(): void {
    this.isOpen = false;
  }

  /** Reads the newest messages, without events. At least one is read, so that later gaps are found. */
  start(count: number): Promise<void> {
    return this.readOnce(async () => {
      const { messages } = await this.history.list(this.channelId, { limit: Math.min(Math.max(count, 1), PAGE_MESSAGES) });
      this.last = messages[0]?.sequence ?? 0;
      this.kept = [...messages].filter(isPresent).slice(0, count).reverse();
    });
  }

  /** Reads messages, edits and removals that were missed. */
  catchUp(): Promise<void> {
    // A history that is being read may be older than the loss of the connection.
    if (this.reading !== undefined) this.isStale = true;
    return this.reading ?? this.readOnce(() => this.fill());
  }

  /** Takes a live message. */
  receive(message: ChatMessage): void {
    if (!this.isOpen) return;
    if (this.held !== undefined) return this.hold(this.held, message);
    if (this.isAhead(message)) {
      this.held = [message];
      void this.catchUp();
      return;
    }
    if (message.kind === "edited") this.edit(message);
    else if (message.kind === "removed") this.remove(message);
    else this.add(message);
  }

  private hold(held: ChatMessage[], message: ChatMessage): void {
    held.push(message);
    if (held.length > HELD_MAX) held.shift();
  }

  /** Returns whether stored messages before this one are missing. */
  private isAhead({ sequence, kind }: ChatMessage): boolean {
    const expected = kind === "edited" || kind === "removed" ? this.last : (this.last ?? 0) + 1;
    return this.last !== undefined && sequence > (expected ?? 0);
  }

  /** Holds live messages back until the history was read. */
  private readOnce(read: () => Promise<void>): Promise<void> {
    this.held ??= [];
    const reading = this.readUntilCurrent(read).finally(() => {
      this.reading = undefined;
      const held = this.held ?? [];
      this.held = undefined;
      for (const message of held) this.receive(message);
    });
    this.reading = reading;
    return reading;
  }

  private async readUntilCurrent(read: () => Promise<void>): Promise<void> {
    let next = read;
    do {
      this.isStale = false;
      try {
        await next();
      } catch (thrown) {
        this.skip(thrown instanceof Error ? thrown : new Error(String(thrown)));
      }
      next = () => this.fill();
    } while (this.isStale && this.isOpen);
  }

  private async fill(): Promise<void> {
    // The history contains every message that was delivered before it is read.
    const heldLast = Math.max(0, ...(this.held ?? []).map(({ sequence }) => sequence));
    const section = await this.section();
    if (!this.isOpen) return;
    this.compare(section);
    const after = this.last;
    if (after !== undefined && section.from > after + 1) {
      // The messages before a gap would look like the ones right before it.
      this.kept = [];
      this.events.gap({ after, before: section.from, error: undefined });
    }
    for (const message of [...section.messages].reverse()) if (isPresent(message)) this.add(message);
    this.last = Math.max(this.last ?? 0, heldLast, section.messages[0]?.sequence ?? 0);
  }

  /** Reads the history from its end to the last known message. */
  private async section(): Promise<Section> {
    const messages: ChatMessage[] = [];
    let cursor: string | undefined;
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const page = await this.history.list(this.channelId, { limit: PAGE_MESSAGES, ...(cursor !== undefined && { cursor }) });
      messages.push(...page.messages);
      cursor = page.nextCursor;
      if (cursor === undefined) return { messages, from: 1 };
      const oldest = messages.at(-1)?.sequence ?? 0;
      if (this.last === undefined || oldest <= this.last + 1) break;
    }
    return { messages, from: messages.at(-1)?.sequence ?? 1 };
  }

  /** Finds kept messages that were edited or removed meanwhile. */
  private compare({ messages, from }: Section): void {
    const found = new Map(messages.filter(isPresent).map((message) => [message.id, message]));
    for (const message of this.kept) {
      if (message.sequence < from || message.sequence === 0) continue;
      const now = found.get(message.id);
      if (now === undefined) this.remove({ ...message, kind: "removed" });
      else this.edit({ ...now, kind: "edited" });
    }
  }

  /** Continues after a history that could not be read. */
  private skip(error: Error): void {
    if (!this.isOpen) return;
    const after = this.last;
    const before = this.held?.find(({ sequence }) => sequence > (after ?? 0))?.sequence;
    if (before !== undefined) this.last = before - 1;
    this.events.gap({ after, before, error });
  }

  private add(message: ChatMessage): void {
    const { sequence } = message;
    if (sequence !== 0 && sequence <= (this.last ?? 0)) return;
    if (sequence !== 0) this.last = sequence;
    this.kept = [...this.kept, message].slice(-KEPT_MAX);
    this.events.message(message);
  }

  private edit(message: ChatMessage): void {
    const known = this.kept.find(({ id }) => id === message.id);
    const { content, updatedAt } = message;
    if (known === undefined) return this.events.edited({ ...message, kind: "chat" });
    if (updatedAt < known.updatedAt || JSON.stringify(content) === JSON.stringify(known.content)) return;
    const next = { ...known, content, updatedAt };
    this.kept = this.kept.map((each) => (each === known ? next : each));
    this.events.edited(next);
  }

  private remove(message: ChatMessage): void {
    this.kept = this.kept.filter(({ id }) => id !== message.id);
    this.events.removed(message);
  }
}

function isPresent({ kind }: ChatMessage): boolean {
  return kind !== "removed";
}
