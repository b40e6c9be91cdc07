// Building: what is shown under the pointer, and what is asked of the server.

import { type AetherError, type Room } from "@aether-game/client";
import type { Point } from "./camera.ts";
import type { Controls, KindName } from "./channels.ts";
import type { Effects } from "./effects.ts";
import { Ground, Kind, type Rulebook, Site } from "./rules.ts";
import { type Scene, cellIndex, cellMiddle } from "./scene.ts";
import type { Tool } from "./tools.ts";

/** What would become of using a tool under the pointer. */
export interface Plan {
  /** The cell; nothing outside of the world. */
  readonly column: number | undefined;
  readonly row: number | undefined;
  /** What would be built; nothing if something would be taken down. */
  readonly kind: KindName | undefined;
  /** Why the server would refuse it, as a sentence. */
  readonly obstacle: string | undefined;
  /** What to write beside it. */
  readonly text: string | undefined;
}

/** Something that was asked for and is not answered yet. */
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

  /** Takes the ground as it is seen. */
  see(scene: Scene): void {
    this.ground.clear();
    for (const { x, y, kind } of scene.buildings) this.ground.set(x, y, Kind[kind]);
  }

  /** What would become of a tool at a place: the rules themselves say it. */
  plan(tool: Tool, place: Point, scene: Scene): Plan | undefined {
    const { own } = scene;
    if (own === undefined || tool === "Blaster") return undefined;
    this.look(scene);
    const preview =
      tool === "Remove"
        ? this.ground.preview_removal(this.site, place.x, place.y, this.isOwn(place, scene))
        : this.ground.preview(this.site, place.x, place.y, Kind[tool]);
    const { column, row, obstacle } = preview;
    preview.free();
    const kind = tool === "Remove" ? undefined : tool;
    return { column, row, kind, obstacle, text: obstacle === undefined ? this.offer(tool, place, scene) : sentence(obstacle) };
  }

  /** Asks the server to do what is planned. What the rules refuse is only told. */
  async carryOut(room: Room<Controls>, plan: Plan): Promise<void> {
    const { column, row, kind, obstacle } = plan;
    if (column === undefined || row === undefined || obstacle !== undefined) return;
    if (this.asked.some((other) => other.column === column && other.row === row)) return;
    const asked: Asked = { column, row, kind };
    this.asked.push(asked);
    const { measures } = this.book;
    const [x, y] = [cellMiddle(column, measures), cellMiddle(row, measures)];
    try {
      if (kind === undefined) await room.command("building", "remove", { column, row });
      else await room.command("building", "place", { column, row, kind });
      this.effects.built(x, y);
    } catch (error) {
      this.effects.say(x, y, sentence((error as AetherError).message), "bad");
    } finally {
      this.asked = this.asked.filter((other) => other !== asked);
    }
  }

  /** What the rules ask about: the builder and the people around. */
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
    return under === undefined ? undefined : `Take down for ${Math.floor(prices[under.kind].cost / 2)} back`;
  }
}

/** The rules speak in small letters, as parts of longer sentences. */
function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
