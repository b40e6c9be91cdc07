// Joins the room in the page's URL, over the transport in the URL.

import { type Fields, type JoinOptions, AetherError, type Room, type RoomChoice, type TransportPreference } from "@aether-game/client";
import { ensureSignedIn, visitor } from "./visitor.ts";

const TRANSPORTS: readonly TransportPreference[] = ["auto", "websocket", "webtransport"];

/** Codes about one room, where another room of the type would do. */
const OTHER_ROOM_CODES: readonly string[] = ["room_not_found", "room_full", "join_refused"];

/** Returns the room code in a link. */
export function roomCodeOf(link: URL): string | undefined {
  const code = link.searchParams.get("room");
  return code === null || code === "" ? undefined : code;
}

/** Returns the room in a link: by its code, or by the id of the match that the matchmaker made. */
export function roomOf(link: URL): RoomChoice | undefined {
  const [code, id] = [roomCodeOf(link), link.searchParams.get("match") ?? ""];
  if (code !== undefined) return { code };
  return id === "" ? undefined : { id };
}

/** Returns the transport in a link. */
export function transportOf(link: URL): TransportPreference {
  const name = link.searchParams.get("transport");
  return TRANSPORTS.find((known) => known === name) ?? "auto";
}

/** Joins the room in the page's URL, or any room of the game. */
export async function joinGame<Input extends object = Fields>(game: string, options: JoinOptions = {}): Promise<Room<Input>> {
  const link = new URL(location.href);
  await ensureSignedIn();
  const joinOptions = { transport: transportOf(link), ...options };
  const room = roomOf(link);
  if (room !== undefined) {
    try {
      return await visitor().join<Input>(room, joinOptions);
    } catch (error) {
      if (!(error instanceof AetherError) || !OTHER_ROOM_CODES.includes(error.code)) throw error;
    }
  }
  return visitor().join<Input>(game, joinOptions);
}
