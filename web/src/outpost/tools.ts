// Selected tool.

import type { KindName } from "./channels.ts";
import { ALONE, drawStructure } from "./structures.ts";
import { palette } from "./palette.ts";

export type Tool = "Blaster" | KindName | "Remove";

/** In the order of their keys, from 1. */
export const TOOLS: readonly Tool[] = ["Blaster", "Wall", "Fence", "Door", "Turret", "Remove"];

/** Size of an icon in CSS pixels. */
const ICON_PIXELS = 30;

export class Tools {
  private tool: Tool = "Blaster";
  private readonly buttons = new Map<Tool, HTMLButtonElement>();
  private readonly changed: (tool: Tool) => void;

  constructor(bar: HTMLElement, costs: Readonly<Record<KindName, { readonly cost: number }>>, changed: (tool: Tool) => void) {
    this.changed = changed;
    for (const [index, tool] of TOOLS.entries()) {
      const cost = tool === "Blaster" || tool === "Remove" ? undefined : costs[tool].cost;
      const button = buttonOf(tool, index + 1, cost);
      button.addEventListener("click", () => this.take(tool));
      bar.append(button);
      this.buttons.set(tool, button);
    }
    this.take("Blaster");
  }

  get inHand(): Tool {
    return this.tool;
  }

  take(tool: Tool): void {
    this.tool = tool;
    for (const [other, button] of this.buttons) button.setAttribute("aria-pressed", String(other === tool));
    this.changed(tool);
  }

  /** Marks tools that cost more than the player's material. */
  afford(material: number): void {
    for (const button of this.buttons.values()) button.classList.toggle("unaffordable", Number(button.dataset["cost"] ?? 0) > material);
  }
}

function buttonOf(tool: Tool, key: number, cost: number | undefined): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tool";
  button.dataset["tool"] = tool;
  if (cost !== undefined) button.dataset["cost"] = String(cost);
  button.setAttribute("aria-label", cost === undefined ? tool : `${tool}, ${cost} material`);
  button.setAttribute("aria-keyshortcuts", String(key));
  button.title = cost === undefined ? `${tool} (${key})` : `${tool}: ${cost} material (${key})`;
  const label = document.createElement("span");
  label.className = "label";
  label.textContent = cost === undefined ? tool : String(cost);
  const hint = document.createElement("kbd");
  hint.textContent = String(key);
  button.append(iconOf(tool), label, hint);
  return button;
}

/** Draws the structure itself as an icon. */
function iconOf(tool: Tool): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  const ratio = Math.min(3, Math.max(1, devicePixelRatio));
  [canvas.width, canvas.height] = [ICON_PIXELS * ratio, ICON_PIXELS * ratio];
  canvas.setAttribute("aria-hidden", "true");
  const pen = canvas.getContext("2d");
  if (pen === null) return canvas;
  pen.scale(ratio, ratio);
  if (tool === "Blaster") drawBlaster(pen);
  else if (tool === "Remove") drawHammer(pen);
  else {
    pen.translate(2, 2);
    const look = { size: ICON_PIXELS - 4, health: 1, column: 3, row: 5, joins: ALONE, openness: 0, aimAngle: -Math.PI / 4, mark: "#7cc7ff" };
    drawStructure(pen, { ...look, kind: tool }, palette(true));
  }
  return canvas;
}

function drawBlaster(pen: CanvasRenderingContext2D): void {
  pen.translate(ICON_PIXELS / 2, ICON_PIXELS / 2);
  pen.rotate(-Math.PI / 5);
  pen.fillStyle = "#8b98a6";
  pen.beginPath();
  pen.roundRect(-11, -5, 20, 8, 2.5);
  pen.roundRect(-9, 1, 6, 9, 2);
  pen.fill();
  pen.fillStyle = "#7cc7ff";
  pen.beginPath();
  pen.roundRect(8, -3.5, 5, 5, 1.5);
  pen.fill();
}

function drawHammer(pen: CanvasRenderingContext2D): void {
  pen.translate(ICON_PIXELS / 2, ICON_PIXELS / 2);
  pen.rotate(Math.PI / 4);
  pen.fillStyle = "#b3824c";
  pen.beginPath();
  pen.roundRect(-2, -7, 4, 20, 2);
  pen.fill();
  pen.fillStyle = "#ff7a80";
  pen.beginPath();
  pen.roundRect(-9, -12, 18, 8, 2.5);
  pen.fill();
}
