// Screens before and after a game: name, colour, and result.

import { button, element, write } from "../shared/elements.ts";
import { problemOf, rename } from "../shared/visitor.ts";
import { HUES, coloursOf } from "./colours.ts";

/** Minimum mass for a record message. */
const PROUD_MASS = 50;

/** Result of one life. */
export interface Obituary {
  readonly by: string;
  readonly mass: number;
  readonly seconds: number;
}

export interface ScreenEvents {
  play(): void;
  paint(hue: number): void;
  /** The player has another name now. */
  renamed(name: string): void;
}

export class Screens {
  private readonly screen = element("screen", HTMLElement);
  private readonly title = element("screen-title", HTMLElement);
  private readonly text = element("screen-text", HTMLElement);
  private readonly life = element("life", HTMLElement);
  private readonly form = element("play", HTMLFormElement);
  private readonly name = element("name", HTMLInputElement);
  private readonly problem = element("name-problem", HTMLElement);
  private readonly go = button("play-button");
  private readonly swatches = new Map<number, HTMLInputElement>();
  private readonly events: ScreenEvents;
  private knownName = "";

  constructor(events: ScreenEvents) {
    this.events = events;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.submit();
    });
    const colours = element("colours", HTMLElement);
    for (const hue of HUES) colours.append(this.swatch(hue));
  }

  get isOpen(): boolean {
    return !this.screen.hidden;
  }

  /** Shows the player's name. */
  known(name: string): void {
    // Does not overwrite what the player is typing.
    if (this.name.value === this.knownName) this.name.value = name;
    this.knownName = name;
  }

  /** Selects the player's colour, if it is one of the choices. */
  painted(hue: number): void {
    for (const [each, input] of this.swatches) input.checked = each === hue;
  }

  openStart(): void {
    this.open("Arena", "Eat what is smaller, flee from what is larger. Split to catch what is faster.", "Play");
    this.life.hidden = true;
  }

  openDeath({ by, mass, seconds }: Obituary, best: number): void {
    this.open(by === "" ? "You were eaten" : `${by} ate you`, mass >= best && mass >= PROUD_MASS ? "New personal best!" : "Try again.", "Play again");
    this.life.hidden = false;
    write(element("life-mass", HTMLElement), mass.toLocaleString("en"));
    write(element("life-best", HTMLElement), Math.max(best, mass).toLocaleString("en"));
    write(element("life-time", HTMLElement), duration(seconds));
  }

  close(): void {
    this.screen.hidden = true;
  }

  private open(title: string, text: string, go: string): void {
    write(this.title, title);
    write(this.text, text);
    write(this.go, go);
    const wasHidden = this.screen.hidden;
    this.screen.hidden = false;
    if (wasHidden) this.go.focus({ preventScroll: true });
  }

  private async submit(): Promise<void> {
    const name = this.name.value.trim();
    const problem = problemOf(name);
    write(this.problem, problem ?? "");
    if (problem !== undefined) return this.name.focus();
    if (name !== this.knownName) {
      this.go.disabled = true;
      try {
        this.knownName = (await rename(name)).username;
        this.events.renamed(this.knownName);
      } catch (error) {
        write(this.problem, error instanceof Error ? error.message : String(error));
        return this.name.focus();
      } finally {
        this.go.disabled = false;
      }
    }
    this.events.play();
  }

  private swatch(hue: number): HTMLLabelElement {
    const label = document.createElement("label");
    const input = document.createElement("input");
    input.type = "radio";
    input.name = "colour";
    input.value = String(hue);
    input.setAttribute("aria-label", `Colour ${HUES.indexOf(hue as (typeof HUES)[number]) + 1}`);
    input.addEventListener("change", () => this.events.paint(hue));
    const dot = document.createElement("span");
    dot.style.background = coloursOf(hue, true).body;
    label.append(input, dot);
    this.swatches.set(hue, input);
    return label;
  }
}

function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
