// Groups of users: clans, guilds, communities.

import { type User, type WireUser, userOf } from "./account.ts";
import { type CallOptions, path } from "./requests.ts";
import type { Session } from "./session.ts";
import { type JsonObject, cursorOf, defined, toDate, toJson } from "./values.ts";

/** Role of a member, from the highest. A user with "join_request" waits for an admin. */
export type GroupRole = "superadmin" | "admin" | "member" | "join_request";

const ROLES = ["superadmin", "admin", "member", "join_request"] as const;

export interface Group<Metadata = JsonObject> {
  readonly id: string;
  readonly creatorId: string;
  readonly name: string;
  readonly description: string;
  readonly language: string;
  readonly avatarUrl: string;
  /** Written by server code. */
  readonly metadata: Metadata;
  /** Anyone may join an open group; admins of a closed one accept requests. */
  readonly isOpen: boolean;
  readonly members: number;
  readonly membersMax: number;
  /** Words that the group is found by, in lower case. */
  readonly tags: readonly string[];
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface NewGroup {
  readonly name: string;
  readonly description?: string;
  readonly language?: string;
  readonly avatarUrl?: string;
  /** False by default. */
  readonly isOpen?: boolean;
  /** 100 by default. */
  readonly membersMax?: number;
  readonly tags?: readonly string[];
}

/** Changes of a group. Absent fields keep their value. */
export interface GroupChange {
  readonly name?: string;
  readonly description?: string;
  readonly language?: string;
  readonly avatarUrl?: string;
  readonly isOpen?: boolean;
  /** Replaces all tags. */
  readonly tags?: readonly string[];
}

export interface GroupPage<Metadata = JsonObject> {
  readonly groups: readonly Group<Metadata>[];
  /** Cursor of the next page; absent on the last. */
  readonly cursor: string | undefined;
}

export interface GroupMember {
  readonly user: User;
  readonly role: GroupRole;
}

export interface GroupMemberPage {
  readonly members: readonly GroupMember[];
  readonly cursor: string | undefined;
}

/** Group of a user, with the role in it. */
export interface Membership<Metadata = JsonObject> {
  readonly group: Group<Metadata>;
  readonly role: GroupRole;
}

export interface MembershipPage<Metadata = JsonObject> {
  readonly memberships: readonly Membership<Metadata>[];
  readonly cursor: string | undefined;
}

export interface GroupListOptions extends CallOptions {
  /** Name, or the beginning of names such as `dragon%`. Excludes the other conditions. */
  readonly name?: string;
  readonly language?: string;
  /** Largest number of members. */
  readonly membersMax?: number;
  readonly isOpen?: boolean;
  /** Tags that a group must have, all of them. */
  readonly tags?: readonly string[];
  /** 1 to 100; 20 by default. */
  readonly limit?: number;
  readonly cursor?: string;
}

export interface MemberListOptions extends CallOptions {
  /** Only users with this role; all by default. */
  readonly role?: GroupRole;
  /** 1 to 100; 100 by default. */
  readonly limit?: number;
  readonly cursor?: string;
}

const PAGE_GROUPS = 20;
const PAGE_MEMBERS = 100;

export class Groups {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** Creates a group with the player as its superadmin. */
  async create<Metadata = JsonObject>(group: NewGroup, options?: CallOptions): Promise<Group<Metadata>> {
    const body = defined({ ...fieldsOf(group), max_count: group.membersMax });
    return groupOf(await this.session.call<WireGroup>({ method: "POST", path: "/v2/group", body }, options));
  }

  /** Changes the given fields. Admins may. */
  async update(id: string, change: GroupChange, options?: CallOptions): Promise<void> {
    // An empty list on the wire is the same as none.
    const body = { ...fieldsOf(change), ...(change.tags?.length === 0 && { clear_tags: true }) };
    const call = { method: "PUT", path: path`/v2/group/${id}`, body, isIdempotent: true } as const;
    await this.session.call(call, options);
  }

  /** Deletes a group for good. Superadmins may. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.session.call({ method: "DELETE", path: path`/v2/group/${id}` }, options);
  }

  /** Joins an open group, or asks to join a closed one. */
  async join(id: string, options?: CallOptions): Promise<void> {
    await this.session.call({ method: "POST", path: path`/v2/group/${id}/join` }, options);
  }

  /** Leaves a group, or takes a request to join back. */
  async leave(id: string, options?: CallOptions): Promise<void> {
    await this.session.call({ method: "POST", path: path`/v2/group/${id}/leave` }, options);
  }

  /** Adds users, or accepts their requests to join. Admins may. */
  add(id: string, userIds: readonly string[], options?: CallOptions): Promise<void> {
    return this.change(path`/v2/group/${id}/add`, userIds, options);
  }

  /** Removes members, or rejects requests to join. */
  kick(id: string, userIds: readonly string[], options?: CallOptions): Promise<void> {
    return this.change(path`/v2/group/${id}/kick`, userIds, options);
  }

  /** Removes members who cannot join again. */
  ban(id: string, userIds: readonly string[], options?: CallOptions): Promise<void> {
    return this.change(path`/v2/group/${id}/ban`, userIds, options);
  }

  /** Gives members the next higher role. */
  promote(id: string, userIds: readonly string[], options?: CallOptions): Promise<void> {
    return this.change(path`/v2/group/${id}/promote`, userIds, options);
  }

  /** Gives members the next lower role. */
  demote(id: string, userIds: readonly string[], options?: CallOptions): Promise<void> {
    return this.change(path`/v2/group/${id}/demote`, userIds, options);
  }

  /** Returns a page of all groups, or of those that fulfil the conditions. */
  async list<Metadata = JsonObject>(options: GroupListOptions = {}): Promise<GroupPage<Metadata>> {
    const { name, language: lang_tag, membersMax: members, isOpen: open, tags = [], cursor } = options;
    const query = { name, lang_tag, members, open, tags, limit: options.limit ?? PAGE_GROUPS, cursor };
    const call = { method: "GET", path: "/v2/group", query, isIdempotent: true } as const;
    const found = await this.session.call<{ groups?: WireGroup[]; cursor?: string }>(call, options);
    return { groups: (found.groups ?? []).map((group) => groupOf<Metadata>(group)), cursor: cursorOf(found.cursor) };
  }

  /** Returns the members of a group. */
  async members(id: string, options: MemberListOptions = {}): Promise<GroupMemberPage> {
    const call = { method: "GET", path: path`/v2/group/${id}/user`, query: memberQuery(options), isIdempotent: true } as const;
    const found = await this.session.call<{ group_users?: { user: WireUser; state?: number }[]; cursor?: string }>(call, options);
    const members = (found.group_users ?? []).map(({ user, state }) => ({ user: userOf<JsonObject>(user), role: roleOf(state) }));
    return { members, cursor: cursorOf(found.cursor) };
  }

  /** Returns the groups of a user; by default of the player. */
  async ofUser<Metadata = JsonObject>(options: MemberListOptions & { readonly userId?: string } = {}): Promise<MembershipPage<Metadata>> {
    if (options.userId === undefined) await this.session.token(options);
    const userId = options.userId ?? this.session.identity?.userId ?? "";
    const call = { method: "GET", path: path`/v2/user/${userId}/group`, query: memberQuery(options), isIdempotent: true } as const;
    const found = await this.session.call<{ user_groups?: { group: WireGroup; state?: number }[]; cursor?: string }>(call, options);
    const memberships = (found.user_groups ?? []).map(({ group, state }) => ({ group: groupOf<Metadata>(group), role: roleOf(state) }));
    return { memberships, cursor: cursorOf(found.cursor) };
  }

  private async change(target: string, userIds: readonly string[], options?: CallOptions): Promise<void> {
    await this.session.call({ method: "POST", path: target, query: { user_ids: userIds } }, options);
  }
}

interface WireGroup {
  readonly id: string;
  readonly creator_id?: string;
  readonly name: string;
  readonly description?: string;
  readonly lang_tag?: string;
  readonly metadata?: string;
  readonly avatar_url?: string;
  readonly open?: boolean;
  readonly edge_count?: number;
  readonly max_count?: number;
  readonly tags?: readonly string[];
  readonly create_time: string;
  readonly update_time: string;
}

function groupOf<Metadata>(group: WireGroup): Group<Metadata> {
  return {
    id: group.id,
    creatorId: group.creator_id ?? "",
    name: group.name,
    description: group.description ?? "",
    language: group.lang_tag ?? "",
    avatarUrl: group.avatar_url ?? "",
    metadata: toJson<Metadata>(group.metadata),
    isOpen: group.open ?? false,
    members: group.edge_count ?? 0,
    membersMax: group.max_count ?? 0,
    tags: group.tags ?? [],
    createdAt: toDate(group.create_time),
    updatedAt: toDate(group.update_time),
  };
}

function fieldsOf({ name, description, language, avatarUrl, isOpen, tags }: GroupChange): object {
  return defined({ name, description, lang_tag: language, avatar_url: avatarUrl, open: isOpen, tags });
}

function memberQuery({ role, limit = PAGE_MEMBERS, cursor }: MemberListOptions): {
  readonly limit: number;
  readonly state: number | undefined;
  readonly cursor: string | undefined;
} {
  return { limit, state: role && ROLES.indexOf(role), cursor };
}

function roleOf(state = 0): GroupRole {
  return ROLES[state] ?? "join_request";
}
