// State of the page, for the console and for tests.

import type { RoomConnection } from "../shared/connection.ts";
import type { Point } from "./camera.ts";
import type { Controls } from "./channels.ts";
import type { Game } from "./game.ts";
import type { Person } from "./scene.ts";

type Someone = Pick<Person, "id" | "player" | "x" | "y" | "aim" | "health" | "material" | "appearance">;

export interface PageState {
  readonly phase: string;
  readonly room: string | undefined;
  readonly player: number | undefined;
  readonly own: Someone | undefined;
  /** Latest position of the own player from the server. */
  readonly server: Point | undefined;
  readonly others: readonly Someone[];
  readonly structures: readonly { readonly column: number; readonly row: number; readonly kind: string; readonly health: number; readonly builder: number }[];
  readonly shots: number;
  readonly presence: readonly { readonly player: number; readonly name: string; readonly hits: number; readonly falls: number; readonly structures: number }[];
  readonly plan: { readonly column: number | undefined; readonly row: number | undefined; readonly obstacle: string | undefined } | undefined;
  /** View of the camera: the world position in the center, its pixel on the page, and pixels per unit. */
  readonly view: { readonly position: Point; readonly pixel: Point; readonly scale: number } | undefined;
  readonly corrections: number;
  readonly roundTripMs: number | undefined;
  readonly pendingInputs: number;
  readonly losses: number;
  readonly frames: number;
}

export function stateOf({ room, phase }: RoomConnection<Controls>, game: Game | undefined): PageState {
  const { people = [], own, buildings = [], presence = new Map() } = game?.scene ?? {};
  const statistics = room?.statistics;
  return {
    phase: phase.name,
    room: room?.welcome?.roomCode,
    player: room?.welcome?.player,
    own: own && someone(own),
    server: game?.server,
    others: people.filter(({ isOwn }) => !isOwn).map(someone),
    structures: buildings.map(({ column, row, kind, health, builder }) => ({ column, row, kind, health, builder })),
    shots: game?.shotCount ?? 0,
    presence: [...presence.values()].map(({ player, name, hits, falls, structures }) => ({ player, name, hits, falls, structures })),
    plan: game?.plan && { column: game.plan.column, row: game.plan.row, obstacle: game.plan.obstacle },
    view: game?.shownPart,
    corrections: statistics?.corrections ?? 0,
    roundTripMs: statistics?.roundTripMs,
    pendingInputs: statistics?.pendingInputs ?? 0,
    losses: statistics?.losses ?? 0,
    frames: game?.frames ?? 0,
  };
}

function someone({ id, player, x, y, aim, health, material, appearance }: Person): Someone {
  return { id, player, x, y, aim, health, material, appearance };
}
