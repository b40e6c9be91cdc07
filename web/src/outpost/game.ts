// Frame loop: reads input, collects the scene, draws.

import type { Room } from "@aether-game/client";
import { Canvas } from "../shared/canvas.ts";
import { element } from "../shared/elements.ts";
import type { Notices } from "../shared/notices.ts";
import { Camera, type Point } from "./camera.ts";
import type { Controls as Input } from "./channels.ts";
import type { Controls } from "./controls.ts";
import { Effects } from "./effects.ts";
import type { Hud } from "./hud.ts";
import { Minimap } from "./minimap.ts";
import type { NetworkPanel } from "./network.ts";
import { palette } from "./palette.ts";
import { type Plan, Planner } from "./plan.ts";
import type { Rulebook, Walking } from "./rules.ts";
import { EMPTY, type Scene, cellMiddle, sceneOf } from "./scene.ts";
import { Shots } from "./shots.ts";
import type { Tools } from "./tools.ts";
import { View } from "./view.ts";

/** Upper bound of a frame's duration, after a pause. */
const FRAME_SECONDS_MAX = 0.1;

/** Share of the newest frame in the smoothed frame time. */
const FRAME_GAIN = 0.05;

/** Update interval of texts. */
const TEXT_INTERVAL_MS = 150;

const stillness = matchMedia("(prefers-reduced-motion: reduce)");
const darkness = matchMedia("(prefers-color-scheme: dark)");

/** Parts that a game uses. */
export interface GameParts {
  readonly book: Rulebook;
  readonly controls: Controls;
  readonly tools: Tools;
  readonly hud: Hud;
  readonly network: NetworkPanel;
  readonly notices: Notices;
}

export class Game {
  scene: Scene = EMPTY;
  plan: Plan | undefined;
  frames = 0;
  shotCount = 0;
  private readonly parts: GameParts;
  private readonly camera = new Camera();
  private readonly canvas = new Canvas(element("world", HTMLCanvasElement));
  private readonly effects = new Effects();
  private readonly minimap: Minimap;
  private readonly planner: Planner;
  private readonly shots: Shots;
  private readonly view: View;
  private room: Room<Input> | undefined;
  private walking: Walking | undefined;
  private lastMs = performance.now();
  private textMs = 0;
  private frameMs = 16;
  /** Cells requested since the button went down; each is requested once. */
  private tried = new Set<string>();

  constructor(parts: GameParts) {
    this.parts = parts;
    const { measures } = parts.book;
    this.minimap = new Minimap(new Canvas(element("minimap", HTMLCanvasElement)), measures);
    this.planner = new Planner(parts.book, this.effects);
    this.shots = new Shots(measures, this.effects);
    this.view = new View(this.canvas, this.camera, parts.book, this.effects);
    parts.controls.changed = () => this.steer();
    requestAnimationFrame(() => this.frame());
  }

  /** Latest position of the own player from the server. */
  get server(): Point | undefined {
    const position = this.walking?.newest(this.room?.ownEntity ?? -1)?.position;
    return position && { x: position[0], y: position[1] };
  }

  /** View of the camera: the world position in the center, its pixel on the page, and pixels per unit. */
  get shownPart(): { readonly position: Point; readonly pixel: Point; readonly scale: number } {
    const { x, y, scale } = this.camera;
    const { left, top, width, height } = this.canvas.element.getBoundingClientRect();
    return { position: { x, y }, pixel: { x: left + width / 2, y: top + height / 2 }, scale };
  }

  /** Starts in a new room. */
  enter(room: Room<Input>, walking: Walking): void {
    this.room = room;
    this.walking = walking;
    this.shots.forget();
    this.minimap.forget();
    room.on("event", ({ action, fields }) => this.happened(action, fields));
    this.parts.network.attach(room);
  }

  private frame(): void {
    requestAnimationFrame(() => this.frame());
    const now = performance.now();
    const elapsedMs = now - this.lastMs;
    this.lastMs = now;
    this.frames += 1;
    this.frameMs += (elapsedMs - this.frameMs) * FRAME_GAIN;
    const seconds = Math.min(elapsedMs / 1000, FRAME_SECONDS_MAX);
    if (this.room !== undefined) this.scene = sceneOf(this.room, this.parts.book.measures);
    this.steer();
    this.build();
    this.draw(now, seconds);
    this.parts.controls.seen(now);
    if (now - this.textMs < TEXT_INTERVAL_MS) return;
    this.textMs = now;
    this.parts.hud.update(this.scene);
    this.parts.tools.afford(this.scene.own?.material ?? 0);
    this.parts.network.update(now, this.frameMs);
  }

  /** Sends the input at once, because the own player is predicted. */
  private steer(): void {
    const { controls, tools } = this.parts;
    const { own } = this.scene;
    if (this.room === undefined || own === undefined) return;
    const aim = controls.aimFrom(own, this.camera);
    this.room.setInput({ push: controls.push, aim, fire: controls.isActing && tools.inHand === "Blaster" });
  }

  private build(): void {
    const { controls, tools } = this.parts;
    const { own } = this.scene;
    this.planner.see(this.scene);
    this.plan = own && this.planner.plan(tools.inHand, controls.targetFrom(own, this.camera), this.scene);
    if (!controls.isActing) return this.tried.clear();
    const { plan, room } = this;
    if (plan === undefined || room === undefined) return;
    const cell = `${plan.column} ${plan.row}`;
    if (this.tried.has(cell) || plan.obstacle !== undefined) return;
    this.tried.add(cell);
    void this.planner.carryOut(room, plan);
  }

  private draw(now: number, seconds: number): void {
    const { scene, camera, canvas } = this;
    const { network } = this.parts;
    camera.fit(canvas.width, canvas.height);
    if (scene.own !== undefined) camera.follow(scene.own, seconds, stillness.matches);
    const tracers = this.shots.advance(scene, this.planner.ground, seconds, network.isPredicting);
    this.shotCount = tracers.length;
    this.effects.advance(seconds);
    const colours = palette(darkness.matches);
    const ghost = network.showsGhost ? this.server : undefined;
    const { plan } = this;
    this.view.draw({ scene, tracers, palette: colours, plan, asked: this.planner.asked, ghost, timeSeconds: now / 1000, seconds });
    this.minimap.draw(scene, camera, colours);
  }

  private happened(action: string, fields: Record<string, unknown>): void {
    const { measures } = this.parts.book;
    const numberOf = (name: string): number => Number(fields[name]);
    if (action === "destroyed") this.effects.destroyed(cellMiddle(numberOf("column"), measures), cellMiddle(numberOf("row"), measures));
    if (action === "hit") this.hit(numberOf("target"));
    if (action === "fallen") this.fallen(numberOf("shooter"), numberOf("player"));
  }

  private hit(target: number): void {
    const { people, own } = this.scene;
    const person = people.find(({ player }) => player === target);
    if (person !== undefined) this.effects.hit(person.x, person.y);
    if (target === own?.player) this.parts.hud.flash();
  }

  private fallen(shooter: number, player: number): void {
    const { people, own, presence } = this.scene;
    const person = people.find((other) => other.player === player);
    if (person !== undefined) this.effects.fall(person.x, person.y);
    const nameOf = (number: number): string => (number === own?.player ? "You" : (presence.get(number)?.name ?? "Someone"));
    if (player === own?.player) this.parts.notices.show(`${presence.get(shooter)?.name ?? "A player who left"} took you down. You respawned.`, "bad");
    else this.parts.notices.show(`${nameOf(shooter)} took down ${nameOf(player)}.`, shooter === own?.player ? "good" : "plain");
  }
}
