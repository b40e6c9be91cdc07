// Player of Outpost: walks, builds and shoots by keys and pointer.
import { Visitor, WAIT_MS_MAX, pause } from "./visitor.mjs";

/**
 * Distance at which keys are released, and at which a position counts as reached: a running player does not stop at
 * once.
 */
const THERE_UNITS = 1;
const REST_UNITS = 3;

/** Keys of the tools, in the order of the page. */
const TOOL_KEYS = { Blaster: "Digit1", Wall: "Digit2", Fence: "Digit3", Door: "Digit4", Turret: "Digit5", Remove: "Digit6" };

const CELL_UNITS = 4;
const EDGE_UNITS = 256;

export class OutpostPlayer extends Visitor {
  playing() {
    return this.until("the player is in the world", (state) => state.phase === "playing" && state.own !== undefined);
  }

  /** Walks to a position by keys. */
  async walkTo(position) {
    const deadline = Date.now() + WAIT_MS_MAX;
    for (;;) {
      const { own } = await this.playing();
      const [across, up] = [position.x - own.x, position.y - own.y];
      const keys = [];
      if (Math.abs(across) > THERE_UNITS) keys.push(across > 0 ? "KeyD" : "KeyA");
      if (Math.abs(up) > THERE_UNITS) keys.push(up > 0 ? "KeyW" : "KeyS");
      await this.hold(...keys);
      if (keys.length === 0) {
        const state = await this.atRest();
        if (distance(state.own, position) < REST_UNITS) return state;
      }
      if (Date.now() > deadline) throw new Error(`the player did not get to ${JSON.stringify(position)} from ${JSON.stringify(own)}`);
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

  /** Moves the pointer over a position of the world. */
  async point(position) {
    const at = await this.#pixelAt(position);
    await this.page.mouse.move(at.x, at.y);
  }

  /** Returns the pixel of a cell's center. */
  pixelOf(cell) {
    return this.#pixelAt(middleOf(cell));
  }

  async #pixelAt(position) {
    const { view } = await this.state();
    const { pixel, scale } = view;
    return { x: pixel.x + (position.x - view.position.x) * scale, y: pixel.y - (position.y - view.position.y) * scale };
  }

  /** Points at a cell with a tool, and waits for the page's preview there. */
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

  /** Uses the selected tool at the pointer, once the rules allow it. */
  async act() {
    await this.until("the rules allow it", ({ plan }) => plan !== undefined && plan.obstacle === undefined);
    await this.page.mouse.down();
    await this.page.mouse.up();
  }

  /** Builds, and waits until the structure exists. */
  async build(kind, cell) {
    await this.aimTool(kind, cell);
    await this.act();
    return this.until(`the ${kind} stands`, (state) => structureAt(state, cell)?.kind === kind);
  }

  /**
   * Returns the number of frames from a key press to the first movement of the own player, and whether the server's
   * state had moved by then.
   */
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

/** Returns the distance of two positions. */
export function distance(one, other) {
  return one === undefined || other === undefined ? Infinity : Math.hypot(one.x - other.x, one.y - other.y);
}

export function structureAt({ structures }, { column, row }) {
  return structures.find((structure) => structure.column === column && structure.row === row);
}

/** Returns the cell at a position. */
export function cellAt({ x, y }) {
  const index = (coordinate) => Math.floor((coordinate + EDGE_UNITS) / CELL_UNITS);
  return { column: index(x), row: index(y) };
}

function middleOf({ column, row }) {
  const middle = (index) => (index + 0.5) * CELL_UNITS - EDGE_UNITS;
  return { x: middle(column), y: middle(row) };
}
