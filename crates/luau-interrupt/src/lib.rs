//! Cheap interrupts of Luau scripts.
//!
//! Luau calls its interrupt at every safepoint: at each call and each turn of a loop. The interrupt of mlua enters a Rust
//! closure each time, which takes about 30 ns and makes a tight loop four times slower. [`set_sparse_interrupt`] puts a
//! counter before it, so that only one safepoint in [`SAFEPOINTS_PER_CHECK`] pays that price; the others take about 1 ns.

#![expect(unsafe_code, reason = "replaces a function pointer of the VM, which mlua offers no safe call for")]

use mlua::{Lua, Result, VmState, ffi};
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::OnceLock;

/// Safepoints between two checks. A safepoint takes nanoseconds, or microseconds around a slow function of the library, so
/// a check comes in well under a millisecond.
pub const SAFEPOINTS_PER_CHECK: u32 = 64;

type Interrupt = unsafe extern "C-unwind" fn(*mut ffi::lua_State, c_int);

/// Interrupt of mlua: one function for all VMs, which finds the closure by the VM.
static CHECK: OnceLock<Interrupt> = OnceLock::new();

thread_local! {
    static SAFEPOINTS_LEFT: Cell<u32> = const { Cell::new(SAFEPOINTS_PER_CHECK) };
}

/// Calls `check` at every [`SAFEPOINTS_PER_CHECK`]th safepoint of the scripts of a VM. An error of it stops the script.
pub fn set_sparse_interrupt(lua: &Lua, check: impl Fn(&Lua) -> Result<VmState> + Send + 'static) -> Result<()> {
    lua.set_interrupt(check);
    // SAFETY: the closure runs with the VM's lock held and an unchanged stack. `lua_callbacks` returns a pointer into the
    // global state of the VM, which lives as long as the VM, and its field `interrupt` may be replaced at any time while no
    // script runs. The new function has the signature that Luau expects, and passes both arguments on unchanged.
    unsafe {
        lua.exec_raw::<()>((), |state| {
            let callbacks = ffi::lua_callbacks(state);
            if let Some(interrupt) = (*callbacks).interrupt {
                let known = CHECK.get_or_init(|| interrupt);
                // Another function would be another version of mlua in the same program: its own interrupt then stays.
                if std::ptr::fn_addr_eq(*known, interrupt) {
                    (*callbacks).interrupt = Some(count_safepoint);
                }
            }
        })
    }
}

/// Counts a safepoint, and calls the interrupt of mlua if it is due. Luau also calls it during garbage collection, with
/// `gc` ≥ 0, which the interrupt of mlua ignores.
unsafe extern "C-unwind" fn count_safepoint(state: *mut ffi::lua_State, gc: c_int) {
    let left = SAFEPOINTS_LEFT.get();
    if left > 1 {
        return SAFEPOINTS_LEFT.set(left - 1);
    }
    SAFEPOINTS_LEFT.set(SAFEPOINTS_PER_CHECK);
    if let Some(check) = CHECK.get() {
        // SAFETY: `state` and `gc` come from Luau and are passed on unchanged; `check` is the function that mlua had
        // installed for exactly this purpose.
        unsafe { check(state, gc) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn an_endless_loop_is_stopped_by_the_first_check_that_fails() {
        let lua = Lua::new();
        let checks = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&checks);
        let check = move |_: &Lua| match counted.fetch_add(1, Ordering::Relaxed) {
            100.. => Err(mlua::Error::runtime("stopped")),
            _ => Ok(VmState::Continue),
        };
        set_sparse_interrupt(&lua, check).expect("the interrupt is set");
        let ended = lua.load("local n = 0; while true do n += 1 end").exec();
        assert!(ended.is_err_and(|error| error.to_string().contains("stopped")));
        assert_eq!(checks.load(Ordering::Relaxed), 101);
    }

    #[test]
    fn one_safepoint_in_many_is_checked() {
        let lua = Lua::new();
        let checks = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&checks);
        let check = move |_: &Lua| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(VmState::Continue)
        };
        set_sparse_interrupt(&lua, check).expect("the interrupt is set");
        lua.load("for i = 1, 64000 do end").exec().expect("the loop ends");
        let checks = checks.load(Ordering::Relaxed);
        assert!((990..=1_010).contains(&checks), "{checks} checks");
    }
}
