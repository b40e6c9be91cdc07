// Who is in a relay room.

import type { RoomEvent } from "./core.ts";
import type { OfKind } from "./events.ts";

/** By these codes a relay room tells who is there; members may not use them. */
const MEMBER_CAME = 65_534;
const MEMBER_GONE = 65_535;

/** What a message by its code tells: in a relay room it may be about a member. */
export function messageOf(message: OfKind<RoomEvent, "message">, isRelay: boolean): RoomEvent {
  const { code, bytes, sender } = message;
  if (!isRelay || code < MEMBER_CAME) return message;
  return { kind: "member", player: sender, isHere: code !== MEMBER_GONE, name: new TextDecoder().decode(bytes) };
}
