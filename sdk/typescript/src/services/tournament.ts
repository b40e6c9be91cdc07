// Tournaments: leaderboards with a start, an end, and rounds.

import {
  type LeaderboardRecord,
  OPERATORS,
  type Operator,
  type RecordListOptions,
  type RecordPage,
  type RecordWrite,
  type WireRecord,
  listQuery,
  pageOf,
  recordOf,
  secondsOf,
  writeBody,
} from "./record.ts";
import { type CallOptions, path } from "./requests.ts";
import type { Session } from "./session.ts";
import { type JsonObject, cursorOf, toDateIfAny, toJson } from "./values.ts";

export interface Tournament<Metadata = JsonObject> {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  /** Number of a category that the game chooses: 0 to 127. */
  readonly category: number;
  readonly sortOrder: "ascending" | "descending";
  readonly operator: Operator;
  /** Number of players who have joined the round, or written a record in it. */
  readonly players: number;
  /** 0 for no limit. */
  readonly playersMax: number;
  /** Maximum number of writes of a player in a round; 0 for no limit. */
  readonly writesMax: number;
  /** True while the tournament takes new players and records. */
  readonly canEnter: boolean;
  /** True if players join before they write records. */
  readonly isJoinRequired: boolean;
  /** True if only server code writes records. */
  readonly isAuthoritative: boolean;
  /** Duration of a round in seconds. */
  readonly durationSeconds: number;
  /** Start and end of the current round, or of the next one; absent if there is none. */
  readonly roundStartsAt: Date | undefined;
  readonly roundEndsAt: Date | undefined;
  readonly previousResetAt: Date | undefined;
  readonly nextResetAt: Date | undefined;
  /** Start and end of the whole tournament. */
  readonly startsAt: Date | undefined;
  /** Absent for a tournament without an end. */
  readonly endsAt: Date | undefined;
  readonly createdAt: Date | undefined;
  readonly metadata: Metadata;
}

export interface TournamentPage<Metadata = JsonObject> {
  readonly tournaments: readonly Tournament<Metadata>[];
  /** Cursor of the next page; absent on the last. */
  readonly cursor: string | undefined;
}

export interface TournamentListOptions extends CallOptions {
  /** First and last category; all by default. */
  readonly categoryFirst?: number;
  readonly categoryLast?: number;
  /** Only tournaments that start at this time or later. */
  readonly startsFrom?: Date;
  /** Only tournaments that end at this time or earlier. */
  readonly endsUntil?: Date;
  /** 1 to 100; 100 by default. */
  readonly limit?: number;
  readonly cursor?: string;
}

const PAGE_TOURNAMENTS = 100;

export class Tournaments {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** Returns tournaments that have not ended. */
  async list<Metadata = JsonObject>(options: TournamentListOptions = {}): Promise<TournamentPage<Metadata>> {
    const query = {
      category_start: options.categoryFirst,
      category_end: options.categoryLast,
      start_time: secondsOf(options.startsFrom),
      end_time: secondsOf(options.endsUntil),
      limit: options.limit ?? PAGE_TOURNAMENTS,
      cursor: options.cursor,
    };
    const call = { method: "GET", path: "/v2/tournament", query, isIdempotent: true } as const;
    const found = await this.session.call<{ tournaments?: WireTournament[]; cursor?: string }>(call, options);
    const tournaments = (found.tournaments ?? []).map((tournament) => tournamentOf<Metadata>(tournament));
    return { tournaments, cursor: cursorOf(found.cursor) };
  }

  /** Joins the current round. Joining again has no effect. */
  async join(id: string, options?: CallOptions): Promise<void> {
    await this.session.call({ method: "POST", path: path`/v2/tournament/${id}/join`, isIdempotent: true }, options);
  }

  /** Writes the player's own score; resolves with the resulting record. */
  async write<Metadata = JsonObject>(id: string, record: RecordWrite, options?: CallOptions): Promise<LeaderboardRecord<Metadata>> {
    // Not retried, because the number of writes is limited.
    const call = { method: "PUT", path: path`/v2/tournament/${id}`, body: writeBody(record) } as const;
    return recordOf(await this.session.call<WireRecord>(call, options));
  }

  /** Returns records of the current round from the best on, or from a cursor. */
  async records<Metadata = JsonObject>(id: string, options: RecordListOptions = {}): Promise<RecordPage<Metadata>> {
    const call = { method: "GET", path: path`/v2/tournament/${id}`, query: listQuery(options), isIdempotent: true } as const;
    return pageOf(await this.session.call(call, options));
  }

  /** Returns records around one owner's; by default the player's own. */
  async around<Metadata = JsonObject>(
    id: string,
    options: Omit<RecordListOptions, "ownerIds"> & { readonly ownerId?: string } = {},
  ): Promise<RecordPage<Metadata>> {
    if (options.ownerId === undefined) await this.session.token(options);
    const ownerId = options.ownerId ?? this.session.identity?.userId ?? "";
    const call = { method: "GET", path: path`/v2/tournament/${id}/owner/${ownerId}`, query: listQuery(options), isIdempotent: true } as const;
    return pageOf(await this.session.call(call, options));
  }

  /** Deletes the player's own record. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.session.call({ method: "DELETE", path: path`/v2/tournament/${id}`, isIdempotent: true }, options);
  }
}

interface WireTournament {
  readonly id: string;
  readonly title?: string;
  readonly description?: string;
  readonly category?: number;
  readonly sort_order?: number;
  readonly operator?: number;
  readonly size?: number;
  readonly max_size?: number;
  readonly max_num_score?: number;
  readonly can_enter?: boolean;
  readonly join_required?: boolean;
  readonly authoritative?: boolean;
  readonly duration?: number;
  readonly start_active?: number;
  readonly end_active?: number;
  readonly prev_reset?: number;
  readonly next_reset?: number;
  readonly start_time?: string;
  readonly end_time?: string;
  readonly create_time?: string;
  readonly metadata?: string;
}

function tournamentOf<Metadata>(wire: WireTournament): Tournament<Metadata> {
  return {
    id: wire.id,
    title: wire.title ?? "",
    description: wire.description ?? "",
    category: wire.category ?? 0,
    sortOrder: wire.sort_order === 1 ? "descending" : "ascending",
    operator: OPERATORS[wire.operator ?? 0] ?? "board",
    players: wire.size ?? 0,
    playersMax: wire.max_size ?? 0,
    writesMax: wire.max_num_score ?? 0,
    canEnter: wire.can_enter ?? false,
    isJoinRequired: wire.join_required ?? false,
    isAuthoritative: wire.authoritative ?? false,
    durationSeconds: wire.duration ?? 0,
    roundStartsAt: dateOf(wire.start_active),
    roundEndsAt: dateOf(wire.end_active),
    previousResetAt: dateOf(wire.prev_reset),
    nextResetAt: dateOf(wire.next_reset),
    startsAt: toDateIfAny(wire.start_time),
    endsAt: toDateIfAny(wire.end_time),
    createdAt: toDateIfAny(wire.create_time),
    metadata: toJson<Metadata>(wire.metadata),
  };
}

/** Parses seconds since 1970; 0 stands for none. */
function dateOf(seconds = 0): Date | undefined {
  return seconds === 0 ? undefined : new Date(seconds * 1000);
}
