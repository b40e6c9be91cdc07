// Steering input: mouse, arrow keys, or a touch stick.

import type { Camera } from "./camera.ts";
import { STEER_REACH, type Steer } from "./rules.ts";

/** Keys by physical position, so that WASD works on every layout. */
const KEYS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [0, 1],
  KeyW: [0, 1],
  ArrowDown: [0, -1],
  KeyS: [0, -1],
  ArrowLeft: [-1, 0],
  KeyA: [-1, 0],
  ArrowRight: [1, 0],
  KeyD: [1, 0],
};

/** Pixels of a finger's movement for full speed. */
const STICK_PIXELS = 56;

/** Minimum duration of a split press, so that a short tap is not lost between two ticks. */
const SPLIT_MS = 120;

export class Controls {
  private readonly held = new Set<string>();
  private pointer: { readonly x: number; readonly y: number } | undefined;
  private stick: { readonly id: number; readonly fromX: number; readonly fromY: number; x: number; y: number } | undefined;
  private splitUntilMs = 0;
  private isSplitHeld = false;

  constructor(canvas: HTMLCanvasElement, split: HTMLElement) {
    canvas.addEventListener("pointerdown", (event) => this.pressed(event, canvas));
    canvas.addEventListener("pointermove", (event) => this.moved(event));
    for (const name of ["pointerup", "pointercancel"] as const) canvas.addEventListener(name, (event) => this.released(event));
    addEventListener("keydown", (event) => this.keyDown(event));
    addEventListener("keyup", (event) => this.keyUp(event));
    addEventListener("blur", () => this.releaseAll());
    split.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      this.split();
    });
    split.addEventListener("contextmenu", (event) => event.preventDefault());
  }

  /** Touch stick to draw, in pixels. */
  get stickShown(): { readonly fromX: number; readonly fromY: number; readonly x: number; readonly y: number } | undefined {
    return this.stick;
  }

  /** Returns the input for the room. The aim is relative to the center of the player's blobs. */
  steer(middle: { readonly x: number; readonly y: number } | undefined, camera: Camera, nowMs: number): Steer {
    return { aim: this.aim(middle, camera), split: this.isSplitHeld || nowMs < this.splitUntilMs };
  }

  private aim(middle: { readonly x: number; readonly y: number } | undefined, camera: Camera): readonly [number, number] {
    if (this.stick !== undefined) return short((this.stick.x - this.stick.fromX) / STICK_PIXELS, (this.stick.fromY - this.stick.y) / STICK_PIXELS);
    if (this.held.size > 0) {
      let [x, y] = [0, 0];
      for (const code of this.held) {
        x += KEYS[code]?.[0] ?? 0;
        y += KEYS[code]?.[1] ?? 0;
      }
      return short(x, y);
    }
    if (this.pointer === undefined || middle === undefined) return [0, 0];
    const x = (this.pointer.x - camera.across(middle.x)) / camera.scale / STEER_REACH;
    const y = (camera.down(middle.y) - this.pointer.y) / camera.scale / STEER_REACH;
    return short(x, y);
  }

  private split(): void {
    this.splitUntilMs = performance.now() + SPLIT_MS;
  }

  private pressed(event: PointerEvent, canvas: HTMLCanvasElement): void {
    if (event.pointerType === "mouse") return this.moved(event);
    canvas.setPointerCapture(event.pointerId);
    // A second finger splits, so that the first can keep steering.
    if (this.stick !== undefined) return this.split();
    this.pointer = undefined;
    this.stick = { id: event.pointerId, fromX: event.offsetX, fromY: event.offsetY, x: event.offsetX, y: event.offsetY };
  }

  private moved(event: PointerEvent): void {
    if (event.pointerType === "mouse") this.pointer = { x: event.offsetX, y: event.offsetY };
    if (this.stick?.id !== event.pointerId) return;
    this.stick.x = event.offsetX;
    this.stick.y = event.offsetY;
  }

  private released(event: PointerEvent): void {
    if (this.stick?.id === event.pointerId) this.stick = undefined;
  }

  private keyDown(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.code === "Space" && !isOperable(event.target)) {
      event.preventDefault();
      if (event.repeat) return;
      this.isSplitHeld = true;
      this.split();
    } else if (KEYS[event.code] !== undefined) {
      event.preventDefault();
      this.held.add(event.code);
    }
  }

  private keyUp(event: KeyboardEvent): void {
    if (event.code === "Space") this.isSplitHeld = false;
    this.held.delete(event.code);
  }

  private releaseAll(): void {
    this.held.clear();
    this.isSplitHeld = false;
    this.stick = undefined;
  }
}

/** Limits a vector to length one. */
function short(x: number, y: number): readonly [number, number] {
  const length = Math.max(1, Math.hypot(x, y));
  return [x / length, y / length];
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, select, textarea") !== null;
}

function isOperable(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("button, a, input, select, summary") !== null;
}
