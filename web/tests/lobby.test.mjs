// The lobby in headless Chromium against a real server: parties, matchmaking, and Arena.
import assert from "node:assert/strict";
import { test } from "node:test";
import { LobbyPlayer } from "./support/lobby_player.mjs";
import { LIMIT, NARROW, SCREENSHOTS, WIDE, assertNoComplaints, setStage } from "./support/stage.mjs";
import { OFFLINE, launch } from "./support/visitor.mjs";

const stage = setStage(LobbyPlayer, { hasFreshRooms: true });

/** Path of a link of this server. */
const pathOf = (link) => link.replace(`${stage.server.url}/`, "");

/** Opens a party of two: the first leads, the second has joined by the link. */
async function partyOfTwo(options = {}, second = options) {
  const leader = await stage.open("lobby", options);
  const { id } = await leader.createParty();
  const link = await leader.link();
  const member = await stage.open(pathOf(link), second);
  const [party] = await Promise.all([leader.inParty(2), member.inParty(2)]);
  assert.equal(party.id, id);
  return { leader, member, link };
}

test("two browsers form a party, find a match, and play Arena in the same room", LIMIT, async () => {
  const elsewhere = await launch();
  try {
    const { leader, member } = await partyOfTwo({}, { in: elsewhere });
    assert.equal((await member.state()).party.leader, (await leader.state()).me);
    assert.equal(await member.page.isVisible("#find"), false, "only the leader starts the search");
    await leader.find(2);
    const [one, other] = await Promise.all([leader.inArena(), member.inArena()]);
    assert.equal(one.room, other.room);
    await leader.page.getByRole("link", { name: "Back to the lobby" }).waitFor();
    const rooms = await (await fetch(`${stage.server.url}/api/rooms`)).json();
    assert.deepEqual(rooms.rooms.filter(({ code }) => code === one.room), [], "the room is private");
    await Promise.all([leader.play(), member.play()]);
    const [first, second] = await Promise.all([leader.state(), member.state()]);
    assert.deepEqual([first.room, second.room], [one.room, one.room]);
    assert.notEqual(first.player, second.player, "they are two players of the room");
    assertNoComplaints(leader, member);
  } finally {
    await elsewhere.close();
  }
});

test("two players who search alone meet", LIMIT, async () => {
  const [first, second] = [await stage.open("lobby"), await stage.open("lobby")];
  await Promise.all([first.ready(), second.ready()]);
  await first.find(2);
  await first.page.locator("#search").waitFor();
  await first.page.locator("#waited", { hasText: /^0:0[1-9]$/ }).waitFor();
  await first.page.click("#cancel");
  await first.until("the search is cancelled", (state) => !state.isSearching);
  await Promise.all([first.find(2), second.find(2)]);
  const [one, other] = await Promise.all([first.inArena(), second.inArena()]);
  assert.equal(one.room, other.room);
  assertNoComplaints(first, second);
});

test("open parties are listed, joined, and left; the leader removes members and cancels searches", LIMIT, async () => {
  const leader = await stage.open("lobby");
  await leader.createParty();
  const { me } = await leader.state();
  const member = await stage.open("lobby");
  await member.ready();
  await member.page.getByRole("button", { name: `Join the party of ${me}` }).click();
  await Promise.all([leader.inParty(2), member.inParty(2)]);
  await leader.find(8);
  await member.until("the member sees the search", (state) => state.isSearching);
  await member.page.locator("#search-text", { hasText: "For up to 8 players" }).waitFor();
  await leader.page.click("#cancel");
  await member.until("the member sees that it is cancelled", (state) => !state.isSearching);
  const { me: other } = await member.state();
  await leader.page.getByRole("button", { name: `Remove ${other}` }).click();
  await leader.inParty(1);
  await member.until("the member is out", (state) => state.party === undefined);
  await member.notice("You are no longer in the party");
  assert.ok(!member.page.url().includes("party="));
  await leader.page.click("#leave");
  await leader.until("the leader has left", (state) => state.party === undefined);
  await member.until("the list is empty", (state) => state.parties?.length === 0);
  assertNoComplaints(leader, member);
});

test("a search ends when the party changes, and another member leads when the leader leaves", LIMIT, async () => {
  const { leader, member, link } = await partyOfTwo();
  await leader.find(8);
  await member.until("the member sees the search", (state) => state.isSearching);
  const third = await stage.open(pathOf(link));
  await Promise.all([leader, member, third].map((player) => player.inParty(3)));
  await leader.notice("The search ended because the party changed.");
  await leader.page.close();
  const { me } = await member.state();
  await third.until("the member leads", (state) => state.party?.leader === me && state.party.members.length === 2);
  await member.page.locator("#find:enabled").waitFor();
  assertNoComplaints(member, third);
});

test("a link to a party that has ended says so", LIMIT, async () => {
  const leader = await stage.open("lobby");
  await leader.createParty();
  const link = await leader.link();
  await leader.page.click("#leave");
  await leader.until("the party has ended", (state) => state.party === undefined);
  const late = await stage.open(pathOf(link));
  await late.ready();
  await late.page.locator("#notices .bad").waitFor();
  await late.until("the link is gone", () => !late.page.url().includes("party="));
  assert.equal((await late.state()).party, undefined);
});

test("the page reconnects after a crash of the server, and says that the party has ended", LIMIT, async () => {
  const { leader, member } = await partyOfTwo();
  await stage.server.kill();
  await leader.page.locator("#trouble-title", { hasText: "Connection lost" }).waitFor();
  assert.equal(await leader.page.isDisabled("#find"), true);
  await leader.page.screenshot({ path: `${SCREENSHOTS}lobby-lost.png` });
  await stage.server.start();
  await Promise.all([leader, member].map((player) => player.until("it has reconnected", (state) => state.reconnects > 0 && state.phase === "playing" && state.party === undefined)));
  await leader.createParty();
  for (const player of [leader, member]) assert.deepEqual(player.complaints.filter((complaint) => !OFFLINE.test(complaint)), []);
});

test("the page is used with the keyboard", LIMIT, async () => {
  const player = await stage.open("lobby");
  await player.ready();
  await player.page.focus("#find");
  await player.page.keyboard.press("Tab");
  await player.page.keyboard.press("Enter");
  await player.inParty(1);
  await player.page.focus('input[name="size"][value="4"]');
  await player.page.keyboard.press("ArrowRight");
  assert.equal(await player.page.isChecked('input[name="size"][value="8"]'), true);
  await player.page.keyboard.press("Tab");
  assert.equal(await player.page.evaluate(() => document.activeElement?.id), "find");
  await player.page.keyboard.press("Enter");
  await player.until("it searches", (state) => state.isSearching);
  await player.page.locator("#cancel:focus").waitFor();
  await player.page.keyboard.press("Enter");
  await player.until("it is cancelled", (state) => !state.isSearching);
  assertNoComplaints(player);
});

test("the page fits a wide and a narrow screen, in dark and light", LIMIT, async () => {
  for (const [name, options] of [["wide", WIDE], ["narrow", NARROW]]) {
    for (const colorScheme of ["dark", "light"]) {
      const shot = (player, what) => player.page.screenshot({ path: `${SCREENSHOTS}lobby-${what}-${name}-${colorScheme}.png`, fullPage: true, animations: "disabled" });
      const alone = await stage.open("lobby", { ...options, colorScheme });
      await alone.ready();
      await alone.until("the list is known", (state) => state.parties !== undefined);
      await shot(alone, "alone");
      const { leader, member } = await partyOfTwo({ ...options, colorScheme });
      await alone.until("the party is listed", (state) => state.parties?.some(({ members }) => members === 2));
      await shot(alone, "list");
      await shot(member, "member");
      await leader.find(8);
      await leader.page.locator("#waited", { hasText: "0:01" }).waitFor();
      await shot(leader, "search");
      for (const player of [alone, leader, member]) assert.ok((await player.overflow()) <= 0, "the page does not overflow horizontally");
      assertNoComplaints(alone, leader, member);
      await Promise.all([alone, leader, member].map((player) => player.close()));
    }
  }
});
