// How the connection stands, in the header and over the world.

import type { Connection, Phase } from "./connection.ts";
import { button, element, write } from "./elements.ts";

export class Status {
  private readonly connection: Connection;
  private readonly pillText = element("state-text", HTMLElement);
  private readonly cover = element("cover", HTMLElement);
  private readonly title = element("cover-title", HTMLElement);
  private readonly text = element("cover-text", HTMLElement);
  private readonly again = button("connect");

  constructor(connection: Connection) {
    this.connection = connection;
    this.again.addEventListener("click", () => connection.connect());
  }

  update(now: number): void {
    const { phase, server, role } = this.connection;
    document.body.dataset["phase"] = phase.name;
    write(this.pillText, pillText(phase));
    this.cover.hidden = phase.name === "playing";
    write(this.title, titleOf(phase, this.connection.welcome !== undefined));
    write(this.text, textOf(phase, now));
    this.again.hidden = phase.name === "connecting" || phase.name === "playing";
    write(this.again, phase.name === "waiting" ? "Try now" : "Connect again");
    write(element("version", HTMLElement), server === undefined ? "" : `v${server.version}`);
    write(element("role", HTMLElement), role ?? "");
  }
}

function pillText(phase: Phase): string {
  switch (phase.name) {
    case "playing":
      return "Connected";
    case "connecting":
      return "Connecting";
    case "waiting":
      return "Reconnecting";
    case "ended":
      return "Disconnected";
  }
}

function titleOf(phase: Phase, joinedBefore: boolean): string {
  if (phase.name === "ended") return "Disconnected";
  return joinedBefore ? "Connection lost" : "Connecting";
}

function textOf(phase: Phase, now: number): string {
  if (phase.name === "playing") return "";
  if (phase.name !== "waiting") return phase.text;
  const seconds = Math.max(0, (phase.untilMs - now) / 1000);
  return seconds < 1 ? `${phase.text} Trying again…` : `${phase.text} Trying again in ${Math.ceil(seconds)} s.`;
}
