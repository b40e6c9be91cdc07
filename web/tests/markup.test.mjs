// Markup, scripts and invisible characters of users stay text on the page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SocialPlayer, befriend } from "./support/social_player.mjs";
import { LIMIT, assertNoComplaints, setStage } from "./support/stage.mjs";

const stage = setStage(SocialPlayer);

const IMAGE = `<img src=x onerror="window.broken=1">`;
const SCRIPT = `<script>window.broken=2</script>`;
const LINK = `<a href="javascript:window.broken=3" onclick="window.broken=4">x</a>`;
const STYLE = `<style>body{display:none}</style>`;
/** Right-to-left override, zero-width characters, and combining marks. */
const INVISIBLE = "a\u202Eb\u2066c\u200Bd\u200De\uFEFFZ\u0351\u0352";
/** Text from right to left. */
const LEFTWARDS = "\u05E9\u05DC\u05D5\u05DD (1) !";
const TEXTS = [IMAGE, SCRIPT, LINK, STYLE, INVISIBLE, `"'\`&lt;b&gt;\${1}`];

/** Asserts that nothing of the texts became an element or ran. */
async function assertText(player) {
  const found = await player.page.evaluate(() => ({
    broken: window.broken,
    elements: document.querySelectorAll('main img, main script, main style, main a[href^="javascript"], main [onerror], main [onclick], main iframe').length,
    isShown: getComputedStyle(document.body).display !== "none",
  }));
  assert.deepEqual(found, { broken: undefined, elements: 0, isShown: true });
}

/** Changes the own account over the client API, as a program of another player would. */
async function change(player, path, init) {
  const answered = await player.page.evaluate(
    async ([where, options]) => {
      const key = Object.keys(localStorage).find((name) => name.endsWith(":session"));
      const { token } = JSON.parse(localStorage.getItem(key));
      const answer = await fetch(where, { ...options, headers: { authorization: `Bearer ${token}`, "content-type": "application/json" } });
      return [answer.status, await answer.text()];
    },
    [path, init],
  );
  assert.equal(answered[0], 200, answered[1]);
}

test("messages stay text, for the sender and for others, also after a reload", LIMIT, async () => {
  const [ann, bob] = [await stage.open("lobby"), await stage.open("lobby")];
  await Promise.all([ann.arrived(), bob.arrived()]);
  for (const text of TEXTS) {
    await ann.say(text);
    await bob.sees(text);
  }
  await bob.page.reload();
  for (const text of TEXTS) await bob.sees(text);
  const shown = await bob.page.locator("#chat-messages .words > .of-user").allTextContents();
  assert.deepEqual(shown.slice(-TEXTS.length), TEXTS);
  await Promise.all([ann, bob].map(assertText));
  await ann.onMessage(TEXTS.at(-1), "Edit this message");
  await ann.page.fill("#chat-text", IMAGE + SCRIPT);
  await ann.page.click("#chat-send");
  await bob.sees(IMAGE + SCRIPT);
  await Promise.all([ann, bob].map(assertText));
  assertNoComplaints(ann, bob);
});

test("display names and notices stay text", LIMIT, async () => {
  const [ann, bob] = [await stage.open("lobby"), await stage.open("lobby")];
  const { one } = await befriend(ann, bob);
  for (const name of [IMAGE, SCRIPT, LEFTWARDS]) {
    await change(ann, "/v2/account", { method: "PUT", body: JSON.stringify({ display_name: name }) });
    await bob.page.reload();
    await bob.hasFriend(one, "friend");
    const shown = bob.page.locator("#friend-list .name");
    await shown.waitFor();
    assert.equal(await shown.textContent(), name);
    await bob.page.locator("#friend-list").getByText(one, { exact: true }).waitFor();
    await bob.page.locator("#friend-list").getByRole("button", { name: /^Chat with/ }).click();
    await bob.until("the chat is open", ({ chat }) => chat === name);
    assert.equal(await bob.page.textContent("#chat-title"), name);
    await assertText(bob);
    await bob.page.click("#chat-close");
  }
  await bob.fromMenu(LEFTWARDS, `Block ${LEFTWARDS}`);
  await bob.hasFriend(one, "blocked");
  await assertText(bob);
  assertNoComplaints(ann, bob);
});

test("names and descriptions of groups stay text", LIMIT, async () => {
  const [ann, bob] = [await stage.open("lobby"), await stage.open("lobby")];
  await Promise.all([ann.arrived(), bob.arrived()]);
  for (const [name, description] of [["Owls", IMAGE], ["Bats", SCRIPT], ["Moths", LEFTWARDS]]) {
    await ann.page.click("#group-new summary");
    await ann.page.fill("#group-name", name);
    await ann.page.fill("#group-description", description);
    await ann.page.click("#group-create");
    await ann.until("the group is there", ({ groups }) => groups?.includes(name));
  }
  await bob.page.reload();
  await bob.page.getByRole("button", { name: "Join the group Moths" }).waitFor();
  for (const player of [ann, bob]) {
    const shown = await player.page.locator(".groups .description").allTextContents();
    for (const description of [IMAGE, SCRIPT, LEFTWARDS]) assert.ok(shown.includes(description), description);
    await assertText(player);
  }
  assertNoComplaints(ann, bob);
});

test("the server refuses invisible characters in names and descriptions, and the page says so", LIMIT, async () => {
  const ann = await stage.open("lobby");
  await ann.arrived();
  await ann.page.click("#group-new summary");
  await ann.page.fill("#group-name", "Foxes");
  await ann.page.fill("#group-description", INVISIBLE);
  await ann.page.click("#group-create");
  await ann.page.locator("#group-error", { hasText: /./ }).waitFor();
  assert.equal(await ann.page.inputValue("#group-name"), "Foxes");
  await assertText(ann);
});

test("a text of another direction does not change the texts around it", LIMIT, async () => {
  const ann = await stage.open("lobby");
  await ann.arrived();
  await ann.say("\u202Eevil \u202Ereversed");
  const isolated = await ann.page.locator("#chat-messages .words > .of-user").last().evaluate((found) => getComputedStyle(found).unicodeBidi);
  assert.equal(isolated, "isolate");
  await assertText(ann);
  assertNoComplaints(ann);
});
