// Picture of the whole cloth, which is redrawn where cells change.

import { type Fabric, type Scheme, fabricOf, weave } from "./fabrics.ts";
import type { CellChange, Quilt } from "./quilt.ts";
import { HEIGHT, WIDTH } from "./rules.ts";

/** Pixels of a cell. */
const CELL = 24;

/** Radius of an outer corner, and distance of a seam from the edge, in pixels. */
const CORNER = 9;
const SEAM = 4;

interface Look {
  readonly fabric: Fabric;
  readonly pattern: CanvasPattern | string;
}

export class ClothPicture {
  readonly image = document.createElement("canvas");
  private readonly pen: CanvasRenderingContext2D;
  private readonly looks = new Map<number, Look>();
  private scheme: Scheme | undefined;

  constructor() {
    this.image.width = WIDTH * CELL;
    this.image.height = HEIGHT * CELL;
    const pen = this.image.getContext("2d");
    if (pen === null) throw new Error("This browser does not support 2D canvases.");
    this.pen = pen;
  }

  /** Redraws the cells that changed, and their neighbours, whose corners and seams may change too. */
  update(quilt: Quilt, changes: readonly CellChange[], scheme: Scheme): void {
    if (this.scheme !== scheme) {
      this.scheme = scheme;
      this.looks.clear();
      this.redraw(quilt);
      return;
    }
    const touched = new Set<number>();
    for (const { cell } of changes) {
      const [x, y] = [cell % WIDTH, Math.floor(cell / WIDTH)];
      for (let dy = -1; dy <= 1; dy += 1) {
        for (let dx = -1; dx <= 1; dx += 1) {
          if (x + dx >= 0 && x + dx < WIDTH && y + dy >= 0 && y + dy < HEIGHT) touched.add((y + dy) * WIDTH + x + dx);
        }
      }
    }
    for (const cell of touched) this.drawCell(quilt, cell);
  }

  /** Redraws everything, in a new room. */
  redraw(quilt: Quilt): void {
    for (let cell = 0; cell < WIDTH * HEIGHT; cell += 1) this.drawCell(quilt, cell);
  }

  private drawCell({ cells }: Quilt, cell: number): void {
    const { pen, scheme } = this;
    if (scheme === undefined) return;
    const [column, row] = [cell % WIDTH, Math.floor(cell / WIDTH)];
    const [x, y] = [column * CELL, row * CELL];
    pen.fillStyle = scheme.linen;
    pen.fillRect(x, y, CELL, CELL);
    pen.fillStyle = scheme.weave;
    for (let at = 0; at < CELL; at += 4) {
      pen.fillRect(x, y + at, CELL, 1);
      pen.fillRect(x + at, y, 1, CELL);
    }
    const owner = cells[cell] as number;
    if (owner === 0) return;
    const is = (dx: number, dy: number): boolean => {
      const [nextX, nextY] = [column + dx, row + dy];
      return nextX >= 0 && nextX < WIDTH && nextY >= 0 && nextY < HEIGHT && cells[nextY * WIDTH + nextX] === owner;
    };
    const [up, right, down, left] = [is(0, -1), is(1, 0), is(0, 1), is(-1, 0)];
    const { fabric, pattern } = this.lookOf(owner, scheme);
    pen.fillStyle = pattern;
    pen.beginPath();
    pen.roundRect(x, y, CELL, CELL, [up || left ? 0 : CORNER, up || right ? 0 : CORNER, down || right ? 0 : CORNER, down || left ? 0 : CORNER]);
    pen.fill();
    this.drawSeams(x, y, fabric, { up, right, down, left });
  }

  /** Draws a running stitch along the edges of a piece of cloth. */
  private drawSeams(x: number, y: number, fabric: Fabric, { up, right, down, left }: Readonly<Record<"up" | "right" | "down" | "left", boolean>>): void {
    const { pen } = this;
    const [near, far] = [SEAM, CELL - SEAM];
    pen.strokeStyle = fabric.thread;
    pen.lineWidth = 2;
    pen.lineCap = "round";
    pen.setLineDash([6, 6]);
    const stitch = (fromX: number, fromY: number, toX: number, toY: number): void => {
      pen.lineDashOffset = -3;
      pen.beginPath();
      pen.moveTo(x + fromX, y + fromY);
      pen.lineTo(x + toX, y + toY);
      pen.stroke();
    };
    if (!up) stitch(left ? 0 : near, near, right ? CELL : far, near);
    if (!down) stitch(left ? 0 : near, far, right ? CELL : far, far);
    if (!left) stitch(near, up ? 0 : near, near, down ? CELL : far);
    if (!right) stitch(far, up ? 0 : near, far, down ? CELL : far);
    pen.setLineDash([]);
  }

  private lookOf(seat: number, scheme: Scheme): Look {
    let look = this.looks.get(seat);
    if (look === undefined) {
      const fabric = fabricOf(seat, scheme);
      look = { fabric, pattern: this.pen.createPattern(weave(seat, fabric), "repeat") ?? fabric.base };
      this.looks.set(seat, look);
    }
    return look;
  }
}
