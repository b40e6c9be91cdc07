// A person at a browser: opens the page, holds keys, looks.
import { chromium } from "playwright-core";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const WAIT_MS_MAX = 20_000;
const POLL_MS = 30;

/** How a ship is steered towards a place: thrust when the nose points there roughly. */
const AIM_RADIANS = 0.25;
const WORLD_UNITS = 2_000;

export function launch() {
  return chromium.launch({ executablePath: process.env.AETHER_CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
}

export class Player {
  #held = new Set();
  /** What the browser complained about. */
  complaints = [];
  page;

  static async open(browser, url, options = {}) {
    const player = new Player();
    const context = await browser.newContext({ viewport: { width: 1000, height: 700 }, colorScheme: "dark", ...options });
    player.page = await context.newPage();
    player.page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") player.complaints.push(message.text());
    });
    player.page.on("pageerror", (error) => player.complaints.push(String(error)));
    await player.page.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => {
        console.error(`policy violation: ${event.violatedDirective} ${event.blockedURI}`);
      });
    });
    await player.page.goto(url);
    return player;
  }

  async close() {
    await this.page.context().close();
  }

  state() {
    return this.page.evaluate(() => window.aether.state());
  }

  /** Waits until the page's state fulfils a condition; returns that state. */
  async until(what, condition) {
    const deadline = Date.now() + WAIT_MS_MAX;
    for (;;) {
      const state = await this.state();
      if (condition(state)) return state;
      if (Date.now() > deadline) throw new Error(`not in time: ${what}; the page's state is ${JSON.stringify(state)}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  playing() {
    return this.until("the player is in a ship", (state) => state.phase === "playing" && state.own !== undefined);
  }

  async hold(...keys) {
    for (const key of this.#held) if (!keys.includes(key)) await this.page.keyboard.up(key);
    for (const key of keys) if (!this.#held.has(key)) await this.page.keyboard.down(key);
    this.#held = new Set(keys);
  }

  /** Thrusts until the ship has flown some way. */
  async fly(units = 15) {
    const { own } = await this.playing();
    await this.hold("KeyW");
    const after = await this.until("the ship moves", (state) => distance(state.own, own) > units);
    await this.hold();
    return after;
  }

  /** Holds the keys that bring the ship nearer to a place; the shortest way may lead over the world's edge. */
  async steerTo(place) {
    const { own } = await this.state();
    if (own === undefined) return;
    const way = (from, to) => ((((to - from + WORLD_UNITS / 2) % WORLD_UNITS) + WORLD_UNITS) % WORLD_UNITS) - WORLD_UNITS / 2;
    const wanted = Math.atan2(way(own.y, place.y), way(own.x, place.x));
    const turn = Math.atan2(Math.sin(wanted - own.heading), Math.cos(wanted - own.heading));
    const keys = [];
    if (Math.abs(turn) < 3 * AIM_RADIANS) keys.push("KeyW");
    if (turn > AIM_RADIANS) keys.push("KeyA");
    if (turn < -AIM_RADIANS) keys.push("KeyD");
    await this.hold(...keys);
  }

  notice(text) {
    return this.page.locator("#notices").getByText(text).last().waitFor({ timeout: WAIT_MS_MAX });
  }
}

/** How far two places are apart; a ship that is not there has not moved. */
export function distance(one, other) {
  return one === undefined || other === undefined ? 0 : Math.hypot(one.x - other.x, one.y - other.y);
}

/** Flies two ships towards each other until each is in the other's view. */
export async function meet(first, second) {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const [one, other] = [await first.state(), await second.state()];
    if (one.own !== undefined && other.own !== undefined) {
      const seen = (viewer, ship) => viewer.others.some(({ id }) => id === ship.id);
      if (seen(one, other.own) && seen(other, one.own)) break;
      await Promise.all([first.steerTo(other.own), second.steerTo(one.own)]);
    }
    if (Date.now() > deadline) throw new Error("the ships did not meet in time");
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  await Promise.all([first.hold(), second.hold()]);
}
