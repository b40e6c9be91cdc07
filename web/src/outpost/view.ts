// Draws the world.

import type { Canvas } from "../shared/canvas.ts";
import type { Camera, Point } from "./camera.ts";
import { characterOf, drawCharacter } from "./characters.ts";
import type { KindName } from "./channels.ts";
import type { Effects } from "./effects.ts";
import type { Palette } from "./palette.ts";
import type { Plan } from "./plan.ts";
import type { Rulebook } from "./rules.ts";
import { type Building, type Person, type Scene, cellMiddle } from "./scene.ts";
import type { Tracer } from "./shots.ts";
import { ALONE, type Joins, type Look, drawShadow, drawStructure } from "./structures.ts";
import { Terrain } from "./terrain.ts";
import { Turrets } from "./turrets.ts";

/** Distance within which a door opens; it closes beyond twice that. */
const DOOR_UNITS = 2.6;

/** Walk cycle in radians per unit walked. */
const STRIDE_RADIANS_PER_UNIT = 1.5;

/** Speed at which a stride is full. */
const STRIDE_SPEED = 10;

export interface Frame {
  readonly scene: Scene;
  readonly tracers: readonly Tracer[];
  readonly palette: Palette;
  readonly plan: Plan | undefined;
  /** Cells with a request that is not answered yet. */
  readonly asked: readonly { readonly column: number; readonly row: number; readonly kind: KindName | undefined }[];
  /** Latest position of the own player from the server, if shown. */
  readonly ghost: Point | undefined;
  readonly timeSeconds: number;
  readonly seconds: number;
}

export class View {
  private readonly canvas: Canvas;
  private readonly camera: Camera;
  private readonly book: Rulebook;
  private readonly effects: Effects;
  private readonly terrain: Terrain;
  private readonly turrets: Turrets;
  private readonly walked = new Map<number, { x: number; y: number; phase: number }>();

  constructor(canvas: Canvas, camera: Camera, book: Rulebook, effects: Effects) {
    this.canvas = canvas;
    this.camera = camera;
    this.book = book;
    this.effects = effects;
    this.terrain = new Terrain(book.measures);
    this.turrets = new Turrets(book.measures);
  }

  draw(frame: Frame): void {
    this.canvas.begin();
    const { canvas, camera, book } = this;
    const { scene, palette, plan } = frame;
    const pen = canvas.context;
    this.terrain.draw(pen, camera, palette, canvas);
    if (plan !== undefined && scene.own !== undefined) this.terrain.grid(pen, camera, palette, scene.own);
    this.turrets.advance(scene, frame.seconds, frame.timeSeconds);
    this.structures(frame);
    if (plan !== undefined) this.plan(plan, palette);
    if (frame.ghost !== undefined) this.ghost(frame.ghost, scene.own, palette);
    this.tracers(frame.tracers);
    for (const person of scene.people) this.person(person, frame);
    this.effects.draw(pen, camera, palette);
    for (const person of scene.people) this.label(person, palette, book.measures.health_max);
    this.edgeMarks(scene, palette);
    if (plan?.text !== undefined) this.planText(plan, palette);
    this.forgetOthers(scene);
  }

  private structures({ scene, palette, asked, timeSeconds }: Frame): void {
    const pen = this.canvas.context;
    const size = this.book.measures.cell * this.camera.scale;
    const kinds = new Map(scene.buildings.map(({ column, row, kind }) => [cellKey(column, row), kind]));
    const corner = (building: { column: number; row: number }): Point => this.corner(building.column, building.row);
    for (const building of scene.buildings) this.at(corner(building), () => drawShadow(pen, building.kind, size, palette));
    for (const building of scene.buildings) {
      const look = this.lookOf(building, kinds, scene, palette);
      this.at(corner(building), () => drawStructure(pen, look, palette));
      if (look.health < 1) this.bar(corner(building), size, look.health, palette);
    }
    pen.globalAlpha = 0.45 + 0.15 * Math.sin(timeSeconds * 9);
    for (const { column, row, kind } of asked) {
      const look: Look = { ...plain(size), kind: kind ?? "Wall", column, row, mark: palette.own };
      if (kind !== undefined) this.at(this.corner(column, row), () => drawStructure(pen, look, palette));
    }
    pen.globalAlpha = 1;
  }

  private lookOf(building: Building, kinds: ReadonlyMap<number, KindName>, scene: Scene, palette: Palette): Look {
    const { column, row, kind, builder } = building;
    const doesJoin = (other: KindName | undefined): boolean => other !== undefined && (kind !== "Wall" || other === "Wall");
    const at = (columns: number, rows: number): boolean => doesJoin(kinds.get(cellKey(column + columns, row + rows)));
    const joins: Joins = { left: at(-1, 0), right: at(1, 0), up: at(0, 1), down: at(0, -1) };
    const size = this.book.measures.cell * this.camera.scale;
    const health = building.health / this.book.prices[kind].health;
    const openness = kind === "Door" ? opennessOf(building, scene) : 0;
    const aimAngle = kind === "Turret" ? -this.turrets.aimOf(building) : 0;
    return { kind, size, health, column, row, joins, openness, aimAngle, mark: markOf(builder, scene, palette) };
  }

  private bar(corner: Point, size: number, share: number, palette: Palette): void {
    const pen = this.canvas.context;
    const [width, height] = [size * 0.7, Math.max(3, size * 0.08)];
    pen.fillStyle = palette.halo;
    pen.fillRect(corner.x + (size - width) / 2 - 1, corner.y - height * 1.6 - 1, width + 2, height + 2);
    pen.fillStyle = share > 0.6 ? palette.good : share > 0.3 ? palette.warn : palette.bad;
    pen.fillRect(corner.x + (size - width) / 2, corner.y - height * 1.6, width * share, height);
  }

  private plan(plan: Plan, palette: Palette): void {
    if (plan.column === undefined || plan.row === undefined) return;
    const pen = this.canvas.context;
    const size = this.book.measures.cell * this.camera.scale;
    const corner = this.corner(plan.column, plan.row);
    const colour = plan.obstacle === undefined ? palette.good : palette.bad;
    if (plan.kind !== undefined) {
      pen.globalAlpha = plan.obstacle === undefined ? 0.7 : 0.32;
      const look: Look = { ...plain(size), kind: plan.kind, column: plan.column, row: plan.row, mark: palette.own };
      this.at(corner, () => drawStructure(pen, look, palette));
    }
    pen.globalAlpha = 0.22;
    pen.fillStyle = colour;
    pen.fillRect(corner.x, corner.y, size, size);
    pen.globalAlpha = 1;
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.strokeRect(corner.x + 1, corner.y + 1, size - 2, size - 2);
  }

  private planText({ column, row, text, obstacle }: Plan, palette: Palette): void {
    if (column === undefined || row === undefined || text === undefined) return;
    const pen = this.canvas.context;
    const { cell } = this.book.measures;
    const { x, y } = this.corner(column, row);
    pen.font = "600 13px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const width = pen.measureText(text).width + 18;
    const middle = Math.min(this.canvas.width - width / 2 - 6, Math.max(width / 2 + 6, x + (cell * this.camera.scale) / 2));
    const top = y - 34 < 6 ? y + cell * this.camera.scale + 10 : y - 34;
    pen.fillStyle = palette.halo;
    pen.beginPath();
    pen.roundRect(middle - width / 2, top, width, 24, 7);
    pen.fill();
    pen.fillStyle = obstacle === undefined ? palette.good : palette.bad;
    pen.fillText(text, middle, top + 12.5);
    pen.textBaseline = "alphabetic";
  }

  private person(person: Person, { palette, timeSeconds }: Frame): void {
    const pen = this.canvas.context;
    const radius = this.book.measures.radius * this.camera.scale;
    const speed = Math.hypot(person.velocity[0], person.velocity[1]);
    const pose = {
      radius,
      aimAngle: -person.aim,
      walkAngle: Math.atan2(-person.velocity[1], person.velocity[0]),
      stride: Math.min(1, speed / STRIDE_SPEED),
      phase: this.phaseOf(person),
    };
    this.at(this.camera.toScreen(person.x, person.y), () => {
      if (person.isOwn) this.ring(radius * 1.28, palette.own, []);
      drawCharacter(pen, person.appearance, pose, palette);
      if (!person.isProtected) return;
      pen.rotate(timeSeconds * 1.6);
      this.ring(radius * 1.55, palette.good, [radius * 0.5, radius * 0.34]);
    });
  }

  private ring(radius: number, colour: string, dash: readonly number[]): void {
    const pen = this.canvas.context;
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.setLineDash([...dash]);
    pen.beginPath();
    pen.arc(0, 0, radius, 0, Math.PI * 2);
    pen.stroke();
    pen.setLineDash([]);
  }

  private label({ x, y, name, health, isOwn }: Person, palette: Palette, healthMax: number): void {
    const pen = this.canvas.context;
    const at = this.camera.toScreen(x, y);
    const radius = this.book.measures.radius * this.camera.scale;
    const top = at.y - radius * 1.6;
    pen.font = `${isOwn ? 700 : 600} 13px system-ui, sans-serif`;
    pen.textAlign = "center";
    pen.lineJoin = "round";
    pen.lineWidth = 3.5;
    pen.strokeStyle = palette.halo;
    pen.strokeText(name, at.x, top - 9);
    pen.fillStyle = isOwn ? palette.own : palette.ink;
    pen.fillText(name, at.x, top - 9);
    const width = radius * 2.2;
    pen.fillStyle = palette.halo;
    pen.fillRect(at.x - width / 2 - 1, top - 4, width + 2, 6);
    const share = health / healthMax;
    pen.fillStyle = share > 0.6 ? palette.good : share > 0.3 ? palette.warn : palette.bad;
    pen.fillRect(at.x - width / 2, top - 3, width * share, 4);
  }

  private ghost(ghost: Point, own: Person | undefined, palette: Palette): void {
    const pen = this.canvas.context;
    const radius = this.book.measures.radius * this.camera.scale;
    const at = this.camera.toScreen(ghost.x, ghost.y);
    pen.globalAlpha = 0.85;
    pen.strokeStyle = palette.warn;
    pen.lineWidth = 2;
    pen.setLineDash([4, 4]);
    pen.beginPath();
    if (own !== undefined) {
      const from = this.camera.toScreen(own.x, own.y);
      pen.moveTo(from.x, from.y);
      pen.lineTo(at.x, at.y);
    }
    pen.moveTo(at.x + radius, at.y);
    pen.arc(at.x, at.y, radius, 0, Math.PI * 2);
    pen.stroke();
    pen.setLineDash([]);
    pen.font = "600 11px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.strokeStyle = palette.halo;
    pen.lineWidth = 3;
    pen.strokeText("server", at.x, at.y + radius + 13);
    pen.fillStyle = palette.warn;
    pen.fillText("server", at.x, at.y + radius + 13);
    pen.globalAlpha = 1;
  }

  private tracers(tracers: readonly Tracer[]): void {
    const pen = this.canvas.context;
    pen.lineCap = "round";
    for (const { x, y, angle, isOwn } of tracers) {
      const head = this.camera.toScreen(x, y);
      const tail = this.camera.toScreen(x - Math.cos(angle) * 2.4, y - Math.sin(angle) * 2.4);
      for (const [width, colour] of [[0.55, isOwn ? "rgb(124 199 255 / 30%)" : "rgb(255 150 90 / 30%)"], [0.2, isOwn ? "#d5efff" : "#ffe2b0"]] as const) {
        pen.strokeStyle = colour;
        pen.lineWidth = width * this.camera.scale;
        pen.beginPath();
        pen.moveTo(tail.x, tail.y);
        pen.lineTo(head.x, head.y);
        pen.stroke();
      }
    }
    pen.lineCap = "butt";
  }

  /** Marks nearby players that are off screen at its edge. */
  private edgeMarks({ people }: Scene, palette: Palette): void {
    const { width, height } = this.canvas;
    const pen = this.canvas.context;
    for (const { x, y, isOwn, appearance } of people) {
      const at = this.camera.toScreen(x, y);
      if (isOwn || (at.x > 0 && at.x < width && at.y > 0 && at.y < height)) continue;
      const angle = Math.atan2(at.y - height / 2, at.x - width / 2);
      const clamped = { x: Math.min(width - 18, Math.max(18, at.x)), y: Math.min(height - 18, Math.max(18, at.y)) };
      this.at(clamped, () => {
        pen.rotate(angle);
        pen.fillStyle = characterOf(appearance).coat;
        pen.strokeStyle = palette.halo;
        pen.lineWidth = 3;
        pen.beginPath();
        pen.moveTo(12, 0);
        pen.lineTo(-7, -8);
        pen.lineTo(-3, 0);
        pen.lineTo(-7, 8);
        pen.closePath();
        pen.stroke();
        pen.fill();
      });
    }
  }

  /** Phase of the walk cycle, by distance walked, so that feet do not slide. */
  private phaseOf({ id, x, y }: Person): number {
    const walked = this.walked.get(id) ?? { x, y, phase: 0 };
    walked.phase += Math.min(2, Math.hypot(x - walked.x, y - walked.y)) * STRIDE_RADIANS_PER_UNIT;
    [walked.x, walked.y] = [x, y];
    this.walked.set(id, walked);
    return walked.phase;
  }

  private forgetOthers({ people }: Scene): void {
    if (this.walked.size <= people.length) return;
    const seen = new Set(people.map(({ id }) => id));
    for (const id of this.walked.keys()) if (!seen.has(id)) this.walked.delete(id);
  }

  /** Returns the upper left pixel of a cell. */
  private corner(column: number, row: number): Point {
    const { measures } = this.book;
    const half = measures.cell / 2;
    return this.camera.toScreen(cellMiddle(column, measures) - half, cellMiddle(row, measures) + half);
  }

  private at({ x, y }: Point, draw: () => void): void {
    const pen = this.canvas.context;
    pen.save();
    pen.translate(x, y);
    draw();
    pen.restore();
  }
}

function cellKey(column: number, row: number): number {
  return row * 256 + column;
}

function opennessOf({ x, y }: Building, { people }: Scene): number {
  const nearest = Math.min(...people.map((person) => Math.hypot(person.x - x, person.y - y)));
  return Math.min(1, Math.max(0, 2 - nearest / DOOR_UNITS));
}

/** Returns the colour that identifies the owner. */
function markOf(builder: number, { own, presence }: Scene, palette: Palette): string {
  if (builder !== 0 && builder === own?.player) return palette.own;
  const appearance = presence.get(builder)?.appearance;
  return appearance === undefined ? "#8a949c" : characterOf(appearance).coat;
}

function plain(size: number): Omit<Look, "kind" | "column" | "row" | "mark"> {
  return { size, health: 1, joins: ALONE, openness: 0, aimAngle: -Math.PI / 4 };
}
