// Landing page: the visitor's name, the server's state, and links to the games.

import { developerSecret } from "../shared/developer.ts";
import { element } from "../shared/elements.ts";
import { Canvas } from "../shared/canvas.ts";
import { expose } from "../shared/exposed.ts";
import { visitor } from "../shared/visitor.ts";
import { Live } from "./live.ts";
import { NameForm } from "./name.ts";
import { Orbit } from "./orbit.ts";

// Kept for the games; the URL that the server prints leads here.
developerSecret();

const live = new Live();
const name = new NameForm();
new Orbit(new Canvas(element("orbit", HTMLCanvasElement)), () => live.players);

expose(() => ({ identity: visitor().session.identity, name: name.known, rooms: live.rooms, players: live.players }));
