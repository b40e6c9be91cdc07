// Steering: mouse, arrow keys, or a finger that drags.

import type { Camera } from "./camera.ts";
import type { Needle } from "./quilt.ts";

/** Keys by physical position, so that WASD works on every layout. */
const KEYS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [0, -1],
  KeyW: [0, -1],
  ArrowDown: [0, 1],
  KeyS: [0, 1],
  ArrowLeft: [-1, 0],
  KeyA: [-1, 0],
  ArrowRight: [1, 0],
  KeyD: [1, 0],
};

/** Distance in pixels from which on a finger or the mouse gives a direction. */
const REACH_MIN = 10;

/** Longest distance of the stick's knob, in pixels: the stick follows a finger that goes farther. */
const STICK_REACH = 48;

export class Controls {
  private readonly held = new Set<string>();
  private mouse: { readonly x: number; readonly y: number } | undefined;
  private finger: { readonly id: number; fromX: number; fromY: number; x: number; y: number } | undefined;
  private aim: number | undefined;

  constructor(canvas: HTMLCanvasElement) {
    canvas.addEventListener("pointerdown", (event) => this.pressed(event, canvas));
    canvas.addEventListener("pointermove", (event) => this.moved(event));
    for (const name of ["pointerup", "pointercancel"] as const) canvas.addEventListener(name, (event) => this.released(event));
    addEventListener("keydown", (event) => this.keyDown(event));
    addEventListener("keyup", (event) => this.held.delete(event.code));
    addEventListener("blur", () => {
      this.held.clear();
      this.finger = undefined;
    });
  }

  /** Stick of the finger, in pixels of the canvas. */
  get stick(): { readonly fromX: number; readonly fromY: number; readonly x: number; readonly y: number } | undefined {
    return this.finger;
  }

  /** Returns the direction to steer to: the last one while nothing is pressed, and none before the player has steered. */
  direction(needle: Needle, camera: Camera): number | undefined {
    const [x, y] = this.vector(needle, camera);
    if (x !== 0 || y !== 0) this.aim = Math.atan2(y, x);
    return this.aim;
  }

  private vector(needle: Needle, camera: Camera): readonly [number, number] {
    if (this.finger !== undefined) return far(this.finger.x - this.finger.fromX, this.finger.y - this.finger.fromY);
    if (this.held.size > 0) {
      let [x, y] = [0, 0];
      for (const code of this.held) {
        x += KEYS[code]?.[0] ?? 0;
        y += KEYS[code]?.[1] ?? 0;
      }
      return [x, y];
    }
    if (this.mouse === undefined) return [0, 0];
    return far(this.mouse.x - camera.across(needle.x), this.mouse.y - camera.down(needle.y));
  }

  private pressed(event: PointerEvent, canvas: HTMLCanvasElement): void {
    if (event.pointerType === "mouse") return this.moved(event);
    canvas.setPointerCapture(event.pointerId);
    this.mouse = undefined;
    this.finger = { id: event.pointerId, fromX: event.offsetX, fromY: event.offsetY, x: event.offsetX, y: event.offsetY };
  }

  private moved(event: PointerEvent): void {
    if (event.pointerType === "mouse") this.mouse = { x: event.offsetX, y: event.offsetY };
    const { finger } = this;
    if (finger?.id !== event.pointerId) return;
    [finger.x, finger.y] = [event.offsetX, event.offsetY];
    const [dx, dy] = [finger.x - finger.fromX, finger.y - finger.fromY];
    const beyond = Math.hypot(dx, dy) - STICK_REACH;
    if (beyond <= 0) return;
    finger.fromX += (dx / Math.hypot(dx, dy)) * beyond;
    finger.fromY += (dy / Math.hypot(dx, dy)) * beyond;
  }

  private released(event: PointerEvent): void {
    if (this.finger?.id === event.pointerId) this.finger = undefined;
  }

  private keyDown(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || KEYS[event.code] === undefined || isTyping(event.target)) return;
    event.preventDefault();
    this.mouse = undefined;
    this.held.add(event.code);
  }
}

function far(x: number, y: number): readonly [number, number] {
  return Math.hypot(x, y) < REACH_MIN ? [0, 0] : [x, y];
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, select, textarea") !== null;
}
