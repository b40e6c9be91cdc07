// Friends, invitations and blocked users.

import { type User, type WireUser, userOf } from "./account.ts";
import type { CallOptions } from "./requests.ts";
import type { Session } from "./session.ts";
import { type JsonObject, cursorOf, toDateIfAny, toJson } from "./values.ts";

/** State of another user, as the player sees it. */
export type FriendState = "friend" | "invite_sent" | "invite_received" | "blocked";

const STATES = ["friend", "invite_sent", "invite_received", "blocked"] as const;

export interface Friend<Metadata = JsonObject> {
  readonly user: User;
  readonly state: FriendState;
  /** Metadata that the player gave when adding the friend. */
  readonly metadata: Metadata;
  readonly updatedAt: Date | undefined;
}

export interface FriendPage<Metadata = JsonObject> {
  readonly friends: readonly Friend<Metadata>[];
  /** Cursor of the next page; absent on the last. */
  readonly cursor: string | undefined;
}

/** Friend of a friend. */
export interface FriendOfFriend {
  readonly user: User;
  /** Id of the friend through whom the player may know the user. */
  readonly referrerId: string;
}

export interface FriendOfFriendPage {
  readonly friendsOfFriends: readonly FriendOfFriend[];
  readonly cursor: string | undefined;
}

/** Users by id or by username. */
export interface UserChoice {
  readonly ids?: readonly string[];
  readonly usernames?: readonly string[];
}

export interface FriendListOptions extends CallOptions {
  /** Only users in this state; all by default. */
  readonly state?: FriendState;
  /** 1 to 1,000; 100 by default. */
  readonly limit?: number;
  readonly cursor?: string;
}

/** Friends of another service to import. */
export interface FriendSource {
  readonly platform: "facebook" | "steam";
  /** Access token of the player there. */
  readonly token: string;
}

const PAGE_FRIENDS = 100;
const PAGE_FRIENDS_OF_FRIENDS = 20;

export class Friends {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** Invites users. A user who has invited the player becomes a friend at once. */
  async add(who: UserChoice, options: CallOptions & { readonly metadata?: object } = {}): Promise<void> {
    const { metadata } = options;
    const query = { ...queryOf(who), metadata: metadata && JSON.stringify(metadata) };
    await this.session.call({ method: "POST", path: "/v2/friend", query }, options);
  }

  /** Removes friends, takes invitations back or rejects them, and unblocks users. */
  async delete(who: UserChoice, options?: CallOptions): Promise<void> {
    await this.session.call({ method: "DELETE", path: "/v2/friend", query: queryOf(who), isIdempotent: true }, options);
  }

  /** Blocks users. They cannot invite the player or chat with the player until they are deleted here. */
  async block(who: UserChoice, options?: CallOptions): Promise<void> {
    await this.session.call({ method: "POST", path: "/v2/friend/block", query: queryOf(who), isIdempotent: true }, options);
  }

  async list<Metadata = JsonObject>(options: FriendListOptions = {}): Promise<FriendPage<Metadata>> {
    const query = { limit: options.limit ?? PAGE_FRIENDS, state: options.state && STATES.indexOf(options.state), cursor: options.cursor };
    const call = { method: "GET", path: "/v2/friend", query, isIdempotent: true } as const;
    const found = await this.session.call<{ friends?: WireFriend[]; cursor?: string }>(call, options);
    return { friends: (found.friends ?? []).map((friend) => friendOf<Metadata>(friend)), cursor: cursorOf(found.cursor) };
  }

  /** Returns friends of friends who are no friends of the player. */
  async friendsOfFriends(options: CallOptions & { readonly limit?: number; readonly cursor?: string } = {}): Promise<FriendOfFriendPage> {
    const query = { limit: options.limit ?? PAGE_FRIENDS_OF_FRIENDS, cursor: options.cursor };
    const call = { method: "GET", path: "/v2/friend/friends", query, isIdempotent: true } as const;
    const found = await this.session.call<{ friends_of_friends?: { referrer?: string; user: WireUser }[]; cursor?: string }>(call, options);
    const friendsOfFriends = (found.friends_of_friends ?? []).map(({ referrer = "", user }) => ({ user: userOf<JsonObject>(user), referrerId: referrer }));
    return { friendsOfFriends, cursor: cursorOf(found.cursor) };
  }

  /** Adds the player's friends of another service. With `isReset`, removes all earlier friends first. */
  async import({ platform, token }: FriendSource, options: CallOptions & { readonly isReset?: boolean } = {}): Promise<void> {
    const query = { reset: options.isReset };
    await this.session.call({ method: "POST", path: `/v2/friend/${platform}`, query, body: { token } }, options);
  }
}

interface WireFriend {
  readonly user: WireUser;
  readonly state?: number;
  readonly update_time?: string;
  readonly metadata?: string;
}

function friendOf<Metadata>({ user, state = 0, update_time, metadata }: WireFriend): Friend<Metadata> {
  return { user: userOf(user), state: STATES[state] ?? "friend", metadata: toJson<Metadata>(metadata), updatedAt: toDateIfAny(update_time) };
}

function queryOf({ ids = [], usernames = [] }: UserChoice): { readonly ids: readonly string[]; readonly usernames: readonly string[] } {
  return { ids, usernames };
}
