// Touch stick.

import type { Point } from "./camera.ts";

const REST: Point = { x: 0, y: 0 };

export class Stick {
  /** Tilt of up to length one; y points up. */
  tilt: Point = REST;
  private readonly base: HTMLElement;
  private readonly knob: HTMLElement;
  private readonly moved: () => void;

  constructor(base: HTMLElement, moved: () => void) {
    this.base = base;
    this.moved = moved;
    this.knob = document.createElement("span");
    this.knob.className = "knob";
    base.append(this.knob);
    base.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      base.setPointerCapture(event.pointerId);
      this.follow(event);
    });
    base.addEventListener("pointermove", (event) => {
      if (base.hasPointerCapture(event.pointerId)) this.follow(event);
    });
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"] as const) base.addEventListener(name, () => this.release());
    base.addEventListener("contextmenu", (event) => event.preventDefault());
  }

  release(): void {
    this.tilt = REST;
    this.show();
  }

  private follow(event: PointerEvent): void {
    const box = this.base.getBoundingClientRect();
    const reach = box.width / 2;
    const [x, y] = [(event.clientX - box.left - reach) / reach, -(event.clientY - box.top - reach) / reach];
    const length = Math.max(1, Math.hypot(x, y));
    this.tilt = { x: x / length, y: y / length };
    this.show();
  }

  private show(): void {
    const { x, y } = this.tilt;
    this.knob.style.transform = `translate(${x * 70}%, ${-y * 70}%)`;
    this.moved();
  }
}
