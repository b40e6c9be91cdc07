// Texts of the lobby.

import type { LeaveReason, Presence } from "@aether-game/client";

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
