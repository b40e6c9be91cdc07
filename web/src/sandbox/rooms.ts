// The current room with its link, and a list of other rooms.

import type { RoomEntry } from "@aether-game/client";
import { button, element, write } from "../shared/elements.ts";
import type { Notices } from "../shared/notices.ts";
import { visitor } from "../shared/visitor.ts";
import type { Flight } from "./flight.ts";

/** Polling interval of the list. */
const INTERVAL_MS = 3_000;

/** Maximum number of listed rooms. */
const SHOWN_MAX = 12;

export class Rooms {
  private readonly flight: Flight;
  private readonly notices: Notices;
  private readonly list = element("room-list", HTMLUListElement);
  private readonly more = element("room-more", HTMLElement);
  private shown = "";

  constructor(flight: Flight, notices: Notices) {
    this.flight = flight;
    this.notices = notices;
    button("copy-link").addEventListener("click", () => void this.copyLink());
    setInterval(() => void this.refresh(), INTERVAL_MS);
  }

  /** Updates the list, unless the page is hidden. */
  async refresh(): Promise<void> {
    if (document.hidden || !this.flight.isPlaying) return;
    try {
      this.show(await visitor().server.rooms());
    } catch {
      // The list is optional; the connection reports a lost server.
    }
  }

  /** Shows the room's code. */
  update(): void {
    const { code } = this;
    write(element("room-code", HTMLElement), code ?? "–");
    button("copy-link").disabled = code === undefined;
  }

  private get code(): string | undefined {
    return this.flight.room?.welcome?.roomCode;
  }

  private get link(): string {
    const link = new URL(location.href);
    link.searchParams.set("room", this.code ?? "");
    return link.href;
  }

  private async copyLink(): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.link);
      this.notices.show("Room link copied.", "good");
    } catch {
      // Browsers restrict the clipboard to secure pages; show the link instead.
      this.notices.show(this.link, "plain");
    }
  }

  private show(entries: readonly RoomEntry[]): void {
    const own = this.code;
    const sorted = [...entries].sort((a, b) => b.players - a.players || a.code.localeCompare(b.code));
    const text = JSON.stringify([own, sorted]);
    // A rebuilt list would lose the focus of its buttons.
    if (text === this.shown) return;
    this.shown = text;
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset["code"] : undefined;
    this.list.replaceChildren(...sorted.slice(0, SHOWN_MAX).map((entry) => this.item(entry, entry.code === own)));
    if (focused !== undefined) this.list.querySelector<HTMLElement>(`[data-code="${CSS.escape(focused)}"]`)?.focus();
    write(this.more, sorted.length > SHOWN_MAX ? `and ${sorted.length - SHOWN_MAX} more` : "");
  }

  private item(entry: RoomEntry, own: boolean): HTMLLIElement {
    const item = document.createElement("li");
    const join = document.createElement("button");
    join.type = "button";
    join.className = "room";
    join.dataset["code"] = entry.code;
    // A relay has nothing to show here.
    join.disabled = own || entry.players >= entry.playersMax || entry.tickHz === 0;
    if (own) join.setAttribute("aria-current", "true");
    const label = entry.label !== "" && entry.label !== entry.type ? `${entry.type} · ${entry.label}` : entry.type;
    join.append(part("code", entry.code), part("type", label), part("players", `${entry.players} / ${entry.playersMax}`));
    join.addEventListener("click", () => this.flight.change(entry.code));
    item.append(join);
    return item;
  }
}

function part(name: string, text: string): HTMLSpanElement {
  const span = document.createElement("span");
  span.className = name;
  span.textContent = text;
  return span;
}
