// Brackets of the lobby in headless Chromium against a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SocialPlayer } from "./support/social_player.mjs";
import { LIMIT, assertNoComplaints, setStage } from "./support/stage.mjs";

const ADMIN_KEY = "operator-key-of-the-tests-1234567890";
const stage = setStage(SocialPlayer, { settings: [`http.admin_key=${ADMIN_KEY}`] });

/** Calls the admin API. */
async function operate(path, body) {
  const headers = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };
  const answer = await fetch(`http://${stage.server.adminAddress}/api/brackets${path}`, { method: "POST", headers, body: JSON.stringify(body ?? {}) });
  assert.ok(answer.ok, `${answer.status} ${await answer.text()}`);
}

test("players join a bracket, report their match, and see the winner", LIMIT, async () => {
  const title = `Cup <img src=x onerror="window.broken=1">`;
  await operate("", { id: "cup", title, format: "single_elimination" });
  const [ann, bob] = [await stage.open("lobby"), await stage.open("lobby")];
  const [{ me: one }, { me: other }] = [await ann.arrived(), await bob.arrived()];
  for (const player of [ann, bob]) {
    await player.page.getByRole("heading", { name: title }).waitFor();
    await player.page.click("#bracket-join");
    await player.page.locator("#bracket-leave", { hasText: "Leave" }).waitFor();
  }
  await operate("/cup/start");
  await Promise.all([ann, bob].map((player) => player.until("the bracket runs", ({ bracket }) => bracket === "running")));
  await ann.notice("Your next match is ready.");
  await ann.page.getByRole("list", { name: "Final" }).getByText(other, { exact: true }).waitFor();
  await ann.page.getByRole("button", { name: "Report that you won this match" }).click();
  await ann.page.getByText("You reported. Waiting for your opponent.").waitFor();
  await bob.page.getByText("Your opponent has reported. Report too.").waitFor();
  await bob.page.getByRole("button", { name: "Report that you lost this match" }).click();
  for (const player of [ann, bob]) {
    await player.until("the bracket is over", ({ bracket }) => bracket === "finished");
    await player.page.locator("#bracket-about", { hasText: `Won by ${one}` }).waitFor();
    assert.equal(await player.page.locator("#bracket img").count(), 0);
    assert.equal(await player.page.evaluate(() => window.broken), undefined);
  }
  assertNoComplaints(ann, bob);
});
