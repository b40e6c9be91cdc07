// Stats panel.

import type { Room } from "@aether-game/client";
import { button, element, write } from "../shared/elements.ts";
import type { Frames } from "../shared/frames.ts";
import { Rate } from "../shared/statistics.ts";
import type { Dish } from "./dish.ts";
import type { Steer } from "./rules.ts";

const ABSENT = "–";

export class Developer {
  readonly down = new Rate();
  readonly up = new Rate();
  private readonly panel = element("developer", HTMLElement);
  private readonly toggle = button("developer-toggle");
  private readonly stats = new Map<string, HTMLElement>();
  private bytes = { received: 0, sent: 0 };

  constructor() {
    for (const stat of this.panel.querySelectorAll<HTMLElement>("[data-stat]")) this.stats.set(stat.dataset["stat"] ?? "", stat);
    this.toggle.addEventListener("click", () => this.show(!this.isShown));
    addEventListener("keydown", (event) => {
      const isTyping = event.target instanceof HTMLElement && event.target.closest("input") !== null;
      if (event.code === "KeyI" && !event.repeat && !isTyping) this.show(!this.isShown);
    });
  }

  update(room: Room<Steer> | undefined, dish: Dish, frames: Frames, nowMs: number): void {
    const statistics = room?.statistics;
    // A new room starts its byte counts at zero.
    const { bytesReceived: received = 0, bytesSent: sent = 0 } = statistics ?? {};
    this.down.add(Math.max(0, received - this.bytes.received), nowMs);
    this.up.add(Math.max(0, sent - this.bytes.sent), nowMs);
    this.bytes = { received, sent };
    if (!this.isShown) return;
    const { interval, work, perSecond } = frames.times;
    this.stat("frames", `${perSecond.toFixed(0)} /s`);
    this.stat("frame-interval", `${interval.p50.toFixed(1)} · ${interval.p99.toFixed(1)} ms`);
    this.stat("frame-work", `${work.p50.toFixed(1)} · ${work.p99.toFixed(1)} ms`);
    this.stat("rtt", milliseconds(statistics?.roundTripMs));
    this.stat("jitter", milliseconds(statistics?.jitterMs));
    this.stat("tick", room === undefined ? ABSENT : room.tick.toLocaleString("en"));
    this.stat("down", bytesPerSecond(this.down.perSecond(nowMs)));
    this.stat("up", bytesPerSecond(this.up.perSecond(nowMs)));
    this.stat("in-view", `${dish.blobs.size} · ${dish.pellets.size}`);
    this.stat("transport", statistics?.transport ?? ABSENT);
    this.stat("room", room?.welcome?.roomCode ?? ABSENT);
    this.stat("losses", String(statistics?.losses ?? 0));
  }

  private get isShown(): boolean {
    return this.panel.hidden !== true;
  }

  private show(isShown: boolean): void {
    this.panel.hidden = !isShown;
    this.toggle.setAttribute("aria-expanded", String(isShown));
  }

  private stat(name: string, text: string): void {
    const target = this.stats.get(name);
    if (target !== undefined) write(target, text);
  }
}

function milliseconds(value: number | undefined): string {
  return value === undefined ? ABSENT : `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}

function bytesPerSecond(value: number): string {
  return value < 1000 ? `${value.toFixed(0)} B/s` : `${(value / 1000).toFixed(1)} kB/s`;
}
