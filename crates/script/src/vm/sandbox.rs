//! Restricts the libraries of a VM: no files, processes, network or bytecode, and no time or random numbers but the
//! server's.

use super::{VmKind, VmState};
use mlua::{Lua, MultiValue};
use std::sync::Arc;
use tracing::info;

/// Globals that scripts do not have: they load code, change environments or control the garbage collector.
const REMOVED: [&str; 6] = ["loadstring", "load", "dofile", "getfenv", "setfenv", "newproxy"];

/// Restricts the libraries of a VM. Called before any script runs.
pub(super) fn restrict(lua: &Lua, state: &Arc<VmState>) -> mlua::Result<()> {
    let globals = lua.globals();
    for name in REMOVED {
        globals.raw_remove(name)?;
    }
    globals.raw_remove("collectgarbage")?;
    globals.raw_set("print", lua.create_function(print)?)?;
    let os: mlua::Table = globals.get("os")?;
    let clock = Arc::clone(state);
    os.raw_set("time", lua.create_function(move |_, ()| Ok(clock.now_ms() / 1_000))?)?;
    let math: mlua::Table = globals.get("math")?;
    let random = Arc::clone(state);
    math.raw_set("random", lua.create_function(move |_, bounds: MultiValue| next_random(&random, &bounds))?)?;
    let seeded = Arc::clone(state);
    math.raw_set(
        "randomseed",
        lua.create_function(move |_, _: MultiValue| {
            // A match must replay, so its numbers depend on its seed alone.
            debug_assert!(seeded.kind == VmKind::Call || seeded.kind == VmKind::Match);
            Ok(())
        })?,
    )
}

/// Writes to the log of the server.
fn print(lua: &Lua, values: MultiValue) -> mlua::Result<()> {
    let tostring: mlua::Function = lua.globals().get("tostring")?;
    let texts = values.into_iter().map(|value| tostring.call::<String>(value)).collect::<mlua::Result<Vec<_>>>()?;
    info!(target: "lua", "{}", texts.join("\t"));
    Ok(())
}

/// Returns a random number as `math.random` does: a fraction, or an integer within bounds.
fn next_random(state: &VmState, bounds: &MultiValue) -> mlua::Result<f64> {
    let bound = |index: usize| bounds.get(index).and_then(mlua::Value::as_f64);
    let mut random = state.random();
    let (low, high) = match (bound(0), bound(1)) {
        (None, _) => return Ok(f64::from(random.below(1 << 30)) / f64::from(1 << 30)),
        (Some(high), None) => (1.0, high),
        (Some(low), Some(high)) => (low, high),
    };
    let span = high.floor() - low.floor();
    if !(0.0..4_294_967_295.0).contains(&span) {
        return Err(mlua::Error::runtime("math.random: the interval is empty or too large"));
    }
    Ok(low.floor() + f64::from(random.below(span as u32 + 1)))
}
