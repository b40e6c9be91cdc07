// Words of Lua, for colours in the editor.

export type TokenKind = "comment" | "string" | "number" | "keyword" | "name" | "plain";

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

const KEYWORDS = new Set(
  "and break continue do else elseif end false for function if in local nil not or repeat return then true until while".split(" "),
);

/** Modules and libraries that the server offers. */
const NAMES = new Set("aether nk math string table coroutine buffer bit32 utf8 os require".split(" "));

/** Comments, texts, numbers and words, in this order; everything else is plain. */
const PARTS =
  /(--\[\[[\s\S]*?(?:\]\]|$)|--[^\n]*)|("(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\.|[^`\\])*`?|\[\[[\s\S]*?(?:\]\]|$))|(\b(?:0[xX][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?))|([A-Za-z_]\w*)/g;

/** Splits a source into tokens; together they are the source. */
export function tokensOf(source: string): readonly Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const found of source.matchAll(PARTS)) {
    if (found.index > end) tokens.push({ kind: "plain", text: source.slice(end, found.index) });
    const [whole, comment, text, number] = found;
    tokens.push({ kind: comment !== undefined ? "comment" : text !== undefined ? "string" : number !== undefined ? "number" : wordKind(whole), text: whole });
    end = found.index + whole.length;
  }
  if (end < source.length) tokens.push({ kind: "plain", text: source.slice(end) });
  return tokens;
}

function wordKind(word: string): TokenKind {
  return KEYWORDS.has(word) ? "keyword" : NAMES.has(word) ? "name" : "plain";
}
