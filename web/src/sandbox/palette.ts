// Colours of the canvas, for dark and light.

export interface Palette {
  readonly dark: boolean;
  readonly background: string;
  readonly outside: string;
  readonly gridFine: string;
  readonly gridCoarse: string;
  readonly border: string;
  readonly interest: string;
  readonly shade: string;
  readonly text: string;
  readonly faint: string;
  readonly star: string;
  readonly crate: string;
  readonly crateEdge: string;
  readonly rock: string;
  readonly rockEdge: string;
  readonly beacon: string;
  readonly shot: string;
  readonly good: string;
  readonly bad: string;
}

const DARK: Palette = {
  dark: true,
  background: "#0b0f18",
  outside: "#07090f",
  gridFine: "rgba(140, 165, 215, 0.07)",
  gridCoarse: "rgba(140, 165, 215, 0.16)",
  border: "rgba(124, 199, 255, 0.55)",
  interest: "rgba(124, 199, 255, 0.32)",
  shade: "rgba(4, 6, 11, 0.42)",
  text: "#dfe6f3",
  faint: "rgba(170, 187, 220, 0.5)",
  star: "#b9c9ec",
  crate: "#6b5232",
  crateEdge: "#d9aa66",
  rock: "#2c3547",
  rockEdge: "#8595b5",
  beacon: "#8cf0c4",
  shot: "#fff3c4",
  good: "#5fd6a0",
  bad: "#ff7b86",
};

const LIGHT: Palette = {
  dark: false,
  background: "#f6f8fc",
  outside: "#dde3ee",
  gridFine: "rgba(50, 75, 125, 0.07)",
  gridCoarse: "rgba(50, 75, 125, 0.16)",
  border: "rgba(20, 105, 180, 0.6)",
  interest: "rgba(20, 105, 180, 0.4)",
  shade: "rgba(90, 110, 150, 0.12)",
  text: "#1a2333",
  faint: "rgba(60, 78, 112, 0.6)",
  star: "#9fb0d0",
  crate: "#f0d9b5",
  crateEdge: "#a06f24",
  rock: "#cdd5e3",
  rockEdge: "#6a7a99",
  beacon: "#0f9d6b",
  shot: "#c2410c",
  good: "#12855a",
  bad: "#c8313f",
};

/** Returns the palette of a colour scheme. */
export function palette(dark: boolean): Palette {
  return dark ? DARK : LIGHT;
}

/** Returns the colour of a ship by its number from 0 to 255. */
export function shipColour(colour: number, dark: boolean, alpha = 1): string {
  const hue = Math.round((colour / 256) * 360);
  return dark ? `hsl(${hue} 85% 70% / ${alpha})` : `hsl(${hue} 70% 40% / ${alpha})`;
}
