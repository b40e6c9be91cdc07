// State of the page as plain values, for the console and for tests.

import type { FrameTimes } from "../shared/frames.ts";
import type { RoomConnection } from "../shared/connection.ts";
import type { Blob } from "./dish.ts";
import type { Game, Mode } from "./game.ts";
import type { Row, Steer } from "./rules.ts";

export interface PageState {
  readonly phase: "connecting" | "playing" | "waiting" | "ended";
  readonly mode: Mode;
  readonly transport: string | undefined;
  readonly room: string | undefined;
  readonly player: number | undefined;
  readonly tick: number;
  readonly reconnects: number;
  readonly rttMs: number | undefined;
  readonly mass: number;
  readonly best: number;
  readonly own: readonly BlobState[];
  readonly others: readonly BlobState[];
  readonly pellets: number;
  /** Nearest pellet. */
  readonly food: { readonly x: number; readonly y: number } | undefined;
  readonly board: readonly Row[];
  readonly records: readonly Row[];
  readonly frames: FrameTimes;
  readonly bytesReceived: number;
  readonly bytesSent: number;
}

export interface BlobState {
  readonly id: number;
  readonly eater: number;
  readonly name: string;
  readonly hue: number;
  readonly mass: number;
  readonly x: number;
  readonly y: number;
}

export function stateOf(connection: RoomConnection<Steer>, game: Game, frames: FrameTimes): PageState {
  const blobs = [...game.dish.blobs.values()];
  const statistics = connection.room?.statistics;
  return {
    phase: connection.phase.name,
    mode: game.mode,
    transport: statistics?.transport,
    room: connection.room?.welcome?.roomCode,
    player: game.number,
    tick: connection.room?.tick ?? 0,
    reconnects: connection.reconnects,
    rttMs: statistics?.roundTripMs,
    mass: game.mass,
    best: game.best,
    own: game.own.map(blobState),
    others: blobs.filter((blob) => blob.eater !== game.number).map(blobState),
    pellets: game.dish.pellets.size,
    food: nearestFood(game),
    board: game.dish.roomRows,
    records: game.dish.recordRows,
    frames,
    bytesReceived: statistics?.bytesReceived ?? 0,
    bytesSent: statistics?.bytesSent ?? 0,
  };
}

function nearestFood({ own: [first], dish }: Game): { readonly x: number; readonly y: number } | undefined {
  if (first === undefined) return undefined;
  const far = ({ x, y }: { readonly x: number; readonly y: number }): number => Math.hypot(x - first.x, y - first.y);
  const [nearest] = [...dish.pellets.values()].sort((a, b) => far(a) - far(b));
  return nearest && { x: nearest.x, y: nearest.y };
}

function blobState({ id, eater, name, hue, mass, x, y }: Blob): BlobState {
  return { id, eater, name, hue, mass, x, y };
}
