// Portraits of the appearances.

import { CHARACTERS, drawCharacter } from "./characters.ts";
import { palette } from "./palette.ts";

const PORTRAIT_PIXELS = 34;

/** Pixels of the canvas per pixel of the page, so that a portrait may be enlarged. */
const PIXEL_RATIO = 3;

const drawn = new Map<number, HTMLCanvasElement>();

/** Returns a new canvas with the portrait of an appearance. */
export function portrait(appearance: number): HTMLCanvasElement {
  const known = drawn.get(appearance) ?? draw(appearance);
  drawn.set(appearance, known);
  const copy = blank();
  copy.getContext("2d")?.drawImage(known, 0, 0);
  return copy;
}

/** Returns the name of an appearance. */
export function appearanceName(appearance: number): string {
  return CHARACTERS[appearance]?.name ?? "";
}

function draw(appearance: number): HTMLCanvasElement {
  const canvas = blank();
  const pen = canvas.getContext("2d");
  pen?.scale(PIXEL_RATIO, PIXEL_RATIO);
  pen?.translate(PORTRAIT_PIXELS * 0.46, PORTRAIT_PIXELS * 0.54);
  const pose = { radius: PORTRAIT_PIXELS * 0.34, aimAngle: -Math.PI / 5, walkAngle: 0, stride: 0, phase: 0 };
  if (pen !== null) drawCharacter(pen, appearance, pose, palette(true));
  return canvas;
}

function blank(): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [PORTRAIT_PIXELS * PIXEL_RATIO, PORTRAIT_PIXELS * PIXEL_RATIO];
  canvas.className = "portrait";
  canvas.setAttribute("aria-hidden", "true");
  return canvas;
}
