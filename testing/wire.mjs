// TCP proxy between a client and a server, so that a test can cut their connections.
import { once } from "node:events";
import { connect, createServer } from "node:net";

export class Wire {
  #listener;
  #sockets = new Set();

  /** Listens on a free port and forwards to this address. */
  static async to(address) {
    const wire = new Wire();
    const port = Number(address.split(":").at(-1));
    wire.#listener = createServer((near) => {
      const far = connect(port, "127.0.0.1");
      for (const socket of [near, far]) {
        wire.#sockets.add(socket);
        socket.on("error", () => undefined);
        socket.on("close", () => {
          wire.#sockets.delete(socket);
          near.destroy();
          far.destroy();
        });
      }
      near.pipe(far).pipe(near);
    });
    wire.#listener.listen(0, "127.0.0.1");
    await once(wire.#listener, "listening");
    return wire;
  }

  get url() {
    return `http://127.0.0.1:${this.#listener.address().port}`;
  }

  cut() {
    for (const socket of this.#sockets) socket.destroy();
  }

  close() {
    this.cut();
    this.#listener.close();
  }
}
