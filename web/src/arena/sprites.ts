// Pictures that are drawn once and reused.

import { coloursOf, stepOf } from "./colours.ts";

/** Size of a pellet's picture in pixels, and the share of its body. */
const PELLET_PIXELS = 64;
const PELLET_BODY = 0.3;

/** Size of a glow's picture in pixels. */
const GLOW_PIXELS = 128;

/** Text sizes are rounded up, so that a growing blob does not need a picture in every frame. */
const TEXT_SIZE_STEP = 4;

/** Maximum number of cached texts; beyond it the cache is cleared. */
const TEXTS_MAX = 256;

export class Sprites {
  private readonly pictures = new Map<string, HTMLCanvasElement>();
  private readonly texts = new Map<string, HTMLCanvasElement>();

  /** Returns a pellet with its glow; the radius of its body is `PELLET_BODY` of half the picture. */
  pellet(hue: number, isDark: boolean): HTMLCanvasElement {
    return this.once(`p${stepOf(hue)}${isDark}`, PELLET_PIXELS, (context) => {
      const half = PELLET_PIXELS / 2;
      const colours = coloursOf(hue, isDark);
      disc(context, half, half, half, [[0, colours.glow], [1, colours.faded]]);
      disc(context, half, half, half * PELLET_BODY, [[0, colours.light], [1, colours.body]]);
    });
  }

  /** Returns a soft glow. */
  glow(hue: number, isDark: boolean): HTMLCanvasElement {
    return this.once(`g${stepOf(hue)}${isDark}`, GLOW_PIXELS, (context) => {
      const half = GLOW_PIXELS / 2;
      const colours = coloursOf(hue, isDark);
      disc(context, half, half, half, [[0.55, colours.glow], [1, colours.faded]]);
    });
  }

  /** Returns an outlined text, at least as high as asked for. */
  text(text: string, pixels: number, colour: string, outline: string): HTMLCanvasElement {
    const size = Math.ceil(pixels / TEXT_SIZE_STEP) * TEXT_SIZE_STEP;
    const key = `${size}${colour}${text}`;
    const known = this.texts.get(key);
    if (known !== undefined) return known;
    if (this.texts.size >= TEXTS_MAX) this.texts.clear();
    const made = document.createElement("canvas");
    const context = made.getContext("2d") as CanvasRenderingContext2D;
    const font = `650 ${size}px system-ui, sans-serif`;
    context.font = font;
    made.width = Math.max(1, Math.ceil(context.measureText(text).width + size * 0.5));
    made.height = Math.ceil(size * 1.5);
    context.font = font;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = Math.max(2, size * 0.16);
    context.strokeStyle = outline;
    context.strokeText(text, made.width / 2, made.height / 2);
    context.fillStyle = colour;
    context.fillText(text, made.width / 2, made.height / 2);
    this.texts.set(key, made);
    return made;
  }

  private once(key: string, pixels: number, draw: (context: CanvasRenderingContext2D) => void): HTMLCanvasElement {
    const known = this.pictures.get(key);
    if (known !== undefined) return known;
    const made = document.createElement("canvas");
    made.width = pixels;
    made.height = pixels;
    draw(made.getContext("2d") as CanvasRenderingContext2D);
    this.pictures.set(key, made);
    return made;
  }
}

/** Size of a pellet's picture relative to its body. */
export const PELLET_PICTURE = 1 / PELLET_BODY;

function disc(context: CanvasRenderingContext2D, x: number, y: number, radius: number, stops: readonly (readonly [number, string])[]): void {
  const gradient = context.createRadialGradient(x, y, 0, x, y, radius);
  for (const [at, colour] of stops) gradient.addColorStop(at, colour);
  context.fillStyle = gradient;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}
