// Friends of the lobby in headless Chromium against a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SocialPlayer, befriend } from "./support/social_player.mjs";
import { LIMIT, assertNoComplaints, setStage } from "./support/stage.mjs";

const stage = setStage(SocialPlayer);

async function two() {
  const players = [await stage.open("lobby"), await stage.open("lobby")];
  await Promise.all(players.map((player) => player.arrived()));
  return players;
}

test("players become friends, see who is online, and part", LIMIT, async () => {
  const [ann, bob] = await two();
  const { one, other } = await befriend(ann, bob);
  await ann.until("the friend is online", ({ friends }) => friends[0].status === "In the lobby");
  await ann.page.locator("#friend-list .dot.on").waitFor();
  await bob.close();
  await ann.until("the friend is offline", ({ friends }) => friends[0].status === undefined);
  const back = await stage.open("lobby");
  await back.arrived();
  await ann.fromMenu(other, `Remove ${other} from your friends`);
  await ann.until("the friend is gone", ({ friends }) => friends.length === 0);
  await ann.page.locator("#friend-empty").waitFor();
  assert.notEqual(one, other);
  assertNoComplaints(ann, back);
});

test("a request is declined, or taken back", LIMIT, async () => {
  const [ann, bob] = await two();
  const [{ me: one }, { me: other }] = [await ann.state(), await bob.state()];
  await ann.addFriend(other);
  await bob.hasFriend(one, "invite_received");
  await bob.fromMenu(one, `Decline the friend request of ${one}`);
  await Promise.all([ann, bob].map((player) => player.until("nothing is left", ({ friends }) => friends.length === 0)));
  await ann.addFriend(other);
  await bob.hasFriend(one, "invite_received");
  await ann.page.getByRole("button", { name: `Take back the friend request to ${other}` }).click();
  await ann.until("it was taken back", ({ friends }) => friends.length === 0);
});

test("a blocked player cannot chat with the player, until unblocked", LIMIT, async () => {
  const [ann, bob] = await two();
  const { one, other } = await befriend(ann, bob);
  await ann.fromMenu(other, `Block ${other}`);
  await ann.hasFriend(other, "blocked");
  await bob.until("the friend is gone", ({ friends }) => !friends.some(({ state }) => state === "friend"));
  await bob.addFriend(one);
  await ann.until("nothing changed", ({ friends }) => friends.length === 1 && friends[0].state === "blocked");
  await ann.page.getByText("1 blocked player").click();
  await ann.page.getByRole("button", { name: `Unblock ${other}` }).click();
  await ann.until("the player is unblocked", ({ friends }) => friends.length === 0);
});

test("an unknown name says so, and the name stays in the field", LIMIT, async () => {
  const ann = await stage.open("lobby");
  await ann.arrived();
  await ann.page.click("#friend-add");
  await ann.page.locator("#friend-error", { hasText: "Enter the name" }).waitFor();
  await ann.addFriend("nobody-of-this-name");
  await ann.page.locator("#friend-error", { hasText: /./ }).waitFor();
  assert.equal(await ann.page.inputValue("#friend-name"), "nobody-of-this-name");
});
