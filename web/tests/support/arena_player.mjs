// Player of Arena: plays, steers, eats, and respawns.
import { Visitor, pause } from "./visitor.mjs";

/** Time limit of a hunt: bots may interfere. */
const HUNT_MS_MAX = 240_000;

export class ArenaPlayer extends Visitor {
  watching() {
    return this.until("the page is in a room", (state) => state.phase === "playing" && state.tick > 0);
  }

  /** Starts, or respawns. */
  async play() {
    await this.watching();
    const deadline = Date.now() + HUNT_MS_MAX;
    for (;;) {
      const state = await this.state();
      if (state.mode === "playing" && state.own.length > 0) return state;
      // The player may have been eaten before this check.
      if (state.mode !== "playing") await this.page.click("#play-button");
      await this.pointTo({ x: 0, y: 0 });
      if (Date.now() > deadline) throw new Error(`timed out waiting for: the player has a blob; the page's state is ${JSON.stringify(state)}`);
      await pause();
    }
  }

  /** Points towards a position, from the center of the view. */
  async pointTo(position) {
    const [own] = (await this.state()).own;
    const { width, height } = this.page.viewportSize();
    const from = own ?? { x: 0, y: -1 };
    const length = Math.max(1, Math.hypot(position.x - from.x, position.y - from.y));
    const reach = 0.4 * Math.min(width, height);
    const [x, y] = [(position.x - from.x) / length, (position.y - from.y) / length];
    await this.page.mouse.move(width / 2 + x * reach, height / 2 - y * reach);
  }

  /** Plays until a condition holds; respawns after being eaten. */
  async playUntil(what, wanted, target) {
    const deadline = Date.now() + HUNT_MS_MAX;
    for (let step = 0; ; step += 1) {
      const state = await this.state();
      if (wanted(state)) return state;
      if (state.mode === "eaten") await this.play();
      else await this.pointTo(target(state, step));
      if (Date.now() > deadline) throw new Error(`timed out waiting for: ${what}; the page's state is ${JSON.stringify(state)}`);
      await pause();
    }
  }
}

/** Returns a position to move to: the nearest pellet, or a point of a circle. */
export function grazing(state, step) {
  return state.food ?? { x: 500 * Math.cos(step / 60), y: 500 * Math.sin(step / 60) };
}
