// Playground commands: placing objects, a stress test, and clearing the world.

import type { Camera } from "./camera.ts";
import { type Flight, mayUsePlayground } from "./flight.ts";
import { isLocalPage } from "../shared/developer.ts";
import { button, element } from "../shared/elements.ts";
import type { Notices } from "../shared/notices.ts";
import type { Look, World } from "./world.ts";

/** Number of objects in a stress test. */
const STRESS_COUNT = 100;

/** Distance before the ship, for objects placed without a pointer. */
const AHEAD_UNITS = 40;

const KINDS: readonly Look[] = ["crate", "rock", "beacon"];

export class Playground {
  private readonly flight: Flight;
  private readonly world: World;
  private readonly camera: Camera;
  private readonly notices: Notices;
  private readonly canvas: HTMLCanvasElement;
  private armed: Look | undefined;
  /** Pointer position on the canvas in pixels; undefined while it is elsewhere. */
  private pointer: { readonly x: number; readonly y: number } | undefined;

  constructor(flight: Flight, world: World, camera: Camera, canvas: HTMLCanvasElement, notices: Notices) {
    this.flight = flight;
    this.world = world;
    this.camera = camera;
    this.canvas = canvas;
    this.notices = notices;
    for (const kind of KINDS) button(`spawn-${kind}`).addEventListener("click", () => this.arm(kind));
    button("stress").addEventListener("click", () => this.stress(false));
    button("stress-rotating").addEventListener("click", () => this.stress(true));
    button("clear").addEventListener("click", () => this.clear());
    this.listen();
  }

  /** Returns whether the role may use the playground. */
  get allowed(): boolean {
    const { role } = this.flight;
    return role !== undefined && mayUsePlayground(role);
  }

  /** Preview of the next placement. */
  get placing(): { readonly look: Look; readonly x: number; readonly y: number } | undefined {
    if (this.armed === undefined || this.pointer === undefined) return undefined;
    return { look: this.armed, ...this.camera.toWorld(this.pointer.x, this.pointer.y) };
  }

  update(): void {
    element("playground", HTMLElement).hidden = !this.allowed;
    element("playground-hint", HTMLElement).hidden = this.allowed || this.flight.role === undefined || !isLocalPage();
    for (const each of element("playground", HTMLElement).querySelectorAll("button")) each.disabled = !this.flight.isPlaying;
  }

  private listen(): void {
    const { canvas } = this;
    const locate = (event: PointerEvent): void => {
      this.pointer = { x: event.offsetX, y: event.offsetY };
    };
    canvas.addEventListener("pointermove", locate);
    canvas.addEventListener("pointerleave", () => (this.pointer = undefined));
    canvas.addEventListener("pointerdown", (event) => {
      locate(event);
      if (this.armed !== undefined) this.place(this.armed);
    });
    addEventListener("keydown", (event) => {
      if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
      const kind = /^[123]$/.test(event.key) ? KINDS[Number(event.key) - 1] : undefined;
      if (kind !== undefined && this.allowed) this.place(kind);
      if (event.key === "Escape") this.arm(undefined);
      if (event.key === "Enter" && event.target === canvas && this.armed !== undefined) this.place(this.armed);
    });
  }

  /** Selects the object that clicks place; selecting it again ends placing. */
  private arm(kind: Look | undefined): void {
    this.armed = kind === this.armed ? undefined : kind;
    for (const each of KINDS) button(`spawn-${each}`).setAttribute("aria-pressed", String(each === this.armed));
    this.canvas.classList.toggle("placing", this.armed !== undefined);
    if (this.armed !== undefined) this.notices.show(`Click the world to place a ${this.armed}.`, "plain");
  }

  private place(kind: Look): void {
    const { x, y } = this.target();
    const { min, max } = this.world.shape;
    if (x < min.x || x > max.x || y < min.y || y > max.y) {
      this.notices.show("That position is outside the world.", "bad");
      return;
    }
    void this.say("spawn", { kind, x: round(x), y: round(y), rotation: 0 }, `Placed a ${kind}.`);
  }

  private stress(rotate: boolean): void {
    const what = rotate ? `${STRESS_COUNT} rotating rocks` : `${STRESS_COUNT} rocks`;
    void this.say("stress", { count: STRESS_COUNT, rotate }, `Spawned ${what}.`);
  }

  private clear(): void {
    void this.say("clear", undefined, "World cleared.");
  }

  /** Sends a command and shows the result. */
  private async say(action: string, fields: object | undefined, done: string): Promise<void> {
    try {
      await this.flight.room?.command("playground", action, fields);
      this.notices.show(done, "good");
    } catch (error) {
      this.notices.show(error instanceof Error ? error.message : String(error), "bad");
    }
  }

  /** Returns the position under the pointer, or before the ship. */
  private target(): { readonly x: number; readonly y: number } {
    if (this.pointer !== undefined) return this.camera.toWorld(this.pointer.x, this.pointer.y);
    const ship = this.world.ownShip?.pose;
    if (ship === undefined) return { x: this.camera.x, y: this.camera.y };
    return { x: ship.x + AHEAD_UNITS * Math.cos(ship.angle), y: ship.y + AHEAD_UNITS * Math.sin(ship.angle) };
  }
}

/** Rounds to hundredths; the server stores no finer positions. */
function round(value: number): number {
  return Math.round(value * 100) / 100;
}
