// Renders the Markdown files of docs/ as pages.
import { Marked } from "marked";
import { readFile, readdir } from "node:fs/promises";
import { dirname, join, posix, relative } from "node:path";

/** Markdown files outside docs/, with their addresses. */
const OTHERS = new Map([
  ["ARCHITECTURE.md", "/docs/architecture"],
  ["WIRE_FORMAT.md", "/docs/wire-format"],
]);

/**
 * Returns the pages: address, title and HTML of each.
 * Links to files that are not pages, such as source files, become plain text.
 */
export async function readBook(project) {
  const texts = new Map();
  for (const path of await markdownBelow(project, "docs")) texts.set(path, addressOf(path));
  for (const [path, address] of OTHERS) texts.set(path, address);
  const sources = new Map();
  for (const path of texts.keys()) sources.set(path, await readFile(join(project, path), "utf8"));
  addFolders(texts, sources);
  return [...texts].map(([path, address]) => ({ address, ...render(path, sources.get(path), texts) }));
}

/** Maps `docs/README.md` to the first page, and other files to their names. */
function addressOf(path) {
  return `/${path.replace(/\.md$/, "").replace(/\/README$/, "")}`;
}

async function markdownBelow(project, folder) {
  const entries = await readdir(join(project, folder), { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".md"));
  return files.map((entry) => relative(project, join(entry.parentPath, entry.name)).replaceAll("\\", "/")).sort();
}

/** Adds an index page for folders that have no README. */
function addFolders(texts, sources) {
  for (const folder of new Set([...texts.keys()].filter((path) => path.startsWith("docs/")).map((path) => dirname(path)))) {
    const index = `${folder}/README.md`;
    if (texts.has(index)) continue;
    const inside = [...sources.keys()].filter((path) => dirname(path) === folder);
    const name = posix.basename(folder);
    const title = name.charAt(0).toUpperCase() + name.slice(1);
    sources.set(index, `# ${title}\n\n${inside.map((path) => `- [${titleOf(sources.get(path))}](${posix.basename(path)})`).join("\n")}\n`);
    texts.set(index, addressOf(index));
  }
}

function titleOf(source) {
  return (/^#\s+(.+)$/m.exec(source)?.[1] ?? "").replaceAll("`", "");
}

function render(path, source, texts) {
  const slugs = new Map();
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${slugOf(text, slugs)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const target = targetOf(path, href, texts);
        return target === undefined ? text : `<a href="${target}">${text}</a>`;
      },
      // Comments hold code that only the check of the snippets needs.
      html({ text }) {
        return text.replace(/<!--[\s\S]*?-->\n*/g, "");
      },
      // Wide tables and listings scroll, so they must be focusable.
      code({ text }) {
        return `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`;
      },
    },
  });
  const html = marked.parse(source).replaceAll("<table>", '<div class="table" tabindex="0"><table>').replaceAll("</table>", "</table></div>");
  return { title: titleOf(source), html };
}

/** Returns the address of a link on this server, or undefined if its target is not served. */
function targetOf(path, href, texts) {
  if (/^(?:https?:|#)/.test(href)) return href;
  const [file, anchor] = href.split("#");
  const wanted = posix.normalize(posix.join(posix.dirname(path), file)).replace(/\/$/, "");
  const address = texts.get(wanted) ?? texts.get(`${wanted}/README.md`);
  return address === undefined ? undefined : `${address}${anchor === undefined ? "" : `#${anchor}`}`;
}

/** Returns the anchor of a heading, as links expect it. */
function slugOf(text, slugs) {
  const slug = text.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").trim().replace(/\s/g, "-");
  const count = slugs.get(slug) ?? 0;
  slugs.set(slug, count + 1);
  return count === 0 ? slug : `${slug}-${count}`;
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
