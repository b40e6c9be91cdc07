// Small chart of the last seconds.

import type { Canvas } from "./canvas.ts";

/** Number of values; at two a second, the last half minute. */
const VALUES_MAX = 60;

export class Sparkline {
  private readonly canvas: Canvas;
  private readonly values: number[] = [];
  /** Minimum of the vertical range, so that noise does not fill the chart. */
  private readonly leastMax: number;

  constructor(canvas: Canvas, leastMax: number) {
    this.canvas = canvas;
    this.leastMax = leastMax;
  }

  add(value: number): void {
    this.values.push(value);
    if (this.values.length > VALUES_MAX) this.values.shift();
  }

  draw(): void {
    this.canvas.begin();
    const { context, width, height, element } = this.canvas;
    if (this.values.length < 2) return;
    const colour = getComputedStyle(element).color;
    const most = Math.max(this.leastMax, ...this.values) * 1.15;
    const across = (index: number): number => width - ((this.values.length - 1 - index) / (VALUES_MAX - 1)) * width;
    const down = (value: number): number => height - 2 - (value / most) * (height - 4);
    context.beginPath();
    for (const [index, value] of this.values.entries()) {
      if (index === 0) context.moveTo(across(index), down(value));
      else context.lineTo(across(index), down(value));
    }
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.lineJoin = "round";
    context.stroke();
    context.lineTo(width, height);
    context.lineTo(across(0), height);
    context.closePath();
    context.globalAlpha = 0.14;
    context.fillStyle = colour;
    context.fill();
    context.globalAlpha = 1;
  }
}
