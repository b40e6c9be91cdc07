// Texts over the quilt: score, ranking, clock and banners.

import { element, write } from "../shared/elements.ts";
import { type Scheme, fabricOf } from "./fabrics.ts";
import type { Quilt } from "./quilt.ts";
import { HEIGHT, SPOOL, type SeatFields, WIDTH } from "./rules.ts";

/** Rows of the ranking. The own row is added below if it is not among them. */
const ROWS_MAX = 8;

/** Seconds from which on the clock warns. */
const CLOCK_WARNING = 15;

export class Hud {
  private readonly board = element("board", HTMLElement);
  private readonly clock = element("clock", HTMLElement);
  private readonly banner = element("banner", HTMLElement);
  private readonly spool = element("spool", HTMLElement);
  private bannerUntilMs = 0;

  /** Shows a banner for some seconds. */
  announce(title: string, text: string, seconds: number): void {
    write(element("banner-title", HTMLElement), title);
    write(element("banner-text", HTMLElement), text);
    this.banner.hidden = false;
    this.bannerUntilMs = performance.now() + seconds * 1000;
  }

  show(quilt: Quilt, ownSeat: number | undefined, points: number, scheme: Scheme): void {
    if (performance.now() >= this.bannerUntilMs) this.banner.hidden = true;
    const ranking = quilt.ranking;
    const rank = ranking.findIndex(({ seat }) => seat === ownSeat);
    const own = ranking[rank];
    write(element("share", HTMLElement), own === undefined ? "–" : percent(own.cells));
    write(element("snips", HTMLElement), own === undefined ? "–" : String(own.snips));
    write(element("rank", HTMLElement), own === undefined ? "–" : `${rank + 1}.`);
    this.showSpool(points);
    this.showClock(quilt);
    const rows = ranking.slice(0, ROWS_MAX);
    if (own !== undefined && rank >= ROWS_MAX) rows[ROWS_MAX - 1] = own;
    this.showRows(rows, ranking, ownSeat, scheme);
  }

  private showClock({ round }: Quilt): void {
    const [minutes, seconds] = [Math.floor(round.seconds / 60), round.seconds % 60];
    const time = `${minutes}:${String(seconds).padStart(2, "0")}`;
    write(this.clock, round.phase === "sewing" ? time : `Next quilt in ${round.seconds} s`);
    this.clock.classList.toggle("late", round.phase === "sewing" && round.seconds <= CLOCK_WARNING);
  }

  private showSpool(points: number): void {
    const left = Math.max(0, 1 - points / SPOOL);
    this.spool.style.setProperty("--left", String(left));
    this.spool.classList.toggle("low", left < 0.25);
    this.spool.setAttribute("aria-valuenow", String(Math.round(left * 100)));
  }

  private showRows(rows: readonly SeatFields[], ranking: readonly SeatFields[], ownSeat: number | undefined, scheme: Scheme): void {
    while (this.board.children.length > rows.length) this.board.lastElementChild?.remove();
    rows.forEach((row, at) => {
      const line = this.board.children[at] ?? this.board.appendChild(newRow());
      line.classList.toggle("own", row.seat === ownSeat);
      const [place, swatch, name, share] = line.children as unknown as readonly HTMLElement[];
      if (place === undefined || swatch === undefined || name === undefined || share === undefined) return;
      write(place, String(ranking.indexOf(row) + 1));
      swatch.style.background = fabricOf(row.seat, scheme).base;
      write(name, row.name);
      write(share, percent(row.cells));
    });
  }
}

/** Returns a number of cells as a share of the cloth. */
export function percent(cells: number): string {
  return `${((cells * 100) / (WIDTH * HEIGHT)).toFixed(1)} %`;
}

function newRow(): HTMLLIElement {
  const line = document.createElement("li");
  for (const name of ["place", "swatch", "name", "share"]) {
    const part = document.createElement("span");
    part.className = name;
    line.append(part);
  }
  return line;
}
