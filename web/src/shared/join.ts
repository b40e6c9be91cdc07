// Joining a room as the page's address says: which room, over which transport.

import { type Fields, type JoinOptions, AetherError, type Room, type TransportPreference } from "@aether-game/client";
import { arrive, visitor } from "./visitor.ts";

const TRANSPORTS: readonly TransportPreference[] = ["auto", "websocket", "webtransport"];

/** What is refused of a certain room, where another one of the kind would do. */
const ROOMLESS_CODES: readonly string[] = ["room_not_found", "room_full", "join_refused"];

/** The room that a link leads to, by its code. */
export function roomCodeOf(link: URL): string | undefined {
  const code = link.searchParams.get("room");
  return code === null || code === "" ? undefined : code;
}

/** The transport that a link asks for. */
export function transportOf(link: URL): TransportPreference {
  const wish = link.searchParams.get("transport");
  return TRANSPORTS.find((known) => known === wish) ?? "auto";
}

/** Joins the room of the page's address, or else any of the game. */
export async function joinGame<Input extends object = Fields>(game: string, options: JoinOptions = {}): Promise<Room<Input>> {
  const link = new URL(location.href);
  await arrive();
  const wishes = { transport: transportOf(link), ...options };
  const code = roomCodeOf(link);
  if (code !== undefined) {
    try {
      return await visitor().join<Input>({ code }, wishes);
    } catch (error) {
      if (!(error instanceof AetherError) || !ROOMLESS_CODES.includes(error.code)) throw error;
    }
  }
  return visitor().join<Input>(game, wishes);
}
