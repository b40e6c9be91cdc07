//! [`Vm`]: one Luau virtual machine in its sandbox.
//!
//! A VM runs scripts in coroutines that the server resumes. A function that needs the services yields a request; the
//! driver of the VM (see [`Step`]) answers it, at once or in a later tick, and resumes the coroutine.

mod budget;
mod convert;
#[cfg(test)]
mod differences;
mod failure;
mod sandbox;
#[cfg(test)]
mod tests;

pub(crate) use budget::Budget;
pub(crate) use convert::{from_lua, to_lua};

use crate::api;
use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Run};
use crate::registrations::Registrations;
use crate::source::Sources;
use crate::value::Value;
use aether_bits::Random;
use aether_services::game_metrics::GameMetrics;
use mlua::chunk::{ChunkMode, Compiler};
use mlua::{Lua, LuaOptions, MultiValue, StdLib, Table, Thread};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Libraries of scripts. The sandbox removes parts of them.
const LIBRARIES: [StdLib; 8] = [
    StdLib::TABLE,
    StdLib::STRING,
    StdLib::MATH,
    StdLib::UTF8,
    StdLib::BIT,
    StdLib::BUFFER,
    StdLib::COROUTINE,
    StdLib::OS,
];

/// Use of a VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VmKind {
    /// Calls of clients, hooks and scheduled functions.
    Call,
    /// One match.
    Match,
}

/// Settings of a VM.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VmSettings {
    pub kind: VmKind,
    /// Maximum of its memory, in bytes.
    pub memory_max: usize,
    /// Seed of its random numbers.
    pub seed: u64,
}

/// State of a VM that functions of the server use.
pub(crate) struct VmState {
    pub kind: VmKind,
    pub sources: Arc<Sources>,
    pub budget: Budget,
    /// Functions that the modules registered.
    pub registrations: Mutex<Registrations>,
    /// Random numbers of the VM: those of the room in a match.
    pub random: Mutex<Random>,
    /// Metrics of the server; none in a replay.
    metrics: OnceLock<Arc<GameMetrics>>,
    /// Time in milliseconds since 1970, set before each call.
    now_ms: AtomicI64,
    created_at: Instant,
}

/// Luau virtual machine.
pub(crate) struct Vm {
    lua: Lua,
    state: Arc<VmState>,
    guard: mlua::Function,
    require: mlua::Function,
    /// Table whose first entry leads to the room while a function of a match runs.
    room_slot: Table,
    /// Coroutines that have ended and can be used again.
    idle: Mutex<Vec<Thread>>,
}

/// Coroutine that waits for the answer to a request.
pub(crate) struct Suspended {
    thread: Thread,
    /// Index of the function in the table of all functions.
    pub index: usize,
    /// Function that the script calls.
    pub function: &'static Function,
    /// Its arguments.
    pub arguments: Vec<Value>,
}

/// Outcome of running a script until it ends or suspends.
pub(crate) enum Step {
    /// The script has returned.
    Done(MultiValue),
    /// The script waits for the services.
    Suspended(Suspended),
}

impl VmState {
    /// Returns the time of the VM, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    /// Returns the seconds that the VM has run. Those of a match are the time of its room, so that it can be replayed.
    pub fn seconds(&self) -> f64 {
        match self.kind {
            VmKind::Call => self.created_at.elapsed().as_secs_f64(),
            VmKind::Match => self.now_ms() as f64 / 1_000.0,
        }
    }

    /// Sets the time of the VM.
    pub fn set_now_ms(&self, now_ms: i64) {
        self.now_ms.store(now_ms, Ordering::Relaxed);
    }

    /// Records metrics of the scripts from now on.
    pub fn record_metrics(&self, metrics: Option<&Arc<GameMetrics>>) {
        if let Some(metrics) = metrics {
            // Only the first call has an effect.
            let _ = self.metrics.set(Arc::clone(metrics));
        }
    }

    /// Returns the metrics of the server; none in a replay.
    pub fn metrics(&self) -> Option<&GameMetrics> {
        self.metrics.get().map(|metrics| &**metrics)
    }

    /// Returns the functions that the modules registered.
    pub fn registrations(&self) -> MutexGuard<'_, Registrations> {
        self.registrations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the random numbers.
    pub fn random(&self) -> MutexGuard<'_, Random> {
        self.random.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Vm {
    /// Creates a VM with the functions of the server and without any module.
    pub fn new(sources: Arc<Sources>, settings: &VmSettings) -> Result<Vm, ScriptError> {
        let state = Arc::new(VmState {
            kind: settings.kind,
            sources,
            budget: Budget::default(),
            registrations: Mutex::default(),
            random: Mutex::new(Random::new(settings.seed)),
            metrics: OnceLock::new(),
            now_ms: AtomicI64::new(0),
            created_at: Instant::now(),
        });
        Vm::build(&state, settings).map_err(|error| failure::of_mlua(&error))
    }

    fn build(state: &Arc<VmState>, settings: &VmSettings) -> mlua::Result<Vm> {
        let libraries = LIBRARIES.into_iter().fold(StdLib::NONE, |all, library| all | library);
        let lua = Lua::new_with(libraries, LuaOptions::new())?;
        lua.set_memory_limit(settings.memory_max)?;
        sandbox::restrict(&lua, state)?;
        let exports = run_prelude(&lua, state)?;
        lua.sandbox(true)?;
        // Modules of Lua 5.1 also write `_G.name = value`.
        lua.globals().raw_set("_G", lua.globals())?;
        state.budget.install(&lua)?;
        let (guard, require) = (exports.get("guard")?, exports.get("require")?);
        let room_slot = exports.get("room")?;
        Ok(Vm { lua, state: Arc::clone(state), guard, require, room_slot, idle: Mutex::default() })
    }

    /// Frees what loading left behind. Other VMs use that memory.
    pub fn collect_garbage(&self) -> Result<(), ScriptError> {
        self.lua.gc_collect().map_err(|error| self.error(&error))
    }

    /// Returns the VM of mlua.
    pub fn lua(&self) -> &Lua {
        &self.lua
    }

    /// Returns the state that functions of the server use.
    pub fn state(&self) -> &Arc<VmState> {
        &self.state
    }

    /// Returns the table whose first entry leads to the room of a match.
    pub fn room_slot(&self) -> &Table {
        &self.room_slot
    }

    /// Starts to load a module. The result of the module is the result of the step.
    pub fn require(&self, module: &str, limit: Duration) -> Result<Step, ScriptError> {
        let name = self.lua.create_string(module).map_err(|error| self.error(&error))?;
        self.start(&self.require, MultiValue::from_iter([mlua::Value::String(name)]), limit)
    }

    /// Starts a call of a function. The script may run for `limit` until it returns; time in which it waits for the services
    /// does not count.
    pub fn start(
        &self,
        function: &mlua::Function,
        arguments: MultiValue,
        limit: Duration,
    ) -> Result<Step, ScriptError> {
        let thread = self.thread().map_err(|error| self.error(&error))?;
        let mut all = arguments;
        all.push_front(mlua::Value::Function(function.clone()));
        self.state.budget.start(limit);
        self.resume_thread(thread, all)
    }

    /// Continues a script with the answer to its request.
    pub fn resume(&self, suspended: Suspended, answer: Result<Vec<Value>, ScriptError>) -> Result<Step, ScriptError> {
        self.state.budget.resume();
        let input = self.answer(answer).map_err(|error| self.error(&error))?;
        self.resume_thread(suspended.thread, input)
    }

    /// Continues a script with the answer to its request, which may now run for `limit`.
    pub fn resume_within(
        &self,
        suspended: Suspended,
        answer: Result<Vec<Value>, ScriptError>,
        limit: Duration,
    ) -> Result<Step, ScriptError> {
        self.state.budget.start(limit);
        self.resume(suspended, answer)
    }

    /// Converts the results of a script to values.
    #[cfg(test)]
    pub fn values(&self, results: &MultiValue) -> Result<Vec<Value>, ScriptError> {
        results.iter().map(from_lua).collect()
    }

    fn answer(&self, answer: Result<Vec<Value>, ScriptError>) -> mlua::Result<MultiValue> {
        let mut input = MultiValue::new();
        match answer {
            Ok(values) => {
                input.push_back(mlua::Value::Boolean(true));
                for value in &values {
                    input.push_back(to_lua(&self.lua, value)?);
                }
            }
            Err(error) => {
                input.push_back(mlua::Value::Boolean(false));
                input.push_back(mlua::Value::String(self.lua.create_string(&error.message)?));
            }
        }
        Ok(input)
    }

    fn resume_thread(&self, thread: Thread, mut input: MultiValue) -> Result<Step, ScriptError> {
        let mut results = loop {
            let resumed = thread.resume::<MultiValue>(input);
            self.state.budget.pause();
            // A script that caught the error of its stop has failed all the same.
            if let Some(error) = self.state.budget.violation() {
                return Err(error);
            }
            let results = resumed.map_err(|error| self.error(&error))?;
            if !thread.is_resumable() {
                break results;
            }
            let (index, function) = requested(&results)?;
            match results.iter().skip(2).map(from_lua).collect() {
                Ok(arguments) => return Ok(Step::Suspended(Suspended { thread, index, function, arguments })),
                // The script gets the error at its line, and may catch it.
                Err(refused) => {
                    self.state.budget.resume();
                    input = self.answer(Err(refused)).map_err(|error| self.error(&error))?;
                }
            }
        };
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        match results.pop_front() {
            Some(mlua::Value::Boolean(true)) => Ok(Step::Done(results)),
            _ => Err(failure::raised(results.pop_front().as_ref())),
        }
    }

    /// Returns a coroutine that runs the guard.
    fn thread(&self) -> mlua::Result<Thread> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(thread) => thread.reset(self.guard.clone()).map(|()| thread),
            None => self.lua.create_thread(self.guard.clone()),
        }
    }

    /// Converts an error of mlua.
    pub fn error(&self, error: &mlua::Error) -> ScriptError {
        self.state.budget.violation().unwrap_or_else(|| failure::of_mlua(error))
    }
}

/// Marks a yield as a request. Its address is no valid one, so no script can make it.
pub(crate) const MARK: mlua::LightUserData = mlua::LightUserData(std::ptr::without_provenance_mut(1));

/// Returns the function that a coroutine requested by yielding, with its index.
fn requested(yielded: &MultiValue) -> Result<(usize, &'static Function), ScriptError> {
    let index = match (yielded.front(), yielded.get(1)) {
        (Some(mlua::Value::LightUserData(mark)), Some(index)) if *mark == MARK => index.as_usize(),
        _ => None,
    };
    index.and_then(|index| Some((index, api::function_at(index)?))).ok_or_else(|| {
        let sentence = "coroutine.yield was called outside a coroutine of the script; \
                        call it only in functions that coroutine.resume or coroutine.wrap runs";
        ScriptError::invalid(sentence)
    })
}

fn run_prelude(lua: &Lua, state: &Arc<VmState>) -> mlua::Result<Table> {
    let host = lua.create_table()?;
    host.set("mark", MARK)?;
    let bound = Arc::clone(state);
    host.set("bind", lua.create_function(move |lua, (name, is_nk): (String, bool)| bind(lua, &bound, &name, is_nk))?)?;
    let keep = |_: &Lua, (table, name, function): (Table, String, mlua::Value)| {
        table.set_readonly(false);
        let kept = table.raw_set(name, function);
        table.set_readonly(true);
        kept
    };
    host.set("keep", lua.create_function(keep)?)?;
    // `table.freeze` refuses a table whose metatable is protected.
    let freeze = |_: &Lua, table: Table| {
        table.set_readonly(true);
        Ok(())
    };
    host.set("freeze", lua.create_function(freeze)?)?;
    // A function of Luau could be stopped here, and the error would be lost. The first level is this function.
    let failed = state.budget.clone();
    let describe = move |lua: &Lua, problem: mlua::Value| {
        let stack = lua.traceback(None, 1)?;
        failed.note_failure(failure::stack_of(&stack.to_string_lossy()));
        lua.create_sequence_from([problem, mlua::Value::String(stack)])
    };
    host.set("describe", lua.create_function(describe)?)?;
    host.set("is_native", lua.create_function(|_, function: mlua::Function| Ok(function.info().what == "C"))?)?;
    let clock = Arc::clone(state);
    host.set("now", lua.create_function(move |_, ()| Ok(clock.now_ms().div_euclid(1_000)))?)?;
    let clock = Arc::clone(state);
    host.set("clock", lua.create_function(move |_, ()| Ok(clock.seconds()))?)?;
    let loading = Arc::clone(state);
    let load = move |lua: &Lua, name: String| {
        let bytecode = loading.sources.bytecode(&name).map_err(mlua::Error::external)?;
        loading.registrations().note_loaded(&name);
        lua.load(&*bytecode).set_name(format!("={name}")).set_mode(ChunkMode::Binary).into_function()
    };
    host.set("load", lua.create_function(load)?)?;
    lua.load(prelude()?).set_name("=aether").set_mode(ChunkMode::Binary).call(host)
}

/// Returns the bytecode of the prelude, which is compiled once.
fn prelude() -> mlua::Result<&'static [u8]> {
    static BYTECODE: OnceLock<Vec<u8>> = OnceLock::new();
    match BYTECODE.get() {
        Some(bytecode) => Ok(bytecode),
        None => {
            let bytecode = Compiler::new().compile(include_str!("prelude.luau"))?;
            Ok(BYTECODE.get_or_init(|| bytecode))
        }
    }
}

/// Function that runs at once, index of another one, true if that is a function of the room, or chunk that returns the
/// function.
type Bound = (Option<mlua::Function>, Option<usize>, bool, Option<mlua::Function>);

/// Resolves a function.
fn bind(lua: &Lua, state: &Arc<VmState>, name: &str, is_nk: bool) -> mlua::Result<Bound> {
    let Some((index, function)) = api::find(name, is_nk) else { return Ok((None, None, false, None)) };
    let state = Arc::clone(state);
    match function.run {
        Run::Service(_) => Ok((None, Some(index), false, None)),
        Run::Room(_) => Ok((None, Some(index), true, None)),
        Run::Luau(chunk) => Ok((None, None, false, Some(lua.load(chunk).set_name("=aether").into_function()?))),
        Run::Local(run) => {
            let call = move |lua: &Lua, arguments: MultiValue| {
                let values = arguments.iter().map(from_lua).collect::<Result<_, _>>().map_err(mlua::Error::external)?;
                let results = run(&state, Arguments::new(function, values)).map_err(mlua::Error::external)?;
                results.iter().map(|value| to_lua(lua, value)).collect::<mlua::Result<MultiValue>>()
            };
            Ok((Some(lua.create_function(call)?), None, false, None))
        }
        Run::Native(run) => {
            let call = move |lua: &Lua, arguments: MultiValue| run(lua, &state, arguments);
            Ok((Some(lua.create_function(call)?), None, false, None))
        }
    }
}
