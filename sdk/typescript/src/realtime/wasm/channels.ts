// Channels of a schema: their components, and reading their rows.

import type { Entity, Fields } from "../core.ts";
import type { Surroundings } from "../rules.ts";
import { type RecordSchema, RowReader, type Schema } from "./layout.ts";

/** Newest state of the world, as the module provides it. */
export interface NativeSurroundings {
  version(component: number): number;
  draw(components: Uint32Array): Float64Array;
}

interface Channel {
  readonly number: number;
  readonly components: Uint32Array;
  readonly kinds: readonly RecordSchema["kind"][];
}

export class Channels implements Surroundings {
  surroundings: NativeSurroundings | undefined;
  private channels = new Map<string, Channel>();

  /** Numbers channels in the order in which the schema first names them. */
  learn({ components }: Schema): void {
    this.channels = new Map();
    for (const { channel } of components) {
      if (this.channels.has(channel)) continue;
      const indices = components.flatMap((component, index) => (component.channel === channel ? [index] : []));
      const kinds = indices.map((index) => (components[index] as RecordSchema).kind);
      this.channels.set(channel, { number: this.channels.size, components: Uint32Array.from(indices), kinds });
    }
  }

  numberOf(channel: string): number | undefined {
    return this.channels.get(channel)?.number;
  }

  /** Reads the entities of a channel. Each has its id, a bit mask of its components, and their rows. */
  read(channel: string, rows: Float64Array): Entity[] {
    const kinds = this.channels.get(channel)?.kinds ?? [];
    const reader = new RowReader(rows);
    const entities: Entity[] = [];
    while (!reader.isOver) {
      const id = reader.next();
      const mask = reader.next();
      const fields: Fields = {};
      for (const [index, kind] of kinds.entries()) if ((mask & (1 << index)) !== 0) reader.record(kind, fields);
      entities.push({ id, fields });
    }
    return entities;
  }

  entities<Values = Fields>(channel: string): Iterable<Entity<Values>> {
    const known = this.channels.get(channel);
    if (known === undefined || this.surroundings === undefined) return [];
    return this.read(channel, this.surroundings.draw(known.components)) as Entity<Values>[];
  }

  version(channel: string): number {
    let sum = 0;
    for (const component of this.channels.get(channel)?.components ?? []) sum += this.surroundings?.version(component) ?? 0;
    return sum;
  }
}
