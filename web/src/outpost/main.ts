// Page of Outpost: loads the rules, joins, and plays.

import { button, element, write } from "../shared/elements.ts";
import { expose } from "../shared/exposed.ts";
import { joinGame } from "../shared/join.ts";
import { Notices } from "../shared/notices.ts";
import { RoomConnection } from "../shared/connection.ts";
import { Status } from "../shared/status.ts";
import type { Controls as Input } from "./channels.ts";
import { CharacterDialog } from "./character_dialog.ts";
import { Controls } from "./controls.ts";
import { Game } from "./game.ts";
import { Hud } from "./hud.ts";
import { NetworkPanel } from "./network.ts";
import { Roster } from "./roster.ts";
import { type Rulebook, Walking, loadRules } from "./rules.ts";
import { stateOf } from "./state.ts";
import { TOOLS, Tools } from "./tools.ts";

const notices = new Notices(element("notices", HTMLElement));
const network = new NetworkPanel();
const worldCanvas = element("world", HTMLCanvasElement);
const status = new Status(() => connection.retryNow());
let walking: Walking | undefined;
let game: Game | undefined;
const roster = new Roster();
const characters = new CharacterDialog(roster, play);

const connection = new RoomConnection<Input>(join, {
  phase: (phase) => status.show(phase),
  room: (room) => {
    if (walking !== undefined) game?.enter(room, walking);
    write(element("room-code", HTMLElement), room.welcome?.roomCode ?? "");
    room.on("joined", ({ isResumed }) => notices.show(isResumed ? "Reconnected as the same player." : "Reconnected as a new player.", "good"));
  },
});

worldCanvas.focus({ preventScroll: true });
// After a mouse click, keys control the player again; keyboard users keep the focus.
document.addEventListener("click", (event) => {
  const clicked = event.target instanceof HTMLElement && event.target.closest("button, input") !== null;
  if (clicked && event.detail > 0) worldCanvas.focus({ preventScroll: true });
});
button("copy-link").addEventListener("click", () => void copyLink());
expose(() => stateOf(connection, game));
loadRules().then(start, (error: unknown) => {
  status.show({ name: "ended", text: "The game's rules could not be loaded. Reload the page, or allow WebAssembly." });
  throw error;
});

function start(book: Rulebook): void {
  const tools = new Tools(element("tools", HTMLElement), book.prices, (tool) => void (document.body.dataset["tool"] = tool));
  const sticks = [element("walk-stick", HTMLElement), element("aim-stick", HTMLElement)] as const;
  const controls = new Controls(worldCanvas, ...sticks, (code) => keyed(code, tools));
  const hud = new Hud(book.measures, (appearance) => characters.seen(appearance));
  game = new Game({ book, controls, tools, hud, network, notices });
  connection.connect();
}

/** Joins as the active character. Rules cache state of one room, so each room gets its own. */
async function join(): ReturnType<typeof joinGame<Input>> {
  walking = new Walking();
  await roster.load();
  const { active } = roster;
  return joinGame<Input>("outpost", { rules: walking, metadata: active === undefined ? {} : { profile: active.id } });
}

/** Handles keys that act once per press. */
function keyed(code: string, tools: Tools): boolean {
  const tool = TOOLS[Number(/^(?:Digit|Numpad)(\d)$/.exec(code)?.[1]) - 1];
  if (tool !== undefined) tools.take(tool);
  else if (code === "Escape" && network.isOpen) network.toggle();
  else if (code === "Escape") tools.take("Blaster");
  else if (code === "KeyX") tools.take("Remove");
  else if (code === "KeyN") network.toggle();
  else if (code === "KeyC") button("choose-character").click();
  else return false;
  return true;
}

/** Plays a character, or shows its changes. */
function play(profile: string): void {
  connection.room?.command("presence", "play", { profile }).catch((error: Error) => notices.show(error.message, "bad"));
}

async function copyLink(): Promise<void> {
  const link = new URL(location.href);
  link.search = new URLSearchParams({ room: connection.room?.welcome?.roomCode ?? "" }).toString();
  try {
    await navigator.clipboard.writeText(link.href);
    notices.show("Room link copied.", "good");
  } catch {
    notices.show(link.href, "plain");
  }
}
