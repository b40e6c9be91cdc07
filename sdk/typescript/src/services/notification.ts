// Notifications of the player. New ones also arrive over the socket.

import type { CallOptions } from "./requests.ts";
import type { Session } from "./session.ts";
import { cursorOf, toDateIfAny } from "./values.ts";

export interface Notification {
  readonly id: string;
  readonly subject: string;
  /** JSON. */
  readonly content: string;
  /** `NOTIFICATION_CODES` names those of the server; a game has its own. */
  readonly code: number;
  /** Empty for a notification of the server. */
  readonly senderId: string;
  readonly createdAt: Date | undefined;
  /** True if it is in the list until it is deleted. */
  readonly isPersistent: boolean;
}

/** Codes of the server's own notifications. */
export const NOTIFICATION_CODES = {
  directChat: -1,
  friendRequest: -2,
  friendAccepted: -3,
  groupAccepted: -4,
  groupRequest: -5,
  friendJoined: -6,
  singleSocket: -7,
  banned: -8,
  friendRemoved: -9,
  /** A match of a bracket can be played. */
  bracketMatchReady: 9_001,
  bracketEnded: 9_002,
} as const;

export interface NotificationPage {
  /** The oldest first. */
  readonly notifications: readonly Notification[];
  /** Cursor after the last notification. Keep it to read only newer ones later. */
  readonly cursor: string | undefined;
}

export interface NotificationListOptions extends CallOptions {
  /** 1 to 100; 100 by default. */
  readonly limit?: number;
  readonly cursor?: string;
}

const PAGE_NOTIFICATIONS = 100;

export class Notifications {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** Returns a page of the notifications that are kept until they are deleted. */
  async list(options: NotificationListOptions = {}): Promise<NotificationPage> {
    const query = { limit: options.limit ?? PAGE_NOTIFICATIONS, cacheable_cursor: options.cursor };
    const call = { method: "GET", path: "/v2/notification", query, isIdempotent: true } as const;
    const found = await this.session.call<{ notifications?: WireNotification[]; cacheable_cursor?: string }>(call, options);
    const cursor = cursorOf(found.cacheable_cursor);
    return { notifications: (found.notifications ?? []).map(notificationOf), cursor };
  }

  async delete(ids: readonly string[], options?: CallOptions): Promise<void> {
    await this.session.call({ method: "DELETE", path: "/v2/notification", query: { ids }, isIdempotent: true }, options);
  }
}

/** A notification on the wire. */
export interface WireNotification {
  readonly id?: string;
  readonly subject?: string;
  readonly content?: string;
  readonly code?: number;
  readonly sender_id?: string;
  readonly create_time?: string;
  readonly persistent?: boolean;
}

export function notificationOf(wire: WireNotification): Notification {
  return {
    id: wire.id ?? "",
    subject: wire.subject ?? "",
    content: wire.content ?? "",
    code: wire.code ?? 0,
    senderId: wire.sender_id ?? "",
    createdAt: toDateIfAny(wire.create_time),
    isPersistent: wire.persistent ?? false,
  };
}
