// Common to all calls: headers, field spellings, unknown routes, CORS.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, client, fresh, refused, send, serve, user, wire } from "./server.mjs";

const server = serve();

test("the healthcheck answers anyone", async () => {
  assert.deepEqual(await client(server).apiClient.healthcheck(""), {});
  const { session } = await user(server);
  assert.deepEqual(await client(server).apiClient.healthcheck(session.token), {});
});

test("pages of any origin are allowed", async () => {
  const headers = { origin: "https://game.example", "access-control-request-method": "PUT", "access-control-request-headers": "authorization,content-type" };
  for (const path of ["/v2/storage", "/v2/account/authenticate/device", "/healthcheck"]) {
    const response = await send(server, "OPTIONS", path, { headers });
    assert.equal(response.ok, true, path);
    assert.equal(response.headers.get("access-control-allow-origin"), "*", path);
    const methods = response.headers.get("access-control-allow-methods").split(/, */);
    for (const method of ["GET", "HEAD", "POST", "PUT", "DELETE"]) assert.ok(methods.includes(method), method);
    const names = response.headers.get("access-control-allow-headers").toLowerCase().split(/, */);
    for (const name of ["authorization", "content-type", "user-agent"]) assert.ok(names.includes(name), name);
  }
  const { session } = await user(server);
  const response = await send(server, "GET", "/v2/account", { token: session.token, headers: { origin: "https://game.example" } });
  assert.equal(response.headers.get("access-control-allow-origin"), "*");
  const refusedOne = await send(server, "GET", "/v2/account", { headers: { origin: "https://game.example" } });
  assert.equal(refusedOne.status, 401);
  assert.equal(refusedOne.headers.get("access-control-allow-origin"), "*", "the page must be able to read the error");
});

test("answers are not cached", async () => {
  const { session } = await user(server);
  assert.equal(wire.headers.get("cache-control"), "no-store, no-cache, must-revalidate");
  await send(server, "GET", "/v2/account", { token: session.token });
  assert.equal(wire.headers.get("cache-control"), "no-store, no-cache, must-revalidate");
});

const thrown = (response) => (response.ok ? response : Promise.reject(response));

test("an unknown route and a wrong method are distinguished", async () => {
  const { session } = await user(server);
  const { token } = session;
  await refused(send(server, "GET", "/v2/nothing", { token }).then(thrown), 5, "Not Found: /v2/nothing is no call of this API. GET /openapi.json lists its calls.");
  await refused(send(server, "POST", "/v2/account", { token }).then(thrown), 12, "Method Not Allowed: /v2/account has no POST. The Allow header lists its methods.");
  await refused(send(server, "DELETE", "/v2/storage", { token }).then(thrown), 12, "Method Not Allowed: /v2/storage has no DELETE. The Allow header lists its methods.");
});

test("a call without authorization says what is missing", async () => {
  const anyone = (method, path, with_ = {}) => send(server, method, path, with_).then(thrown);
  const device = { id: fresh("device") };
  await refused(anyone("GET", "/v2/account"), 16, "Auth token required");
  await refused(anyone("GET", "/v2/account", { token: "nonsense" }), 16, "Auth token invalid");
  await refused(anyone("GET", "/v2/account", { key: "defaultkey" }), 16, "Auth token required");
  await refused(anyone("POST", "/v2/account/authenticate/device", { body: device }), 16, "Server key required");
  await refused(anyone("POST", "/v2/account/authenticate/device", { body: device, key: "wrong" }), 16, "Server key invalid");
});

test("fields are read in both spellings, numbers also as strings, and unknown fields are ignored", async () => {
  const { session, id } = await user(server);
  const write = { objects: [{ collection: "c", key: "k", value: "{}", permissionRead: "2", permission_write: 0, unknown: { a: [1] } }], more: 1 };
  const written = await send(server, "PUT", "/v2/storage", { token: session.token, body: write });
  assert.equal(written.status, 200);
  const read = { objectIds: [{ collection: "c", key: "k", userId: id }] };
  await send(server, "POST", "/v2/storage", { token: session.token, body: read });
  const [object] = answered().objects;
  assert.equal(object.permission_read, 2);
  assert.equal(object.permission_write, undefined, "zero is omitted");
  await send(server, "GET", `/v2/storage/c?userId=${id}&limit=5&unknown=1&`, { token: session.token });
  assert.equal(answered().objects.length, 1);
});

test("null equals an absent field", async () => {
  const { session, name } = await user(server);
  const response = await send(server, "PUT", "/v2/account", { token: session.token, body: { username: null, location: "here" } });
  assert.equal(response.status, 200);
  await send(server, "GET", "/v2/account", { token: session.token });
  assert.deepEqual([answered().user.username, answered().user.location], [name, "here"]);
});

test("an invalid body is rejected in the usual format", async () => {
  const { session } = await user(server);
  const put = (body) => send(server, "PUT", "/v2/account", { token: session.token, body }).then(thrown);
  await refused(put("{"), 3);
  await refused(put("[]"), 3);
  await refused(put('{"username":1}'), 3);
  await refused(put('{"username":"a","username":"b"}'), 3);
  await refused(put(`{"location":${"[".repeat(20_000)}`), 3);
  await refused(put(JSON.stringify({ location: "x".repeat(400_000) })), 3, /at most 262144 bytes/);
});

test("a name in a path may be any string", async () => {
  const { session, id, client: own } = await user(server);
  const collection = "a b/ü?%&'\"";
  await own.writeStorageObjects(session, [{ collection, key: "k", value: {} }]);
  const page = await own.listStorageObjects(session, collection, id, 10);
  assert.deepEqual(page.objects.map((object) => object.collection), [collection]);
});

test("HEAD is answered as GET without a body", async () => {
  const { session } = await user(server);
  const response = await send(server, "HEAD", "/v2/account", { token: session.token });
  assert.equal(response.status, 200);
  assert.equal(wire.text, "");
});

test("the API description has every operation of the SDK", async () => {
  const response = await send(server, "GET", "/openapi.json");
  assert.equal(response.headers.get("content-type"), "application/json");
  const document = answered();
  assert.match(document.openapi, /^3\.1/);
  const ids = Object.values(document.paths).flatMap((path) => Object.values(path).map((operation) => operation.operationId));
  for (const id of ["Healthcheck", "AuthenticateDevice", "GetAccount", "WriteStorageObjects", "WriteLeaderboardRecord", "Event"]) {
    assert.ok(ids.includes(id), id);
  }
});
