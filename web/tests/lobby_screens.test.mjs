// Looks of the lobby with chat, friends, groups, a tournament and a bracket.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SocialPlayer, befriend } from "./support/social_player.mjs";
import { LIMIT, NARROW, SCREENSHOTS, WIDE, assertNoComplaints, setStage } from "./support/stage.mjs";

const stage = setStage(SocialPlayer);

/** Writes a group, a chat and a record, as two players do. */
async function meet(ann, bob, name) {
  const { other } = await befriend(ann, bob);
  await ann.page.click("#group-new summary");
  await ann.page.fill("#group-name", name);
  await ann.page.fill("#group-description", "We play late, mostly Arena. Everyone is welcome.");
  await ann.page.click("#group-create");
  await ann.until("the group is there", ({ groups }) => groups?.includes(name));
  await ann.say("Hello, is anyone up for a match of Arena?");
  await ann.say("Up to 8 players, we are two.");
  await bob.say("Sure! Give me a minute.");
  await ann.sees("Sure! Give me a minute.");
  await bob.say("A longer message that has to wrap on a narrow screen, because it goes on and on, until it ends.");
  await ann.page.click("#tournament-join");
  await ann.page.locator("#reflex").waitFor();
  return other;
}

test("the page fits a wide and a narrow screen, in dark and light", LIMIT, async () => {
  for (const [name, options] of [["wide", WIDE], ["narrow", NARROW]]) {
    for (const colorScheme of ["dark", "light"]) {
      const [ann, bob] = [await stage.open("lobby", { ...options, colorScheme }), await stage.open("lobby", { ...options, colorScheme })];
      const shot = (what) => ann.page.screenshot({ path: `${SCREENSHOTS}lobby-${what}-${name}-${colorScheme}.png`, fullPage: true, animations: "disabled" });
      const other = await meet(ann, bob, `Night Owls ${name} ${colorScheme}`);
      await shot("social");
      await ann.page.getByRole("button", { name: `Chat with ${other}` }).click();
      await ann.until("the chat is joined", ({ chats }) => chats.every(({ isJoined }) => isJoined));
      await ann.say("Just between us");
      await shot("direct");
      for (const player of [ann, bob]) assert.ok((await player.overflow()) <= 0, "the page does not overflow horizontally");
      assertNoComplaints(ann, bob);
      await Promise.all([ann.close(), bob.close()]);
    }
  }
});
