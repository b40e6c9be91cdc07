// Player of Quilt: steers, sews, and edits the game.
import { Visitor, pause } from "./visitor.mjs";

/** Time limit of a game: bots may interfere. */
const GAME_MS_MAX = 180_000;

/** Corners of a loop that begins and ends at home, in cells. */
const LOOP = [[7, 0], [7, 6], [0, 6], [0, 0]];

export class QuiltPlayer extends Visitor {
  playing() {
    return this.until("the player has a needle", (state) => state.phase === "playing" && state.own !== undefined);
  }

  /** Points the mouse from the needle, which is near the middle of the world, to a position of the cloth. */
  async steerTo(state, x, y) {
    const box = await this.page.locator("#world").boundingBox();
    const angle = Math.atan2(y - state.own.y, x - state.own.x);
    const reach = 0.42 * Math.min(box.width, box.height);
    await this.page.mouse.move(box.x + box.width / 2 + Math.cos(angle) * reach, box.y + box.height / 2 + Math.sin(angle) * reach);
  }

  /** Sews loops beside the home until a condition holds; begins anew with a new needle. */
  async sewUntil(what, wanted) {
    const deadline = Date.now() + GAME_MS_MAX;
    let home;
    let corner = 0;
    let needle;
    for (;;) {
      const state = await this.state();
      if (wanted(state)) return state;
      if (Date.now() > deadline) throw new Error(`timed out waiting for: ${what}; the page's state is ${JSON.stringify(state)}`);
      if (state.own !== undefined) {
        if (state.own.id !== needle) {
          needle = state.own.id;
          home = { x: state.own.x, y: state.own.y };
          corner = 0;
        }
        // Loops lead to the middle of the cloth, away from its edge.
        const [side, up] = [home.x > 48 ? -1 : 1, home.y > 32 ? -1 : 1];
        const [x, y] = [home.x + LOOP[corner][0] * side, home.y + LOOP[corner][1] * up];
        if (Math.hypot(x - state.own.x, y - state.own.y) < 1.2) corner = (corner + 1) % LOOP.length;
        await this.steerTo(state, x, y);
      }
      await pause();
    }
  }

  get text() {
    return this.page.locator("#editor-text");
  }

  async openEditor() {
    await this.page.click("#edit");
    await this.page.waitForFunction(() => document.querySelector("#editor-text").value.length > 0);
  }

  /** Replaces a part of the source and saves it. */
  async edit(from, to) {
    // Selects the part, as a developer does, and types over it.
    const isFound = await this.text.evaluate((area, part) => {
      const at = area.value.indexOf(part);
      area.focus();
      if (at >= 0) area.setSelectionRange(at, at + part.length);
      return at >= 0;
    }, from);
    if (!isFound) throw new Error(`the source has no ${from}`);
    await this.page.keyboard.insertText(to);
    await this.text.press("Control+s");
  }

  note(text) {
    return this.page.locator("#editor-note", { hasText: text }).waitFor();
  }
}
