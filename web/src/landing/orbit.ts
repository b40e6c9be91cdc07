// Hero picture: a server, players around it, and messages between them.

import type { Canvas } from "../shared/canvas.ts";

/** Number of players in the picture: a minimum, and more when more play. */
const PLAYERS_LEAST = 9;
const PLAYERS_MOST = 30;

/** Rings around the server, as shares of the picture. */
const RINGS = [0.27, 0.37, 0.46];

/** Travel time of a message between a player and the server. */
const TRAVEL_SECONDS = 1.6;

export class Orbit {
  private readonly canvas: Canvas;
  private readonly players: () => number;
  private readonly stillness = matchMedia("(prefers-reduced-motion: reduce)");

  constructor(canvas: Canvas, players: () => number) {
    this.canvas = canvas;
    this.players = players;
    requestAnimationFrame((now) => this.frame(now));
    this.stillness.addEventListener("change", () => requestAnimationFrame((now) => this.frame(now)));
    new ResizeObserver(() => this.stillness.matches && this.draw(0)).observe(canvas.element);
  }

  private frame(nowMs: number): void {
    this.draw(this.stillness.matches ? 8 : nowMs / 1000);
    if (!this.stillness.matches) requestAnimationFrame((now) => this.frame(now));
  }

  private draw(time: number): void {
    this.canvas.begin();
    const { context, width, height, element } = this.canvas;
    const style = getComputedStyle(element);
    const [ink, line] = [style.color, style.getPropertyValue("--line")];
    const size = Math.min(width, height);
    context.translate(width / 2, height / 2);
    context.lineWidth = 1;
    context.strokeStyle = line;
    for (const ring of RINGS) {
      context.beginPath();
      context.arc(0, 0, ring * size, 0, 2 * Math.PI);
      context.stroke();
    }
    const count = Math.min(PLAYERS_MOST, PLAYERS_LEAST + this.players());
    for (let player = 0; player < count; player += 1) this.drawPlayer(player, time, size);
    context.fillStyle = ink;
    context.shadowColor = ink;
    context.shadowBlur = 34;
    context.beginPath();
    context.moveTo(0, -size * 0.085);
    context.lineTo(size * 0.062, size * 0.062);
    context.quadraticCurveTo(0, size * 0.02, -size * 0.062, size * 0.062);
    context.closePath();
    context.fill();
    context.shadowBlur = 0;
  }

  private drawPlayer(player: number, time: number, size: number): void {
    const { context } = this.canvas;
    const ring = RINGS[player % RINGS.length] ?? 0.4;
    const turn = (player * 2.399 + time * (0.05 + 0.02 * (player % RINGS.length)) * (player % 2 === 0 ? 1 : -1)) % (2 * Math.PI);
    const [x, y] = [Math.cos(turn) * ring * size, Math.sin(turn) * ring * size];
    const hue = (player * 47) % 360;
    const colour = `hsl(${hue} 85% 64%)`;
    // Inputs fly in and snapshots fly out, alternately.
    const way = ((time + player * 0.37) / TRAVEL_SECONDS) % 2;
    const share = way < 1 ? 1 - way : way - 1;
    context.fillStyle = colour;
    context.globalAlpha = 0.9 * Math.sin(Math.PI * Math.min(1, Math.max(0, share)));
    context.beginPath();
    context.arc(x * share, y * share, way < 1 ? 1.8 : 2.8, 0, 2 * Math.PI);
    context.fill();
    context.globalAlpha = 0.16;
    context.beginPath();
    context.arc(x, y, size * 0.03, 0, 2 * Math.PI);
    context.fill();
    context.globalAlpha = 1;
    context.beginPath();
    context.arc(x, y, size * 0.013, 0, 2 * Math.PI);
    context.fill();
  }
}
