// The game of the README, compiled as by a user of the package.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { readmeGame, root } from "../support/readme.mjs";

const LINES_MAX = 50;

test("the game has at most fifty lines", async () => {
  assert.ok((await readmeGame()).trimEnd().split("\n").length <= LINES_MAX);
});

for (const [module, resolution] of [["nodenext", "nodenext"], ["esnext", "bundler"]]) {
  test(`it compiles against the package's types with ${resolution}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "aether-readme-"));
    try {
      await mkdir(join(folder, "node_modules/@aether-game"), { recursive: true });
      await symlink(root, join(folder, "node_modules/@aether-game/client"));
      await writeFile(join(folder, "package.json"), '{"type":"module"}');
      await writeFile(join(folder, "game.ts"), await readmeGame());
      const compilerOptions = { strict: true, noEmit: true, target: "es2022", lib: ["es2022", "dom", "dom.iterable"], module, moduleResolution: resolution, types: [], exactOptionalPropertyTypes: true };
      await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["game.ts"] }));
      const compiler = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));
      const { status, stdout } = spawnSync(process.execPath, [compiler, "-p", folder], { encoding: "utf8" });
      assert.equal(status, 0, stdout);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}
