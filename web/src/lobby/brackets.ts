// Brackets: those that players join or play, and the matches of one of them.

import { AetherError, type BracketDetail, type BracketMatch, type Bracket, NOTIFICATION_CODES, type Socket } from "@aether-game/client";
import type { Tone } from "../shared/notices.ts";
import { visitor } from "../shared/visitor.ts";
import { errorText } from "./texts.ts";

/** Polling interval of the bracket that is shown. */
const INTERVAL_MS = 5_000;

/** Brackets that are shown. */
const SHOWN_MAX = 10;

/** Notifications after which the bracket is read again. */
const CHANGES: readonly number[] = [NOTIFICATION_CODES.bracketMatchReady, NOTIFICATION_CODES.bracketEnded];

export interface BracketEvents {
  changed(): void;
  notice(text: string, tone: Tone): void;
}

export class BracketList {
  all: readonly Bracket[] = [];
  detail: BracketDetail | undefined;
  /** True while a request of a button runs. */
  isBusy = false;
  private readonly events: BracketEvents;
  private activeId: string | undefined;
  /** False for a server without brackets. */
  private isServed = true;

  constructor(events: BracketEvents) {
    this.events = events;
    setInterval(() => {
      // A hidden page does not poll.
      if (!document.hidden && this.detail !== undefined) void this.refresh();
    }, INTERVAL_MS);
  }

  /** Reads the brackets, and follows matches of the player over a new socket. */
  attach(socket: Socket): void {
    socket.on("notifications", ({ notifications }) => {
      if (!notifications.some(({ code }) => CHANGES.includes(code))) return;
      if (notifications.some(({ code }) => code === NOTIFICATION_CODES.bracketMatchReady)) this.events.notice("Your next match is ready.", "good");
      void this.refresh();
    });
    socket.on("bracket", () => void this.refresh());
    void this.refresh();
  }

  /** True if the player is an entrant of the bracket that is shown. */
  get isEntrant(): boolean {
    const userId = visitor().session.identity?.userId;
    return this.detail?.entrants.some((entrant) => entrant.userId === userId && !entrant.hasWithdrawn) ?? false;
  }

  select(id: string): void {
    this.activeId = id;
    void this.refresh();
  }

  join(): Promise<void> {
    return this.attempt(({ bracket: { id } }) => visitor().brackets.join(id));
  }

  leave(): Promise<void> {
    return this.attempt(({ bracket: { id } }) => visitor().brackets.leave(id));
  }

  report(match: BracketMatch, winnerId: string): Promise<void> {
    return this.attempt(({ bracket: { id } }) => visitor().brackets.report(id, match.number, { winnerId }));
  }

  async refresh(): Promise<void> {
    if (!this.isServed) return;
    try {
      const { brackets } = visitor();
      this.all = (await brackets.list({ limit: SHOWN_MAX })).brackets;
      const active = this.all.find(({ id }) => id === this.activeId) ?? this.all[0];
      this.detail = active && (await brackets.read(active.id));
    } catch (error) {
      // Other errors pass: the brackets stay as they were.
      this.isServed = !(error instanceof AetherError && (error.status === 404 || error.status === 501));
    }
    this.events.changed();
  }

  /** Runs a request of a button, and shows its error. */
  private async attempt(request: (detail: BracketDetail) => Promise<unknown>): Promise<void> {
    const { detail } = this;
    if (detail === undefined || this.isBusy) return;
    this.isBusy = true;
    this.events.changed();
    try {
      await request(detail);
      await this.refresh();
    } catch (error) {
      this.events.notice(errorText(error), "bad");
    } finally {
      this.isBusy = false;
      this.events.changed();
    }
  }
}
