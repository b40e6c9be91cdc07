// Stats panel.

import { hasWebTransport } from "@aether-game/client";
import { Canvas } from "../shared/canvas.ts";
import { button, element, write } from "../shared/elements.ts";
import { Sparkline } from "../shared/sparkline.ts";
import { type Flight, mayInspect } from "./flight.ts";
import type { World } from "./world.ts";

const ABSENT = "–";

export class Panel {
  private readonly flight: Flight;
  private readonly world: World;
  private readonly stats = new Map<string, HTMLElement>();
  private readonly serverPart = element("server", HTMLElement);
  private readonly rttChart = new Sparkline(chart("rtt-chart"), 10);
  private readonly downChart = new Sparkline(chart("down-chart"), 4_000);

  constructor(flight: Flight, world: World) {
    this.flight = flight;
    this.world = world;
    for (const stat of document.querySelectorAll<HTMLElement>("[data-stat]")) {
      this.stats.set(stat.dataset["stat"] ?? "", stat);
    }
  }

  /** Updates all stats; called twice a second. */
  update(now: number): void {
    const playing = this.flight.isPlaying;
    this.flight.count(now);
    this.updateConnection(now, playing);
    this.updateServer(now, playing);
    this.updateWorld(playing);
    this.updateTransports();
  }

  private updateConnection(now: number, playing: boolean): void {
    const { down, up, snapshots, room } = this.flight;
    const { roundTripMs, jitterMs, clockOffsetMs, loss } = room?.statistics ?? {};
    const downRate = down.perSecond(now);
    this.stat("rtt", playing ? milliseconds(roundTripMs) : ABSENT);
    this.stat("jitter", playing ? milliseconds(jitterMs) : ABSENT);
    this.stat("loss", playing && loss !== undefined ? `${(100 * loss).toFixed(0)} %` : ABSENT);
    this.stat("clock-offset", playing && clockOffsetMs !== undefined ? `${(clockOffsetMs / 1000).toFixed(2)} s` : ABSENT);
    this.stat("snapshots", playing ? `${snapshots.perSecond(now).toFixed(0)} /s` : ABSENT);
    this.stat("down", bytesPerSecond(downRate));
    this.stat("up", bytesPerSecond(up.perSecond(now)));
    this.rttChart.add(playing ? (roundTripMs ?? 0) : 0);
    this.downChart.add(downRate);
    this.rttChart.draw();
    this.downChart.draw();
  }

  private updateServer(now: number, playing: boolean): void {
    const { manifest, role, ticks, room } = this.flight;
    const tick = room?.tick ?? 0;
    this.stat("tick", playing && tick > 0 ? tick.toLocaleString("en") : ABSENT);
    this.stat("tick-rate", playing && tick > 0 ? `${ticks.perSecond(now).toFixed(0)} /s` : ABSENT);
    this.stat("tick-time", playing ? tickTime(manifest?.tick_us) : ABSENT);
    const allowed = role !== undefined && mayInspect(role);
    this.serverPart.hidden = !allowed;
    if (!allowed) return;
    this.stat("clients", count(manifest?.clients_active));
    this.stat("rooms", count(manifest?.rooms_active));
    this.stat("entities", count(manifest?.entities_active));
    this.stat("uptime", manifest?.uptime_s === undefined ? ABSENT : duration(manifest.uptime_s));
  }

  private updateWorld(playing: boolean): void {
    const ship = this.world.ownShip;
    const pose = ship?.pose;
    this.stat("in-view", playing ? count(this.world.entitiesInView) : ABSENT);
    this.stat("position", pose === undefined ? ABSENT : `${pose.x.toFixed(0)}, ${pose.y.toFixed(0)}`);
    this.stat("speed", pose === undefined ? ABSENT : Math.hypot(pose.velocityX, pose.velocityY).toFixed(0));
    this.stat("hull", ship === undefined ? ABSENT : `${ship.hull} %`);
    const score = this.world.scoreboard;
    this.stat("players", score === undefined ? ABSENT : count(score.players));
    this.stat("leader", score === undefined || score.hits === 0 ? ABSENT : `${score.leader} · ${score.hits}`);
  }

  private updateTransports(): void {
    const { server, transport } = this.flight;
    button("transport-websocket").setAttribute("aria-pressed", String(transport === "websocket"));
    const webTransport = button("transport-webtransport");
    webTransport.setAttribute("aria-pressed", String(transport === "webtransport"));
    const missing = !hasWebTransport()
      ? "This browser does not support WebTransport on this page."
      : server?.webTransport === null
        ? "This server does not offer WebTransport."
        : "";
    webTransport.disabled = missing !== "";
    webTransport.title = missing;
  }

  private stat(name: string, text: string): void {
    const target = this.stats.get(name);
    if (target !== undefined) write(target, text);
  }
}

function chart(id: string): Canvas {
  return new Canvas(element(id, HTMLCanvasElement));
}

function milliseconds(value: number | undefined): string {
  if (value === undefined) return ABSENT;
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms`;
}

/** Formats the duration of a tick. Only roles that may inspect get it. */
function tickTime(microseconds: number | undefined): string {
  return microseconds === undefined ? ABSENT : `${(microseconds / 1000).toFixed(2)} ms`;
}

function bytesPerSecond(value: number): string {
  return value < 1000 ? `${value.toFixed(0)} B/s` : `${(value / 1000).toFixed(1)} kB/s`;
}

function count(value: number | undefined): string {
  return value === undefined ? ABSENT : value.toLocaleString("en");
}

function duration(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [Math.floor(seconds) % 60, "s"],
  ] as const;
  const first = parts.findIndex(([amount]) => amount > 0);
  if (first < 0) return "0 s";
  return parts.slice(first, first + 2).map(([amount, unit]) => `${amount} ${unit}`).join(" ");
}
