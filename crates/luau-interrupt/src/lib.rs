//! Cheap interrupts of Luau scripts.
//!
//! Luau calls its interrupt at every safepoint: at each call, return and turn of a loop, and within pattern matching. The
//! interrupt of mlua enters a Rust closure each time, which takes about 30 ns and makes a tight loop four times slower.
//! [`set_sparse_interrupt`] puts a filter before it that takes about 1 ns. It lets a safepoint pass if
//! [`SAFEPOINTS_PER_CHECK`] others were skipped, or if a millisecond has passed: a safepoint may take nanoseconds, or
//! milliseconds around a library function with large data.

#![expect(unsafe_code, reason = "replaces a function pointer of the VM, which mlua offers no safe call for")]

mod ticker;

pub use ticker::keep_awake;

use mlua::{Lua, Result, VmState, ffi};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::marker::PhantomData;
use std::ptr;
use std::sync::OnceLock;

/// Most safepoints between two checks.
pub const SAFEPOINTS_PER_CHECK: u32 = 64;

type Interrupt = unsafe extern "C-unwind" fn(*mut ffi::lua_State, c_int);

/// Interrupt of mlua: one function for all VMs, which finds the closure by the VM.
static CHECK: OnceLock<Interrupt> = OnceLock::new();

thread_local! {
    static SAFEPOINTS_LEFT: Cell<u32> = const { Cell::new(SAFEPOINTS_PER_CHECK) };
    /// Count of the ticker at the last check.
    static CHECKED_AT: Cell<u32> = const { Cell::new(0) };
    /// Coroutine at whose safepoint a check begins.
    static CURRENT: Cell<*mut ffi::lua_State> = const { Cell::new(ptr::null_mut()) };
}

/// Most calls of a stack that are listed.
const STACK_LINES_MAX: c_int = 32;

/// Safepoint at which a script is checked.
pub struct Safepoint<'a> {
    state: *mut ffi::lua_State,
    check: PhantomData<&'a ()>,
}

impl Safepoint<'_> {
    /// Returns the calls of the running coroutine, the innermost first, each as `module:line function name`.
    #[must_use]
    pub fn stack(&self) -> Vec<String> {
        if self.state.is_null() {
            return Vec::new();
        }
        (0..STACK_LINES_MAX).map_while(|level| stack_line(self.state, level)).collect()
    }
}

/// Calls `check` at some safepoints of the scripts of a VM: after [`SAFEPOINTS_PER_CHECK`] others at the latest, and at the
/// first one of a new millisecond. An error of it stops the script. If the script catches that error, the next safepoint
/// checks again.
pub fn set_sparse_interrupt(
    lua: &Lua,
    check: impl Fn(&Safepoint<'_>) -> Result<VmState> + Send + 'static,
) -> Result<()> {
    ticker::start();
    lua.set_interrupt(move |_| check(&Safepoint { state: CURRENT.replace(ptr::null_mut()), check: PhantomData }));
    let mut is_replaced = false;
    // SAFETY: the closure below runs with the VM's lock held and an unchanged stack. `lua_callbacks` returns a pointer into the
    // global state of the VM, which lives as long as the VM, and its field `interrupt` may be replaced at any time while no
    // script runs. The new function has the signature that Luau expects, and passes both arguments on unchanged.
    unsafe {
        lua.exec_raw::<()>((), |state| {
            let callbacks = ffi::lua_callbacks(state);
            if let Some(interrupt) = (*callbacks).interrupt
                && ptr::fn_addr_eq(*CHECK.get_or_init(|| interrupt), interrupt)
            {
                (*callbacks).interrupt = Some(count_safepoint);
                is_replaced = true;
            }
        })?;
    }
    if is_replaced { Ok(()) } else { Err(mlua::Error::runtime("mlua has more than one interrupt function")) }
}

/// Describes a call of a coroutine; none below the last one.
fn stack_line(state: *mut ffi::lua_State, level: c_int) -> Option<String> {
    // SAFETY: `lua_Debug` is plain data, for which zeros are valid: null pointers, numbers and characters.
    let mut call: ffi::lua_Debug = unsafe { std::mem::zeroed() };
    // SAFETY: `state` is the coroutine at whose safepoint the check runs, on this thread. With these options
    // `lua_getinfo` only reads its calls, and neither pushes values nor allocates.
    if unsafe { ffi::lua_getinfo(state, level, c"sln".as_ptr(), &mut call) } == 0 {
        return None;
    }
    let (source, name) = (text(call.short_src), text(call.name));
    let mut line = source;
    if call.currentline > 0 {
        line += &format!(":{}", call.currentline);
    }
    if !name.is_empty() {
        line += &format!(" function {name}");
    }
    Some(line)
}

fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: Luau returns texts that end with a zero byte and live as long as the function that they name, which is on
    // the stack.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// Counts a safepoint, and calls the interrupt of mlua if it is due. Luau also calls it during garbage collection, with
/// `gc` ≥ 0, which the interrupt of mlua ignores.
unsafe extern "C-unwind" fn count_safepoint(state: *mut ffi::lua_State, gc: c_int) {
    let (left, now) = (SAFEPOINTS_LEFT.get(), ticker::count());
    if left > 1 && CHECKED_AT.get() == now {
        return SAFEPOINTS_LEFT.set(left - 1);
    }
    if gc >= 0 {
        return;
    }
    CHECKED_AT.set(now);
    CURRENT.set(state);
    // A check that fails does not return here, so that the next safepoint checks again.
    SAFEPOINTS_LEFT.set(1);
    if let Some(check) = CHECK.get() {
        // SAFETY: `state` and `gc` come from Luau and are passed on unchanged; `check` is the function that mlua had
        // installed for exactly this purpose.
        unsafe { check(state, gc) }
    }
    SAFEPOINTS_LEFT.set(SAFEPOINTS_PER_CHECK);
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
        let check = move |_: &Safepoint<'_>| match counted.fetch_add(1, Ordering::Relaxed) {
            100.. => Err(mlua::Error::runtime("stopped")),
            _ => Ok(VmState::Continue),
        };
        set_sparse_interrupt(&lua, check).expect("the interrupt is set");
        let ended = lua.load("local n = 0; while true do n += 1 end").exec();
        assert!(ended.is_err_and(|error| error.to_string().contains("stopped")));
        assert_eq!(checks.load(Ordering::Relaxed), 101);
    }

    #[test]
    fn the_stack_is_that_of_the_coroutine_which_is_stopped() {
        let lua = Lua::new();
        let first = Arc::new(std::sync::OnceLock::new());
        let stopped = Arc::clone(&first);
        let check = move |safepoint: &Safepoint<'_>| {
            let stack = safepoint.stack().join("; ");
            if stopped.get().is_none() && !stack.contains("spin") {
                return Ok(VmState::Continue);
            }
            stopped.get_or_init(|| stack);
            Err(mlua::Error::runtime("stopped"))
        };
        set_sparse_interrupt(&lua, check).expect("the interrupt is set");
        let text = "
            local function spin()
                while true do end
            end
            local co = coroutine.create(function() spin() end)
            local ok, problem = coroutine.resume(co)
            error(problem)";
        assert!(lua.load(text).set_name("=shop").exec().is_err());
        assert_eq!(first.get().map(String::as_str), Some("shop:3 function spin; shop:5"));
    }

    #[test]
    fn one_safepoint_in_many_is_checked() {
        let lua = Lua::new();
        let checks = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&checks);
        let check = move |_: &Safepoint<'_>| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(VmState::Continue)
        };
        set_sparse_interrupt(&lua, check).expect("the interrupt is set");
        lua.load("for i = 1, 64000 do end").exec().expect("the loop ends");
        let checks = checks.load(Ordering::Relaxed);
        // The ticker adds one check per millisecond.
        assert!((990..=1_100).contains(&checks), "{checks} checks");
    }

    #[test]
    fn a_script_that_catches_the_error_of_a_check_is_checked_at_its_next_safepoint() {
        let lua = Lua::new();
        let checks = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&checks);
        let check = move |safepoint: &Safepoint<'_>| {
            // The ticker may ask for a check before the loop begins.
            let is_spinning = safepoint.stack().iter().any(|call| call.ends_with("function spin"));
            if !is_spinning && counted.load(Ordering::Relaxed) == 0 {
                return Ok(VmState::Continue);
            }
            match counted.fetch_add(1, Ordering::Relaxed) {
                0..3 => Err(mlua::Error::runtime("stopped")),
                _ => Ok(VmState::Continue),
            }
        };
        set_sparse_interrupt(&lua, check).expect("the interrupt is set");
        let text = "
            local loops, caught, after = 0, 0, 0
            local function spin() while true do loops += 1 end end
            local function nest(depth)
                if depth == 0 then spin() end
                if not pcall(nest, depth - 1) then caught += 1 end
                while true do after += 1 end
            end
            pcall(nest, 2)
            return caught, loops, after";
        let (caught, loops, after): (u32, u32, u32) = lua.load(text).eval().expect("the script ends");
        assert_eq!((caught, after), (2, 2), "each level is stopped at its first safepoint");
        assert!(loops <= SAFEPOINTS_PER_CHECK, "{loops}");
    }

    #[test]
    fn slow_safepoints_are_checked_by_time() {
        let lua = Lua::new();
        let (checks, calls) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (counted, called) = (Arc::clone(&checks), Arc::clone(&calls));
        let check = move |_: &Safepoint<'_>| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(VmState::Continue)
        };
        set_sparse_interrupt(&lua, check).expect("the interrupt is set");
        let slow = lua.create_function(move |_, ()| {
            called.fetch_add(1, Ordering::Relaxed);
            let before = ticker::count();
            keep_awake();
            while ticker::count() == before {
                std::thread::yield_now();
            }
            Ok(())
        });
        lua.globals().set("slow", slow.expect("a function")).expect("it is set");
        lua.load("for i = 1, 10 do slow() end").exec().expect("the loop ends");
        let (checks, calls) = (checks.load(Ordering::Relaxed), calls.load(Ordering::Relaxed));
        assert!(calls == 10 && checks >= 10, "{checks} checks in {calls} calls");
    }
}
