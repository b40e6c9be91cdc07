// Fabrics: each seat has a colour and a woven pattern.

/** Colours of the page's scheme. */
export interface Scheme {
  readonly isDark: boolean;
  /** Table under the cloth. */
  readonly table: string;
  /** Bare cloth, and its threads. */
  readonly linen: string;
  readonly weave: string;
  readonly grid: string;
  readonly text: string;
  readonly halo: string;
  readonly shade: string;
}

export interface Fabric {
  readonly base: string;
  readonly ink: string;
  /** Colour of threads and seams. */
  readonly thread: string;
  readonly dark: string;
}

const DARK: Scheme = {
  isDark: true,
  table: "#0b0d12",
  linen: "#1d222c",
  weave: "rgb(255 255 255 / 3.5%)",
  grid: "rgb(255 255 255 / 4%)",
  text: "#eef2fa",
  halo: "rgb(8 10 16 / 75%)",
  shade: "rgb(0 0 0 / 45%)",
};

const LIGHT: Scheme = {
  isDark: false,
  table: "#cbbfa9",
  linen: "#f4ecdc",
  weave: "rgb(120 90 40 / 7%)",
  grid: "rgb(120 90 40 / 8%)",
  text: "#2b2418",
  halo: "rgb(255 252 244 / 85%)",
  shade: "rgb(70 50 20 / 30%)",
};

/** Side of a pattern, in pixels of the cloth's picture. */
export const TILE = 48;

/** Turn between the hues of two neighbouring seats: the golden angle keeps all of them apart. */
const HUE_STEP = 137.5;
const HUE_FIRST = 350;

export function schemeOf(isDark: boolean): Scheme {
  return isDark ? DARK : LIGHT;
}

/** Returns the colours of a seat. */
export function fabricOf(seat: number, { isDark }: Scheme): Fabric {
  const hue = Math.round((HUE_FIRST + seat * HUE_STEP) % 360);
  // Every third seat is paler, so that neighbouring hues differ too.
  const saturation = seat % 3 === 0 ? 42 : 62;
  const light = (isDark ? 46 : 60) + (seat % 2 === 0 ? 5 : -3);
  return {
    base: `hsl(${hue} ${saturation}% ${light}%)`,
    ink: `hsl(${hue} ${saturation}% ${light + (isDark ? 11 : 13)}%)`,
    thread: `hsl(${hue} ${saturation + 18}% ${isDark ? 68 : 42}%)`,
    dark: `hsl(${hue} ${saturation}% ${light - 18}%)`,
  };
}

/** Draws the pattern of a seat into a tile. */
export function weave(seat: number, fabric: Fabric): HTMLCanvasElement {
  const tile = document.createElement("canvas");
  tile.width = TILE;
  tile.height = TILE;
  const pen = tile.getContext("2d");
  if (pen === null) return tile;
  pen.fillStyle = fabric.base;
  pen.fillRect(0, 0, TILE, TILE);
  pen.fillStyle = fabric.ink;
  pen.strokeStyle = fabric.ink;
  pen.lineWidth = 3;
  PATTERNS[seat % PATTERNS.length]?.(pen);
  return tile;
}

type Pattern = (pen: CanvasRenderingContext2D) => void;

/** Stripes that continue over the edges of the tile. */
const diagonals: Pattern = (pen) => {
  for (let at = -TILE; at <= TILE; at += 12) line(pen, at, 0, at + TILE, TILE);
};

const dots: Pattern = (pen) => {
  for (const [x, y] of [[0, 0], [TILE, 0], [0, TILE], [TILE, TILE], [TILE / 2, TILE / 2], [0, TILE / 2], [TILE, TILE / 2], [TILE / 2, 0], [TILE / 2, TILE]] as const) {
    circle(pen, x, y, 4.5);
  }
};

const gingham: Pattern = (pen) => {
  pen.globalAlpha = 0.55;
  pen.fillRect(0, 0, TILE / 2, TILE);
  pen.fillRect(0, 0, TILE, TILE / 2);
};

const stripes: Pattern = (pen) => {
  for (let at = 6; at < TILE; at += 12) line(pen, at, 0, at, TILE);
};

const herringbone: Pattern = (pen) => {
  for (let at = -12; at <= TILE; at += 12) {
    line(pen, 0, at + 12, TILE / 2, at);
    line(pen, TILE / 2, at, TILE, at + 12);
  }
};

const crosses: Pattern = (pen) => {
  for (const [x, y] of [[12, 12], [36, 36]] as const) {
    line(pen, x - 6, y, x + 6, y);
    line(pen, x, y - 6, x, y + 6);
  }
};

const scales: Pattern = (pen) => {
  for (const [x, y] of [[0, 0], [24, 0], [48, 0], [12, 24], [36, 24], [-12, 24], [60, 24], [0, 48], [24, 48], [48, 48]] as const) {
    pen.beginPath();
    pen.arc(x, y, 13, 0, Math.PI);
    pen.stroke();
  }
};

const PATTERNS: readonly Pattern[] = [diagonals, dots, gingham, stripes, herringbone, crosses, scales];

function line(pen: CanvasRenderingContext2D, x: number, y: number, toX: number, toY: number): void {
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(toX, toY);
  pen.stroke();
}

function circle(pen: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}
