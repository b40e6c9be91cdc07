// Player of the sandbox: flies, aims, meets others.
import { Visitor, pause } from "./visitor.mjs";

export { launch } from "./visitor.mjs";

/** Maximum angle between the ship and its target for thrust. */
const AIM_RADIANS = 0.25;
const WORLD_UNITS = 2_000;

export class Player extends Visitor {
  playing() {
    return this.until("the player is in a ship", (state) => state.phase === "playing" && state.own !== undefined);
  }

  /** Thrusts until the ship has flown some way. */
  async fly(units = 15) {
    const { own } = await this.playing();
    await this.hold("KeyW");
    const after = await this.until("the ship moves", (state) => distance(state.own, own) > units);
    await this.hold();
    return after;
  }

  /** Holds the keys that steer the ship towards a position; the shortest path may cross the world's edge. */
  async steerTo(position) {
    const { own } = await this.state();
    if (own === undefined) return;
    const way = (from, to) => ((((to - from + WORLD_UNITS / 2) % WORLD_UNITS) + WORLD_UNITS) % WORLD_UNITS) - WORLD_UNITS / 2;
    const wanted = Math.atan2(way(own.y, position.y), way(own.x, position.x));
    const turn = Math.atan2(Math.sin(wanted - own.heading), Math.cos(wanted - own.heading));
    const keys = [];
    if (Math.abs(turn) < 3 * AIM_RADIANS) keys.push("KeyW");
    if (turn > AIM_RADIANS) keys.push("KeyA");
    if (turn < -AIM_RADIANS) keys.push("KeyD");
    await this.hold(...keys);
  }
}

/** Returns the distance of two positions, or 0 if one is missing. */
export function distance(one, other) {
  return one === undefined || other === undefined ? 0 : Math.hypot(one.x - other.x, one.y - other.y);
}

/** Flies two ships towards each other until each is in the other's view. */
export async function meet(first, second) {
  const deadline = Date.now() + 90_000;
  for (;;) {
    const [one, other] = [await first.state(), await second.state()];
    if (one.own !== undefined && other.own !== undefined) {
      const seen = (viewer, ship) => viewer.others.some(({ id }) => id === ship.id);
      if (seen(one, other.own) && seen(other, one.own)) break;
      await Promise.all([first.steerTo(other.own), second.steerTo(one.own)]);
    }
    if (Date.now() > deadline) throw new Error("the ships did not meet in time");
    await pause();
  }
  await Promise.all([first.hold(), second.hold()]);
}
