// Particles of eaten pellets and blobs.

import type { Camera } from "./camera.ts";
import { type Scheme, coloursOf } from "./colours.ts";
import type { Blob, DishEvents, Pellet } from "./dish.ts";
import { type Sprites, PELLET_PICTURE } from "./sprites.ts";

/** Duration of a swallowed pellet and of a burst. */
const SWALLOW_SECONDS = 0.2;
const BURST_SECONDS = 0.7;

/** Maximum number of effects; the oldest are dropped. */
const EFFECTS_MAX = 160;

/** Number of drops of a bursting blob. */
const DROPS = 14;

interface Effect {
  x: number;
  y: number;
  velocityX: number;
  velocityY: number;
  readonly hue: number;
  readonly size: number;
  readonly seconds: number;
  /** The blob that swallows it, if it was eaten whole. */
  readonly into: Blob | undefined;
  age: number;
}

export class Effects implements DishEvents {
  private effects: Effect[] = [];
  private readonly isStill: () => boolean;

  constructor(isStill: () => boolean) {
    this.isStill = isStill;
  }

  pelletEaten(pellet: Pellet, by: Blob): void {
    this.add({ x: pellet.x, y: pellet.y, velocityX: 0, velocityY: 0, hue: pellet.hue, size: 4, seconds: SWALLOW_SECONDS, into: by, age: 0 });
  }

  blobEaten(blob: Blob, by: Blob): void {
    by.jolt = 1;
    for (let drop = 0; drop < DROPS; drop += 1) {
      const angle = ((drop + Math.random() * 0.6) / DROPS) * 2 * Math.PI;
      const speed = blob.radius * (1.5 + Math.random() * 2);
      this.add({
        x: blob.x + Math.cos(angle) * blob.radius * 0.6,
        y: blob.y + Math.sin(angle) * blob.radius * 0.6,
        velocityX: Math.cos(angle) * speed,
        velocityY: Math.sin(angle) * speed,
        hue: blob.hue,
        size: Math.max(2, blob.radius * (0.1 + Math.random() * 0.14)),
        seconds: BURST_SECONDS * (0.6 + Math.random() * 0.4),
        into: undefined,
        age: 0,
      });
    }
  }

  advance(seconds: number): void {
    for (const effect of this.effects) {
      effect.age += seconds;
      if (effect.into !== undefined) {
        const share = Math.min(1, effect.age / effect.seconds);
        effect.x += (effect.into.x - effect.x) * share * 0.5;
        effect.y += (effect.into.y - effect.y) * share * 0.5;
      } else {
        effect.x += effect.velocityX * seconds;
        effect.y += effect.velocityY * seconds;
        effect.velocityX *= Math.exp(-3 * seconds);
        effect.velocityY *= Math.exp(-3 * seconds);
      }
    }
    this.effects = this.effects.filter(({ age, seconds: life }) => age < life);
  }

  /** Draws swallowed pellets below the blobs, or drops above them. */
  draw(context: CanvasRenderingContext2D, camera: Camera, scheme: Scheme, sprites: Sprites, isAbove: boolean): void {
    for (const effect of this.effects) {
      if ((effect.into === undefined) !== isAbove) continue;
      const left = 1 - effect.age / effect.seconds;
      const size = Math.max(0.5, effect.size * camera.scale * (effect.into === undefined ? left : 0.4 + 0.6 * left));
      const [x, y] = [camera.across(effect.x), camera.down(effect.y)];
      if (effect.into !== undefined) {
        const half = size * PELLET_PICTURE;
        context.drawImage(sprites.pellet(effect.hue, scheme.isDark), x - half, y - half, half * 2, half * 2);
        continue;
      }
      context.globalAlpha = Math.min(1, left * 1.6);
      context.fillStyle = coloursOf(effect.hue, scheme.isDark).body;
      context.beginPath();
      context.arc(x, y, size, 0, 2 * Math.PI);
      context.fill();
    }
    context.globalAlpha = 1;
  }

  private add(effect: Effect): void {
    if (this.isStill()) return;
    this.effects.push(effect);
    if (this.effects.length > EFFECTS_MAX) this.effects.shift();
  }
}
