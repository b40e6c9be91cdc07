// Status of users: a text that each session may set, and that followers see.

import type { CallOptions } from "../services/requests.ts";
import type { SocketContext } from "./events.ts";
import { Members, changeOf, isChange } from "./members.ts";
import { type Presence, type WireChange, presencesOf } from "./wire.ts";

/** Most users in one request. */
const USERS_PER_REQUEST_MAX = 256;

export class Status {
  private readonly context: SocketContext;
  private readonly followed = new Set<string>();
  private readonly members = new Members();
  private text: string | undefined;

  constructor(context: SocketContext, text: string | undefined) {
    this.context = context;
    this.text = text;
  }

  /** Own status; undefined while the player is not shown online. */
  get own(): string | undefined {
    return this.text;
  }

  /** Ids of followed users. */
  get following(): readonly string[] {
    return [...this.followed];
  }

  /** Last known statuses of followed users, one for each session. */
  get presences(): readonly Presence[] {
    return this.members.list;
  }

  /** Sets the own status. Without a text, followers do not see the player online. */
  set(text: string | undefined, options?: CallOptions): Promise<void> {
    return this.update(text, { ...options });
  }

  /** Follows users; resolves with their current statuses. Changes follow as `status` events. */
  async follow(userIds: readonly string[], options?: CallOptions): Promise<readonly Presence[]> {
    const found: Presence[] = [];
    for (const ids of chunks(userIds)) found.push(...(await this.request(ids, { ...options })));
    return found;
  }

  async unfollow(userIds: readonly string[], options?: CallOptions): Promise<void> {
    const read = (): void => {
      for (const id of userIds) this.followed.delete(id);
      this.members.replace(this.members.list.filter(({ userId }) => this.followed.has(userId)));
    };
    await this.context.connection.request({ status_unfollow: { user_ids: userIds } }, { read }, options);
  }

  handle(event: WireChange): void {
    const change = changeOf(event);
    this.members.apply({ joins: change.joins.filter(({ userId }) => this.followed.has(userId)), leaves: change.leaves });
    this.context.emit({ kind: "status", ...change });
  }

  /** Sets the status and follows the users again. Reports what changed meanwhile. */
  async restore(): Promise<void> {
    if (this.text !== undefined) await this.update(this.text, { isRestoring: true });
    const before = this.members.list;
    const found: Presence[] = [];
    for (const ids of chunks([...this.followed])) found.push(...(await this.request(ids, { isRestoring: true })));
    this.members.replace(before);
    const change = this.members.replace(found);
    if (isChange(change)) this.context.emit({ kind: "status", ...change });
  }

  private update(status: string | undefined, options: CallOptions & { readonly isRestoring?: boolean }): Promise<void> {
    const read = (): void => void (this.text = status);
    return this.context.connection.request({ status_update: status === undefined ? {} : { status } }, { read }, options);
  }

  private request(userIds: readonly string[], options: CallOptions & { readonly isRestoring?: boolean }): Promise<readonly Presence[]> {
    return this.context.connection.request(
      { status_follow: { user_ids: userIds } },
      {
        read: ({ status }) => {
          const presences = presencesOf(status?.presences);
          for (const id of userIds) this.followed.add(id);
          this.members.apply({ joins: presences, leaves: [] });
          return presences;
        },
      },
      options,
    );
  }
}

function* chunks(ids: readonly string[]): Iterable<readonly string[]> {
  for (let at = 0; at < ids.length; at += USERS_PER_REQUEST_MAX) yield ids.slice(at, at + USERS_PER_REQUEST_MAX);
}
