// Keyboard and touch input.

import type { Keys } from "./flight.ts";

type Control = keyof Keys;

/** Keys by physical position, so that WASD works on every layout. */
const KEYS: Readonly<Record<string, Control>> = {
  ArrowUp: "thrust",
  KeyW: "thrust",
  ArrowLeft: "left",
  KeyA: "left",
  ArrowRight: "right",
  KeyD: "right",
  Space: "fire",
};

export class Controls {
  private readonly pressed = new Set<string>();
  private readonly changed: (keys: Keys) => void;

  constructor(changed: (keys: Keys) => void, touchButtons: Iterable<HTMLElement>) {
    this.changed = changed;
    addEventListener("keydown", (event) => this.keyDown(event));
    addEventListener("keyup", (event) => this.release(event.code));
    // A key released in another window sends no event.
    addEventListener("blur", () => this.releaseAll());
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.releaseAll();
    });
    for (const touchButton of touchButtons) this.listen(touchButton);
  }

  get keys(): Keys {
    const held = (control: Control): boolean => {
      for (const source of this.pressed) if (KEYS[source] === control || source === `touch:${control}`) return true;
      return false;
    };
    return { thrust: held("thrust"), left: held("left"), right: held("right"), fire: held("fire") };
  }

  private keyDown(event: KeyboardEvent): void {
    const control = KEYS[event.code];
    if (control === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    // The space bar activates a focused button.
    if (event.code === "Space" && isOperable(event.target)) return;
    event.preventDefault();
    if (!event.repeat) this.press(event.code);
  }

  private listen(touchButton: HTMLElement): void {
    const source = `touch:${touchButton.dataset["control"] ?? ""}`;
    touchButton.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      touchButton.setPointerCapture(event.pointerId);
      this.press(source);
    });
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"] as const) {
      touchButton.addEventListener(name, () => this.release(source));
    }
    touchButton.addEventListener("contextmenu", (event) => event.preventDefault());
  }

  private press(source: string): void {
    this.pressed.add(source);
    this.changed(this.keys);
  }

  private release(source: string): void {
    if (this.pressed.delete(source)) this.changed(this.keys);
  }

  private releaseAll(): void {
    this.pressed.clear();
    this.changed(this.keys);
  }
}

function isOperable(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("button, a, input, select, summary") !== null;
}
