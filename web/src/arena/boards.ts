// Leaderboards of the room and of all time.

import { element, write } from "../shared/elements.ts";
import type { Row } from "./rules.ts";

export class Boards {
  private readonly room = element("room-board", HTMLOListElement);
  private readonly records = element("records-board", HTMLOListElement);
  private readonly eaters = element("eaters", HTMLElement);
  private shown = "";

  /** Shows both. Changes the page only if they changed. */
  show(rows: readonly Row[], records: readonly Row[], eaters: number, own: number | undefined, ownName: string): void {
    const text = JSON.stringify([rows, records, own, ownName]);
    write(this.eaters, eaters === 0 ? "" : `${eaters} ${eaters === 1 ? "player" : "players"}`);
    if (text === this.shown) return;
    this.shown = text;
    this.room.replaceChildren(...rows.map((row) => line(row, row.eater === own && own !== undefined)));
    this.records.replaceChildren(...records.map((row) => line(row, row.name === ownName)));
    element("records", HTMLElement).hidden = records.length === 0;
  }
}

function line(row: Row, isOwn: boolean): HTMLLIElement {
  const item = document.createElement("li");
  if (isOwn) item.className = "own";
  const name = document.createElement("span");
  name.className = "name";
  name.textContent = row.name === "" ? "–" : row.name;
  const mass = document.createElement("span");
  mass.className = "mass";
  mass.textContent = row.mass.toLocaleString("en");
  item.append(name, mass);
  return item;
}
