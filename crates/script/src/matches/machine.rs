//! [`Machine`]: the VM of a match, with its handler and state.

use super::handler::{Callback, Form, Handler};
use super::members::Members;
use super::room_call::{MatchParts, with_room};
use super::setup::MatchSetup;
use crate::error::{ErrorKind, ScriptError};
use crate::value::Value;
use crate::vm::{Step, Suspended, Vm, VmKind, VmSettings, to_lua};
use aether_engine::Context;
use mlua::{IntoLua, MultiValue, Table};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// VM of a match.
pub(crate) struct Machine {
    pub vm: Vm,
    pub handler: Handler,
    /// State that the script returned last.
    pub state: mlua::Value,
    pub parts: MatchParts,
    /// Context of the next join attempt, with the user.
    pub attempt_context: Option<mlua::Value>,
    dispatcher: mlua::Value,
}

impl Machine {
    /// Creates a VM and loads the module of the handler.
    pub fn load(
        setup: &MatchSetup,
        (seed, now_ms): (u64, u64),
        memory_max: usize,
        limit: Duration,
    ) -> Result<Machine, ScriptError> {
        let vm = Vm::new(setup.sources.clone(), &VmSettings { kind: VmKind::Match, memory_max, seed })?;
        vm.state().set_now_ms(i64::try_from(now_ms).unwrap_or(i64::MAX));
        vm.state().record_metrics(setup.metrics.as_ref());
        let returned = load_module(&vm, &setup.module, limit)?;
        let table = match setup.form {
            Form::Aether => vm.state().registrations().match_table(&setup.handler),
            Form::Nk => returned.into_iter().next().and_then(|value| value.as_table().cloned()),
        };
        let table = table.ok_or_else(|| {
            let sentence = format!("match handler `{}` was not found in module `{}`", setup.handler, setup.module);
            ScriptError::new(ErrorKind::Missing, sentence)
        })?;
        let handler = Handler::read(&setup.handler, setup.form, &table)?;
        let built = build(&vm, setup);
        let (context, dispatcher) = built.map_err(|error| ScriptError::invalid(error.to_string()))?;
        let parts = MatchParts {
            schema: handler.schema.clone(),
            members: Members::new(setup.node()),
            possessions: BTreeMap::new(),
            context,
            deferred: Vec::new(),
            tasks: VecDeque::new(),
            tasks_waiting: 0,
        };
        vm.collect_garbage()?;
        Ok(Machine { vm, handler, state: mlua::Value::Nil, parts, attempt_context: None, dispatcher })
    }

    /// Starts a function of the handler. `extra` are its own arguments, besides context, dispatcher, tick and state.
    pub fn start(
        &mut self,
        room: &mut Context<'_>,
        callback: Callback,
        extra: MultiValue,
        limit: Duration,
    ) -> Result<Option<Step>, ScriptError> {
        let arguments = self.arguments(room, callback, extra);
        let Some(function) = self.handler.function(callback) else { return Ok(None) };
        let step = with_room(&self.vm, room, &mut self.parts, |vm| vm.start(function, arguments, limit))?;
        Ok(Some(step))
    }

    /// Starts a function that runs beside the match.
    pub fn start_task(
        &mut self,
        room: &mut Context<'_>,
        (function, arguments): (mlua::Function, MultiValue),
        limit: Duration,
    ) -> Result<Step, ScriptError> {
        with_room(&self.vm, room, &mut self.parts, |vm| vm.start(&function, arguments, limit))
    }

    /// Continues a script with the answer to its request.
    pub fn resume(
        &mut self,
        room: &mut Context<'_>,
        suspended: Suspended,
        answer: Result<Vec<Value>, ScriptError>,
        limit: Duration,
    ) -> Result<Step, ScriptError> {
        with_room(&self.vm, room, &mut self.parts, |vm| vm.resume_within(suspended, answer, limit))
    }

    /// Converts a value for the script.
    pub fn to_lua(&self, value: &Value) -> Result<mlua::Value, ScriptError> {
        to_lua(self.vm.lua(), value).map_err(|error| ScriptError::invalid(error.to_string()))
    }

    /// Sets fields of the context that are known after the start.
    pub fn describe_room(&self, label: &str, tick_hz: u32) -> Result<(), ScriptError> {
        let context = &self.parts.context;
        let set = context.raw_set("match_label", label).and_then(|()| context.raw_set("match_tick_rate", tick_hz));
        set.map_err(|error| ScriptError::invalid(error.to_string()))
    }

    fn arguments(&mut self, room: &Context<'_>, callback: Callback, extra: MultiValue) -> MultiValue {
        let mut arguments = extra;
        let tick = mlua::Value::Number(f64::from(room.tick().0));
        let context = mlua::Value::Table(self.parts.context.clone());
        match (self.handler.form, callback) {
            (_, Callback::Init) => {}
            (Form::Nk, Callback::Reload) | (Form::Aether, _) => {
                if callback == Callback::Loop {
                    arguments.push_front(tick);
                }
                arguments.push_front(self.state.clone());
            }
            (Form::Nk, _) => {
                arguments.push_front(self.state.clone());
                arguments.push_front(tick);
                arguments.push_front(self.dispatcher.clone());
            }
        }
        arguments.push_front(self.attempt_context.take().unwrap_or(context));
        arguments
    }
}

/// Loads a module. Calls of services at its top level do nothing in the VM of a match: they were carried out when the server
/// loaded the module.
fn load_module(vm: &Vm, module: &str, limit: Duration) -> Result<MultiValue, ScriptError> {
    vm.state().registrations().begin_module(module);
    let mut step = vm.require(module, limit)?;
    loop {
        match step {
            Step::Done(results) => return Ok(results),
            Step::Suspended(suspended) => step = vm.resume(suspended, Ok(Vec::new()))?,
        }
    }
}

/// Creates the context and the dispatcher of a match.
fn build(vm: &Vm, setup: &MatchSetup) -> mlua::Result<(Table, mlua::Value)> {
    let lua = vm.lua();
    let context = lua.create_table()?;
    context.raw_set("env", to_lua(lua, &setup.environment)?)?;
    context.raw_set("execution_mode", "match")?;
    context.raw_set("node", setup.node())?;
    context.raw_set("version", setup.version.as_str())?;
    context.raw_set("match_id", setup.match_id.as_str())?;
    context.raw_set("match_node", setup.node())?;
    if setup.form == Form::Aether {
        return Ok((context, mlua::Value::Nil));
    }
    let aether: Table = lua.globals().get("aether")?;
    let dispatcher = lua.create_table()?;
    for (name, function) in [
        ("broadcast_message", "broadcast"),
        ("broadcast_message_deferred", "broadcast_deferred"),
        ("match_kick", "kick"),
        ("match_label_update", "set_label"),
    ] {
        dispatcher.raw_set(name, aether.get::<mlua::Function>(function)?)?;
    }
    dispatcher.set_readonly(true);
    Ok((context, dispatcher.into_lua(lua)?))
}
