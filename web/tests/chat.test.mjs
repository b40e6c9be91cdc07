// Chat of the lobby in headless Chromium against a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SocialPlayer, befriend } from "./support/social_player.mjs";
import { LIMIT, assertNoComplaints, setStage } from "./support/stage.mjs";
import { OFFLINE, launch } from "./support/visitor.mjs";

const stage = setStage(SocialPlayer);

/** Opens two players in the lobby. */
async function two(second = {}) {
  const players = [await stage.open("lobby"), await stage.open("lobby", second)];
  await Promise.all(players.map((player) => player.arrived()));
  return players;
}

test("two browsers chat: messages, edits, removals, and the history after a reload", LIMIT, async () => {
  const elsewhere = await launch();
  try {
    const [ann, bob] = await two({ in: elsewhere });
    await ann.say("Hello from here");
    await bob.sees("Hello from here");
    await bob.say("Hello from there");
    await ann.sees("Hello from there");
    assert.equal(await bob.message("Hello from here").getByRole("button", { name: "Edit this message" }).count(), 0, "only the author changes a message");
    await ann.onMessage("Hello from here", "Edit this message");
    assert.equal(await ann.page.inputValue("#chat-text"), "Hello from here");
    await ann.page.fill("#chat-text", "Hello, edited");
    await ann.page.click("#chat-send");
    await bob.sees("Hello, edited");
    await bob.misses("Hello from here");
    await bob.message("Hello, edited").getByText("edited", { exact: true }).waitFor();
    await ann.say("Removed soon");
    await bob.sees("Removed soon");
    await ann.onMessage("Removed soon", "Remove this message");
    await Promise.all([ann.misses("Removed soon"), bob.misses("Removed soon")]);
    await bob.page.reload();
    const { chats } = await bob.sees("Hello, edited");
    assert.deepEqual(chats[0].messages.slice(-2), ["Hello, edited", "Hello from there"]);
    assertNoComplaints(ann, bob);
  } finally {
    await elsewhere.close();
  }
});

test("earlier messages are read on demand", LIMIT, async () => {
  const [ann, bob] = await two();
  for (let number = 1; number <= 60; number += 1) await ann.say(`Number ${number} of many`);
  await bob.page.reload();
  await bob.sees("Number 60 of many");
  assert.equal((await bob.state()).chats[0].messages.includes("Number 1 of many"), false);
  await bob.page.click("#chat-earlier");
  const { chats } = await bob.sees("Number 1 of many");
  const numbers = chats[0].messages.filter((text) => text.endsWith("of many"));
  assert.deepEqual(numbers, Array.from({ length: 60 }, (_, n) => `Number ${n + 1} of many`));
  assertNoComplaints(ann, bob);
});

test("friends chat with each other, and a reloaded page opens the chat again", LIMIT, async () => {
  const [ann, bob] = await two();
  const { one, other } = await befriend(ann, bob);
  await ann.page.getByRole("button", { name: `Chat with ${other}` }).click();
  await ann.until("the chat is open", ({ chat }) => chat === other);
  await bob.until("the other is invited", ({ chats }) => chats.some(({ title, unread }) => title === one && unread > 0));
  await ann.say("Just between us");
  await bob.page.getByRole("tab", { name: one }).click();
  await bob.sees("Just between us", one);
  await bob.say("Of course");
  await ann.sees("Of course", other);
  await ann.page.reload();
  await ann.page.getByRole("tab", { name: other }).click();
  await ann.sees("Of course", other);
  await ann.page.getByRole("button", { name: `Close the chat with ${other}` }).click();
  await ann.until("it is closed", ({ chats, chat }) => chats.length === 1 && chat === "Everyone");
  assertNoComplaints(ann, bob);
});

test("a player who was away finds the chat that a friend has opened", LIMIT, async () => {
  const [ann, bob] = await two();
  const { one, other } = await befriend(ann, bob);
  await bob.page.goto("about:blank");
  await ann.page.getByRole("button", { name: `Chat with ${other}` }).click();
  await ann.until("the chat is joined", ({ chats }) => chats.every(({ isJoined }) => isJoined));
  await ann.say("Read this later");
  await bob.page.goto(`${stage.server.url}/lobby`);
  await bob.sees("Read this later", one);
  await bob.page.getByRole("tab", { name: one }).locator(".count").waitFor();
  await bob.page.getByRole("tab", { name: one }).click();
  await bob.until("it is read", ({ chats }) => chats.every(({ unread }) => unread === 0));
  assertNoComplaints(ann, bob);
});

test("members of a group chat, and one who leaves does not", LIMIT, async () => {
  const [ann, bob] = await two();
  await ann.page.click("#group-new summary");
  await ann.page.fill("#group-name", "Night Owls");
  await ann.page.fill("#group-description", "We play late.");
  await ann.page.click("#group-create");
  await ann.until("the group is there", ({ groups }) => groups?.includes("Night Owls"));
  await bob.page.reload();
  await bob.page.getByRole("button", { name: "Join the group Night Owls" }).click();
  await bob.until("the group was joined", ({ groups }) => groups?.includes("Night Owls"));
  for (const player of [ann, bob]) await player.page.getByRole("button", { name: "Chat with Night Owls" }).click();
  await ann.page.locator("#chat-messages .event", { hasText: "joined the group" }).waitFor();
  await ann.say("Welcome, owl");
  await bob.sees("Welcome, owl", "Night Owls");
  await bob.fromMenu("Night Owls", "Leave the group Night Owls");
  await bob.until("the chat is closed", ({ chats, groups }) => chats.length === 1 && !groups.includes("Night Owls"));
  await ann.page.locator("#chat-messages .event", { hasText: "left the group" }).waitFor();
  assertNoComplaints(ann, bob);
});

test("a message of another player is reported", LIMIT, async () => {
  const [ann, bob] = await two();
  await ann.say("Buy my wares");
  await bob.sees("Buy my wares");
  await bob.onMessage("Buy my wares", /^Report this message/);
  const dialog = bob.page.getByRole("dialog", { name: "Report a message" });
  await dialog.getByText("Buy my wares").waitFor();
  await dialog.getByLabel("Reason").selectOption("spam");
  await dialog.getByRole("button", { name: "Send the report" }).click();
  await bob.notice("Your report was sent to the moderators.");
  assertNoComplaints(ann, bob);
});

test("messages that were sent while the server was away from one player arrive once", LIMIT, async () => {
  const [ann, bob] = await two();
  await bob.say("Before the loss");
  await ann.sees("Before the loss");
  await ann.page.context().setOffline(true);
  await ann.page.evaluate(() => window.dispatchEvent(new Event("offline")));
  await stage.server.kill();
  await stage.server.start();
  await bob.until("one player is back", ({ reconnects, phase }) => reconnects > 0 && phase === "playing");
  await bob.say("During the loss");
  await ann.page.context().setOffline(false);
  const { chats } = await ann.sees("During the loss");
  assert.deepEqual(chats[0].messages.slice(-2), ["Before the loss", "During the loss"]);
  assert.equal(await ann.page.locator("#chat-messages .message", { hasText: "During the loss" }).count(), 1);
  for (const player of [ann, bob]) assert.deepEqual(player.complaints.filter((complaint) => !OFFLINE.test(complaint)), []);
});

test("the chat is used with the keyboard, and a reader is told new messages alone", LIMIT, async () => {
  const [ann, bob] = await two();
  const { other } = await befriend(ann, bob);
  await ann.page.getByRole("button", { name: `Chat with ${other}` }).focus();
  await ann.page.keyboard.press("Enter");
  await ann.page.locator("#chat-text:focus").waitFor();
  await ann.until("the chat is joined", ({ chats }) => chats.every(({ isJoined }) => isJoined));
  await ann.page.keyboard.type("By keys");
  await ann.page.keyboard.press("Enter");
  await ann.message("By keys").waitFor();
  await ann.page.focus('[role="tab"][aria-selected="true"]');
  await ann.page.keyboard.press("ArrowLeft");
  await ann.until("the first chat is selected", ({ chat }) => chat === "Everyone");
  assert.equal(await ann.page.evaluate(() => document.activeElement?.getAttribute("aria-selected")), "true");
  const log = ann.page.getByRole("log", { name: "Messages" });
  await ann.page.waitForFunction(() => document.getElementById("chat-log")?.getAttribute("aria-live") === "polite");
  await ann.page.evaluate(() => {
    const added = [];
    new MutationObserver((changes) => added.push(...changes.flatMap(({ addedNodes }) => [...addedNodes].map(({ textContent }) => textContent)))).observe(document.getElementById("chat-messages"), { childList: true });
    Object.assign(window, { added });
  });
  await bob.say("Read this alone");
  await ann.sees("Read this alone");
  const added = await ann.page.evaluate(() => window.added);
  assert.equal(added.length, 1);
  assert.match(added[0], /Read this alone/);
  assert.equal(await log.count(), 1);
  assertNoComplaints(ann, bob);
});
