//! Restricts the libraries of a VM: no files, processes, network or bytecode, and no time or random numbers but the
//! server's.

use super::VmState;
use mlua::{Lua, MultiValue};
use std::sync::Arc;
use tracing::info;

/// Globals that scripts do not have: they load code, change environments, control or observe the garbage collector.
const REMOVED: [&str; 8] =
    ["loadstring", "load", "dofile", "getfenv", "setfenv", "newproxy", "collectgarbage", "gcinfo"];
/// Most bytes of one line that `print` writes.
const PRINTED_BYTES_MAX: usize = 8_192;

/// Restricts the libraries of a VM. Called before the prelude, which restricts further functions.
pub(super) fn restrict(lua: &Lua, state: &Arc<VmState>) -> mlua::Result<()> {
    let globals = lua.globals();
    for name in REMOVED {
        globals.raw_remove(name)?;
    }
    globals.raw_set("print", lua.create_function(print)?)?;
    let math: mlua::Table = globals.get("math")?;
    let random = Arc::clone(state);
    math.raw_set("random", lua.create_function(move |_, bounds: MultiValue| next_random(&random, &bounds))?)?;
    // Random numbers depend on the seed of the VM alone: a match must replay.
    math.raw_set("randomseed", lua.create_function(|_, _: MultiValue| Ok(()))?)
}

/// Writes a line to the log of the server.
fn print(lua: &Lua, values: MultiValue) -> mlua::Result<()> {
    let tostring: mlua::Function = lua.globals().get("tostring")?;
    let mut line = String::new();
    for value in values {
        if !line.is_empty() {
            line.push('\t');
        }
        line += &tostring.call::<mlua::LuaString>(value)?.to_string_lossy();
        if line.len() > PRINTED_BYTES_MAX {
            line.truncate(line.floor_char_boundary(PRINTED_BYTES_MAX));
            line += " (cut)";
            break;
        }
    }
    info!(target: "lua", "{line}");
    Ok(())
}

/// Returns a random number as `math.random` does: a fraction, or an integer within bounds.
fn next_random(state: &VmState, bounds: &MultiValue) -> mlua::Result<f64> {
    // A number without a fraction arrives as an integer, which `as_f64` does not read.
    let bound = |index: usize| match bounds.get(index)? {
        mlua::Value::Integer(number) => Some(*number as f64),
        other => other.as_f64(),
    };
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
