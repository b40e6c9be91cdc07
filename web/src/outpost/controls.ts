// Input: keys, mouse, or touch sticks.

import type { Camera, Point } from "./camera.ts";
import type { Pair } from "./channels.ts";
import { Stick } from "./stick.ts";

/** Keys by physical position, so that WASD works on every layout. */
const WALK: Readonly<Record<string, Pair>> = {
  KeyW: [0, 1],
  ArrowUp: [0, 1],
  KeyS: [0, -1],
  ArrowDown: [0, -1],
  KeyA: [-1, 0],
  ArrowLeft: [-1, 0],
  KeyD: [1, 0],
  ArrowRight: [1, 0],
};

/** Keys that shoot or build. */
const ACT: ReadonlySet<string> = new Set(["Space", "Enter"]);

/** Build distance without a pointer. */
const FRONT_UNITS = 6;

/** Minimum duration of a press: at least one tick. */
const PRESS_MS_MIN = 50;

/** Tilt below which a stick is at rest. */
const STICK_REST = 0.15;

export class Controls {
  /** Called at once on every change, without waiting for the next frame. */
  changed: () => void = () => undefined;
  private readonly pressed = new Set<string>();
  private readonly walkStick: Stick;
  private readonly aimStick: Stick;
  private pointer: Point | undefined;
  private isPointerDown = false;
  private isFinger = false;
  private pressedMs: number | undefined;
  private facing = 0;

  constructor(canvas: HTMLCanvasElement, walkStick: HTMLElement, aimStick: HTMLElement, keyed: (code: string) => boolean) {
    this.walkStick = new Stick(walkStick, () => this.changed());
    this.aimStick = new Stick(aimStick, () => this.changed());
    this.listenToKeys(keyed);
    this.listenToPointer(canvas);
    // A key released in another window sends no event.
    addEventListener("blur", () => this.releaseAll());
    document.addEventListener("visibilitychange", () => document.hidden && this.releaseAll());
  }

  /** Walking direction and speed; length one is full speed. */
  get push(): Pair {
    const { x, y } = this.walkStick.tilt;
    if (Math.hypot(x, y) > STICK_REST) return [x, y];
    let [across, up] = [0, 0];
    for (const code of this.pressed) {
      const [dx, dy] = WALK[code] ?? [0, 0];
      [across, up] = [across + dx, up + dy];
    }
    const length = Math.hypot(Math.sign(across), Math.sign(up)) || 1;
    return [Math.sign(across) / length, Math.sign(up) / length];
  }

  /** Returns whether to shoot or build. */
  get isActing(): boolean {
    return this.isActHeld || this.pressedMs !== undefined;
  }

  /** Ends a short press once a frame has seen it. */
  seen(nowMs: number): void {
    if (this.pressedMs === undefined || nowMs - this.pressedMs < PRESS_MS_MIN) return;
    this.pressedMs = undefined;
    // The position of a lifted finger is not an aim.
    if (this.isFinger && !this.isPointerDown) this.pointer = undefined;
    this.changed();
  }

  /** Returns the aim from a position, in radians. */
  aimFrom(position: Point, camera: Camera): number {
    const { x, y } = this.aimStick.tilt;
    if (this.isAimStickPushed) this.facing = Math.atan2(y, x);
    else if (this.pointer !== undefined) {
      const at = camera.toWorld(this.pointer.x, this.pointer.y);
      this.facing = Math.atan2(at.y - position.y, at.x - position.x);
    } else {
      const [across, up] = this.push;
      if (across !== 0 || up !== 0) this.facing = Math.atan2(up, across);
    }
    return this.facing;
  }

  /** Returns the position to build at, for a player at `position`. */
  targetFrom(position: Point, camera: Camera): Point {
    if (this.pointer !== undefined) return camera.toWorld(this.pointer.x, this.pointer.y);
    return { x: position.x + Math.cos(this.facing) * FRONT_UNITS, y: position.y + Math.sin(this.facing) * FRONT_UNITS };
  }

  private get isActHeld(): boolean {
    return this.isPointerDown || this.isAimStickPushed || [...this.pressed].some((code) => ACT.has(code));
  }

  private get isAimStickPushed(): boolean {
    return Math.hypot(this.aimStick.tilt.x, this.aimStick.tilt.y) > STICK_REST;
  }

  private listenToKeys(keyed: (code: string) => boolean): void {
    addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || isDialogOpen()) return;
      const isHeld = event.code in WALK || ACT.has(event.code);
      // The space bar and Enter activate a focused button, and arrows move a slider.
      if (isHeld && isOperable(event.target, event.code)) return;
      if (isHeld) {
        event.preventDefault();
        this.pressed.add(event.code);
        if (ACT.has(event.code) && !event.repeat) this.pressedMs = performance.now();
        this.changed();
      } else if (!event.repeat && keyed(event.code)) event.preventDefault();
    });
    addEventListener("keyup", (event) => {
      if (this.pressed.delete(event.code)) this.changed();
    });
  }

  private listenToPointer(canvas: HTMLCanvasElement): void {
    const positionOf = (event: PointerEvent): Point => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    canvas.addEventListener("pointermove", (event) => {
      // A resting finger does not aim.
      if (event.pointerType !== "mouse" && !this.isPointerDown) return;
      this.isFinger = event.pointerType !== "mouse";
      this.pointer = positionOf(event);
    });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      this.pointer = positionOf(event);
      this.isFinger = event.pointerType !== "mouse";
      this.isPointerDown = true;
      this.pressedMs = performance.now();
      this.changed();
    });
    const release = (): void => {
      this.isPointerDown = false;
      // A longer press was seen already; a shorter one ends in `seen`.
      if (this.isFinger && this.pressedMs === undefined) this.pointer = undefined;
      this.changed();
    };
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"] as const) canvas.addEventListener(name, release);
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  }

  private releaseAll(): void {
    this.pressed.clear();
    this.isPointerDown = false;
    this.pressedMs = undefined;
    this.walkStick.release();
    this.aimStick.release();
    this.changed();
  }
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input:not([type=range]):not([type=checkbox]), textarea, select") !== null;
}

/** Returns whether a dialog has the keys: Escape closes it, and nobody walks behind it. */
function isDialogOpen(): boolean {
  return document.querySelector("dialog[open]") !== null;
}

function isOperable(target: EventTarget | null, code: string): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return ACT.has(code) ? target.closest("button, a, input, summary") !== null : code.startsWith("Arrow") && target.closest("input") !== null;
}
