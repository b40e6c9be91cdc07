// Events and purchases.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, refused, serve, user } from "./server.mjs";

const server = serve();

test("an event is accepted", async () => {
  const { client: own, session } = await user(server);
  const event = { name: "level_up", properties: { level: "3" }, timestamp: "2020-01-01T00:00:00Z", external: true };
  assert.equal(await own.emitEvent(session, event), true);
  assert.deepEqual(answered(), {});
  assert.equal(await own.emitEvent(session, { name: "plain" }), true);
  await refused(own.emitEvent(session, { name: "" }), 3);
  await refused(own.emitEvent(session, { name: "level_up", timestamp: "yesterday" }), 3);
  await refused(own.emitEvent({ token: "" }, event), 16, "Auth token required");
});

test("shops that are not configured are rejected", async () => {
  const { client: own, session } = await user(server);
  const notConfigured = /not configured/;
  await refused(own.validatePurchaseApple(session, "receipt", true), 9, notConfigured);
  await refused(own.validatePurchaseGoogle(session, "{}", true), 9, notConfigured);
  await refused(own.validatePurchaseHuawei(session, "{}", "sign", true), 9, notConfigured);
  await refused(own.validatePurchaseFacebookInstant(session, "a.b", true), 9, notConfigured);
  await refused(own.validateSubscriptionApple(session, "receipt", true), 9, notConfigured);
  await refused(own.validateSubscriptionGoogle(session, "{}", true), 9, notConfigured);
});

test("a user without subscriptions gets an empty list", async () => {
  const { client: own, session } = await user(server);
  assert.deepEqual(await own.listSubscriptions(session, undefined, 10), {});
  await refused(own.listSubscriptions(session, undefined, 1001), 3, /limit/i);
  await refused(own.listSubscriptions(session, "no cursor", 10), 3, /cursor/i);
  await refused(own.getSubscription(session, "a.product"), 5);
});
