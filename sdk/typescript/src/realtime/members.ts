// Members of a relay room.

import type { RoomEvent } from "./core.ts";
import type { OfKind } from "./events.ts";

/** Codes by which a relay room announces members. Members cannot send them. */
const MEMBER_JOINED = 65_534;
const MEMBER_LEFT = 65_535;

/** Turns a message with a code into an event; in a relay room it may announce a member. */
export function messageOf(message: OfKind<RoomEvent, "message">, isRelay: boolean): RoomEvent {
  const { code, bytes, sender } = message;
  if (!isRelay || code < MEMBER_JOINED) return message;
  return { kind: "member", player: sender, isHere: code !== MEMBER_LEFT, name: new TextDecoder().decode(bytes) };
}
