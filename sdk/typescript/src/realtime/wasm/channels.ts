// The channels of a schema: which components they are made of, and how their rows are read.

import type { Entity, Fields } from "../core.ts";
import type { Surroundings } from "../rules.ts";
import { type RecordSchema, RowReader, type Schema } from "./layout.ts";

/** What the module offers of the world while rules step. */
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

  /** Channels are numbered in the order in which the schema names them first. */
  learn({ components }: Schema): void {
    this.channels = new Map();
    for (const { channel } of components) {
      if (this.channels.has(channel)) continue;
      const own = components.flatMap((component, index) => (component.channel === channel ? [index] : []));
      const kinds = own.map((index) => (components[index] as RecordSchema).kind);
      this.channels.set(channel, { number: this.channels.size, components: Uint32Array.from(own), kinds });
    }
  }

  numberOf(channel: string): number | undefined {
    return this.channels.get(channel)?.number;
  }

  /** The entities of a channel: for each its id, which components it has as bits, and their rows. */
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
