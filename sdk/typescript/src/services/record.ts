// Records of leaderboards and tournaments.

import type { CallOptions } from "./requests.ts";
import { type JsonObject, type Integer, defined, fromInteger, toBigInt, toDate, toDateIfAny, toJson } from "./values.ts";

/** Effect of a write on the existing score; "board" uses the leaderboard's own operator. */
export type Operator = "board" | "best" | "set" | "increment" | "decrement";

export const OPERATORS = ["board", "best", "set", "increment", "decrement"] as const;

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

/** Default number of records of a page. */
export const PAGE_RECORDS = 20;

/** Returns the body of a write. */
export function writeBody(record: RecordWrite): object {
  return defined({
    score: fromInteger(record.score),
    subscore: fromInteger(record.subscore ?? 0),
    metadata: record.metadata && JSON.stringify(record.metadata),
    operator: record.operator && OPERATORS.indexOf(record.operator),
  });
}

/** Returns the query of a list. */
export function listQuery(options: RecordListOptions): {
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly owner_ids: readonly string[];
  readonly expiry: number | undefined;
} {
  return {
    limit: options.limit ?? PAGE_RECORDS,
    cursor: options.cursor,
    owner_ids: options.ownerIds ?? [],
    expiry: secondsOf(options.expiresAt),
  };
}

export interface WireRecord {
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

export interface WirePage {
  readonly records?: readonly WireRecord[];
  readonly owner_records?: readonly WireRecord[];
  readonly next_cursor?: string;
  readonly prev_cursor?: string;
  readonly rank_count?: string;
}

export function pageOf<Metadata>(page: WirePage): RecordPage<Metadata> {
  return {
    records: (page.records ?? []).map((record) => recordOf<Metadata>(record)),
    ownerRecords: (page.owner_records ?? []).map((record) => recordOf<Metadata>(record)),
    nextCursor: page.next_cursor,
    previousCursor: page.prev_cursor,
    rankCount: Number(page.rank_count ?? 0),
  };
}

export function recordOf<Metadata>(record: WireRecord): LeaderboardRecord<Metadata> {
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

/** Returns the seconds since 1970. */
export function secondsOf(date: Date | undefined): number | undefined {
  return date === undefined ? undefined : Math.floor(date.getTime() / 1000);
}
