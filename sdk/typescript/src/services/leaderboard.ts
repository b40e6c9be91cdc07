// Leaderboards: writing a score, and reading who is where.

import { type CallOptions, path } from "./requests.ts";
import type { Session } from "./session.ts";
import { type JsonObject, type Whole, defined, fromWhole, toBigInt, toDate, toDateIfAny, toJson } from "./values.ts";

/** What a write does with the score that stands; "board" leaves it to the leaderboard. */
export type Operator = "board" | "best" | "set" | "increment" | "decrement";

const OPERATORS = ["board", "best", "set", "increment", "decrement"] as const;

export interface LeaderboardRecord<Metadata = JsonObject> {
  readonly leaderboardId: string;
  readonly ownerId: string;
  readonly username: string;
  /** 64 bits, so a bigint. */
  readonly score: bigint;
  readonly subscore: bigint;
  /** How often it was written. */
  readonly writes: number;
  /** 1 is the best; 0 where it is not told. Nobody has as many players as a number holds exactly. */
  readonly rank: number;
  readonly metadata: Metadata;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** When the period of the record ends, on a board that resets. */
  readonly expiresAt: Date | undefined;
}

export interface RecordWrite {
  readonly score: Whole;
  readonly subscore?: Whole;
  readonly metadata?: object;
  readonly operator?: Operator;
}

export interface RecordPage<Metadata = JsonObject> {
  readonly records: readonly LeaderboardRecord<Metadata>[];
  /** Those of the owners who were asked for, in the order in which they were. */
  readonly ownerRecords: readonly LeaderboardRecord<Metadata>[];
  readonly nextCursor: string | undefined;
  readonly previousCursor: string | undefined;
  /** How many records the board has. */
  readonly rankCount: number;
}

export interface RecordListOptions extends CallOptions {
  /** 1 to 1,000; 20 unless it is said. */
  readonly limit?: number;
  readonly cursor?: string;
  /** Whose records are wanted besides. */
  readonly ownerIds?: readonly string[];
  /** An earlier period of a board that resets, by when it ended. */
  readonly expiresAt?: Date;
}

const PAGE_RECORDS = 20;

export class Leaderboard {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** Writes one's own score; resolves with the record as it stands then. */
  async write<Metadata = JsonObject>(id: string, record: RecordWrite, options?: CallOptions): Promise<LeaderboardRecord<Metadata>> {
    const body = defined({
      score: fromWhole(record.score),
      subscore: fromWhole(record.subscore ?? 0),
      metadata: record.metadata && JSON.stringify(record.metadata),
      operator: record.operator && OPERATORS.indexOf(record.operator),
    });
    // How often a record was written counts, so it is not simply written again.
    return recordOf(await this.session.call<WireRecord>({ method: "POST", path: path`/v2/leaderboard/${id}`, body }, options));
  }

  /** Records from the best on, or from a cursor. */
  async list<Metadata = JsonObject>(id: string, options: RecordListOptions = {}): Promise<RecordPage<Metadata>> {
    const query = {
      limit: options.limit ?? PAGE_RECORDS,
      cursor: options.cursor,
      owner_ids: options.ownerIds ?? [],
      expiry: secondsOf(options.expiresAt),
    };
    const call = { method: "GET", path: path`/v2/leaderboard/${id}`, query, isIdempotent: true } as const;
    return pageOf(await this.session.call(call, options));
  }

  /** Records around someone's, one's own unless it is said. */
  async around<Metadata = JsonObject>(
    id: string,
    options: Omit<RecordListOptions, "ownerIds"> & { readonly ownerId?: string } = {},
  ): Promise<RecordPage<Metadata>> {
    if (options.ownerId === undefined) await this.session.token(options);
    const ownerId = options.ownerId ?? this.session.identity?.userId ?? "";
    const query = { limit: options.limit ?? PAGE_RECORDS, cursor: options.cursor, expiry: secondsOf(options.expiresAt) };
    const call = { method: "GET", path: path`/v2/leaderboard/${id}/owner/${ownerId}`, query, isIdempotent: true } as const;
    return pageOf(await this.session.call(call, options));
  }

  /** Deletes one's own record. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.session.call({ method: "DELETE", path: path`/v2/leaderboard/${id}`, isIdempotent: true }, options);
  }
}

interface WireRecord {
  readonly leaderboard_id: string;
  readonly owner_id: string;
  readonly username?: string;
  readonly score?: string;
  readonly subscore?: string;
  readonly num_score?: number;
  readonly rank?: string;
  readonly metadata?: string;
  readonly create_time: string;
  readonly update_time: string;
  readonly expiry_time?: string;
}

interface WirePage {
  readonly records?: readonly WireRecord[];
  readonly owner_records?: readonly WireRecord[];
  readonly next_cursor?: string;
  readonly prev_cursor?: string;
  readonly rank_count?: string;
}

function pageOf<Metadata>(page: WirePage): RecordPage<Metadata> {
  return {
    records: (page.records ?? []).map((record) => recordOf<Metadata>(record)),
    ownerRecords: (page.owner_records ?? []).map((record) => recordOf<Metadata>(record)),
    nextCursor: page.next_cursor,
    previousCursor: page.prev_cursor,
    rankCount: Number(page.rank_count ?? 0),
  };
}

function recordOf<Metadata>(record: WireRecord): LeaderboardRecord<Metadata> {
  return {
    leaderboardId: record.leaderboard_id,
    ownerId: record.owner_id,
    username: record.username ?? "",
    score: toBigInt(record.score),
    subscore: toBigInt(record.subscore),
    writes: record.num_score ?? 0,
    rank: Number(record.rank ?? 0),
    metadata: toJson<Metadata>(record.metadata),
    createdAt: toDate(record.create_time),
    updatedAt: toDate(record.update_time),
    expiresAt: toDateIfAny(record.expiry_time),
  };
}

function secondsOf(date: Date | undefined): number | undefined {
  return date === undefined ? undefined : Math.floor(date.getTime() / 1000);
}
