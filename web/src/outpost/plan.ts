// Building: preview under the pointer, and requests to the server.

import { type AetherError, type Room } from "@aether-game/client";
import type { Point } from "./camera.ts";
import type { Controls, KindName } from "./channels.ts";
import type { Effects } from "./effects.ts";
import { Ground, Kind, type Rulebook, Site } from "./rules.ts";
import { type Scene, cellIndex, cellMiddle } from "./scene.ts";
import type { Tool } from "./tools.ts";

/** Effect of using a tool at the pointer. */
export interface Plan {
  /** Cell; undefined outside the world. */
  readonly column: number | undefined;
  readonly row: number | undefined;
  /** Structure to build; undefined for a removal. */
  readonly kind: KindName | undefined;
  /** Reason why the server would reject it, as a sentence. */
  readonly obstacle: string | undefined;
  /** Text beside the preview. */
  readonly text: string | undefined;
}

/** Request without an answer yet. */
interface Asked {
  readonly column: number;
  readonly row: number;
  readonly kind: KindName | undefined;
}

export class Planner {
  readonly ground = new Ground();
  asked: Asked[] = [];
  private readonly book: Rulebook;
  private readonly effects: Effects;
  private readonly site = new Site();

  constructor(book: Rulebook, effects: Effects) {
    this.book = book;
    this.effects = effects;
  }

  /** Updates the ground from the visible structures. */
  see(scene: Scene): void {
    this.ground.clear();
    for (const { x, y, kind } of scene.buildings) this.ground.set(x, y, Kind[kind]);
  }

  /** Previews a tool at a position, by the game's rules. */
  plan(tool: Tool, position: Point, scene: Scene): Plan | undefined {
    const { own } = scene;
    if (own === undefined || tool === "Blaster") return undefined;
    this.look(scene);
    const preview =
      tool === "Remove"
        ? this.ground.preview_removal(this.site, position.x, position.y, this.isOwn(position, scene))
        : this.ground.preview(this.site, position.x, position.y, Kind[tool]);
    const { column, row, obstacle } = preview;
    preview.free();
    const kind = tool === "Remove" ? undefined : tool;
    return { column, row, kind, obstacle, text: obstacle === undefined ? this.offer(tool, position, scene) : sentence(obstacle) };
  }

  /** Requests what is planned. Plans with an obstacle are not sent. */
  async carryOut(room: Room<Controls>, plan: Plan): Promise<void> {
    const { column, row, kind, obstacle } = plan;
    if (column === undefined || row === undefined || obstacle !== undefined) return;
    if (this.asked.some((other) => other.column === column && other.row === row)) return;
    const asked: Asked = { column, row, kind };
    this.asked.push(asked);
    const { measures } = this.book;
    const [x, y] = [cellMiddle(column, measures), cellMiddle(row, measures)];
    try {
      if (kind === undefined) await room.command("build", "remove", { column, row });
      else await room.command("build", "place", { column, row, kind });
      this.effects.built(x, y);
    } catch (error) {
      this.effects.say(x, y, sentence((error as AetherError).message), "bad");
    } finally {
      this.asked = this.asked.filter((other) => other !== asked);
    }
  }

  /** Sets the builder and the people around it for the rules. */
  private look({ own, people, presence }: Scene): void {
    if (own === undefined) return;
    const { site } = this;
    [site.x, site.y, site.material] = [own.x, own.y, own.material];
    site.structures = presence.get(own.player)?.structures ?? 0;
    site.set_people(new Float32Array(people.flatMap(({ x, y }) => [x, y])));
  }

  private isOwn({ x, y }: Point, { own, buildings }: Scene): boolean {
    const { measures } = this.book;
    const [column, row] = [cellIndex(x, measures), cellIndex(y, measures)];
    const under = buildings.find((building) => building.column === column && building.row === row);
    return under !== undefined && under.builder === own?.player;
  }

  private offer(tool: Exclude<Tool, "Blaster">, { x, y }: Point, { buildings }: Scene): string | undefined {
    const { measures, prices } = this.book;
    if (tool !== "Remove") return `${tool} for ${prices[tool].cost}`;
    const [column, row] = [cellIndex(x, measures), cellIndex(y, measures)];
    const under = buildings.find((building) => building.column === column && building.row === row);
    return under === undefined ? undefined : `Remove, refunds ${Math.floor(prices[under.kind].cost / 2)}`;
  }
}

/** Capitalizes a sentence of the rules. */
function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
