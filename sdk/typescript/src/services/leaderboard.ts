// Leaderboards: writing scores and reading ranks.

import { type LeaderboardRecord, type RecordListOptions, type RecordPage, type RecordWrite, type WireRecord, listQuery, pageOf, recordOf, writeBody } from "./record.ts";
import { type CallOptions, path } from "./requests.ts";
import type { Session } from "./session.ts";
import type { JsonObject } from "./values.ts";

export class Leaderboard {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** Writes the player's own score; resolves with the resulting record. */
  async write<Metadata = JsonObject>(id: string, record: RecordWrite, options?: CallOptions): Promise<LeaderboardRecord<Metadata>> {
    // Not retried, because the number of writes is counted.
    return recordOf(await this.session.call<WireRecord>({ method: "POST", path: path`/v2/leaderboard/${id}`, body: writeBody(record) }, options));
  }

  /** Returns records from the best on, or from a cursor. */
  async list<Metadata = JsonObject>(id: string, options: RecordListOptions = {}): Promise<RecordPage<Metadata>> {
    const call = { method: "GET", path: path`/v2/leaderboard/${id}`, query: listQuery(options), isIdempotent: true } as const;
    return pageOf(await this.session.call(call, options));
  }

  /** Returns records around one owner's; by default the player's own. */
  async around<Metadata = JsonObject>(
    id: string,
    options: Omit<RecordListOptions, "ownerIds"> & { readonly ownerId?: string } = {},
  ): Promise<RecordPage<Metadata>> {
    if (options.ownerId === undefined) await this.session.token(options);
    const ownerId = options.ownerId ?? this.session.identity?.userId ?? "";
    const call = { method: "GET", path: path`/v2/leaderboard/${id}/owner/${ownerId}`, query: listQuery(options), isIdempotent: true } as const;
    return pageOf(await this.session.call(call, options));
  }

  /** Deletes the player's own record. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.session.call({ method: "DELETE", path: path`/v2/leaderboard/${id}`, isIdempotent: true }, options);
  }
}
