// Colours of blobs and of the ground, for dark and light.

export interface Scheme {
  readonly isDark: boolean;
  readonly ground: string;
  readonly outside: string;
  readonly fog: readonly [number, number, number];
  readonly gridFine: string;
  readonly gridCoarse: string;
  readonly edge: string;
  readonly text: string;
  readonly faint: string;
  readonly outline: string;
}

const DARK: Scheme = {
  isDark: true,
  ground: "#0c111c",
  outside: "#06080e",
  fog: [6, 8, 14],
  gridFine: "rgba(132, 160, 220, 0.055)",
  gridCoarse: "rgba(132, 160, 220, 0.12)",
  edge: "rgba(124, 199, 255, 0.65)",
  text: "#ffffff",
  faint: "rgba(170, 187, 220, 0.6)",
  outline: "rgba(6, 9, 16, 0.75)",
};

const LIGHT: Scheme = {
  isDark: false,
  ground: "#f4f7fc",
  outside: "#d5dce9",
  fog: [213, 220, 233],
  gridFine: "rgba(50, 80, 140, 0.07)",
  gridCoarse: "rgba(50, 80, 140, 0.15)",
  edge: "rgba(20, 105, 180, 0.65)",
  text: "#ffffff",
  faint: "rgba(60, 78, 112, 0.65)",
  outline: "rgba(20, 30, 55, 0.7)",
};

export function schemeOf(isDark: boolean): Scheme {
  return isDark ? DARK : LIGHT;
}

/** Hues to choose from; 256 make the full wheel. */
export const HUES = [0, 14, 28, 42, 64, 92, 120, 140, 156, 176, 200, 228] as const;

/** Colours of a blob. */
export interface BlobColours {
  readonly light: string;
  readonly body: string;
  readonly rim: string;
  readonly glow: string;
  /** End of the glow's gradient: the same colour with no opacity, because `transparent` would fade through grey. */
  readonly faded: string;
}

/** Number of distinguishable hues; the colours of each are computed once. */
const HUE_STEPS = 64;
const made = new Map<string, BlobColours>();

/** Returns the step of a hue from 0 to 255. */
export function stepOf(hue: number): number {
  return Math.floor((hue * HUE_STEPS) / 256) % HUE_STEPS;
}

export function coloursOf(hue: number, isDark: boolean): BlobColours {
  const step = stepOf(hue);
  const key = `${step}${isDark ? "d" : "l"}`;
  const known = made.get(key);
  if (known !== undefined) return known;
  const degrees = Math.round((step / HUE_STEPS) * 360);
  const colour = (saturation: number, lightness: number, alpha = 1): string => `hsl(${degrees} ${saturation}% ${lightness}% / ${alpha})`;
  const colours = isDark
    ? { light: colour(92, 74), body: colour(78, 56), rim: colour(74, 40), glow: colour(95, 60, 0.42), faded: colour(95, 60, 0) }
    : { light: colour(92, 76), body: colour(76, 58), rim: colour(62, 44), glow: colour(85, 55, 0.32), faded: colour(85, 55, 0) };
  made.set(key, colours);
  return colours;
}
