// Everything to draw now, collected from the room's channels.

import type { Room } from "@aether-game/client";
import type { Body, Controls, KindName, Movement, Pair, Presence, Projectile, Structure } from "./channels.ts";
import type { Measures } from "../../../games/outpost/web/pkg/aether_outpost_web.js";

export interface Person {
  readonly id: number;
  readonly player: number;
  readonly name: string;
  readonly appearance: number;
  readonly health: number;
  readonly material: number;
  readonly isProtected: boolean;
  readonly isOwn: boolean;
  readonly x: number;
  readonly y: number;
  readonly velocity: Readonly<Pair>;
  readonly aim: number;
  readonly reload: number;
}

export interface Building {
  readonly id: number;
  readonly column: number;
  readonly row: number;
  readonly x: number;
  readonly y: number;
  readonly kind: KindName;
  readonly health: number;
  /** Number of the builder, or 0 while that player is away. */
  readonly builder: number;
}

export interface Flying {
  readonly id: number;
  readonly x: number;
  readonly y: number;
  readonly velocity: Readonly<Pair>;
  readonly shooter: number;
}

export interface Scene {
  readonly people: readonly Person[];
  readonly own: Person | undefined;
  readonly buildings: readonly Building[];
  readonly shots: readonly Flying[];
  /** Every player in the room, by number. */
  readonly presence: ReadonlyMap<number, Presence>;
}

export const EMPTY: Scene = { people: [], own: undefined, buildings: [], shots: [], presence: new Map() };

/** Collects the scene as it is drawn now. */
export function sceneOf(room: Room<Controls>, measures: Measures): Scene {
  const presence = new Map<number, Presence>();
  for (const { fields } of room.entities<Presence>("presence")) presence.set(fields.player, fields);
  const people = peopleOf(room, presence);
  return { people, own: people.find((person) => person.isOwn), buildings: buildingsOf(room, measures), shots: shotsOf(room), presence };
}

/** Returns the column or row of a coordinate. */
export function cellIndex(coordinate: number, measures: Measures): number {
  return Math.floor((coordinate + measures.edge) / measures.cell);
}

/** Returns the center of a column or row. */
export function cellMiddle(index: number, measures: Measures): number {
  return (index + 0.5) * measures.cell - measures.edge;
}

function peopleOf(room: Room<Controls>, presence: ReadonlyMap<number, Presence>): Person[] {
  const people: Person[] = [];
  for (const { id, fields } of room.entities<Movement>("movement")) {
    const body = room.entity<Body>("bodies", id)?.fields;
    if (body === undefined) continue;
    const { player, appearance, health, material } = body;
    const name = presence.get(player)?.name ?? "";
    const [x, y] = fields.position;
    const { velocity, aim, reload } = fields;
    const [isProtected, isOwn] = [body.is_protected, id === room.ownEntity];
    people.push({ id, player, name, appearance, health, material, isProtected, isOwn, x, y, velocity, aim, reload });
  }
  return people;
}

function buildingsOf(room: Room<Controls>, measures: Measures): Building[] {
  const buildings: Building[] = [];
  for (const { id, fields } of room.entities<Structure>("build")) {
    const [x, y] = fields.position;
    const { kind, health, builder } = fields;
    buildings.push({ id, column: cellIndex(x, measures), row: cellIndex(y, measures), x, y, kind, health, builder });
  }
  // Structures in front are drawn over those behind.
  return buildings.sort((one, other) => other.row - one.row);
}

function shotsOf(room: Room<Controls>): Flying[] {
  const shots: Flying[] = [];
  for (const { id, fields } of room.entities<Projectile>("projectile")) {
    shots.push({ id, x: fields.position[0], y: fields.position[1], velocity: fields.velocity, shooter: fields.shooter });
  }
  return shots;
}
