//! Values of every shape go through every function of `aether` and `nk`: nothing panics, every call is answered, and no VM
//! sees what another one did.
//!
//! `cargo xtask fuzz lua` runs this for longer and from another seed: see `AETHER_FUZZ_SECONDS` and `AETHER_FUZZ_SEED`.

use crate::support::{ScriptServer, rpc};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Calls of each function in the short form.
const ROUNDS: u64 = 4;

/// Calls a function with arguments that a seed decides. Most arguments have the declared type, so that they pass the
/// first checks; the others have any shape.
const DRIVER: &str = r##"
local nk = require("nakama")
local upper, encode = string.upper, nk.json_encode

local function generator(seed)
    local state = seed
    return function(n)
        -- Numbers of the VM are random; these must be the same for the same seed.
        state = (state * 1103515245 + 12345) % 2147483648
        return state // 65536 % n + 1
    end
end

local NUMBERS = { 0, 1, -1, 2, 10, 100, 0.5, -0.0, 1e15, 2^53, 2^63, -2^63, 1e308, 1/0, -1/0, 0/0 }
local TEXTS = {
    "", "a", "name", "{}", "[1]", '{"a":1}', "0", "*", "\0", "\255\254", "00000000-0000-0000-0000-000000000000",
    "not-an-id", "2...lobby", ("x"):rep(5000), ("é"):rep(300), "../../etc/passwd", "0 0 * * *", "asc", "best", "SELECT 1",
}

local function cyclic()
    local t = {}
    t.self = t
    return t
end

local function deep()
    local t = {}
    for _ = 1, 200 do t = { t } end
    return t
end

local function hostile()
    local function fail() error("no") end
    return setmetatable({ 1, 2 }, { __index = fail, __newindex = fail, __len = fail, __iter = fail, __tostring = fail,
        __eq = fail, __call = fail, __metatable = "locked" })
end

local any

local SHAPES = {
    function() return nil end,
    function(pick) return pick(2) == 1 end,
    function(pick) return NUMBERS[pick(#NUMBERS)] end,
    function(pick, user) return if pick(4) == 1 then user else TEXTS[pick(#TEXTS)] end,
    function(pick, user, depth)
        local t = {}
        for i = 1, pick(4) - 1 do t[i] = any(pick, user, depth + 1) end
        return t
    end,
    function(pick, user, depth)
        local t = {}
        for _ = 1, pick(4) - 1 do
            local key = any(pick, user, 9)
            if key ~= nil and key == key then t[key] = any(pick, user, depth + 1) end
        end
        return t
    end,
    function() return cyclic() end,
    function() return deep() end,
    function() return hostile() end,
    function() return function() return "called" end end,
    function() return coroutine.create(print) end,
    function() return buffer.create(16) end,
    function() return table.create(2000, "x") end,
}

function any(pick, user, depth)
    return SHAPES[if depth > 3 then pick(4) else pick(#SHAPES)](pick, user, depth)
end

local OF_TYPE = { boolean = 2, number = 3, string = 4 }

local function typed(pick, user, luau)
    local base = string.match(luau, "^%a+")
    if string.find(luau, "->", 1, true) then
        return function(...) return ... end
    elseif OF_TYPE[base] then
        return SHAPES[OF_TYPE[base]](pick, user, 0)
    end
    return SHAPES[4 + pick(2)](pick, user, 0)
end

nk.register_rpc(function(context, payload)
    local call = nk.json_decode(payload)
    local pick = generator(call.seed)
    local arguments = table.create(#call.types)
    for i, luau in ipairs(call.types) do
        arguments[i] = if pick(5) > 1 then typed(pick, context.user_id, luau) else any(pick, context.user_id, 0)
    end
    local module = if call.is_nk then nk else aether
    local ok, result = pcall(module[call.name], table.unpack(arguments, 1, #call.types))
    -- What a call of the last function left behind.
    local is_clean = string.upper == upper and nk.json_encode == encode and leaked == nil and ("x"):upper() == "X"
    leaked = nil
    return encode({ ok = ok, clean = is_clean, kind = type(result) })
end, "fuzz")

nk.register_rpc(function() return "alive" end, "alive")
"##;

/// Function with the types of its parameters.
struct Declared {
    is_nk: bool,
    name: String,
    types: Vec<String>,
}

/// Reads the functions from the type definitions.
fn declared() -> Vec<Declared> {
    let text = aether_script::type_definitions();
    let mut functions = Vec::new();
    for (module, is_nk) in [("Aether", false), ("Nakama", true)] {
        let body = text.split_once(&format!("export type {module} = {{\n")).expect("the module is declared").1;
        let body = body.split_once("\n}\n").expect("the declaration ends").0;
        for line in body.lines().map(str::trim).filter(|line| !line.starts_with("--")) {
            let (name, rest) = line.split_once(": (").expect("a function has a name");
            let type_of = |parameter: &str| parameter.split_once(": ").map_or(parameter, |it| it.1).to_owned();
            let types = split_parameters(rest).into_iter().map(type_of).collect();
            functions.push(Declared { is_nk, name: name.to_owned(), types });
        }
    }
    functions
}

/// Splits parameters at commas outside brackets, up to the bracket that closes them.
fn split_parameters(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parameters) = (0, 0, Vec::new());
    for (index, letter) in text.char_indices() {
        match letter {
            '(' | '{' | '[' => depth += 1,
            ')' if depth == 0 => {
                parameters.push(&text[start..index]);
                break;
            }
            ')' | '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parameters.push(&text[start..index]);
                start = index + 2;
            }
            _ => {}
        }
    }
    parameters.retain(|parameter| !parameter.is_empty());
    parameters
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_every_shape_reach_every_function() {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // Assertions of other tests, which run at the same time, do not count.
        let is_of_tests = panic.location().is_some_and(|location| location.file().contains("tests/"));
        PANICS.fetch_add(usize::from(!is_of_tests), Ordering::Relaxed);
        report(panic);
    }));
    let functions = declared();
    let scripts = ScriptServer::start(&[("fuzz", DRIVER)]).await;
    let mut user = scripts.user().await;
    let (first, time) =
        (number("AETHER_FUZZ_SEED").unwrap_or(1), number("AETHER_FUZZ_SECONDS").map(Duration::from_secs));
    let started = Instant::now();
    let is_over = |round: u64| time.map_or(round >= ROUNDS, |time| started.elapsed() >= time);
    let (mut round, mut calls, mut refused) = (0, 0_u64, 0_u64);
    while !is_over(round) {
        for (index, function) in functions.iter().enumerate() {
            let seed = (first + round).wrapping_mul(1_000_003) % 2_147_483_647 + index as u64;
            let call = json!({ "seed": seed, "is_nk": function.is_nk, "name": function.name, "types": function.types });
            let (status, answer) = rpc(&mut user, "fuzz", &call).await;
            // Slow functions may exceed the time of a call; nothing else fails.
            let is_answered = status == 200 && answer["clean"] == json!(true) || status == 504 || status == 429;
            assert!(is_answered, "seed {seed}: {call}: {status} {answer}");
            assert_eq!(PANICS.load(Ordering::Relaxed), 0, "seed {seed}: {call}");
            calls += 1;
            refused += u64::from(answer["ok"] != json!(true));
            if status != 200 || is_signed_out(&mut user).await {
                user = scripts.user().await;
            }
        }
        round += 1;
    }
    println!("{} functions, {calls} calls, {refused} refused, {:.1?}", functions.len(), started.elapsed());
    assert_eq!(rpc(&mut user, "alive", &json!(null)).await, (200, json!("alive")));
    scripts.stop().await;
}

/// Returns true if a call ended the session or the account of the user.
async fn is_signed_out(user: &mut aether_testkit_server::ApiClient) -> bool {
    !user.get("/v2/account").await.is_ok_and(|answer| answer.status == 200)
}

#[test]
fn parameters_are_split_at_their_commas() {
    let split = split_parameters("fn: (a: string, b: {[string]: any}) -> string?, id: string, ...any) -> ()");
    assert_eq!(split, ["fn: (a: string, b: {[string]: any}) -> string?", "id: string", "...any"]);
    assert_eq!(split_parameters(") -> ()"), Vec::<&str>::new());
}
