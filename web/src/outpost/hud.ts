// HUD: health and material, the list of players, and the choice of a character.

import { button, element, write } from "../shared/elements.ts";
import { CHARACTERS, drawCharacter } from "./characters.ts";
import type { Presence } from "./channels.ts";
import { palette } from "./palette.ts";
import type { Scene } from "./scene.ts";
import type { Measures } from "../../../games/outpost/web/pkg/aether_outpost_web.js";

/** Maximum number of listed players; the rest is counted. */
const ROWS_MAX = 10;

const PORTRAIT_PIXELS = 34;

/** Below this width the list of players would cover the world. */
const WIDE_PIXELS = 700;

/** Key of the stored character in `localStorage`. */
const WISH = "outpost.appearance";

export class Hud {
  private readonly measures: Measures;
  private readonly dress: (appearance: number) => void;
  private readonly dialog = element("characters", HTMLDialogElement);
  private readonly portraits = CHARACTERS.map((_, appearance) => portraitOf(appearance));
  private shown = "";

  constructor(measures: Measures, dress: (appearance: number) => void) {
    this.measures = measures;
    this.dress = dress;
    button("choose-character").addEventListener("click", () => this.dialog.showModal());
    button("close-characters").addEventListener("click", () => this.dialog.close());
    // A click outside the card closes the dialog.
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    element("character-list", HTMLElement).append(...CHARACTERS.map(({ name }, appearance) => this.choiceOf(name, appearance)));
    button("toggle-people").addEventListener("click", () => this.open(!element("people", HTMLElement).classList.contains("open")));
    this.open(innerWidth >= WIDE_PIXELS);
  }

  /** Character chosen last time. */
  get wish(): number | undefined {
    const wish = Number.parseInt(localStorage.getItem(WISH) ?? "", 10);
    return wish >= 0 && wish < CHARACTERS.length ? wish : undefined;
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
    const face = this.portraits[appearance];
    if (face !== undefined) element("own-character", HTMLElement).replaceChildren(copyOf(face));
    for (const choice of this.dialog.querySelectorAll<HTMLElement>("[data-appearance]")) {
      choice.setAttribute("aria-pressed", String(choice.dataset["appearance"] === String(appearance)));
    }
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
    const portrait = this.portraits[appearance];
    if (portrait !== undefined) face.append(copyOf(portrait));
    const named = document.createElement("th");
    named.scope = "row";
    named.textContent = name;
    named.title = CHARACTERS[appearance]?.name ?? "";
    const numbers = [hits, falls, structures].map((number) => {
      const cell = document.createElement("td");
      cell.className = "number";
      cell.textContent = String(number);
      return cell;
    });
    row.append(face, named, ...numbers);
    return row;
  }

  private choiceOf(name: string, appearance: number): HTMLElement {
    const choice = document.createElement("button");
    choice.type = "button";
    choice.dataset["appearance"] = String(appearance);
    const label = document.createElement("span");
    label.textContent = name;
    const portrait = this.portraits[appearance];
    choice.append(...(portrait === undefined ? [] : [copyOf(portrait)]), label);
    choice.addEventListener("click", () => {
      localStorage.setItem(WISH, String(appearance));
      this.dress(appearance);
      this.dialog.close();
    });
    return choice;
  }
}

function portraitOf(appearance: number): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  const ratio = 2;
  [canvas.width, canvas.height] = [PORTRAIT_PIXELS * ratio, PORTRAIT_PIXELS * ratio];
  canvas.className = "portrait";
  canvas.setAttribute("aria-hidden", "true");
  const pen = canvas.getContext("2d");
  pen?.scale(ratio, ratio);
  pen?.translate(PORTRAIT_PIXELS * 0.46, PORTRAIT_PIXELS * 0.54);
  const pose = { radius: PORTRAIT_PIXELS * 0.34, aimAngle: -Math.PI / 5, walkAngle: 0, stride: 0, phase: 0 };
  if (pen !== null) drawCharacter(pen, appearance, pose, palette(true));
  return canvas;
}

/** Copies a canvas, because an element can have only one parent. */
function copyOf(canvas: HTMLCanvasElement): HTMLCanvasElement {
  const copy = document.createElement("canvas");
  [copy.width, copy.height, copy.className] = [canvas.width, canvas.height, canvas.className];
  copy.setAttribute("aria-hidden", "true");
  copy.getContext("2d")?.drawImage(canvas, 0, 0);
  return copy;
}
