// Checks the TypeScript and JavaScript code of the docs against the types of this package.
//
// Names that a reader knows from the text are declared by an HTML comment right before a block, which the pages do not
// show:
//
//   <!-- compile with:
//   declare const client: Client;
//   -->
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL(".", import.meta.url));
const project = join(root, "../..");

/** Modules and globals that the snippets use besides this package and the DOM. */
const AMBIENT = `
declare module "@heroiclabs/nakama-js";
declare module "*/my_rules.js";
declare module "node:crypto" { export function createHmac(algorithm: string, key: string): { update(text: string): { digest(form: "hex"): string } } }
declare const process: { readonly argv: readonly string[]; exit(): never };
`;

const OPTIONS = { rootDir: "/", noEmit: true, declaration: false, noUnusedLocals: false, noUnusedParameters: false, paths: { "@aether-game/client": [join(root, "src/index.ts")] } };
/** Compiler options by language. JavaScript has no annotations, so its variables may be of any type. */
const LANGUAGES = { ts: OPTIONS, js: { ...OPTIONS, allowJs: true, checkJs: true, strict: false, exactOptionalPropertyTypes: false } };

async function pages() {
  const below = await readdir(join(project, "docs"), { withFileTypes: true, recursive: true });
  const docs = below.filter((entry) => entry.isFile() && entry.name.endsWith(".md")).map((entry) => join(entry.parentPath, entry.name));
  return [join(project, "README.md"), join(root, "README.md"), ...docs.sort()];
}

/** Blocks of a page in these languages, with the line of their first line of code, counted from 1. */
function blocks(text) {
  const found = [];
  const pattern = /(?:^<!-- compile with:\n(?<context>[\s\S]*?)\n-->\n)?^```(?<language>\S*)\n(?<code>[\s\S]*?)^```$/gm;
  for (const { index, 0: whole, groups } of text.matchAll(pattern)) {
    const { language, context = "", code } = groups;
    const line = text.slice(0, index).split("\n").length + whole.slice(0, whole.indexOf("```")).split("\n").length;
    if (language in LANGUAGES) found.push({ language, context, code, line });
  }
  return found;
}

const folder = await mkdtemp(join(tmpdir(), "aether-snippets-"));
try {
  let count = 0;
  await writeFile(join(folder, "ambient.d.ts"), AMBIENT);
  for (const page of await pages()) {
    for (const { language, context, code, line } of blocks(await readFile(page, "utf8"))) {
      const name = `${relative(project, page).replaceAll("/", "_")}.${line}.${language}`;
      // The code has the lines that it has on the page, so that errors name them. Declarations may follow it.
      await writeFile(join(folder, name), `${"\n".repeat(line - 1)}${code}${context}\nexport {};\n`);
      count += 1;
    }
  }
  for (const [language, compilerOptions] of Object.entries(LANGUAGES)) {
    const file = join(folder, `tsconfig.${language}.json`);
    await writeFile(file, JSON.stringify({ extends: join(root, "tsconfig.json"), compilerOptions, include: ["ambient.d.ts", `*.md.*.${language}`] }));
    execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", file], { cwd: folder, stdio: "inherit" });
  }
  console.log(`${count} snippets of the docs compile`);
} catch (error) {
  // The compiler has printed its errors.
  if (error.status === undefined) throw error;
  process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
