// Groups: those of the player, and open ones to join.

import type { Group, Membership, Socket } from "@aether-game/client";
import { NOTIFICATION_CODES } from "@aether-game/client";
import type { Tone } from "../shared/notices.ts";
import { visitor } from "../shared/visitor.ts";
import { errorText } from "./texts.ts";

/** Groups to join that are shown. */
const SHOWN_MAX = 20;

/** Members of a new group. */
const MEMBERS_MAX = 50;

export interface GroupEvents {
  changed(): void;
  notice(text: string, tone: Tone): void;
}

export class GroupList {
  /** Groups of the player; undefined before the first answer. */
  own: readonly Membership[] | undefined;
  /** Open groups that the player is not a member of. */
  others: readonly Group[] = [];
  /** Why the lists could not be read. */
  error: string | undefined;
  /** True while a request of a button runs. */
  isBusy = false;
  private readonly events: GroupEvents;

  constructor(events: GroupEvents) {
    this.events = events;
  }

  /** Reads the lists, and follows changes over a new socket. */
  attach(socket: Socket): void {
    socket.on("connected", () => void this.refresh());
    socket.on("notifications", ({ notifications }) => {
      if (notifications.some(({ code }) => code === NOTIFICATION_CODES.groupAccepted)) void this.refresh();
    });
    // A player who was removed from a group loses its chat.
    socket.on("chat_left", ({ channel }) => channel.kind === "group" && void this.refresh());
    void this.refresh();
  }

  /** Creates an open group; resolves with why it failed. */
  create(name: string, description: string): Promise<string | undefined> {
    return this.attempt(() => visitor().groups.create({ name, description, isOpen: true, membersMax: MEMBERS_MAX }));
  }

  join(group: Group): Promise<void> {
    return this.change(() => visitor().groups.join(group.id), `You joined ${group.name}.`);
  }

  leave(group: Group): Promise<void> {
    return this.change(() => visitor().groups.leave(group.id), `You left ${group.name}.`);
  }

  delete(group: Group): Promise<void> {
    return this.change(() => visitor().groups.delete(group.id), `You deleted ${group.name}.`);
  }

  async refresh(): Promise<void> {
    try {
      const { groups } = visitor();
      const [{ memberships }, { groups: open }] = await Promise.all([groups.ofUser(), groups.list({ isOpen: true, limit: SHOWN_MAX })]);
      this.own = memberships.filter(({ role }) => role !== "join_request");
      this.others = open.filter(({ id, members, membersMax }) => members < membersMax && !memberships.some(({ group }) => group.id === id));
      this.error = undefined;
    } catch (error) {
      this.error = errorText(error);
    }
    this.events.changed();
  }

  private async change(request: () => Promise<void>, done: string): Promise<void> {
    const error = await this.attempt(request);
    this.events.notice(error ?? done, error === undefined ? "good" : "bad");
  }

  /** Runs a request and reads the lists again; resolves with the text of its error. */
  private async attempt(request: () => Promise<unknown>): Promise<string | undefined> {
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
