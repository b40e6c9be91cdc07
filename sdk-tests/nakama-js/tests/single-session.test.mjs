// A server on which a new session ends the others of its user.

import assert from "node:assert/strict";
import { test } from "node:test";
import { client, fresh, serve } from "./server.mjs";
import { FORMATS, connect, leave } from "./sockets.mjs";

const server = serve("tokens.single_session=true");

for (const [format, adapter] of FORMATS) {
  test(`${format}: a session that ends because of another is told before its socket closes`, async () => {
    const own = client(server);
    const device = fresh("device");
    const ann = { client: own, session: await own.authenticateDevice(device, true) };
    const former = await connect(ann, adapter);
    const session = await own.authenticateDevice(device, false);
    assert.equal((await former.notifications.next()).code, -7);
    await former.ends.next();
    leave(await connect({ client: own, session }, adapter));
  });
}
