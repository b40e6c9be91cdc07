// Groups: creation, roles, requests, bans, lists, searches, chat and notifications.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, fresh, justNow, refused, send, serve, user } from "./server.mjs";
import { FORMATS, connect } from "./sockets.mjs";

const server = serve();

/** Creates users. */
async function users(count) {
  const all = [];
  for (let n = 0; n < count; n += 1) all.push(await user(server));
  return all;
}

/** Returns the states of the listed users of a group, by id. */
async function states(viewer, group, state) {
  const list = await viewer.client.listGroupUsers(viewer.session, group, state);
  return Object.fromEntries((list.group_users ?? []).map((one) => [one.user.id, one.state]));
}

test("a group has every field in its format", async () => {
  const [owner] = await users(1);
  const name = fresh("Night Owls");
  const group = await owner.client.createGroup(owner.session, {
    name, description: "We play at night.", lang_tag: "en", avatar_url: "https://example.com/owl.png", open: true,
    max_count: 50,
  });
  assert.deepEqual([group.name, group.open, group.max_count, group.edge_count], [name, true, 50, 1]);
  const { id, create_time, update_time, ...rest } = answered();
  assert.match(id, /^[0-9a-f-]{36}$/);
  justNow(create_time);
  justNow(update_time);
  assert.deepEqual(rest, {
    name, creator_id: owner.id, description: "We play at night.", lang_tag: "en",
    avatar_url: "https://example.com/owl.png", open: true, max_count: 50, edge_count: 1, metadata: "{}",
  });
  const closed = await owner.client.createGroup(owner.session, { name: fresh("closed") });
  assert.deepEqual([closed.open ?? false, answered().open, closed.max_count], [false, false, 100]);
});

test("an update changes only what it names", async () => {
  const [owner, other] = await users(2);
  const group = await owner.client.createGroup(owner.session, { name: fresh("before"), description: "d", open: true });
  const name = fresh("after");
  await owner.client.updateGroup(owner.session, group.id, { name, open: false });
  const [found] = (await owner.client.listGroups(owner.session, name)).groups;
  assert.deepEqual([found.id, found.description, found.open ?? false], [group.id, "d", false]);
  await refused(other.client.updateGroup(other.session, group.id, { name: "x" }), 7, /Only admins and superadmins/);
});

test("users join and leave an open group", async () => {
  const [owner, guest] = await users(2);
  const group = await owner.client.createGroup(owner.session, { name: fresh("open"), open: true });
  await guest.client.joinGroup(guest.session, group.id);
  assert.deepEqual(await states(guest, group.id), { [owner.id]: 0, [guest.id]: 2 });
  await guest.client.leaveGroup(guest.session, group.id);
  assert.deepEqual(await states(guest, group.id), { [owner.id]: 0 });
  await refused(owner.client.leaveGroup(owner.session, group.id), 9, /^Cannot leave group when you are the last superadmin/);
});

test("join requests are accepted and refused", async () => {
  const [owner, one, two] = await users(3);
  const group = await owner.client.createGroup(owner.session, { name: fresh("closed"), open: false });
  await one.client.joinGroup(one.session, group.id);
  await two.client.joinGroup(two.session, group.id);
  assert.deepEqual(await states(owner, group.id, 3), { [one.id]: 3, [two.id]: 3 });
  assert.deepEqual(await states(one, group.id), { [owner.id]: 0 }, "others do not see requests");
  await owner.client.addGroupUsers(owner.session, group.id, [one.id]);
  await owner.client.kickGroupUsers(owner.session, group.id, [two.id]);
  assert.deepEqual(await states(owner, group.id), { [owner.id]: 0, [one.id]: 2 });
});

test("members are promoted, demoted, kicked and banned", async () => {
  const [owner, one, two] = await users(3);
  const group = await owner.client.createGroup(owner.session, { name: fresh("roles"), open: true });
  await owner.client.addGroupUsers(owner.session, group.id, [one.id, two.id]);
  await owner.client.promoteGroupUsers(owner.session, group.id, [one.id]);
  assert.deepEqual(await states(owner, group.id), { [owner.id]: 0, [one.id]: 1, [two.id]: 2 });
  await refused(one.client.kickGroupUsers(one.session, group.id, [owner.id]), 7, /below your own role/);
  await refused(two.client.banGroupUsers(two.session, group.id, [one.id]), 7, /Only admins/);
  await owner.client.demoteGroupUsers(owner.session, group.id, [one.id]);
  await owner.client.banGroupUsers(owner.session, group.id, [one.id]);
  await owner.client.kickGroupUsers(owner.session, group.id, [two.id]);
  assert.deepEqual(await states(owner, group.id), { [owner.id]: 0 });
  assert.deepEqual(await states(owner, group.id, 4), { [one.id]: 4 });
  await refused(one.client.joinGroup(one.session, group.id), 7, /You are banned/);
  await owner.client.kickGroupUsers(owner.session, group.id, [one.id]);
  await one.client.joinGroup(one.session, group.id);
  await refused(one.client.deleteGroup(one.session, group.id), 7, /Only superadmins/);
  await owner.client.deleteGroup(owner.session, group.id);
  await refused(one.client.joinGroup(one.session, group.id), 5, /Group not found/);
});

test("groups are found by name, page by page", async () => {
  const [owner] = await users(1);
  const word = fresh("Seek");
  for (const end of ["b", "a", "c"]) await owner.client.createGroup(owner.session, { name: `${word} ${end}` });
  const first = await owner.client.listGroups(owner.session, `${word.toLowerCase()}%`, undefined, 2);
  assert.deepEqual(first.groups.map((group) => group.name), [`${word} a`, `${word} b`]);
  const second = await owner.client.listGroups(owner.session, `${word}%`, first.cursor, 2);
  assert.deepEqual(second.groups.map((group) => group.name), [`${word} c`]);
  assert.equal(second.cursor ?? "", "");
  await refused(owner.client.listGroups(owner.session, "x", "no cursor"), 3, "Cursor is invalid or expired.");
});

test("groups are found by tags, language, size and openness", async () => {
  const [owner] = await users(1);
  const tag = fresh("t").slice(0, 30);
  const create = (name, body) => send(server, "POST", "/v2/group", { token: owner.session.token, body: { name, ...body } });
  const [one, two] = [fresh("one"), fresh("two")];
  await create(one, { tags: [tag, "pvp"], lang_tag: "de", open: true });
  assert.deepEqual(answered().tags, ["pvp", tag].sort());
  await create(two, { tags: [tag.toUpperCase()], lang_tag: "en" });
  const search = async (query) => {
    await send(server, "GET", `/v2/group?limit=10&${query}`, { token: owner.session.token });
    return (answered().groups ?? []).map((group) => group.name);
  };
  assert.deepEqual(await search(`tags=${tag}`), [two, one]);
  assert.deepEqual(await search(`tags=${tag}&tags=pvp`), [one]);
  assert.deepEqual(await search(`tags=${tag}&lang_tag=en`), [two]);
  assert.deepEqual(await search(`tags=${tag}&open=true`), [one]);
  assert.deepEqual(await search(`tags=${tag}&members=0`), []);
  await send(server, "GET", `/v2/group?limit=10&name=${one}`, { token: owner.session.token });
  const { id } = answered().groups[0];
  const update = (body) => send(server, "PUT", `/v2/group/${id}`, { token: owner.session.token, body });
  await update({ tags: ["pve", tag] });
  assert.deepEqual(await search(`tags=${tag}&tags=pve`), [one]);
  await update({ clear_tags: true });
  assert.deepEqual(await search(`tags=${tag}`), [two]);
});

test("groups of a user are listed, also as the SDK sends limit and state", async () => {
  const [owner, guest] = await users(2);
  const names = [fresh("a"), fresh("b"), fresh("c")];
  for (const name of names) {
    const group = await owner.client.createGroup(owner.session, { name, open: true });
    await guest.client.joinGroup(guest.session, group.id);
  }
  const closed = await owner.client.createGroup(owner.session, { name: fresh("d") });
  await guest.client.joinGroup(guest.session, closed.id);
  const listed = async (viewer, of, ...rest) => {
    const list = await viewer.client.listUserGroups(viewer.session, of.id, ...rest);
    return (list.user_groups ?? []).map((one) => [one.group.name, one.state]);
  };
  assert.deepEqual(await listed(owner, guest), names.map((name) => [name, 2]), "others do not see requests");
  assert.equal((await listed(guest, guest)).length, 4);
  // The SDK sends the state as the limit, and the limit as the state.
  assert.deepEqual(await listed(owner, guest, 2, 10), names.map((name) => [name, 2]));
  assert.deepEqual((await listed(guest, guest, 3, 100)).map(([, state]) => state), [3]);
  assert.deepEqual(await listed(guest, guest, 0, 10), []);
  const [first, last] = [await owner.client.listUserGroups(owner.session, guest.id, undefined, 100), closed];
  assert.equal(first.user_groups.length, 3, last.id);
  await refused(owner.client.listUserGroups(owner.session, guest.id, 200, 300), 3);
});

test("invalid requests are refused", async () => {
  const [owner] = await users(1);
  await refused(owner.client.createGroup(owner.session, { name: "" }), 3, "Group name is required.");
  await refused(owner.client.createGroup(owner.session, { name: fresh("big"), max_count: 10_001 }), 3, /from 1 to 10000/);
  const group = await owner.client.createGroup(owner.session, { name: fresh("taken") });
  await refused(owner.client.createGroup(owner.session, { name: group.name.toUpperCase() }), 6, /Group name is in use/);
  await refused(owner.client.joinGroup(owner.session, "g1"), 3, "Group ID must be a UUID.");
  await refused(owner.client.addGroupUsers(owner.session, group.id, ["u1"]), 3, "A user's ID must be a UUID.");
  await refused(owner.client.addGroupUsers(owner.session, group.id, []), 3, "At least one user ID is required.");
  await refused(owner.client.kickGroupUsers(owner.session, group.id, [owner.id]), 3, /Leave the group instead/);
  await refused(owner.client.listGroupUsers(owner.session, group.id, 7), 3, "State must be from 0 to 4.");
});

for (const [format, adapter] of FORMATS) {
  test(`members and admins hear of changes over a ${format} socket`, async () => {
    const [owner, guest] = await users(2);
    const group = await owner.client.createGroup(owner.session, { name: fresh("chat"), open: false });
    const [admin, asking] = [await connect(owner, adapter), await connect(guest, adapter)];
    const channel = await admin.socket.joinChat(group.id, 3, true, false);
    await guest.client.joinGroup(guest.session, group.id);
    const request = await admin.notifications.next();
    assert.deepEqual([request.code, request.sender_id], [-5, guest.id]);
    await owner.client.addGroupUsers(owner.session, group.id, [guest.id]);
    const added = await asking.notifications.next();
    assert.deepEqual([added.code, added.sender_id], [-4, owner.id]);
    const message = await admin.channelMessages.next();
    assert.deepEqual([message.code, message.username, message.channel_id], [4, guest.name, channel.id]);
    await asking.socket.joinChat(group.id, 3, true, false);
    assert.equal((await admin.channelPresences.next()).joins[0].user_id, owner.id);
    assert.equal((await admin.channelPresences.next()).joins[0].user_id, guest.id);
    await owner.client.kickGroupUsers(owner.session, group.id, [guest.id]);
    assert.equal((await admin.channelMessages.next()).code, 6);
    assert.equal((await admin.channelPresences.next()).leaves[0].user_id, guest.id);
    await assert.rejects(asking.socket.joinChat(group.id, 3, true, false));
    for (const { socket } of [admin, asking]) socket.disconnect(false);
  });
}
