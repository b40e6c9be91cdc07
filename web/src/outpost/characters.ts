// The eight characters, seen from above.

import type { Palette } from "./palette.ts";

/** Name and look of a character. */
export interface Character {
  readonly name: string;
  readonly coat: string;
  readonly trim: string;
  readonly head: (pen: CanvasRenderingContext2D, size: number) => void;
}

const SKIN = "#e8bd97";
const OUTLINE = "rgb(10 14 18 / 55%)";

/** By the number on the wire. Sizes are shares of a player's radius; characters face along x. */
export const CHARACTERS: readonly Character[] = [
  { name: "Scout", coat: "#3f9d68", trim: "#2c7249", head: (pen, size) => hood(pen, size, "#2f8354") },
  { name: "Mason", coat: "#c9823c", trim: "#8d5a26", head: (pen, size) => hardHat(pen, size, "#f4c63d") },
  { name: "Medic", coat: "#dfe7ec", trim: "#9fb2bf", head: (pen, size) => cross(pen, size) },
  { name: "Ranger", coat: "#7f6a4a", trim: "#584a33", head: (pen, size) => brim(pen, size, "#a98a56") },
  { name: "Diver", coat: "#2f7fb8", trim: "#1f5a86", head: (pen, size) => helmet(pen, size, "#58b7e8", "#c9f0ff") },
  { name: "Smith", coat: "#5a6470", trim: "#3d454f", head: (pen, size) => bandana(pen, size, "#e2673a") },
  { name: "Pilot", coat: "#b8404a", trim: "#842a33", head: (pen, size) => striped(pen, size, "#e0545f") },
  { name: "Robot", coat: "#7a63c7", trim: "#54429a", head: (pen, size) => robot(pen, size) },
];

const FALLBACK = CHARACTERS[0] as Character;

export function characterOf(appearance: number): Character {
  return CHARACTERS[appearance] ?? FALLBACK;
}

/** Pose of a character. */
export interface Pose {
  /** In pixels. */
  readonly radius: number;
  /** On the screen, clockwise from the right. */
  readonly aimAngle: number;
  readonly walkAngle: number;
  /** From 0 to 1. */
  readonly stride: number;
  /** Phase of the walk cycle, in radians. */
  readonly phase: number;
}

/** Draws a character around the origin. */
export function drawCharacter(pen: CanvasRenderingContext2D, appearance: number, pose: Pose, palette: Palette): void {
  const { coat, trim, head } = characterOf(appearance);
  const size = pose.radius;
  pen.fillStyle = palette.shadow;
  circle(pen, size * 0.14, size * 0.2, size * 0.98);
  feet(pen, pose);
  pen.save();
  pen.rotate(pose.aimAngle);
  pen.lineJoin = "round";
  // The tool, in front of the body.
  pen.fillStyle = "#93a3b3";
  rounded(pen, [size * 0.35, size * 0.06], [size * 1.3, size * 0.36], size * 0.1);
  outline(pen, size);
  pen.fillStyle = "#4b5865";
  rounded(pen, [size * 0.5, size * 0.06], [size * 0.62, size * 0.15], size * 0.06);
  pen.fillStyle = "#7cc7ff";
  rounded(pen, [size * 1.48, size * 0.12], [size * 0.26, size * 0.24], size * 0.07);
  // Shoulders.
  pen.fillStyle = coat;
  pen.strokeStyle = OUTLINE;
  pen.lineWidth = Math.max(1, size * 0.08);
  pen.beginPath();
  pen.ellipse(-size * 0.05, 0, size * 0.68, size, 0, 0, Math.PI * 2);
  pen.fill();
  pen.stroke();
  pen.strokeStyle = trim;
  pen.lineWidth = size * 0.14;
  pen.beginPath();
  pen.ellipse(-size * 0.05, 0, size * 0.5, size * 0.8, 0, Math.PI * 0.62, Math.PI * 1.38);
  pen.stroke();
  // Hands on the tool.
  pen.fillStyle = SKIN;
  circle(pen, size * 0.64, size * 0.34, size * 0.19);
  circle(pen, size * 1.02, size * 0.28, size * 0.17);
  head(pen, size);
  pen.restore();
}

function feet(pen: CanvasRenderingContext2D, { radius, walkAngle, stride, phase }: Pose): void {
  if (stride < 0.05) return;
  pen.save();
  pen.rotate(walkAngle);
  pen.fillStyle = "#2b2622";
  for (const side of [-1, 1]) {
    const swing = Math.sin(phase) * side * stride * radius * 0.7;
    pen.beginPath();
    pen.ellipse(swing, side * radius * 0.42, radius * 0.36, radius * 0.22, 0, 0, Math.PI * 2);
    pen.fill();
  }
  pen.restore();
}

function face(pen: CanvasRenderingContext2D, size: number): void {
  pen.fillStyle = SKIN;
  circle(pen, size * 0.08, 0, size * 0.52);
  pen.strokeStyle = OUTLINE;
  pen.lineWidth = Math.max(1, size * 0.06);
  pen.stroke();
}

function hood(pen: CanvasRenderingContext2D, size: number, colour: string): void {
  face(pen, size);
  pen.fillStyle = colour;
  pen.beginPath();
  pen.moveTo(-size * 0.78, 0);
  pen.quadraticCurveTo(-size * 0.5, -size * 0.62, size * 0.12, -size * 0.55);
  pen.quadraticCurveTo(size * 0.42, 0, size * 0.12, size * 0.55);
  pen.quadraticCurveTo(-size * 0.5, size * 0.62, -size * 0.78, 0);
  pen.fill();
  pen.stroke();
}

function hardHat(pen: CanvasRenderingContext2D, size: number, colour: string): void {
  pen.fillStyle = "#d9a92a";
  ellipse(pen, size * 0.16, 0, size * 0.66, size * 0.6);
  outline(pen, size);
  pen.fillStyle = colour;
  circle(pen, 0, 0, size * 0.54);
  pen.strokeStyle = "#fbe08a";
  pen.lineWidth = size * 0.12;
  pen.beginPath();
  pen.moveTo(-size * 0.46, 0);
  pen.lineTo(size * 0.46, 0);
  pen.stroke();
}

function cross(pen: CanvasRenderingContext2D, size: number): void {
  pen.fillStyle = "#ffffff";
  circle(pen, 0, 0, size * 0.56);
  outline(pen, size);
  pen.fillStyle = "#df3f4c";
  rounded(pen, [-size * 0.34, -size * 0.11], [size * 0.68, size * 0.22], size * 0.04);
  rounded(pen, [-size * 0.11, -size * 0.34], [size * 0.22, size * 0.68], size * 0.04);
}

function brim(pen: CanvasRenderingContext2D, size: number, colour: string): void {
  pen.fillStyle = colour;
  ellipse(pen, 0, 0, size * 0.86, size * 0.76);
  outline(pen, size);
  pen.fillStyle = "#6d5632";
  circle(pen, -size * 0.02, 0, size * 0.5);
  pen.fillStyle = "#c3a36c";
  ellipse(pen, -size * 0.02, 0, size * 0.42, size * 0.34);
}

function helmet(pen: CanvasRenderingContext2D, size: number, shell: string, glass: string): void {
  pen.fillStyle = shell;
  circle(pen, 0, 0, size * 0.6);
  outline(pen, size);
  pen.fillStyle = glass;
  pen.beginPath();
  pen.ellipse(size * 0.26, 0, size * 0.24, size * 0.4, 0, 0, Math.PI * 2);
  pen.fill();
  pen.fillStyle = "rgb(20 60 90 / 65%)";
  ellipse(pen, size * 0.3, size * 0.06, size * 0.15, size * 0.28);
}

function bandana(pen: CanvasRenderingContext2D, size: number, colour: string): void {
  face(pen, size);
  pen.fillStyle = "#3a2a22";
  circle(pen, -size * 0.1, 0, size * 0.46);
  pen.strokeStyle = colour;
  pen.lineWidth = size * 0.22;
  pen.lineCap = "round";
  pen.beginPath();
  pen.arc(0, 0, size * 0.46, -Math.PI * 0.42, Math.PI * 0.42);
  pen.stroke();
  pen.lineWidth = size * 0.13;
  pen.beginPath();
  pen.moveTo(-size * 0.5, -size * 0.1);
  pen.lineTo(-size * 0.82, -size * 0.3);
  pen.moveTo(-size * 0.5, size * 0.06);
  pen.lineTo(-size * 0.86, size * 0.02);
  pen.stroke();
}

function striped(pen: CanvasRenderingContext2D, size: number, colour: string): void {
  pen.fillStyle = colour;
  circle(pen, 0, 0, size * 0.58);
  outline(pen, size);
  pen.fillStyle = "#fff3e3";
  rounded(pen, [-size * 0.56, -size * 0.11], [size * 1.02, size * 0.22], size * 0.1);
  pen.fillStyle = "#ffd479";
  pen.beginPath();
  pen.ellipse(size * 0.4, 0, size * 0.14, size * 0.36, 0, 0, Math.PI * 2);
  pen.fill();
}

function robot(pen: CanvasRenderingContext2D, size: number): void {
  pen.fillStyle = "#b9aef0";
  rounded(pen, [-size * 0.5, -size * 0.5], [size * 1.02, size], size * 0.2);
  outline(pen, size);
  pen.fillStyle = "#1c1538";
  rounded(pen, [size * 0.18, -size * 0.36], [size * 0.24, size * 0.72], size * 0.1);
  pen.fillStyle = "#7dffd2";
  circle(pen, size * 0.3, -size * 0.18, size * 0.09);
  circle(pen, size * 0.3, size * 0.18, size * 0.09);
  pen.strokeStyle = "#54429a";
  pen.lineWidth = size * 0.1;
  pen.beginPath();
  pen.moveTo(-size * 0.16, 0);
  pen.lineTo(-size * 0.62, -size * 0.24);
  pen.stroke();
  pen.fillStyle = "#ff8fb1";
  circle(pen, -size * 0.66, -size * 0.26, size * 0.13);
}

function outline(pen: CanvasRenderingContext2D, size: number): void {
  pen.strokeStyle = OUTLINE;
  pen.lineWidth = Math.max(1, size * 0.06);
  pen.stroke();
}

function circle(pen: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  pen.beginPath();
  pen.arc(x, y, radius, 0, Math.PI * 2);
  pen.fill();
}

function ellipse(pen: CanvasRenderingContext2D, x: number, y: number, radiusX: number, radiusY: number): void {
  pen.beginPath();
  pen.ellipse(x, y, radiusX, radiusY, 0, 0, Math.PI * 2);
  pen.fill();
}

function rounded(pen: CanvasRenderingContext2D, [x, y]: readonly [number, number], [width, height]: readonly [number, number], radius: number): void {
  pen.beginPath();
  pen.roundRect(x, y, width, height, radius);
  pen.fill();
}
