// State of the connection, as a pill in the header and a cover over the world.

import { button, element, write } from "./elements.ts";
import type { Phase } from "./connection.ts";

const PILLS = { playing: "Connected", connecting: "Connecting", waiting: "Reconnecting", ended: "Disconnected" } as const;

export class Status {
  private readonly pill = element("state-text", HTMLElement);
  private readonly cover = element("cover", HTMLElement);
  private readonly title = element("cover-title", HTMLElement);
  private readonly text = element("cover-text", HTMLElement);
  private readonly again = button("connect");
  private hasPlayed = false;

  constructor(again: () => void) {
    this.again.addEventListener("click", again);
  }

  show(phase: Phase): void {
    document.body.dataset["phase"] = phase.name;
    write(this.pill, PILLS[phase.name]);
    this.cover.hidden = phase.name === "playing";
    this.again.hidden = phase.name === "connecting" || phase.name === "playing";
    if (phase.name === "playing") {
      this.hasPlayed = true;
      return;
    }
    const isLost = this.hasPlayed && phase.name !== "ended";
    write(this.title, isLost ? "Connection lost" : phase.name === "ended" ? "Disconnected" : "Connecting");
    write(this.text, phase.name === "waiting" ? `${phase.text} Trying again…` : phase.text);
    write(this.again, phase.name === "waiting" ? "Try now" : "Reconnect");
  }
}
