// The game's rules: the server's rules crate, as a WASM module.

import load, { Ground, Kind, type Measures, Steering, Walker, cost, health, measures } from "../../../games/outpost/web/pkg/aether_outpost_web.js";
import type { Rules, Surroundings } from "@aether-game/client";
import type { Controls, KindName, Movement, Structure } from "./channels.ts";

export { Ground, Kind, Shot, Site } from "../../../games/outpost/web/pkg/aether_outpost_web.js";

/** Cost of a structure, and its initial health. */
export interface Price {
  readonly cost: number;
  readonly health: number;
}

/** Constants of the rules, read once. */
export interface Rulebook {
  readonly measures: Measures;
  readonly prices: Readonly<Record<KindName, Price>>;
}

/** Loads the module. Must be called before anything else of it. */
export async function loadRules(): Promise<Rulebook> {
  await load({ module_or_path: new URL("../../../games/outpost/web/pkg/aether_outpost_web_bg.wasm", import.meta.url) });
  const price = (kind: KindName): Price => ({ cost: cost(Kind[kind]), health: health(Kind[kind]) });
  const prices = { Wall: price("Wall"), Door: price("Door"), Fence: price("Fence"), Turret: price("Turret") };
  return { measures: measures(), prices };
}

/** Movement rules of the own player. */
export class Walking implements Rules<Movement, Controls> {
  readonly channel = "movement";
  private readonly ground = new Ground();
  private readonly walker = new Walker();
  private readonly steering = new Steering();
  private world: Surroundings | undefined;
  private version: number | undefined;

  /**
   * Returns the latest server state of an entity, neither predicted nor interpolated. Undefined before the first step.
   */
  newest(id: number): Movement | undefined {
    for (const entity of this.world?.entities<Movement>(this.channel) ?? []) if (entity.id === id) return entity.fields;
    return undefined;
  }

  step(state: Movement, input: Controls, seconds: number, world: Surroundings): void {
    this.world = world;
    this.see(world);
    const { walker, steering } = this;
    [walker.x, walker.y] = state.position;
    [walker.velocity_x, walker.velocity_y] = state.velocity;
    walker.aim = state.aim;
    walker.reload = state.reload;
    [steering.push_x, steering.push_y] = input.push;
    steering.aim = input.aim;
    steering.fire = input.fire;
    this.ground.walk(walker, steering, seconds);
    state.position[0] = walker.x;
    state.position[1] = walker.y;
    state.velocity[0] = walker.velocity_x;
    state.velocity[1] = walker.velocity_y;
    state.aim = walker.aim;
    state.reload = walker.reload;
  }

  /** Updates the ground if structures changed. */
  private see(world: Surroundings): void {
    const version = world.version("build");
    if (version === this.version) return;
    this.version = version;
    lay(this.ground, world.entities<Structure>("build"));
  }
}

/** Replaces the structures of the ground. */
export function lay(ground: Ground, structures: Iterable<{ readonly fields: Structure }>): void {
  ground.clear();
  for (const { fields } of structures) ground.set(fields.position[0], fields.position[1], Kind[fields.kind]);
}
