// State of the page as plain values.

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
  /** Only with permission to inspect. */
  readonly entitiesInRoom: number | undefined;
}

export function stateOf(flight: Flight, world: World): PageState {
  const { room, connection } = flight;
  const { ownShip } = world;
  return {
    phase: connection.phase.name,
    transport: flight.transport,
    role: flight.role,
    room: room?.welcome?.roomCode,
    player: room?.welcome?.player,
    tick: room?.tick ?? 0,
    rttMs: room?.statistics.roundTripMs,
    reconnects: connection.reconnects,
    inputSeq: room?.statistics.inputSeq ?? 0,
    own: ownShip === undefined ? undefined : shipState(ownShip),
    others: [...world.ships.values()].filter((ship) => ship !== ownShip).map(shipState),
    things: world.things.map(({ id, look, pose }) => ({ id, look, x: pose.x, y: pose.y })),
    shots: world.shots.length,
    entitiesInView: world.entitiesInView,
    entitiesInRoom: flight.manifest?.entities_active,
  };
}

function shipState({ id, pose, hull, colour }: Ship): ShipState {
  return { id, x: pose.x, y: pose.y, heading: pose.angle, hull, colour };
}
