// Tournament of the lobby in headless Chromium against a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SocialPlayer } from "./support/social_player.mjs";
import { LIMIT, assertNoComplaints, setStage } from "./support/stage.mjs";

const stage = setStage(SocialPlayer);

/** Plays the reaction test once, by keys. */
async function react(player) {
  await player.page.focus("#reflex-press");
  await player.page.keyboard.press("Enter");
  await player.page.locator('#reflex-press[data-phase="waiting"]').waitFor();
  await player.page.locator('#reflex-press[data-phase="signal"]').waitFor();
  await player.page.keyboard.press("Enter");
  await player.page.locator('#reflex-press[data-phase="done"]').waitFor();
}

test("players join a tournament, and see the records of all", LIMIT, async () => {
  const [ann, bob] = [await stage.open("lobby"), await stage.open("lobby")];
  const { userId } = await ann.arrived();
  await ann.page.getByRole("heading", { name: "Reflex Cup" }).waitFor();
  assert.equal(await ann.page.isVisible("#reflex"), false, "records are written after joining");
  await ann.page.getByRole("button", { name: "Join the tournament" }).click();
  await ann.page.locator("#reflex").waitFor();
  await react(ann);
  const own = ann.page.locator(`#tournament-records tr[data-user="${userId}"]`);
  await own.locator(".score", { hasText: /^\d[\d,]* ms$/ }).waitFor();
  await own.getByText("You", { exact: true }).waitFor();
  const score = await own.locator(".score").textContent();
  await bob.page.locator(`#tournament-records tr[data-user="${userId}"] .score`, { hasText: score }).waitFor();
  await ann.page.reload();
  await own.locator(".score", { hasText: score }).waitFor();
  assert.equal(await ann.page.isVisible("#tournament-join"), false, "a player with a record has joined");
  assertNoComplaints(ann, bob);
});

test("a press before the signal does not count", LIMIT, async () => {
  const ann = await stage.open("lobby");
  const { userId } = await ann.arrived();
  await ann.page.getByRole("button", { name: "Join the tournament" }).click();
  await ann.page.locator("#reflex-press").click();
  await ann.page.locator('#reflex-press[data-phase="waiting"]').click();
  await ann.page.getByText("Too early").waitFor();
  assert.equal(await ann.page.locator(`#tournament-records tr[data-user="${userId}"]`).count(), 0);
});
