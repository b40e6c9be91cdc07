// Server, browser and visitors of a page's tests.
import { mkdir } from "node:fs/promises";
import assert from "node:assert/strict";
import { after, afterEach, before } from "node:test";
import { fileURLToPath } from "node:url";
import { startServer } from "../../../testing/server.mjs";
import { Visitor, launch } from "./visitor.mjs";

export const SCREENSHOTS = fileURLToPath(new URL("../../screenshots/", import.meta.url));

/** Time limit of a test. */
export const LIMIT = { timeout: 400_000 };

export const WIDE = { viewport: { width: 1600, height: 1000 } };
export const NARROW = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true };

/**
 * Prepares server and browser for all tests of a file; with `hasFreshRooms`, each test gets a server without rooms.
 * `settings` are those of the server.
 */
export function setStage(kind = Visitor, { hasFreshRooms = false, settings = [] } = {}) {
  const stage = { server: undefined, browser: undefined, open };
  let visitors = [];

  async function open(path, { url = stage.server.url, in: where = stage.browser, as = kind, ...options } = {}) {
    const visitor = await as.open(where, `${url}/${path}`, options);
    visitors.push(visitor);
    return visitor;
  }

  before(async () => {
    await mkdir(SCREENSHOTS, { recursive: true });
    stage.server = await startServer(settings);
    stage.browser = await launch();
  });
  after(async () => {
    await stage.browser?.close();
    await stage.server?.remove();
  });
  afterEach(async () => {
    await Promise.all(visitors.map((visitor) => visitor.close().catch(() => undefined)));
    visitors = [];
    if (!hasFreshRooms) return;
    await stage.server.kill();
    await stage.server.start();
  });
  return stage;
}

/** Asserts that the browser logged no errors, warnings or policy violations. */
export function assertNoComplaints(...visitors) {
  for (const visitor of visitors) assert.deepEqual(visitor.complaints, []);
}
