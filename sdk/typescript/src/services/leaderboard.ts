// Leaderboards: writing scores and reading ranks.

import { type CallOptions, path } from "./requests.ts";
import type { Session } from "./session.ts";
import { type JsonObject, type Integer, defined, fromInteger, toBigInt, toDate, toDateIfAny, toJson } from "./values.ts";

/** Effect of a write on the existing score; "board" uses the leaderboard's own operator. */
export type Operator = "board" | "best" | "set" | "increment" | "decrement";

const OPERATORS = ["board", "best", "set", "increment", "decrement"] as const;

export interface LeaderboardRecord<Metadata = JsonObject> {
  readonly leaderboardId: string;
  readonly ownerId: string;
  readonly username: string;
  /** Signed 64-bit integer. */
  readonly score: bigint;
  readonly subscore: bigint;
  /** Number of writes. */
  readonly writes: number;
  /** Rank from 1, the best; 0 if unknown. */
  readonly rank: number;
  readonly metadata: Metadata;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** End of the record's period, on a leaderboard that resets. */
  readonly expiresAt: Date | undefined;
}

export interface RecordWrite {
  readonly score: Integer;
  readonly subscore?: Integer;
  readonly metadata?: object;
  readonly operator?: Operator;
}

export interface RecordPage<Metadata = JsonObject> {
  readonly records: readonly LeaderboardRecord<Metadata>[];
  /** Records of the requested owners, in the order of the request. */
  readonly ownerRecords: readonly LeaderboardRecord<Metadata>[];
  readonly nextCursor: string | undefined;
  readonly previousCursor: string | undefined;
  /** Number of records of the leaderboard. */
  readonly rankCount: number;
}

export interface RecordListOptions extends CallOptions {
  /** 1 to 1,000; 20 by default. */
  readonly limit?: number;
  readonly cursor?: string;
  /** Owners whose records are returned as well. */
  readonly ownerIds?: readonly string[];
  /** End of an earlier period, on a leaderboard that resets. */
  readonly expiresAt?: Date;
}

const PAGE_RECORDS = 20;

export class Leaderboard {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** Writes the player's own score; resolves with the resulting record. */
  async write<Metadata = JsonObject>(id: string, record: RecordWrite, options?: CallOptions): Promise<LeaderboardRecord<Metadata>> {
    const body = defined({
      score: fromInteger(record.score),
      subscore: fromInteger(record.subscore ?? 0),
      metadata: record.metadata && JSON.stringify(record.metadata),
      operator: record.operator && OPERATORS.indexOf(record.operator),
    });
    // Not retried, because the number of writes is counted.
    return recordOf(await this.session.call<WireRecord>({ method: "POST", path: path`/v2/leaderboard/${id}`, body }, options));
  }

  /** Returns records from the best on, or from a cursor. */
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

  /** Returns records around one owner's; by default the player's own. */
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

  /** Deletes the player's own record. */
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
