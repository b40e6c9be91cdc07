// Network panel: simulates network conditions, switches client techniques off, and charts the effect.

import type { Room } from "@aether-game/client";
import { Canvas } from "../shared/canvas.ts";
import { button, element, write } from "../shared/elements.ts";
import { Sparkline } from "../shared/sparkline.ts";
import type { Controls } from "./channels.ts";

/** Charts have sixty values: the last minute. */
const CHART_INTERVAL_MS = 1_000;

type Setting = "prediction" | "reconciliation" | "interpolation";

const SETTINGS: readonly Setting[] = ["prediction", "reconciliation", "interpolation"];

/** Conditions of each preset. */
const PRESETS: Readonly<Record<string, readonly [latencyMs: number, jitterMs: number, lossPercent: number]>> = {
  none: [0, 0, 0],
  mobile: [60, 20, 1],
  poor: [150, 50, 5],
  awful: [300, 100, 15],
};

export class NetworkPanel {
  private room: Room<Controls> | undefined;
  private readonly charts = {
    trip: new Sparkline(new Canvas(element("trip-chart", HTMLCanvasElement)), 20),
    corrections: new Sparkline(new Canvas(element("corrections-chart", HTMLCanvasElement)), 4),
    received: new Sparkline(new Canvas(element("received-chart", HTMLCanvasElement)), 1_000),
    sent: new Sparkline(new Canvas(element("sent-chart", HTMLCanvasElement)), 1_000),
  };
  private before = { timeMs: 0, corrections: 0, bytesReceived: 0, bytesSent: 0 };

  constructor() {
    for (const id of ["latency", "jitter", "loss"]) element(id, HTMLInputElement).addEventListener("input", () => this.apply());
    for (const setting of SETTINGS) element(setting, HTMLInputElement).addEventListener("change", () => this.apply());
    for (const preset of document.querySelectorAll<HTMLElement>("[data-preset]")) {
      preset.addEventListener("click", () => this.choose(preset.dataset["preset"] ?? "none"));
    }
    button("toggle-network").addEventListener("click", () => this.toggle());
    button("close-network").addEventListener("click", () => this.toggle());
    this.show();
  }

  /** True if the server's position of the player is drawn. */
  get showsGhost(): boolean {
    return element("ghost", HTMLInputElement).checked;
  }

  get isPredicting(): boolean {
    return element("prediction", HTMLInputElement).checked;
  }

  get isOpen(): boolean {
    return document.body.classList.contains("network-open");
  }

  toggle(): void {
    const isOpen = document.body.classList.toggle("network-open");
    button("toggle-network").setAttribute("aria-pressed", String(isOpen));
  }

  /** Applies the panel's values to a new room. */
  attach(room: Room<Controls>): void {
    this.room = room;
    this.before = { timeMs: 0, corrections: 0, bytesReceived: 0, bytesSent: 0 };
    this.apply();
  }

  /** Updates the stats, and the charts once a second. */
  update(nowMs: number, frameMs: number): void {
    const { room } = this;
    if (room === undefined) return;
    const { statistics } = room;
    stat("trip", statistics.roundTripMs, (value) => `${value.toFixed(0)} ms`);
    stat("jitter", statistics.jitterMs, (value) => `${value.toFixed(0)} ms`);
    stat("pending", statistics.pendingInputs, String);
    stat("delay", statistics.interpolationDelayMs, (value) => `${value.toFixed(0)} ms`);
    stat("corrections", statistics.corrections, String);
    stat("correction", statistics.lastCorrectionDistance, (value) => value.toFixed(2));
    stat("losses", statistics.losses, String);
    stat("tick", room.tick, String);
    stat("frame", frameMs, (value) => `${value.toFixed(1)} ms`);
    write(statOf("transport"), statistics.transport ?? "–");
    if (nowMs - this.before.timeMs >= CHART_INTERVAL_MS) this.chart(nowMs, room);
  }

  private chart(nowMs: number, { statistics }: Room<Controls>): void {
    const { before, charts } = this;
    const seconds = (nowMs - before.timeMs) / 1000;
    const { corrections, bytesReceived, bytesSent } = statistics;
    this.before = { timeMs: nowMs, corrections, bytesReceived, bytesSent };
    charts.trip.add(statistics.roundTripMs ?? 0);
    // The first sample has nothing to compare with.
    if (before.timeMs > 0) {
      const [received, sent] = [(bytesReceived - before.bytesReceived) / seconds, (bytesSent - before.bytesSent) / seconds];
      const perSecond = Math.max(0, corrections - before.corrections) / seconds;
      charts.corrections.add(perSecond);
      charts.received.add(received);
      charts.sent.add(sent);
      stat("corrections-rate", perSecond, (value) => `${value.toFixed(value > 0 && value < 10 ? 1 : 0)} /s`);
      stat("received", received, rate);
      stat("sent", sent, rate);
    }
    for (const chart of Object.values(charts)) chart.draw();
  }

  private choose(name: string): void {
    const [latency, jitter, loss] = PRESETS[name] ?? [0, 0, 0];
    for (const [id, value] of [["latency", latency], ["jitter", jitter], ["loss", loss]] as const) element(id, HTMLInputElement).value = String(value);
    this.apply();
  }

  private apply(): void {
    this.show();
    if (this.room === undefined) return;
    this.room.conditions = { latencyMs: slider("latency"), jitterMs: slider("jitter"), loss: slider("loss") / 100 };
    const isOn = (setting: Setting): boolean => element(setting, HTMLInputElement).checked;
    this.room.settings = { prediction: isOn("prediction"), reconciliation: isOn("reconciliation"), interpolation: isOn("interpolation") };
  }

  private show(): void {
    const chosen = [slider("latency"), slider("jitter"), slider("loss")];
    write(element("latency-value", HTMLElement), `${chosen[0]} ms`);
    write(element("jitter-value", HTMLElement), `${chosen[1]} ms`);
    write(element("loss-value", HTMLElement), `${chosen[2]} %`);
    for (const preset of document.querySelectorAll<HTMLElement>("[data-preset]")) {
      const values = PRESETS[preset.dataset["preset"] ?? ""];
      preset.setAttribute("aria-pressed", String(values?.every((value, index) => value === chosen[index]) ?? false));
    }
    // Without prediction there is nothing to reconcile.
    element("reconciliation", HTMLInputElement).disabled = !element("prediction", HTMLInputElement).checked;
  }
}

function slider(id: string): number {
  return element(id, HTMLInputElement).valueAsNumber;
}

function statOf(name: string): HTMLElement {
  const found = document.querySelector(`[data-stat="${name}"]`);
  if (!(found instanceof HTMLElement)) throw new Error(`The page has no stat \`${name}\`.`);
  return found;
}

function stat(name: string, value: number | undefined, format: (value: number) => string): void {
  write(statOf(name), value === undefined ? "–" : format(value));
}

function rate(bytesPerSecond: number): string {
  return bytesPerSecond >= 1_000 ? `${(bytesPerSecond / 1_000).toFixed(1)} kB/s` : `${bytesPerSecond.toFixed(0)} B/s`;
}
