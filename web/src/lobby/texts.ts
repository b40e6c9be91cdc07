// Texts of the lobby.

import type { ChatMessage, LeaveReason, MessageKind, Presence, User } from "@aether-game/client";

/** Returns a waiting time such as `1:05`. */
export function clockText(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Returns names as a list, such as `Ann, Bob and Cat`. */
export function namesText(people: readonly Presence[]): string {
  const names = people.map(({ username }) => username);
  const last = names.pop() ?? "";
  return names.length === 0 ? last : `${names.join(", ")} and ${last}`;
}

/** Returns a count with its noun. */
export function countText(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** Returns why the player is not in a party any more. */
export function leftText(reason: LeaveReason): string {
  if (reason === "not_restored") return "Your party ended while the connection was lost.";
  return "You are no longer in the party: its leader has removed you or closed it.";
}

/** Returns the message of an error. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the hue of a user's badge. */
export function hueOf(userId: string): number {
  let hash = 0;
  for (const character of userId) hash = (hash * 31 + character.charCodeAt(0)) % 360;
  return hash;
}

/** Texts of the server's messages in the chat of a group, after the name of the member. */
const EVENT_TEXTS: Readonly<Partial<Record<MessageKind, string>>> = {
  group_joined: "joined the group.",
  group_added: "was added to the group.",
  group_left: "left the group.",
  group_kicked: "was removed from the group.",
  group_promoted: "was promoted.",
  group_banned: "was banned from the group.",
  group_demoted: "was demoted.",
};

/** Returns the text of a chat message. Its content is of another player's program, so it may be anything. */
export function messageText({ kind, content }: Pick<ChatMessage, "kind" | "content">): string {
  if (kind !== "chat") return EVENT_TEXTS[kind] ?? "sent a message that this page cannot show.";
  const words = content["text"];
  return typeof words === "string" ? words : "(a message that this page cannot show)";
}

/** Returns a time such as `14:05`, with the day if it is another one than today. */
export function timeText(date: Date, now = new Date()): string {
  const time = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  if (date.toDateString() === now.toDateString()) return time;
  return `${date.toLocaleDateString("en-GB", { day: "numeric", month: "short" })}, ${time}`;
}

/** Returns a duration such as `2 days`, `3 hours` or `5 minutes`, rounded up. */
export function durationText(milliseconds: number): string {
  const minutes = Math.max(1, Math.ceil(milliseconds / 60_000));
  if (minutes < 60) return countText(minutes, "minute");
  const hours = Math.ceil(minutes / 60);
  return hours < 48 ? countText(hours, "hour") : countText(Math.ceil(hours / 24), "day");
}

/** Returns the name that other players see. */
export function nameOf({ displayName, username }: Pick<User, "displayName" | "username">): string {
  return displayName.trim() === "" ? username : displayName;
}
