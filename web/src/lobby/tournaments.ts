// Tournaments: those that run, and the records of one of them.

import type { LeaderboardRecord, Tournament } from "@aether-game/client";
import type { Tone } from "../shared/notices.ts";
import { visitor } from "../shared/visitor.ts";
import { errorText } from "./texts.ts";

/** Polling interval of the records that are shown. */
const INTERVAL_MS = 5_000;

/** Records that are shown. */
const SHOWN_MAX = 10;

/** Field of a tournament's metadata that names the game of its records. */
const GAME_FIELD = "game";

/** Game whose records this page measures. */
const REFLEX = "reflex";

export interface TournamentEvents {
  changed(): void;
  notice(text: string, tone: Tone): void;
}

export class TournamentList {
  /** Undefined before the first answer. */
  all: readonly Tournament[] | undefined;
  active: Tournament | undefined;
  /** Records of the active tournament, the best first; undefined before the first answer. */
  records: readonly LeaderboardRecord[] | undefined;
  /** Own record, which may be below those that are shown. */
  own: LeaderboardRecord | undefined;
  /** Why the tournaments or their records could not be read. */
  error: string | undefined;
  /** True while a request of a button runs. */
  isBusy = false;
  private readonly events: TournamentEvents;
  private readonly joined = new Set<string>();

  constructor(events: TournamentEvents) {
    this.events = events;
    setInterval(() => {
      // A hidden page does not poll.
      if (!document.hidden && this.active !== undefined) void this.refresh();
    }, INTERVAL_MS);
  }

  /** True if the player may write records of the active tournament. */
  get hasJoined(): boolean {
    const { active, own } = this;
    return active !== undefined && (!active.isJoinRequired || own !== undefined || this.joined.has(active.id));
  }

  /** True if the records of a tournament are measured on this page. */
  isReflex({ metadata, isAuthoritative }: Tournament): boolean {
    return metadata[GAME_FIELD] === REFLEX && !isAuthoritative;
  }

  select(tournament: Tournament): void {
    [this.active, this.records, this.own] = [tournament, undefined, undefined];
    this.events.changed();
    void this.refresh();
  }

  join(): Promise<void> {
    return this.attempt(async ({ id, title }) => {
      await visitor().tournaments.join(id);
      this.joined.add(id);
      this.events.notice(`You joined ${title}.`, "good");
    });
  }

  /** Writes a record of the player. */
  submit(score: number): Promise<void> {
    return this.attempt(async ({ id }) => {
      await visitor().tournaments.write(id, { score });
    });
  }

  async refresh(): Promise<void> {
    try {
      const { tournaments } = visitor();
      this.all = (await tournaments.list()).tournaments;
      this.active = this.all.find(({ id }) => id === this.active?.id) ?? this.all[0];
      this.error = undefined;
      if (this.active !== undefined) await this.readRecords(this.active.id);
    } catch (error) {
      this.error = errorText(error);
    }
    this.events.changed();
  }

  private async readRecords(id: string): Promise<void> {
    const userId = visitor().session.identity?.userId;
    const page = await visitor().tournaments.records(id, { limit: SHOWN_MAX, ownerIds: userId === undefined ? [] : [userId] });
    // Another one may have been selected meanwhile.
    if (this.active?.id === id) [this.records, this.own] = [page.records, page.ownerRecords[0]];
  }

  /** Runs a request of a button, and shows its error. */
  private async attempt(request: (tournament: Tournament) => Promise<void>): Promise<void> {
    const { active } = this;
    if (active === undefined || this.isBusy) return;
    this.isBusy = true;
    this.events.changed();
    try {
      await request(active);
      await this.refresh();
    } catch (error) {
      this.events.notice(errorText(error), "bad");
    } finally {
      this.isBusy = false;
      this.events.changed();
    }
  }
}
