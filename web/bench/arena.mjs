// Arena with many bots and a browser: frame times, tick times, and traffic.
//
// Usage: AETHER_PROGRAM=<program> node bench/arena.mjs [--short]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { ArenaPlayer } from "../tests/support/arena_player.mjs";
import { environment, startServer } from "../../testing/server.mjs";
import { launch, pause } from "../tests/support/visitor.mjs";

const isShort = process.argv.includes("--short");
const BOTS = isShort ? 40 : 200;
const WARM_UP_MS = isShort ? 2_000 : 8_000;
const SECONDS = isShort ? 4 : 30;

/** Time limit for all bots to join. */
const JOIN_MS_MAX = 120_000;

/** Targets: 60 frames a second, half of a tick's 50 ms, and a rate that a mobile network carries. */
const FRAME_MS_AIM = 17;
const FRAME_P95_MS_AIM = 34;
const TICK_P99_MS_AIM = 25;
const KILOBYTES_AIM = 20;

const SETTINGS = ["room.arena.players_max=300", "connections.per_ip_max=0"];

const server = await startServer(SETTINGS);
const bots = startBots();
const browser = await launch();
try {
  const room = await roomOfBots();
  const player = await ArenaPlayer.open(browser, `${server.url}/arena?room=${room}`, { viewport: { width: 1600, height: 1000 } });
  await player.play();
  await playFor(player, WARM_UP_MS);
  const measured = await measure(player);
  show(measured, await reportOfBots());
} finally {
  await browser.close();
  bots.process.kill();
  await server.remove();
}

function startBots() {
  const seconds = Math.ceil(WARM_UP_MS / 1000) + SECONDS + 20;
  const options = ["load", "--address", server.url, "--room-type", "arena", "--quiet", "--light", "--json"];
  options.push("--bots", String(BOTS), "--per-room", String(BOTS), "--seconds", String(seconds));
  const child = spawn(process.env.AETHER_PROGRAM, options, { env: environment(), stdio: ["ignore", "pipe", "inherit"] });
  const output = [];
  child.stdout.on("data", (bytes) => output.push(bytes));
  return { process: child, output, ended: once(child, "exit") };
}

/** Returns the code of the bots' room once all have joined. */
async function roomOfBots() {
  const deadline = Date.now() + JOIN_MS_MAX;
  for (;;) {
    const { rooms } = await (await fetch(`${server.url}/api/rooms?type=arena`)).json();
    if (rooms[0]?.players >= BOTS) return rooms[0].code;
    if (bots.process.exitCode !== null) throw new Error(`the bots ended with ${bots.process.exitCode}`);
    if (Date.now() > deadline) throw new Error(`only ${rooms[0]?.players ?? 0} of ${BOTS} bots joined`);
    await pause();
  }
}

async function reportOfBots() {
  await bots.ended;
  return JSON.parse(Buffer.concat(bots.output).toString());
}

/** Circles around the center, where most entities are; respawns after being eaten. */
async function playFor(player, milliseconds) {
  const until = performance.now() + milliseconds;
  for (let step = 0; performance.now() < until; step += 1) {
    const state = await player.state();
    if (state.mode === "eaten") await player.play();
    await player.pointTo({ x: 350 * Math.cos(step / 8), y: 350 * Math.sin(step / 8) });
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

async function measure(player) {
  await player.page.evaluate(() => {
    window.frameTimes = [];
    const note = (now) => {
      window.frameTimes.push(now);
      requestAnimationFrame(note);
    };
    requestAnimationFrame(note);
  });
  const [ticksBefore, before, began] = [await tickBuckets(), await player.state(), performance.now()];
  await playFor(player, SECONDS * 1000);
  const [ticksAfter, after, seconds] = [await tickBuckets(), await player.state(), (performance.now() - began) / 1000];
  const times = await player.page.evaluate(() => window.frameTimes);
  return {
    frames: times.slice(1).map((time, index) => time - times[index]),
    work: after.frames.work,
    ticks: ticksAfter.map(([bound, count], index) => [bound, count - ticksBefore[index][1]]),
    bytesPerSecond: (after.bytesReceived - before.bytesReceived) / seconds,
    inView: after.others.length + after.own.length,
    pellets: after.pellets,
  };
}

/** Returns the cumulative buckets of Arena's tick durations. */
async function tickBuckets() {
  const text = await (await fetch(`http://${server.adminAddress}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith("aether_tick_duration_seconds_bucket") && line.includes('"arena"'));
  return lines.map((line) => [Number(/le="([^"]+)"/.exec(line)[1].replace("+Inf", "Infinity")), Number(line.split(" ").at(-1))]);
}

/** Returns a quantile of the tick durations in milliseconds, interpolated within its bucket. */
function shareOfTicks(buckets, share) {
  const wanted = share * (buckets.at(-1)?.[1] ?? 0);
  let [lowBound, lowCount] = [0, 0];
  for (const [bound, count] of buckets) {
    if (count >= wanted && count > lowCount && Number.isFinite(bound)) {
      return 1000 * (lowBound + ((bound - lowBound) * (wanted - lowCount)) / (count - lowCount));
    }
    [lowBound, lowCount] = [bound, count];
  }
  return 1000 * lowBound;
}

function shareOf(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function show({ frames, work, ticks, bytesPerSecond, inView, pellets }, report) {
  const botBytes = report.received.bytesPerSecondPerBot;
  console.log(`${report.connected} bots and a browser in one room of Arena for ${SECONDS} s; ${inView} blobs and ${pellets} pellets in view at the end.`);
  const frame = [0.5, 0.95, 0.99].map((share) => shareOf(frames, share));
  const tick = [0.5, 0.99].map((share) => shareOfTicks(ticks, share));
  console.log(`frame time in the browser: ${frame.map((ms) => ms.toFixed(1)).join(", ")} ms (p50, p95, p99 of ${frames.length} frames)`);
  console.log(`of it the page's own work: ${[work.p50, work.p95, work.p99].map((ms) => ms.toFixed(1)).join(", ")} ms`);
  console.log(`tick of the server: ${tick.map((ms) => ms.toFixed(2)).join(", ")} ms (p50, p99 of ${ticks.at(-1)?.[1]} ticks)`);
  console.log(`received: ${(bytesPerSecond / 1000).toFixed(1)} kB/s by the browser, ${(botBytes / 1000).toFixed(1)} kB/s by each bot`);
  judge("arena-frame-p95", frame[1], "ms", `under ${FRAME_P95_MS_AIM} ms`, frame[1] < FRAME_P95_MS_AIM);
  judge("arena-tick-p99", tick[1], "ms", `under ${TICK_P99_MS_AIM} ms`, tick[1] < TICK_P99_MS_AIM);
  judge("arena-bytes", bytesPerSecond / 1000, "kB/s", `under ${KILOBYTES_AIM} kB/s`, bytesPerSecond / 1000 < KILOBYTES_AIM);
  judge("arena", frame[0], "ms", `under ${FRAME_MS_AIM} ms`, frame[0] < FRAME_MS_AIM);
}

function judge(name, value, unit, aim, isMet) {
  console.log(`${name}: ${value.toFixed(2)} ${unit}, aim ${aim}: ${isMet ? "met" : "missed"}`);
}
