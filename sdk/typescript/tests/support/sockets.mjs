// Sockets of new users on a real server.
import { afterEach } from "node:test";
import { Wire } from "../../../../testing/wire.mjs";
import { Client, memoryStore } from "../../dist/index.js";

/** Returns functions that open sockets on a server. They are closed after each test. */
export function useSockets(server) {
  let sockets = [];
  let wires = [];

  /** Opens a socket of a new user, which collects its events. */
  async function opened(options, url = server.url) {
    const client = new Client({ url, store: memoryStore() });
    const socket = await client.openSocket(options);
    sockets.push(socket);
    const seen = [];
    void (async () => {
      for await (const event of socket) seen.push(event);
    })();
    return { client, socket, userId: client.session.identity.userId, of: (kind) => seen.filter((event) => event.kind === kind) };
  }

  /** The same over a wire that the test cuts. */
  async function wired(options) {
    const wire = await Wire.to(server.address);
    wires.push(wire);
    return { wire, ...(await opened(options, wire.url)) };
  }

  afterEach(() => {
    for (const socket of sockets) socket.close();
    for (const wire of wires) wire.close();
    [sockets, wires] = [[], []];
  });
  return { opened, wired };
}

/** Cuts the connection of a wired socket; resolves with the event of its restoration. */
export async function cut({ wire, socket }) {
  const back = socket.next("connected");
  wire.cut();
  return back;
}

/** Returns the ids of members, and of people, for comparison. */
export const usersOf = ({ members }) => members.map(({ userId }) => userId).sort();
export const idsOf = (...people) => people.map(({ userId }) => userId).sort();
