// HUD: health and material, and the list of players.

import { button, element, write } from "../shared/elements.ts";
import type { Presence } from "./channels.ts";
import { appearanceName, portrait } from "./portraits.ts";
import type { Scene } from "./scene.ts";
import type { Measures } from "../../../games/outpost/web/pkg/aether_outpost_web.js";

/** Maximum number of listed players; the rest is counted. */
const ROWS_MAX = 10;

/** Below this width the list of players would cover the world. */
const WIDE_PIXELS = 700;

export class Hud {
  private readonly measures: Measures;
  /** Called with the appearance of the own player. */
  private readonly seen: (appearance: number) => void;
  private shown = "";

  constructor(measures: Measures, seen: (appearance: number) => void) {
    this.measures = measures;
    this.seen = seen;
    button("toggle-people").addEventListener("click", () => this.open(!element("people", HTMLElement).classList.contains("open")));
    this.open(innerWidth >= WIDE_PIXELS);
  }

  update({ own, presence }: Scene): void {
    this.bar("health", own?.health ?? 0, this.measures.health_max);
    this.bar("material", own?.material ?? 0, this.measures.material_max);
    const people = [...presence.values()].sort((one, other) => other.hits - one.hits || one.falls - other.falls || one.player - other.player);
    const text = JSON.stringify([people, own?.player]);
    if (text === this.shown) return;
    this.shown = text;
    write(element("people-count", HTMLElement), String(people.length));
    element("people-list", HTMLElement).replaceChildren(...people.slice(0, ROWS_MAX).map((person) => this.row(person, own?.player)));
    write(element("people-more", HTMLElement), people.length > ROWS_MAX ? `and ${people.length - ROWS_MAX} more` : "");
    const appearance = own?.appearance ?? 0;
    element("own-character", HTMLElement).replaceChildren(portrait(appearance));
    this.seen(appearance);
  }

  /** Flashes red when the own player is hit. */
  flash(): void {
    const frame = element("pain", HTMLElement);
    frame.classList.remove("shown");
    // Reading a layout property restarts the animation.
    void frame.offsetWidth;
    frame.classList.add("shown");
  }

  private open(isOpen: boolean): void {
    element("people", HTMLElement).classList.toggle("open", isOpen);
    button("toggle-people").setAttribute("aria-expanded", String(isOpen));
  }

  private bar(name: "health" | "material", value: number, most: number): void {
    const fill = element(`${name}-fill`, HTMLElement);
    const share = `${(100 * value) / most}%`;
    if (fill.style.width !== share) fill.style.width = share;
    write(element(`${name}-value`, HTMLElement), String(value));
    element(`${name}-bar`, HTMLElement).setAttribute("aria-valuenow", String(value));
    element(`${name}-bar`, HTMLElement).classList.toggle("low", value <= most * 0.3);
  }

  private row({ player, name, appearance, hits, falls, structures }: Presence, own: number | undefined): HTMLElement {
    const row = document.createElement("tr");
    row.classList.toggle("own", player === own);
    const face = document.createElement("td");
    face.append(portrait(appearance));
    const named = document.createElement("th");
    named.scope = "row";
    named.textContent = name;
    named.title = appearanceName(appearance);
    const numbers = [hits, falls, structures].map((number) => {
      const cell = document.createElement("td");
      cell.className = "number";
      cell.textContent = String(number);
      return cell;
    });
    row.append(face, named, ...numbers);
    return row;
  }
}
