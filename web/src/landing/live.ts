// Live state of the server.

import type { RoomEntry, ServerInfo } from "@aether-game/client";
import { element, write } from "../shared/elements.ts";
import { visitor } from "../shared/visitor.ts";

/** Polling interval. */
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
      // A hidden page does not poll.
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
      // A restarted server may have another version.
      this.info = undefined;
      this.strip.dataset["live"] = "away";
      write(this.text, "The server cannot be reached. Trying again…");
    }
  }

  private show(rooms: readonly RoomEntry[]): void {
    this.rooms = rooms.length;
    this.players = rooms.reduce((sum, room) => sum + room.players, 0);
    this.strip.dataset["live"] = "here";
    const busy = rooms.length === 0 ? "no players" : `${counted(this.players, "player")} in ${counted(rooms.length, "room")}`;
    write(this.text, `Online · ${busy}`);
    write(element("version", HTMLElement), `Aether ${this.info?.version ?? ""}`);
    for (const target of document.querySelectorAll<HTMLElement>("[data-players]")) {
      const ofGame = rooms.filter((room) => room.type === target.dataset["players"]);
      const players = ofGame.reduce((sum, room) => sum + room.players, 0);
      write(target, players === 0 ? "No players now" : `${counted(players, "player")} now`);
    }
  }
}

function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
