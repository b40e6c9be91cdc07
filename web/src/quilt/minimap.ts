// The whole quilt in a corner.

import type { Canvas } from "../shared/canvas.ts";
import { type Scheme, fabricOf } from "./fabrics.ts";
import type { Quilt } from "./quilt.ts";
import { HEIGHT, WIDTH } from "./rules.ts";

export class Minimap {
  private readonly canvas: Canvas;
  private readonly picture = document.createElement("canvas");
  private drawn: { readonly version: number; readonly scheme: Scheme } | undefined;

  constructor(canvas: Canvas) {
    this.canvas = canvas;
    this.picture.width = WIDTH;
    this.picture.height = HEIGHT;
  }

  draw(quilt: Quilt, scheme: Scheme): void {
    if (this.drawn?.version !== quilt.version || this.drawn.scheme !== scheme) {
      this.drawn = { version: quilt.version, scheme };
      this.drawCells(quilt, scheme);
    }
    const { context: pen, width, height } = this.canvas;
    this.canvas.begin();
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.picture, 0, 0, width, height);
    for (const { x, y, seat, isOwn } of quilt.needles) {
      pen.beginPath();
      pen.arc((x / WIDTH) * width, (y / HEIGHT) * height, isOwn ? 3.6 : 2.2, 0, 2 * Math.PI);
      pen.fillStyle = isOwn ? scheme.text : fabricOf(seat, scheme).thread;
      pen.fill();
      pen.lineWidth = 1;
      pen.strokeStyle = scheme.halo;
      pen.stroke();
    }
  }

  private drawCells({ cells }: Quilt, scheme: Scheme): void {
    const pen = this.picture.getContext("2d");
    if (pen === null) return;
    pen.fillStyle = scheme.linen;
    pen.fillRect(0, 0, WIDTH, HEIGHT);
    cells.forEach((seat, cell) => {
      if (seat === 0) return;
      pen.fillStyle = fabricOf(seat, scheme).base;
      pen.fillRect(cell % WIDTH, Math.floor(cell / WIDTH), 1, 1);
    });
  }
}
