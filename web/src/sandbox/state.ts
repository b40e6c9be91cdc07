// What the page knows, as plain values.

import type { Role, TransportKind } from "@aether-game/client";
import type { Flight } from "./flight.ts";
import type { Ship, World } from "./world.ts";

export interface ShipState {
  readonly id: number;
  readonly x: number;
  readonly y: number;
  readonly heading: number;
  readonly hull: number;
  readonly colour: number;
}

export interface PageState {
  readonly phase: "connecting" | "playing" | "waiting" | "ended";
  readonly transport: TransportKind;
  readonly role: Role | undefined;
  readonly room: string | undefined;
  readonly player: number | undefined;
  readonly tick: number;
  readonly rttMs: number | undefined;
  readonly reconnects: number;
  readonly inputSeq: number;
  readonly own: ShipState | undefined;
  readonly others: readonly ShipState[];
  readonly things: readonly { readonly id: number; readonly look: string; readonly x: number; readonly y: number }[];
  readonly shots: number;
  readonly entitiesInView: number;
  /** Only for those who may inspect. */
  readonly entitiesInRoom: number | undefined;
}

export function stateOf(flight: Flight, world: World): PageState {
  const { room, seat } = flight;
  const { ownShip } = world;
  return {
    phase: seat.phase.name,
    transport: flight.transport,
    role: flight.role,
    room: room?.welcome?.roomCode,
    player: room?.welcome?.player,
    tick: room?.tick ?? 0,
    rttMs: room?.statistics.roundTripMs,
    reconnects: seat.returns,
    inputSeq: room?.statistics.inputSeq ?? 0,
    own: ownShip === undefined ? undefined : shipState(ownShip),
    others: [...world.ships.values()].filter((ship) => ship !== ownShip).map(shipState),
    things: world.things.map(({ id, look, place }) => ({ id, look, x: place.x, y: place.y })),
    shots: world.shots.length,
    entitiesInView: world.entitiesInView,
    entitiesInRoom: flight.manifest?.entities_active,
  };
}

function shipState({ id, place, hull, colour }: Ship): ShipState {
  return { id, x: place.x, y: place.y, heading: place.angle, hull, colour };
}
