// What the server does right now.

import type { RoomEntry, ServerInfo } from "@aether-game/client";
import { element, write } from "../shared/elements.ts";
import { visitor } from "../shared/visitor.ts";

/** How often it is asked; nobody sees more. */
const INTERVAL_MS = 3_000;

export class Live {
  rooms = 0;
  players = 0;
  private info: ServerInfo | undefined;
  private readonly strip = element("live", HTMLElement);
  private readonly text = element("live-text", HTMLElement);

  constructor() {
    void this.refresh();
    setInterval(() => {
      // A page that nobody looks at asks nothing.
      if (!document.hidden) void this.refresh();
    }, INTERVAL_MS);
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) void this.refresh();
    });
  }

  private async refresh(): Promise<void> {
    try {
      this.info ??= await visitor().server.info();
      this.show(await visitor().server.rooms());
    } catch {
      // After a restart it may be another version.
      this.info = undefined;
      this.strip.dataset["live"] = "away";
      write(this.text, "The server cannot be reached. Trying again…");
    }
  }

  private show(rooms: readonly RoomEntry[]): void {
    this.rooms = rooms.length;
    this.players = rooms.reduce((sum, room) => sum + room.players, 0);
    this.strip.dataset["live"] = "here";
    const busy = rooms.length === 0 ? "all is quiet" : `${counted(this.players, "player")} in ${counted(rooms.length, "room")}`;
    write(this.text, `Online · ${busy}`);
    write(element("version", HTMLElement), `Aether ${this.info?.version ?? ""}`);
    for (const place of document.querySelectorAll<HTMLElement>("[data-players]")) {
      const ofGame = rooms.filter((room) => room.type === place.dataset["players"]);
      const players = ofGame.reduce((sum, room) => sum + room.players, 0);
      write(place, players === 0 ? "Nobody is in: be the first" : `${counted(players, "player")} now`);
    }
  }
}

function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
