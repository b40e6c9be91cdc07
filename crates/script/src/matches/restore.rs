//! Checkpoints of a match, and the change to new code.

use super::game::ScriptGame;
use super::handler::Callback;
use super::machine::Machine;
use super::members::Presence;
use super::setup::{MatchSetup, read_sources_bytes};
use super::state::read_state;
use crate::error::ScriptError;
use crate::source::Sources;
use crate::value::Value;
use crate::vm::Step;
use aether_engine::{Context, Rejection};
use aether_wire::{EntityId, ErrorCode, PlayerId};
use aether_world::World;
use mlua::MultiValue;
use std::sync::Arc;
use std::time::Duration;

/// State of a match in a checkpoint or capture.
pub(super) struct MatchCheckpoint;

impl MatchCheckpoint {
    /// Returns the state, with the entities of a world; none if the state is not plain data.
    pub fn take(game: &ScriptGame, world: Option<&World>) -> Option<Vec<u8>> {
        let state = read_state(&game.machine.state).ok().filter(|state| state.is_plain)?;
        let context = &game.machine.parts.context;
        let tick_rate: f64 = context.raw_get("match_tick_rate").unwrap_or_default();
        let label: String = context.raw_get("match_label").unwrap_or_default();
        let members = game.machine.parts.members.iter().map(|member| {
            Value::list([
                Value::Number(f64::from(member.player.0)),
                Value::from(member.user.as_str()),
                Value::from(member.session.as_str()),
                Value::from(member.username.as_str()),
            ])
        });
        let possessions = game.machine.parts.possessions.iter().map(|(player, entity)| {
            Value::list([Value::Number(f64::from(player.0)), Value::from(entity.to_bits().to_string())])
        });
        let entities = world.filter(|world| !world.is_empty()).map(World::capture);
        let checkpoint = Value::table([
            ("state", state.value),
            ("schema", Value::from(schema_name(game))),
            ("entities", entities.into()),
            ("possessions", Value::list(possessions)),
            ("tick_rate", Value::Number(tick_rate)),
            ("label", Value::from(label)),
            ("members", Value::list(members)),
        ]);
        Some(checkpoint.to_bytes())
    }

    /// Restores a match that is rebuilt. Its code may be newer than the state: `match_reload` adapts it.
    pub fn restore(game: &mut ScriptGame, room: &mut Context<'_>, bytes: &[u8]) -> Result<(), Rejection> {
        let rejected = |error: ScriptError| Rejection::new(ErrorCode::BadValue, error.to_string());
        let checkpoint = read(game, room, bytes).map_err(rejected)?;
        if let Value::Text(entities) = checkpoint.get("entities") {
            restore_entities(game, room, (checkpoint.get("schema"), entities)).map_err(rejected)?;
        }
        game.former = members(&checkpoint);
        let limit = super::INIT_TIME_MAX;
        adapt(&mut game.machine, room, limit).map_err(rejected)
    }

    /// Restores the exact state, for a replay.
    pub fn restore_exactly(game: &mut ScriptGame, room: &mut Context<'_>, bytes: &[u8]) -> Result<(), Rejection> {
        let rejected = |error: ScriptError| Rejection::new(ErrorCode::BadValue, error.to_string());
        for presence in members(&read(game, room, bytes).map_err(rejected)?) {
            game.add_member(&presence).map_err(rejected)?;
        }
        Ok(())
    }
}

/// Restores the entities of a checkpoint. Those of another schema cannot be read: `match_reload` spawns them again.
fn restore_entities(
    game: &mut ScriptGame,
    room: &mut Context<'_>,
    (schema, entities): (&Value, &[u8]),
) -> Result<(), ScriptError> {
    if schema.as_str() == Some(&schema_name(game)) {
        let damaged = |_| ScriptError::invalid("the entities of the checkpoint are damaged");
        return room.world.restore_at_tick(entities).map_err(damaged);
    }
    game.machine.parts.possessions.clear();
    match game.machine.handler.function(Callback::Reload) {
        Some(_) => Ok(()),
        None => {
            Err(ScriptError::invalid("the schema of the match changed; add a match_reload that spawns its entities"))
        }
    }
}

/// Returns the hash of the schema as text, because numbers of scripts have 53 bits.
fn schema_name(game: &ScriptGame) -> String {
    format!("{:016x}", game.machine.handler.schema.schema().hash())
}

/// Takes state, tick rate, label and possessions over from a checkpoint, and returns it.
fn read(game: &mut ScriptGame, room: &mut Context<'_>, bytes: &[u8]) -> Result<Value, ScriptError> {
    let checkpoint = Value::from_bytes(bytes).map_err(|error| ScriptError::invalid(error.to_string()))?;
    let tick_hz = match checkpoint.get("tick_rate") {
        Value::Number(rate) => *rate as u32,
        _ => room.settings().tick_hz,
    };
    room.set_tick_hz(tick_hz).map_err(|error| ScriptError::invalid(error.to_string()))?;
    let label = checkpoint.get("label").as_str().unwrap_or_default();
    room.set_label(label);
    game.machine.describe_room(label, tick_hz)?;
    game.machine.state = game.machine.to_lua(checkpoint.get("state"))?;
    if let Value::List(possessions) = checkpoint.get("possessions") {
        game.machine.parts.possessions = possessions.iter().filter_map(possession).collect();
    }
    Ok(checkpoint)
}

fn possession(possession: &Value) -> Option<(PlayerId, EntityId)> {
    let Value::List(fields) = possession else { return None };
    let [Value::Number(player), entity] = &fields[..] else { return None };
    Some((PlayerId(*player as u32), EntityId::from_bits(entity.as_str()?.parse().ok()?)?))
}

/// Returns the players that the script of a checkpoint knew.
fn members(checkpoint: &Value) -> Vec<Arc<Presence>> {
    let Value::List(members) = checkpoint.get("members") else { return Vec::new() };
    let member = |member: &Value| {
        let Value::List(fields) = member else { return None };
        let [Value::Number(player), user, session, username] = &fields[..] else { return None };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let player = PlayerId(*player as u32);
        Some(Arc::new(Presence { player, user: text(user), session: text(session), username: text(username) }))
    };
    members.iter().filter_map(member).collect()
}

/// Lets the script adapt a state from other code, if it has a `match_reload`.
fn adapt(machine: &mut Machine, room: &mut Context<'_>, limit: Duration) -> Result<(), ScriptError> {
    let Some(mut step) = machine.start(room, Callback::Reload, MultiValue::new(), limit)? else { return Ok(()) };
    let results = loop {
        match step {
            Step::Done(results) => break results,
            Step::Suspended(suspended) => {
                let sentence = format!("`{}` cannot be called in match_reload", suspended.function.name);
                step = machine.resume(room, suspended, Err(ScriptError::invalid(sentence)), limit)?;
            }
        }
    };
    if let Some(state) = results.into_iter().next().filter(|state| !state.is_nil()) {
        machine.state = state;
    }
    Ok(())
}

impl ScriptGame {
    /// Takes new code over: at once if no script waits for the services, otherwise when none waits any more.
    pub(super) fn take_code(&mut self, room: &mut Context<'_>, code: &[u8]) {
        match read_sources_bytes(code) {
            Ok(sources) => self.new_code = Some(Arc::new(sources)),
            Err(error) => self.keep_code(&error),
        }
        self.change_code(room);
    }

    /// Changes to the new code, if there is some and no script waits.
    pub(super) fn change_code(&mut self, room: &mut Context<'_>) {
        if !self.is_idle() {
            return;
        }
        let Some(sources) = self.new_code.take() else { return };
        if let Err(error) = self.change_to(room, sources) {
            self.keep_code(&error);
        }
    }

    /// Loads the new code into a VM of its own and moves the state there. After an error the match is as before.
    fn change_to(&mut self, room: &mut Context<'_>, sources: Arc<Sources>) -> Result<(), ScriptError> {
        let is_same = |module: &String| sources.text(module) == self.setup.sources.text(module);
        if self.machine.vm.state().registrations().loaded().iter().all(is_same) {
            return Ok(());
        }
        let setup = MatchSetup { sources, ..self.setup.clone() };
        // Rare, and other rooms of the thread wait at most this long.
        let limit = Duration::from_secs_f32(room.seconds_per_tick()).max(self.call_limit(room));
        let mut machine = Machine::load(&setup, (room.random.state(), room.now_ms()), self.limits.memory_max, limit)?;
        if machine.handler.schema.schema() != self.machine.handler.schema.schema() {
            let sentence =
                "the schema changed, and players have the former one; the next match of this name uses the new code";
            return Err(ScriptError::invalid(sentence));
        }
        let state = read_state(&self.machine.state)?;
        if !state.is_plain && machine.handler.function(Callback::Reload).is_none() {
            let sentence = "the state has functions, coroutines or metatables, which cannot move to new code; \
                            keep plain data in it, or add a match_reload";
            return Err(ScriptError::invalid(sentence));
        }
        machine.state = machine.to_lua(&state.value)?;
        machine.describe_room(room.label(), room.settings().tick_hz)?;
        for presence in self.machine.parts.members.iter() {
            let added = machine.parts.members.add(machine.vm.lua(), presence);
            added.map_err(|error| ScriptError::invalid(error.to_string()))?;
        }
        machine.parts.possessions = self.machine.parts.possessions.clone();
        machine.parts.deferred = std::mem::take(&mut self.machine.parts.deferred);
        if let Err(error) = adapt(&mut machine, room, limit) {
            self.machine.parts.deferred = machine.parts.deferred;
            return Err(error);
        }
        self.machine = machine;
        self.setup = setup;
        Ok(())
    }
}
