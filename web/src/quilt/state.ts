// State of the page as plain values, for the console and for tests.

import type { FrameTimes } from "../shared/frames.ts";
import type { RoomConnection } from "../shared/connection.ts";
import type { Needle, Quilt } from "./quilt.ts";
import type { RoundFields, SeatFields, Steer } from "./rules.ts";

export interface PageState {
  readonly phase: "connecting" | "playing" | "waiting" | "ended";
  readonly transport: string | undefined;
  readonly room: string | undefined;
  readonly player: number | undefined;
  readonly tick: number;
  readonly reconnects: number;
  readonly losses: number;
  readonly seat: number | undefined;
  readonly own: Needle | undefined;
  readonly needles: number;
  readonly seats: readonly SeatFields[];
  readonly round: RoundFields;
  /** Cells with an owner. */
  readonly sewn: number;
  readonly corrections: number | undefined;
  readonly frames: FrameTimes;
}

export function stateOf(connection: RoomConnection<Steer>, quilt: Quilt, seat: number | undefined, frames: FrameTimes): PageState {
  const { room } = connection;
  const statistics = room?.statistics;
  return {
    phase: connection.phase.name,
    transport: statistics?.transport,
    room: room?.welcome?.roomCode,
    player: room?.welcome?.player,
    tick: room?.tick ?? 0,
    reconnects: connection.reconnects,
    losses: statistics?.losses ?? 0,
    seat,
    own: quilt.needles.find(({ isOwn }) => isOwn),
    needles: quilt.needles.length,
    seats: quilt.ranking,
    round: quilt.round,
    sewn: quilt.cells.reduce((sum, cell) => sum + (cell === 0 ? 0 : 1), 0),
    corrections: statistics?.corrections,
    frames,
  };
}
