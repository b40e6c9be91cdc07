// A player of Outpost: walks, builds and shoots by keys and the pointer.
import { Visitor, WAIT_MS_MAX, pause } from "./visitor.mjs";

/** How near is there, and how far from there one may come to rest: who runs does not stop at once. */
const THERE_UNITS = 1;
const REST_UNITS = 3;

/** The keys of the tools, in the order of the page. */
const TOOL_KEYS = { Blaster: "Digit1", Wall: "Digit2", Fence: "Digit3", Door: "Digit4", Turret: "Digit5", Remove: "Digit6" };

const CELL_UNITS = 4;
const EDGE_UNITS = 256;

export class Settler extends Visitor {
  playing() {
    return this.until("the player is in the world", (state) => state.phase === "playing" && state.own !== undefined);
  }

  /** Walks to a place by the keys, as straight as they go. */
  async walkTo(place) {
    const deadline = Date.now() + WAIT_MS_MAX;
    for (;;) {
      const { own } = await this.playing();
      const [across, up] = [place.x - own.x, place.y - own.y];
      const keys = [];
      if (Math.abs(across) > THERE_UNITS) keys.push(across > 0 ? "KeyD" : "KeyA");
      if (Math.abs(up) > THERE_UNITS) keys.push(up > 0 ? "KeyW" : "KeyS");
      await this.hold(...keys);
      if (keys.length === 0) {
        const state = await this.atRest();
        if (distance(state.own, place) < REST_UNITS) return state;
      }
      if (Date.now() > deadline) throw new Error(`the player did not get to ${JSON.stringify(place)} from ${JSON.stringify(own)}`);
      await pause();
    }
  }

  /** Waits until the player stands still, for the page and for the server. */
  atRest() {
    let before;
    return this.until("the player stands still where the server has it", (state) => {
      const isStill = before !== undefined && distance(state.own, before) === 0 && distance(state.own, state.server) < 0.1;
      before = state.own;
      return isStill;
    });
  }

  /** Moves the pointer over a place of the world. */
  async point(place) {
    const at = await this.#pixelAt(place);
    await this.page.mouse.move(at.x, at.y);
  }

  /** Where on the page the middle of a cell is. */
  pixelOf(cell) {
    return this.#pixelAt(middleOf(cell));
  }

  async #pixelAt(place) {
    const { view } = await this.state();
    const { pixel, scale } = view;
    return { x: pixel.x + (place.x - view.place.x) * scale, y: pixel.y - (place.y - view.place.y) * scale };
  }

  /** Points at a cell with a tool, and waits until the page plans something there. */
  async aimTool(tool, cell) {
    await this.page.keyboard.press(TOOL_KEYS[tool]);
    const deadline = Date.now() + WAIT_MS_MAX;
    for (;;) {
      await this.point(middleOf(cell));
      const state = await this.state();
      if (state.plan?.column === cell.column && state.plan.row === cell.row) return state;
      if (Date.now() > deadline) throw new Error(`the pointer did not get to ${JSON.stringify(cell)}; the plan is ${JSON.stringify(state.plan)}`);
      await pause();
    }
  }

  /** Does what the tool in hand would do under the pointer, once the rules allow it. */
  async act() {
    await this.until("the rules allow it", ({ plan }) => plan !== undefined && plan.obstacle === undefined);
    await this.page.mouse.down();
    await this.page.mouse.up();
  }

  /** Builds, and waits until it stands. */
  async build(kind, cell) {
    await this.aimTool(kind, cell);
    await this.act();
    return this.until(`the ${kind} stands`, (state) => structureAt(state, cell)?.kind === kind);
  }

  /** How many frames the page draws from a key to the first one in which the own player has moved, and whether the server
   * had said so by then. */
  async framesUntilMoved(key) {
    await this.page.evaluate((code) => {
      const { own: before, server: serverBefore } = window.aether.state();
      const watch = (event, resolve) => {
        if (event.code !== code) return;
        const first = window.aether.state().frames;
        const look = () => {
          const { own, server, frames } = window.aether.state();
          if (own.x === before.x && own.y === before.y) return requestAnimationFrame(look);
          resolve({ frames: frames - first, hasServerMoved: server.x !== serverBefore.x || server.y !== serverBefore.y });
        };
        requestAnimationFrame(look);
      };
      window.moved = new Promise((resolve) => addEventListener("keydown", (event) => watch(event, resolve)));
    }, key);
    await this.hold(key);
    return this.page.evaluate(() => window.moved);
  }
}

/** How far two places are apart. */
export function distance(one, other) {
  return one === undefined || other === undefined ? Infinity : Math.hypot(one.x - other.x, one.y - other.y);
}

export function structureAt({ structures }, { column, row }) {
  return structures.find((structure) => structure.column === column && structure.row === row);
}

/** The cell under a place. */
export function cellAt({ x, y }) {
  const index = (coordinate) => Math.floor((coordinate + EDGE_UNITS) / CELL_UNITS);
  return { column: index(x), row: index(y) };
}

function middleOf({ column, row }) {
  const middle = (index) => (index + 0.5) * CELL_UNITS - EDGE_UNITS;
  return { x: middle(column), y: middle(row) };
}
