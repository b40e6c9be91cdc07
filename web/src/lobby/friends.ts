// Friends of the player, invitations, and blocked users.

import { type Friend, NOTIFICATION_CODES, type Socket, type User } from "@aether-game/client";
import type { Tone } from "../shared/notices.ts";
import { visitor } from "../shared/visitor.ts";
import { errorText, nameOf } from "./texts.ts";

/** Polling interval: the server does not tell a declined request or a block. */
const INTERVAL_MS = 8_000;

/** Entries that are shown. */
const SHOWN_MAX = 200;

/** Notifications after which the list is read again. */
const CHANGES: readonly number[] = [NOTIFICATION_CODES.friendRequest, NOTIFICATION_CODES.friendAccepted, NOTIFICATION_CODES.friendRemoved];

export interface FriendEvents {
  changed(): void;
  notice(text: string, tone: Tone): void;
}

export class FriendList {
  /** Undefined before the first answer. */
  all: readonly Friend[] | undefined;
  /** Why the list could not be read. */
  error: string | undefined;
  /** True while a request of a button runs. */
  isBusy = false;
  private readonly events: FriendEvents;
  private socket: Socket | undefined;

  constructor(events: FriendEvents) {
    this.events = events;
    setInterval(() => {
      // A hidden page does not poll.
      if (!document.hidden && this.socket?.phase === "connected" && !this.isBusy) void this.refresh();
    }, INTERVAL_MS);
  }

  /** Reads the list, and follows changes over a new socket. */
  attach(socket: Socket): void {
    this.socket = socket;
    socket.on("status", () => this.events.changed());
    socket.on("connected", () => void this.refresh());
    socket.on("notifications", ({ notifications }) => {
      const codes = notifications.map(({ code }) => code);
      if (codes.some((code) => CHANGES.includes(code))) void this.refresh();
      if (codes.includes(NOTIFICATION_CODES.friendRequest)) this.events.notice("You have a new friend request.", "good");
      if (codes.includes(NOTIFICATION_CODES.friendAccepted)) this.events.notice("Your friend request was accepted.", "good");
    });
    void this.refresh();
  }

  detach(): void {
    this.socket = undefined;
  }

  /** Returns the status of a friend who is online. */
  statusOf({ id }: User): string | undefined {
    return this.socket?.status.presences.find(({ userId }) => userId === id)?.status;
  }

  /** Invites a user by name; resolves with why it failed. */
  async add(username: string): Promise<string | undefined> {
    const error = await this.attempt(() => visitor().friends.add({ usernames: [username] }));
    if (error === undefined) this.events.notice(`You sent a friend request to ${username}.`, "good");
    return error;
  }

  accept(user: User): Promise<void> {
    return this.change(() => visitor().friends.add({ ids: [user.id] }), `${nameOf(user)} is your friend now.`);
  }

  /** Removes a friend, rejects a request or takes one back, or unblocks a user. */
  remove(user: User): Promise<void> {
    return this.change(() => visitor().friends.delete({ ids: [user.id] }));
  }

  block(user: User): Promise<void> {
    return this.change(() => visitor().friends.block({ ids: [user.id] }), `You blocked ${nameOf(user)}.`);
  }

  async refresh(): Promise<void> {
    try {
      const { friends } = await visitor().friends.list({ limit: SHOWN_MAX });
      [this.all, this.error] = [friends, undefined];
      await this.follow(friends);
    } catch (error) {
      this.error = errorText(error);
    }
    this.events.changed();
  }

  /** Follows friends alone, so that others do not appear online. */
  private async follow(friends: readonly Friend[]): Promise<void> {
    const { socket } = this;
    if (socket === undefined || socket.phase !== "connected") return;
    const ids = friends.filter(({ state }) => state === "friend").map(({ user }) => user.id);
    const gone = socket.status.following.filter((id) => !ids.includes(id));
    const added = ids.filter((id) => !socket.status.following.includes(id));
    if (gone.length > 0) await socket.status.unfollow(gone);
    if (added.length > 0) await socket.status.follow(added);
  }

  private async change(request: () => Promise<void>, done?: string): Promise<void> {
    const error = await this.attempt(request);
    if (error !== undefined) this.events.notice(error, "bad");
    else if (done !== undefined) this.events.notice(done, "good");
  }

  /** Runs a request and reads the list again; resolves with the text of its error. */
  private async attempt(request: () => Promise<void>): Promise<string | undefined> {
    if (this.isBusy) return undefined;
    this.isBusy = true;
    this.events.changed();
    try {
      await request();
      await this.refresh();
      return undefined;
    } catch (error) {
      return errorText(error);
    } finally {
      this.isBusy = false;
      this.events.changed();
    }
  }
}
