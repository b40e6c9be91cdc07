//! [`RoomCall`]: access of a running script to its room.
//!
//! While a function of a match runs, one function of the VM leads to the room. Functions that are declared with
//! [`Run::Room`](crate::function::Run) call it with their index and get a `RoomCall`. It is valid for this call only: a
//! script cannot keep it, and a coroutine that continues in a later tick gets that of the later tick.

use super::members::Members;
use crate::api;
use crate::error::ScriptError;
use crate::function::Run;
use crate::vm::{MARK, Vm};
use aether_bits::runtime::RuntimeSchema;
use aether_engine::Context;
use aether_wire::{EntityId, PlayerId};
use mlua::{Lua, MultiValue, Table};
use std::collections::{BTreeMap, VecDeque};

/// Most functions that wait to run beside a match, and that run beside it, together.
pub(crate) const TASKS_MAX: usize = 64;
/// Most broadcasts that wait for the end of a tick.
pub(crate) const DEFERRED_MAX: usize = 1_024;

/// Room of a match, for functions that its script calls.
///
/// Functions must take random numbers from the VM (`VmState::random`), not from `room.random`: the VM has them during a call.
pub(crate) struct RoomCall<'call, 'room> {
    /// The room.
    pub room: &'call mut Context<'room>,
    /// Parts of the match that functions read and change.
    pub parts: &'call mut MatchParts,
}

/// Parts of a match that functions of its script read and change.
pub(crate) struct MatchParts {
    /// Components, input and events.
    pub schema: RuntimeSchema,
    /// Players, with their tables.
    pub members: Members,
    /// Entities that players possess, as far as the script gave them.
    pub possessions: BTreeMap<PlayerId, EntityId>,
    /// Context of the match's functions: `match_label` changes with the label.
    pub context: Table,
    /// Broadcasts for the end of the tick.
    pub deferred: Vec<Broadcast>,
    /// Functions that run beside the match after the current call.
    pub tasks: VecDeque<(mlua::Function, MultiValue)>,
    /// Number of tasks that wait for the services.
    pub tasks_waiting: usize,
}

/// Match data to send.
pub(crate) struct Broadcast {
    pub op_code: u16,
    pub data: Vec<u8>,
    /// Receivers; all players if there is no list.
    pub receivers: Option<Vec<PlayerId>>,
    pub sender: Option<PlayerId>,
}

impl Broadcast {
    /// Sends the data.
    pub fn send(self, room: &mut Context<'_>) {
        match self.receivers {
            Some(receivers) => room.send_data(&receivers, self.op_code, self.data, self.sender),
            None => room.broadcast_data(self.op_code, self.data, self.sender),
        }
    }
}

/// Returns an error as results, which the binding raises at the line of the script. An error of the VM itself stays one.
fn marked(lua: &Lua, error: mlua::Error) -> mlua::Result<MultiValue> {
    let text = match &error {
        mlua::Error::RuntimeError(text) => text.clone(),
        mlua::Error::ExternalError(external) => external.to_string(),
        _ => return Err(error),
    };
    let text = mlua::Value::String(lua.create_string(text)?);
    Ok(MultiValue::from_iter([mlua::Value::LightUserData(MARK), text]))
}

/// Runs a script with access to the room: `run` starts or resumes it. Time and random numbers of the VM are those of the
/// room meanwhile.
pub(crate) fn with_room<R>(
    vm: &Vm,
    room: &mut Context<'_>,
    parts: &mut MatchParts,
    run: impl FnOnce(&Vm) -> Result<R, ScriptError>,
) -> Result<R, ScriptError> {
    let state = vm.state();
    state.set_now_ms(i64::try_from(room.now_ms()).unwrap_or(i64::MAX));
    state.random().clone_from(room.random);
    let mut call = RoomCall { room: &mut *room, parts };
    let outcome = vm.lua().scope(|scope| {
        let serve = scope.create_function_mut(|lua, mut arguments: MultiValue| {
            let index = arguments.pop_front().and_then(|index| index.as_usize());
            match index.and_then(api::function_at).map(|function| function.run) {
                Some(Run::Room(serve)) => serve(lua, &mut call, arguments).or_else(|error| marked(lua, error)),
                _ => Err(mlua::Error::runtime("the function is not one of a match")),
            }
        })?;
        vm.room_slot().raw_set(1, serve)?;
        Ok(run(vm))
    });
    let cleared = vm.room_slot().raw_set(1, false);
    room.random.clone_from(&state.random());
    match (outcome, cleared) {
        (Ok(result), Ok(())) => result,
        (Err(error), _) | (_, Err(error)) => Err(ScriptError::invalid(error.to_string())),
    }
}
