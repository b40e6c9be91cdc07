// Body of a blob: a ring of points that sways, stretches with speed, and flattens at the world's edge.

import type { Camera } from "./camera.ts";
import { type Scheme, coloursOf } from "./colours.ts";
import type { Blob } from "./dish.ts";
import { EDGE } from "./rules.ts";
import type { Sprites } from "./sprites.ts";

/** Distance of two points of the rim in pixels, and the range of their number. */
const POINT_PIXELS = 9;
const POINTS_LEAST = 14;
const POINTS_MOST = 72;

/** Below this radius in pixels, a blob is drawn as a disc. */
const PLAIN_PIXELS = 9;

/** Amplitudes of swaying, stretching by speed, and shaking after a meal, as shares of the radius. */
const SWAY = 0.014;
const STRETCH_PER_SPEED = 1 / 3_600;
const STRETCH_MOST = 0.14;
const SHAKE = 0.05;

/** Distance that a body may bulge beyond the world's edge, as a share of its radius: its center may be on the edge. */
const BULGE = 0.55;

/** Buffers for the points, reused for every blob. */
const across = new Float32Array(POINTS_MOST);
const down = new Float32Array(POINTS_MOST);

export interface Pen {
  readonly context: CanvasRenderingContext2D;
  readonly camera: Camera;
  readonly scheme: Scheme;
  readonly sprites: Sprites;
  /** Time in seconds for animations; constant if the player prefers reduced motion. */
  readonly time: number;
}

export function drawBlob(pen: Pen, blob: Blob): void {
  const { context, camera, scheme } = pen;
  const radius = blob.radius * camera.scale;
  const [x, y] = [camera.across(blob.x), camera.down(blob.y)];
  const colours = coloursOf(blob.hue, scheme.isDark);
  if (radius < PLAIN_PIXELS) {
    context.fillStyle = colours.body;
    context.beginPath();
    context.arc(x, y, Math.max(1, radius), 0, 2 * Math.PI);
    context.fill();
    return;
  }
  const halo = radius * 1.32;
  context.drawImage(pen.sprites.glow(blob.hue, scheme.isDark), x - halo, y - halo, halo * 2, halo * 2);
  outline(pen, blob, radius);
  const gradient = context.createRadialGradient(x - radius * 0.3, y - radius * 0.35, radius * 0.08, x, y, radius * 1.05);
  gradient.addColorStop(0, colours.light);
  gradient.addColorStop(0.62, colours.body);
  gradient.addColorStop(1, colours.rim);
  context.fillStyle = gradient;
  context.fill();
  context.lineWidth = Math.max(1.5, Math.min(5, radius * 0.05));
  context.strokeStyle = colours.rim;
  context.stroke();
}

/** Builds the path of a blob's rim. */
function outline({ context, camera, time }: Pen, blob: Blob, radius: number): void {
  const count = Math.round(Math.max(POINTS_LEAST, Math.min(POINTS_MOST, (2 * Math.PI * radius) / POINT_PIXELS)));
  const speed = Math.hypot(blob.velocityX, blob.velocityY);
  const stretch = Math.min(STRETCH_MOST, speed * STRETCH_PER_SPEED);
  const course = Math.atan2(blob.velocityY, blob.velocityX);
  const seed = (blob.id % 97) * 0.7;
  const most = EDGE + BULGE * blob.radius;
  for (let index = 0; index < count; index += 1) {
    const angle = (index / count) * 2 * Math.PI;
    const sway =
      Math.sin(3 * angle + 2.1 * time + seed) + 0.7 * Math.sin(5 * angle - 1.6 * time + 2 * seed) + 0.4 * Math.sin(8 * angle + 2.9 * time);
    const shake = blob.jolt * Math.sin(6 * angle + 22 * time);
    const along = Math.cos(angle - course);
    const size = blob.radius * (1 + SWAY * sway + SHAKE * shake + stretch * (2 * along * along - 1));
    const pointX = Math.max(-most, Math.min(most, blob.x + Math.cos(angle) * size));
    const pointY = Math.max(-most, Math.min(most, blob.y + Math.sin(angle) * size));
    across[index] = camera.across(pointX);
    down[index] = camera.down(pointY);
  }
  // A curve through the midpoints is smooth; a line through the points is not.
  context.beginPath();
  const lastX = across[count - 1] as number;
  const lastY = down[count - 1] as number;
  context.moveTo((lastX + (across[0] as number)) / 2, (lastY + (down[0] as number)) / 2);
  for (let index = 0; index < count; index += 1) {
    const [x, y] = [across[index] as number, down[index] as number];
    const next = (index + 1) % count;
    context.quadraticCurveTo(x, y, (x + (across[next] as number)) / 2, (y + (down[next] as number)) / 2);
  }
  context.closePath();
}
