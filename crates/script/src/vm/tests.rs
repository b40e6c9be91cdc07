//! Attacks on the sandbox, each with the time until it was stopped.

use super::{Step, Vm, VmKind, VmSettings};
use crate::error::{ErrorKind, ScriptError};
use crate::source::Sources;
use crate::value::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time of a call in these tests.
const LIMIT: Duration = Duration::from_millis(20);
/// Time after the limit within which a script must have been stopped.
const STOP_TIME_MAX: Duration = Duration::from_millis(50);

fn settings() -> VmSettings {
    VmSettings { kind: VmKind::Call, memory_max: 64 << 20, seed: 7 }
}

fn vm_of(modules: &[(&str, &str)]) -> Vm {
    let sources = Sources::of(modules.iter().copied()).expect("the sources are valid");
    Vm::new(Arc::new(sources), &settings()).expect("a VM is created")
}

/// Loads a module `attack` and returns its results.
pub(super) fn run(text: &str) -> Result<Vec<Value>, ScriptError> {
    let vm = vm_of(&[("attack", text)]);
    vm.state().set_now_ms(1_700_000_000_500);
    match vm.require("attack", LIMIT)? {
        Step::Done(results) => vm.values(&results),
        Step::Suspended(_) => panic!("the script called a service"),
    }
}

/// Processor time of this thread: other tests of a busy machine do not count.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// Runs attacks, prints the time until each was stopped, and checks it and the kind of the error: memory may be exhausted before or after the time.
fn stop(attacks: &[(&str, &[ErrorKind], &str)]) {
    let mut wrong = Vec::new();
    for (name, kinds, text) in attacks {
        let (started, used) = (Instant::now(), processor_time());
        let outcome = run(text);
        let (used, took) = (processor_time() - used, started.elapsed());
        let Err(error) = outcome else {
            wrong.push(format!("{name}: not stopped: {outcome:?}"));
            continue;
        };
        println!("{name}: stopped after {used:.1?} of processor time ({took:.1?}): {:.100}", error.message);
        let is_located = error.module.as_deref() == Some("attack") && error.line.is_some() && !error.stack.is_empty();
        if !kinds.contains(&error.kind) || !is_located {
            wrong.push(format!("{name}: {error:?}"));
        }
        if used > LIMIT + STOP_TIME_MAX {
            wrong.push(format!("{name}: stopped only after {used:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn endless_loops_are_stopped_wherever_they_hide() {
    const TIME: &[ErrorKind] = &[ErrorKind::Time];
    stop(&[
        ("endless loop", TIME, "while true do end"),
        ("endless repeat", TIME, "repeat until false"),
        ("endless goto-like recursion", TIME, "local function f() return f end while f() do end"),
        ("endless iteration", TIME, "for _ in function() return 1 end do end"),
        (
            "endless loop in nested pcall",
            TIME,
            "local function spin() while true do end end
             local function nest(n) if n == 0 then spin() end while true do pcall(nest, n - 1) end end
             nest(100)",
        ),
        ("caught stop, then success", TIME, "pcall(function() while true do end end) return 1"),
        (
            "endless error handler",
            TIME,
            "local function again() while true do end end
             while true do xpcall(again, again) end",
        ),
        (
            "endless loop in a coroutine",
            TIME,
            "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
        ),
        (
            "endless loop in coroutine.wrap",
            TIME,
            "while true do pcall(coroutine.wrap(function() while true do end end)) end",
        ),
        (
            "pcall as comparison",
            TIME,
            "
            local spin = setmetatable({}, { __call = function() while true do end end })
            local list = table.create(100000, spin)
            while true do pcall(table.sort, list, pcall) end",
        ),
        ("pcall as replacement", TIME, "while true do (('x'):rep(100000)):gsub('.', pcall) end"),
        (
            "endless metamethod",
            TIME,
            "local t = setmetatable({}, { __index = function() while true do end end }) return t.x",
        ),
        ("endless tostring", TIME, "tostring(setmetatable({}, { __tostring = function() while true do end end }))"),
        ("endless print", TIME, "print(setmetatable({}, { __tostring = function() while true do end end }))"),
        (
            "endless loop after a caught memory error",
            TIME,
            "pcall(function() local s = 'x' while true do s ..= s end end) while true do end",
        ),
    ]);
}

#[test]
fn huge_strings_and_tables_are_refused() {
    const MEMORY: &[ErrorKind] = &[ErrorKind::Memory, ErrorKind::Time];
    const REFUSED: &[ErrorKind] = &[ErrorKind::Runtime, ErrorKind::Time];
    stop(&[
        ("string.rep", MEMORY, "return ('x'):rep(2^30)"),
        ("repeated string.rep", MEMORY, "local t = {} while true do t[#t + 1] = ('x'):rep(2^22 + #t) end"),
        ("doubling", MEMORY, "local s = 'x' while true do s = s .. s end"),
        ("doubling without a loop", MEMORY, &format!("local s = ('x'):rep(1024) {}", "s = s .. s ".repeat(30))),
        ("table.concat", MEMORY, "local t = table.create(1000, ('x'):rep(2^20)) return table.concat(t)"),
        ("string.format", MEMORY, "local s = ('x'):rep(2^24) return string.format('%s%s%s%s', s, s, s, s)"),
        ("string.pack", REFUSED, "return string.pack('c200000000', 'x')"),
        ("gsub", MEMORY, "return (('x'):rep(2^16):gsub('.', ('y'):rep(2^14)))"),
        ("table.create", MEMORY, "return table.create(2^26 - 1, 1)"),
        ("table growth", MEMORY, "local t, i = {}, 0 while true do i += 1 t[i] = {} t[tostring(i)] = i end"),
        ("buffer.create", MEMORY, "return buffer.create(2^30 - 1)"),
        ("coroutines", MEMORY, "local t = {} while true do t[#t + 1] = coroutine.create(print) end"),
        ("closures", MEMORY, "local t = {} while true do local x = #t t[x + 1] = function() return x end end"),
        ("utf8.char", MEMORY, "local t = {} while true do t[#t + 1] = utf8.char(0x10FFFF):rep(2^20 + #t) end"),
    ]);
}

#[test]
fn patterns_and_native_loops_are_stopped() {
    // Garbage of a native function may exhaust the memory before the time.
    const TIME: &[ErrorKind] = &[ErrorKind::Time, ErrorKind::Memory];
    const REFUSED: &[ErrorKind] = &[ErrorKind::Runtime, ErrorKind::Time];
    stop(&[
        ("match bomb", TIME, "return ('a'):rep(30000):match('.-.-.-.-.-.-b')"),
        ("find bomb", TIME, "return ('a'):rep(30000):find('a*a*a*a*a*a*b')"),
        ("gmatch bomb", TIME, "for _ in ('a'):rep(30000):gmatch('a-a-a-a-a-b') do end"),
        ("gsub bomb", TIME, "return (('a'):rep(30000):gsub('.-.-.-.-b', ''))"),
        ("set bomb", REFUSED, "return ('c'):rep(2^20):find('[' .. ('a'):rep(2^20) .. ']*b')"),
        ("plain find bomb", REFUSED, "local a = ('a'):rep(2^20) return (a .. a):find(a .. 'b', 1, true)"),
        ("split bomb", REFUSED, "local a = ('a'):rep(2^20) return (a .. a):split(a .. 'b' .. a)"),
        ("largest set", TIME, "while true do ('c'):rep(2^12):find('[' .. ('a'):rep(2^12 - 4) .. ']*b') end"),
        (
            "largest plain find",
            TIME,
            "local a = ('a'):rep(2^12 - 1) while true do a:rep(2):sub(1, 2^12):find(a:sub(1, 2^11) .. 'b', 1, true) end",
        ),
        ("table.sort", TIME, "local t = table.create(2^20, 1) while true do table.sort(t) end"),
        (
            "table.sort with long strings",
            TIME,
            "local a = ('x'):rep(2^23)
             local b, t = a .. '1', {}
             a ..= '2'
             for i = 1, 1000 do t[i] = if i % 2 == 0 then a else b end
             while true do table.sort(t) end",
        ),
        (
            "table.sort with a native comparison",
            TIME,
            "local t = table.create(2^20, '1') while true do table.sort(t, rawequal) end",
        ),
        ("table.move", REFUSED, "return table.move({}, 1, 2^31 - 2, 2)"),
        ("largest table.move", TIME, "while true do table.move({ a = 1 }, 1, 2^18, 3) end"),
        ("table.insert", TIME, "local t = table.create(2^21, 1) while true do table.insert(t, 1, 1) end"),
        ("table.concat of many", TIME, "local t = table.create(2^21, '') while true do table.concat(t) end"),
        ("table.find", TIME, "local t = table.create(2^21, 1) while true do table.find(t, 2) end"),
        ("table.clone", TIME, "local t = table.create(2^20, 1) while true do table.clone(t) end"),
        ("table.unpack", TIME, "local t = table.create(2^20, 1) while true do pcall(table.unpack, t) end"),
        ("utf8.len", TIME, "local s = ('x'):rep(2^23) while true do utf8.len(s) end"),
        ("string comparison", TIME, "local a = ('x'):rep(2^23) local b = a .. '2' a ..= '1' while a < b do end"),
        ("string.upper", TIME, "local s = ('x'):rep(2^22) while true do s:upper() end"),
        ("string.reverse", TIME, "local s = ('x'):rep(2^22) while true do s:reverse() end"),
        ("buffer.fill", TIME, "local b = buffer.create(2^24) while true do buffer.fill(b, 0, 1) end"),
        (
            "json",
            TIME,
            "local nk = require('nakama') local t = table.create(10000, 1) while true do nk.json_encode(t) end",
        ),
    ]);
}

#[test]
fn deep_recursion_is_refused() {
    const REFUSED: &[ErrorKind] = &[ErrorKind::Runtime, ErrorKind::Time];
    stop(&[
        ("recursion", REFUSED, "local function f() return 1 + f() end return f()"),
        ("recursion by pcall", REFUSED, "local function f() local ok, e = pcall(f) error(e) end f()"),
        (
            "recursion by metamethod",
            REFUSED,
            "local t = {} setmetatable(t, { __index = function(t, k) return t[k] end }) return t.x",
        ),
        ("recursion by coroutines", REFUSED, "local function f() return coroutine.wrap(f)() end return f()"),
        ("recursion by sort", REFUSED, "local function f() table.sort({ 2, 1 }, f) end f()"),
        ("recursion by gsub", REFUSED, "local function f() return ('x'):gsub('.', f) end f()"),
        ("recursive require", REFUSED, "return require('attack')"),
    ]);
}

/// Runs a script that must succeed, and returns its first result as text.
fn text_of(script: &str) -> String {
    let results = run(script).unwrap_or_else(|error| panic!("{error}"));
    results.first().and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[test]
fn shared_tables_cannot_be_changed() {
    let changes = [
        "string.upper = print",
        "getmetatable('').__index = {}",
        "rawset(getmetatable(''), '__index', {})",
        "setmetatable(string, {})",
        "table.insert(string, 1)",
        "table.clear(math)",
        "rawset(_G.math, 'pi', 3)",
        "require('nakama').json_encode = print",
        "rawset(require('nakama'), 'json_encode', print)",
        "require('nakama').new = 1",
        "aether.time = 1",
        "rawset(aether, 'time', 1)",
        "setmetatable(aether, {})",
        "getmetatable(aether).__index = nil",
        "table.freeze(aether)",
        "coroutine.resume = print",
        "os.time = print",
        "bit32.band = print",
        "getfenv(1).x = 1",
        "setfenv(1, {})",
    ];
    for change in changes {
        let changed = text_of(&format!("local ok, problem = pcall(function() {change} end) return tostring(ok)"));
        assert_eq!(changed, "false", "{change}");
    }
    // Globals of a script are its own: they replace names in its VM, and nothing in another one.
    let own = "string = 5 pcall = 6 _G.answer = 42 return string .. pcall .. answer .. ('x'):upper()";
    assert_eq!(text_of(own), "5642X");
    assert_eq!(text_of("return type(string) .. type(pcall) .. type(answer)"), "tablefunctionnil");
}

#[test]
fn no_other_function_can_be_reached() {
    let globals = libraries();
    assert_eq!(globals, REACHABLE.split_whitespace().collect::<Vec<_>>().join(" "));
}

/// Returns all names that scripts reach, as `library.name`. They are read from the read-only table below the globals.
fn libraries() -> String {
    let vm = vm_of(&[("attack", "")]);
    let globals: mlua::Table =
        vm.lua().globals().metatable().and_then(|it| it.raw_get("__index").ok()).expect("globals");
    let mut names = Vec::new();
    for pair in globals.pairs::<String, mlua::Value>() {
        let (name, value) = pair.expect("a pair");
        match value {
            mlua::Value::Table(library) if name != "_G" => {
                let inner =
                    library.pairs::<String, mlua::Value>().map(|pair| format!("{name}.{}", pair.expect("a pair").0));
                names.extend(inner);
            }
            _ => names.push(name),
        }
    }
    names.sort();
    names.join(" ")
}

/// Everything that scripts reach besides the functions of `aether` and `nk`: nothing that opens files, starts processes,
/// loads code or observes the machine.
const REACHABLE: &str = "
    _G _VERSION assert bit32.arshift bit32.band bit32.bnot bit32.bor bit32.btest bit32.bxor bit32.byteswap
    bit32.countlz bit32.countrz bit32.extract bit32.lrotate bit32.lshift bit32.replace bit32.rrotate
    bit32.rshift buffer.copy buffer.create buffer.fill buffer.fromstring buffer.len buffer.readbits
    buffer.readf32 buffer.readf64 buffer.readi16 buffer.readi32 buffer.readi8 buffer.readstring buffer.readu16
    buffer.readu32 buffer.readu8 buffer.tostring buffer.writebits buffer.writef32 buffer.writef64
    buffer.writei16 buffer.writei32 buffer.writei8 buffer.writestring buffer.writeu16 buffer.writeu32
    buffer.writeu8 coroutine.close coroutine.create coroutine.isyieldable coroutine.resume coroutine.running
    coroutine.status coroutine.wrap coroutine.yield error getmetatable ipairs math.abs math.acos math.asin
    math.atan math.atan2 math.ceil math.clamp math.cos math.cosh math.deg math.e math.exp math.floor math.fmod
    math.frexp math.huge math.isfinite math.isinf math.isnan math.ldexp math.lerp math.log math.log10 math.map
    math.max math.min math.modf math.nan math.noise math.phi math.pi math.pow math.rad math.random
    math.randomseed math.round math.sign math.sin math.sinh math.sqrt math.sqrt2 math.tan math.tanh math.tau
    next os.clock os.date os.difftime os.time pairs pcall print rawequal rawget rawlen rawset require select
    setmetatable string.byte string.char string.find string.format string.gmatch string.gsub string.len
    string.lower string.match string.pack string.packsize string.rep string.reverse string.split string.sub
    string.unpack string.upper table.clear table.clone table.concat table.create table.find table.freeze
    table.getn table.insert table.isfrozen table.maxn table.move table.pack table.remove table.sort table.unpack
    tonumber tostring type typeof unpack utf8.char utf8.charpattern utf8.codepoint utf8.codes utf8.len
    utf8.offset xpcall
";

#[test]
fn bytecode_is_refused() {
    for text in ["\u{6}\u{3}x", "\u{1b}Lua", "\u{0}"] {
        let error = Sources::of([("shop", text)]).err().map(|error| error.message).unwrap_or_default();
        assert_eq!(error, "module `shop` is bytecode; only the text of a module is loaded");
    }
    let absent = "return tostring(load) .. tostring(loadstring) .. tostring(string.dump) .. tostring(dofile)";
    assert_eq!(text_of(absent), "nilnilnilnil");
    let error = run("require('\\6\\3')").expect_err("no such module");
    assert!(error.message.contains("was not found"), "{error}");
}

#[test]
fn raised_values_cannot_run_code_outside_the_time_of_the_call() {
    let hostile = "
        local function spin() while true do end end
        error(setmetatable({}, { __index = spin, __tostring = spin, __len = spin, __iter = spin, __eq = spin }))";
    let error = run(hostile).expect_err("the script fails");
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Runtime, "the script raised a table"));
    let error = run("error(('x'):rep(1000000))").expect_err("the script fails");
    assert!(error.message.len() < 5_000, "{} bytes", error.message.len());
}

#[test]
fn a_metamethod_that_runs_beside_a_call_is_stopped() {
    let vm = vm_of(&[("attack", "return setmetatable({}, { __index = function() while true do end end })")]);
    let Step::Done(results) = vm.require("attack", LIMIT).expect("the module loads") else { panic!("it waits") };
    let table = results.front().and_then(mlua::Value::as_table).expect("a table");
    let used = processor_time();
    assert!(table.get::<mlua::Value>("field").is_err());
    let used = processor_time() - used;
    println!("metamethod beside a call: stopped after {used:.1?}");
    assert!(used < LIMIT + STOP_TIME_MAX, "{used:?}");
    assert!(matches!(vm.require("attack", LIMIT), Ok(Step::Done(_))), "the next call has its own time");
}

#[test]
fn time_is_that_of_the_vm() {
    let script = "
        math.randomseed(os.time())
        return table.concat({
            os.time(), os.date('!%Y-%m-%d %H:%M:%S'), os.date('%Y-%m-%d', 0), os.date('*t', 86400).day,
            os.time({ year = 2001, month = 9, day = 9, hour = 1, min = 46, sec = 40 }), os.difftime(5, 3),
            type(os.clock()), os.date('%c', 0), bit32.band(6, 3),
        }, ';')";
    let expected = "1700000000;2023-11-14 22:13:20;1970-01-01;2;1000000000;2;number;Thu Jan  1 00:00:00 1970;2";
    assert_eq!(text_of(script), expected);
    assert_eq!(
        text_of("math.randomseed(1) return tostring(math.random(1, 1000000))"),
        text_of("math.randomseed(2) return tostring(math.random(1, 1000000))")
    );
}

#[test]
fn random_numbers_are_integers_within_bounds() {
    let script = "
        local low, high, sum = math.huge, -math.huge, 0
        for _ = 1, 1000 do
            local number = math.random(5, 8)
            assert(number % 1 == 0)
            low, high = math.min(low, number), math.max(high, number)
            local one = math.random(3)
            assert(one % 1 == 0 and one >= 1 and one <= 3)
            local part = math.random()
            assert(part >= 0 and part < 1)
        end
        return `{low} {high}`";
    assert_eq!(text_of(script), "5 8");
}

#[test]
fn an_error_names_module_line_and_stack() {
    let script = "local function buy(item)\n  error('no ' .. item)\nend\nlocal function shop()\n  buy('sword')\nend\npcall(shop)\nshop()";
    let error = run(script).expect_err("the script fails");
    assert_eq!(
        (error.message.as_str(), error.module.as_deref(), error.line),
        ("attack:2: no sword", Some("attack"), Some(2))
    );
    let lines: Vec<&str> = error.stack.iter().map(|line| line.split(" in").next().unwrap_or_default()).collect();
    assert_eq!(lines, ["attack:2:", "attack:5:", "attack:8:"]);
}

#[test]
fn a_stopped_script_leaves_others_unharmed() {
    let vm = vm_of(&[("attack", "while true do end"), ("good", "return 'well'")]);
    assert!(vm.require("attack", LIMIT).is_err_and(|error| error.kind == ErrorKind::Time && error.spoils_vm()));
    assert_eq!(text_of("return 'well'"), "well");
}
