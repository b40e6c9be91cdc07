// Colours of the world, for dark and light.

export interface Palette {
  readonly isDark: boolean;
  readonly ground: string;
  readonly groundLow: string;
  readonly groundHigh: string;
  readonly tuft: string;
  readonly pebble: string;
  readonly path: string;
  readonly flowers: readonly string[];
  readonly outside: string;
  readonly grid: string;
  readonly pad: string;
  readonly padLine: string;
  readonly shadow: string;
  readonly ink: string;
  readonly halo: string;
  readonly own: string;
  readonly good: string;
  readonly bad: string;
  readonly warn: string;
}

const DARK: Palette = {
  isDark: true,
  ground: "#2a3d36",
  groundLow: "#213029",
  groundHigh: "#375046",
  tuft: "#5d8063",
  pebble: "#67736f",
  path: "#4a4a3c",
  flowers: ["#c9b458", "#b8739a", "#8ea7d8"],
  outside: "#0b1013",
  grid: "rgb(190 230 215 / 9%)",
  pad: "#2d3a42",
  padLine: "rgb(160 205 235 / 26%)",
  shadow: "rgb(0 0 0 / 34%)",
  ink: "#eef4f2",
  halo: "rgb(8 14 14 / 82%)",
  own: "#8fd3ff",
  good: "#62dba5",
  bad: "#ff7a80",
  warn: "#f6bd6e",
};

const LIGHT: Palette = {
  isDark: false,
  ground: "#b7cd92",
  groundLow: "#a5bf80",
  groundHigh: "#c8d9a6",
  tuft: "#7d9c5a",
  pebble: "#a9ac97",
  path: "#d8c79a",
  flowers: ["#f2c230", "#d9588f", "#6b86d6"],
  outside: "#8e9a83",
  grid: "rgb(40 60 30 / 13%)",
  pad: "#cdd2cf",
  padLine: "rgb(50 90 120 / 38%)",
  shadow: "rgb(30 40 20 / 26%)",
  ink: "#16211b",
  halo: "rgb(246 250 238 / 84%)",
  own: "#0f68b8",
  good: "#0c8a57",
  bad: "#cf2f3f",
  warn: "#a15f00",
};

export function palette(isDark: boolean): Palette {
  return isDark ? DARK : LIGHT;
}
