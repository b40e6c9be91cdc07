// A player of Arena: plays, steers, eats, and plays again when it was eaten.
import { Visitor, pause } from "./visitor.mjs";

/** How long a hunt may take: bots come in between. */
const HUNT_MS_MAX = 240_000;

export class Eater extends Visitor {
  watching() {
    return this.until("the page is in a room", (state) => state.phase === "playing" && state.tick > 0);
  }

  /** Begins, or begins anew. */
  async play() {
    await this.watching();
    const deadline = Date.now() + HUNT_MS_MAX;
    for (;;) {
      const state = await this.state();
      if (state.mode === "playing" && state.own.length > 0) return state;
      // Whoever was eaten before this had a look begins once more.
      if (state.mode !== "playing") await this.page.click("#play-button");
      await this.pointTo({ x: 0, y: 0 });
      if (Date.now() > deadline) throw new Error(`not in time: the player has a blob; the page's state is ${JSON.stringify(state)}`);
      await pause();
    }
  }

  /** Points towards a place of the world, from the middle of the view. */
  async pointTo(place) {
    const [own] = (await this.state()).own;
    const { width, height } = this.page.viewportSize();
    const from = own ?? { x: 0, y: -1 };
    const length = Math.max(1, Math.hypot(place.x - from.x, place.y - from.y));
    const reach = 0.4 * Math.min(width, height);
    const [x, y] = [(place.x - from.x) / length, (place.y - from.y) / length];
    await this.page.mouse.move(width / 2 + x * reach, height / 2 - y * reach);
  }

  /** Plays on until something is as wanted; whoever was eaten begins anew. */
  async playUntil(what, wanted, target) {
    const deadline = Date.now() + HUNT_MS_MAX;
    for (let step = 0; ; step += 1) {
      const state = await this.state();
      if (wanted(state)) return state;
      if (state.mode === "eaten") await this.play();
      else await this.pointTo(target(state, step));
      if (Date.now() > deadline) throw new Error(`not in time: ${what}; the page's state is ${JSON.stringify(state)}`);
      await pause();
    }
  }
}

/** Somewhere to graze: the nearest pellet, or else round the middle of the world. */
export function grazing(state, step) {
  return state.food ?? { x: 500 * Math.cos(step / 60), y: 500 * Math.sin(step / 60) };
}
