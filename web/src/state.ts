// What the page knows, as plain values.

import type { Role } from "./api.ts";
import type { Connection } from "./connection.ts";
import type { TransportKind } from "./transport/transport.ts";
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
  /** As in the newest snapshot, not as it is drawn. */
  readonly own: ShipState | undefined;
  readonly others: readonly ShipState[];
  readonly things: readonly { readonly id: number; readonly look: string; readonly x: number; readonly y: number }[];
  readonly shots: number;
  readonly entitiesInView: number;
  /** Only for those who may inspect. */
  readonly entitiesInRoom: number | undefined;
}

export function stateOf(connection: Connection, world: World): PageState {
  const ships = [...world.ships.values()].filter((ship) => ship.goneTick === undefined);
  const things = [...world.things.values()].filter((thing) => thing.goneTick === undefined);
  const own = ships.find((ship) => ship.id === world.ownEntity);
  return {
    phase: connection.phase.name,
    transport: connection.transportKind,
    role: connection.role,
    room: connection.welcome?.roomCode,
    player: connection.welcome?.player,
    tick: world.tick,
    rttMs: connection.roundTrips.rttMs,
    reconnects: connection.reconnects,
    inputSeq: connection.pilot.seq,
    own: own === undefined ? undefined : shipState(own),
    others: ships.filter((ship) => ship !== own).map(shipState),
    things: things.map(({ id, look, track }) => ({ id, look, x: track.newest.x, y: track.newest.y })),
    shots: world.shots.size,
    entitiesInView: world.entitiesInView,
    entitiesInRoom: connection.manifest?.entities_active,
  };
}

function shipState(ship: Ship): ShipState {
  const { x, y, angle } = ship.track.newest;
  return { id: ship.id, x, y, heading: angle, hull: ship.hull, colour: ship.colour };
}
