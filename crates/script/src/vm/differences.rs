//! Differences between Luau and Lua 5.1 as Nakama runs it: each row is run here, and the page lists what happened.

use super::tests::run;
use crate::error::ErrorKind;

const PAGE: &str = include_str!("../../../../docs/reference/lua-differences.md");

/// Construct, script, and its outcome in Luau: a text that it returns, or the start of the error.
const ROWS: [(&str, &str, &str); 31] = [
    ("`goto` and labels", "goto done ::done:: return 'ok'", "error: Incomplete statement"),
    ("`loadstring`, `load`, `dofile`", "return type(loadstring) .. type(load) .. type(dofile)", "nilnilnil"),
    ("`setfenv`, `getfenv`", "return type(setfenv) .. type(getfenv)", "nilnil"),
    ("`module(...)`", "return type(module)", "nil"),
    ("`package`, `package.loaded`", "return type(package)", "nil"),
    ("`collectgarbage`, `gcinfo`", "return type(collectgarbage) .. type(gcinfo)", "nilnil"),
    ("`newproxy`", "return type(newproxy)", "nil"),
    ("`io`, `debug`", "return type(io) .. type(debug)", "nilnil"),
    (
        "`os.execute`, `os.getenv`, `os.exit`",
        "return type(os.execute) .. type(os.getenv) .. type(os.exit)",
        "nilnilnil",
    ),
    ("`string.dump`", "return type(string.dump)", "nil"),
    ("`string.gfind`", "return type(string.gfind)", "nil"),
    ("`table.foreach`, `table.foreachi`", "return type(table.foreach) .. type(table.foreachi)", "nilnil"),
    ("`table.setn`", "return type(table.setn)", "nil"),
    ("`math.mod`", "return type(math.mod)", "nil"),
    (
        "`table.getn`, `table.maxn`, `unpack`",
        "return table.getn({ 1, 2 }) .. table.maxn({ [3] = 1 }) .. select('#', unpack({ 1, 2 }))",
        "232",
    ),
    ("`math.pow`, `math.ldexp`, `math.log10`", "return math.pow(2, 3) .. math.ldexp(1, 2) .. math.log10(10)", "841"),
    ("`bit32`", "return bit32.bxor(5, 3) .. bit32.lshift(1, 4)", "616"),
    ("the variable `arg` of a function with `...`", "local function f(...) return type(arg) end return f(1)", "nil"),
    ("`\\` followed by another letter in a string", "return '\\q'", "q"),
    ("nested long comments", "--[[ a [[ b ]] return 'ok'", "ok"),
    ("integer division and compound assignment", "local n = 7 n //= 2 return tostring(n)", "3"),
    ("`continue` as a name", "local continue = 1 return tostring(continue)", "1"),
    ("`type` and `export` as names", "local type, export = 1, 2 return type .. export", "12"),
    ("globals through `_G`", "_G.answer = 42 return tostring(answer)", "42"),
    ("a global that a library has", "string = { upper = 1 } return tostring(string.upper)", "1"),
    ("a field of a library", "function string.trim(s) return s end", "error: attempt to modify a readonly table"),
    (
        "the metatable of strings",
        "getmetatable('').__add = function() return 1 end",
        "error: attempt to modify a readonly table",
    ),
    ("`tostring` of a whole number", "return tostring(3.0) .. ' ' .. tostring(2^53)", "3 9007199254740992"),
    ("`#` of a table with holes", "return tostring(#{ 1, 2, nil, 4 })", "4"),
    (
        "`pairs` of an array part, then keys",
        "local t, s = { 'a', 'b', x = 'c' }, '' for _, v in pairs(t) do s = s .. v end return s",
        "abc",
    ),
    (
        "yield across `pcall`",
        "local co = coroutine.wrap(function() return pcall(coroutine.yield, 'in') end) return co()",
        "in",
    ),
];

#[test]
fn the_page_lists_what_was_run() {
    let mut wrong = Vec::new();
    for (construct, script, expected) in ROWS {
        let outcome = match run(script) {
            Ok(values) => values.first().and_then(|value| value.as_str()).unwrap_or("nothing").to_owned(),
            Err(error) => {
                let text = error.message.split_once(": ").map_or(error.message.as_str(), |(_, text)| text);
                assert!(matches!(error.kind, ErrorKind::Runtime | ErrorKind::Syntax), "{error:?}");
                format!("error: {text}")
            }
        };
        if !outcome.starts_with(expected) || !expected.starts_with("error") && outcome != expected {
            wrong.push(format!("{construct}: expected {expected}, got {outcome}"));
        }
        if !PAGE.contains(&format!("| {construct} |")) {
            wrong.push(format!("{construct}: not on the page"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
