// Short-lived effects: sparks, smoke and texts.

import type { Camera } from "./camera.ts";
import type { Palette } from "./palette.ts";

/** Limits for readability and speed. */
const PARTICLES_MAX = 400;
const TEXTS_MAX = 40;

const TEXT_SECONDS = 0.9;

interface Particle {
  x: number;
  y: number;
  velocityX: number;
  velocityY: number;
  /** Units. */
  readonly size: number;
  readonly seconds: number;
  readonly colour: string;
  readonly isRing: boolean;
  age: number;
}

interface Text {
  readonly x: number;
  readonly y: number;
  readonly text: string;
  readonly colour: string;
  age: number;
}

export class Effects {
  private readonly particles: Particle[] = [];
  private readonly texts: Text[] = [];

  /** A shot hit something solid. */
  spark(x: number, y: number): void {
    this.burst(x, y, { count: 7, speed: 9, size: 0.16, seconds: 0.28, colours: ["#fff0b8", "#ffb454"] });
  }

  muzzle(x: number, y: number, aim: number): void {
    const [dx, dy] = [Math.cos(aim), Math.sin(aim)];
    this.add({ x: x + dx * 2, y: y + dy * 2, velocityX: dx * 3, velocityY: dy * 3, size: 0.6, seconds: 0.09, colour: "#ffe9a8", isRing: false });
  }

  /** A player was hit. */
  hit(x: number, y: number): void {
    this.burst(x, y, { count: 10, speed: 11, size: 0.2, seconds: 0.35, colours: ["#ff7a80", "#ffd2c2"] });
    this.say(x, y + 2, "Hit!", "bad");
  }

  /** A player was defeated. */
  fall(x: number, y: number): void {
    this.burst(x, y, { count: 34, speed: 16, size: 0.34, seconds: 0.8, colours: ["#ff7a80", "#ffd479", "#eef4f2"] });
    this.ring(x, y, "#ff7a80", 5);
  }

  /** A structure was built or removed. */
  built(x: number, y: number): void {
    this.burst(x, y, { count: 12, speed: 6, size: 0.3, seconds: 0.45, colours: ["#cfd6c6", "#a9b09e"] });
  }

  destroyed(x: number, y: number): void {
    this.burst(x, y, { count: 30, speed: 13, size: 0.45, seconds: 0.8, colours: ["#8b959d", "#5d666e", "#c3ccd1", "#ffb454"] });
  }

  say(x: number, y: number, text: string, tone: "good" | "bad"): void {
    if (this.texts.length >= TEXTS_MAX) this.texts.shift();
    this.texts.push({ x, y, text, colour: tone, age: 0 });
  }

  advance(seconds: number): void {
    for (const particle of this.particles) {
      particle.age += seconds;
      particle.x += particle.velocityX * seconds;
      particle.y += particle.velocityY * seconds;
      const drag = Math.exp(-4 * seconds);
      particle.velocityX *= drag;
      particle.velocityY *= drag;
    }
    for (const text of this.texts) text.age += seconds;
    drop(this.particles, (particle) => particle.age >= particle.seconds);
    drop(this.texts, (text) => text.age >= TEXT_SECONDS);
  }

  draw(pen: CanvasRenderingContext2D, camera: Camera, palette: Palette): void {
    for (const { x, y, size, seconds, colour, isRing, age } of this.particles) {
      const at = camera.toScreen(x, y);
      const share = age / seconds;
      pen.globalAlpha = 1 - share;
      pen.beginPath();
      if (isRing) {
        pen.strokeStyle = colour;
        pen.lineWidth = 3 * (1 - share) + 0.5;
        pen.arc(at.x, at.y, size * camera.scale * share, 0, Math.PI * 2);
        pen.stroke();
      } else {
        pen.fillStyle = colour;
        pen.arc(at.x, at.y, Math.max(0.5, size * camera.scale * (1 - share * 0.6)), 0, Math.PI * 2);
        pen.fill();
      }
    }
    pen.textAlign = "center";
    pen.font = "700 15px system-ui, sans-serif";
    for (const { x, y, text, colour, age } of this.texts) {
      const at = camera.toScreen(x, y);
      pen.globalAlpha = Math.min(1, 2 - (2 * age) / TEXT_SECONDS);
      pen.strokeStyle = palette.halo;
      pen.lineWidth = 3;
      pen.strokeText(text, at.x, at.y - age * 34);
      pen.fillStyle = colour === "good" ? palette.good : palette.bad;
      pen.fillText(text, at.x, at.y - age * 34);
    }
    pen.globalAlpha = 1;
  }

  private ring(x: number, y: number, colour: string, size: number): void {
    this.add({ x, y, velocityX: 0, velocityY: 0, size, seconds: 0.5, colour, isRing: true });
  }

  private burst(x: number, y: number, burst: { count: number; speed: number; size: number; seconds: number; colours: readonly string[] }): void {
    for (let number = 0; number < burst.count; number += 1) {
      const [angle, speed] = [Math.random() * Math.PI * 2, burst.speed * (0.3 + Math.random() * 0.7)];
      this.add({
        x,
        y,
        velocityX: Math.cos(angle) * speed,
        velocityY: Math.sin(angle) * speed,
        size: burst.size * (0.5 + Math.random()),
        seconds: burst.seconds * (0.6 + Math.random() * 0.6),
        colour: burst.colours[number % burst.colours.length] ?? "#ffffff",
        isRing: false,
      });
    }
  }

  private add(particle: Omit<Particle, "age">): void {
    if (this.particles.length >= PARTICLES_MAX) this.particles.shift();
    this.particles.push({ ...particle, age: 0 });
  }
}

/** Removes finished items in place, without allocating in every frame. */
function drop<Item>(list: Item[], isOver: (item: Item) => boolean): void {
  let length = 0;
  for (const item of list) {
    if (isOver(item)) continue;
    list[length] = item;
    length += 1;
  }
  list.length = length;
}
