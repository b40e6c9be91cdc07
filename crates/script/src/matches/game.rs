//! [`ScriptGame`]: a match of a script as a game of the engine.

use super::fields::to_table;
use super::handler::{Callback, Form, read_start};
use super::machine::Machine;
use super::members::Presence;
use super::restore::MatchCheckpoint;
use super::service::{ServiceCaller, no_services, read_answer, service_request};
use super::setup::MatchSetup;
use super::state::read_state;
use super::{INIT_TIME_MAX, MESSAGES_MAX, REPLAY_TIME_FACTOR};
use crate::error::ScriptError;
use crate::program::MatchLimits;
use crate::source::Sources;
use crate::value::Value;
use crate::vm::{Step, Suspended};
use aether_bits::StateHasher;
use aether_bits::runtime::{EventHandle, Record, RecordType, RuntimeSchema};
use aether_engine::{Answer, Context, JoinRequest, Rejection, RuntimeGame};
use aether_wire::{CloseReason, ErrorCode, PlayerId, RequestId};
use aether_world::World;
use mlua::{IntoLua, MultiValue};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tracing::{info, warn};

/// A match of a script.
pub(crate) struct ScriptGame {
    pub(super) setup: MatchSetup,
    pub(super) limits: MatchLimits,
    origin: Origin,
    pub(super) machine: Machine,
    schema: RuntimeSchema,
    /// Scripts that wait for the services, by request.
    waiting: BTreeMap<RequestId, (Owner, Suspended)>,
    /// True while a function of the match waits: later ones wait for it.
    is_busy: bool,
    queue: VecDeque<Work>,
    messages: VecDeque<Message>,
    /// Code to take over when nothing waits.
    pub(super) new_code: Option<Arc<Sources>>,
    /// Players of a restored state who have not joined again.
    pub(super) former: Vec<Arc<Presence>>,
    /// True after the script failed or returned no state: it is not called again.
    is_over: bool,
}

/// Values from which a [`ScriptGame`] is created.
pub(crate) struct GameParts {
    pub setup: MatchSetup,
    pub limits: MatchLimits,
    pub seed: u64,
    /// Wall clock of tick 0, in milliseconds since 1970.
    pub started_ms: u64,
    pub origin: Origin,
}

/// Origin of a match, which decides where `match_init` gets answers of the services from.
pub(crate) enum Origin {
    /// Created on a server.
    Server(ServiceCaller),
    /// Created without a server, so without services.
    Local,
    /// Replayed: answers are in the setup.
    Recording,
}

/// Script that waits for the services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// A function of the match.
    Match(Callback),
    /// A function that runs beside the match.
    Task,
}

/// Function of the match that is due.
enum Work {
    Join(Arc<Presence>),
    Leave(Arc<Presence>),
}

/// Match data of a player.
struct Message {
    sender: Arc<Presence>,
    op_code: u16,
    data: Vec<u8>,
    received_ms: u64,
}

impl ScriptGame {
    /// Loads the script of a match. The match begins with [`RuntimeGame::init`].
    pub fn new(parts: GameParts) -> Result<ScriptGame, ScriptError> {
        let GameParts { setup, limits, seed, started_ms, origin } = parts;
        let machine = Machine::load(&setup, (seed, started_ms), limits.memory_max, INIT_TIME_MAX)?;
        Ok(ScriptGame {
            schema: machine.handler.schema.clone(),
            setup,
            limits,
            origin,
            machine,
            waiting: BTreeMap::new(),
            is_busy: false,
            queue: VecDeque::new(),
            messages: VecDeque::new(),
            new_code: None,
            former: Vec::new(),
            is_over: false,
        })
    }

    /// Returns the time that a call may take: a share of a tick. A replay does not depend on the speed of its machine.
    pub(super) fn call_limit(&self, room: &Context<'_>) -> Duration {
        let share = Duration::from_secs_f32(room.seconds_per_tick()).mul_f64(self.limits.tick_share);
        if matches!(self.origin, Origin::Recording) { share * REPLAY_TIME_FACTOR } else { share }
    }

    /// Returns true if no script waits for the services.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.queue.is_empty()
    }

    /// Runs `match_init` to its end. Answers of services are recorded in the setup, or taken from it in a replay.
    fn run_init(&mut self, room: &mut Context<'_>) -> Result<(), ScriptError> {
        let params = match &self.setup.params {
            Value::Nil => Value::table([]),
            params => params.clone(),
        };
        let params = MultiValue::from_iter([self.machine.to_lua(&params)?]);
        let mut recorded = std::mem::take(&mut self.setup.answers).into_iter();
        let Some(mut step) = self.machine.start(room, Callback::Init, params, INIT_TIME_MAX)? else {
            return self.machine.describe_room(room.label(), room.settings().tick_hz);
        };
        let results = loop {
            match step {
                Step::Done(results) => break results,
                Step::Suspended(suspended) => {
                    let answer = match &self.origin {
                        Origin::Server(services) => services.call(suspended.index, &suspended.arguments),
                        Origin::Local => no_services(),
                        Origin::Recording => recorded.next().unwrap_or_default(),
                    };
                    self.setup.answers.push(answer.clone());
                    step = self.machine.resume(room, suspended, read_answer(answer), INIT_TIME_MAX)?;
                }
            }
        };
        let start = read_start(self.machine.handler.form, results)?;
        let tick_hz = start.tick_hz.unwrap_or(room.settings().tick_hz);
        room.set_tick_hz(tick_hz).map_err(|error| ScriptError::invalid(error.to_string()))?;
        if let Some(label) = start.label {
            room.set_label(label);
        }
        self.machine.state = start.state;
        self.machine.describe_room(room.label(), tick_hz)?;
        self.start_tasks(room);
        Ok(())
    }

    /// Runs a function that must answer at once. A call of a service in it is an error that the script can catch.
    fn run_at_once(
        &mut self,
        room: &mut Context<'_>,
        callback: Callback,
        extra: MultiValue,
    ) -> Result<Option<MultiValue>, ScriptError> {
        let limit = self.call_limit(room);
        let Some(mut step) = self.machine.start(room, callback, extra, limit)? else { return Ok(None) };
        loop {
            match step {
                Step::Done(results) => return Ok(Some(results)),
                Step::Suspended(suspended) => {
                    let sentence = format!(
                        "`{}` cannot be called in `{}`, which must answer at once; call it in match_join or match_loop, \
                         or in a function for aether.task",
                        suspended.function.name,
                        callback.name()
                    );
                    step = self.machine.resume(room, suspended, Err(ScriptError::invalid(sentence)), limit)?;
                }
            }
        }
    }

    /// Runs the functions that are due, until one waits for the services.
    fn run_queue(&mut self, room: &mut Context<'_>) {
        while !self.is_busy && !self.is_over {
            let Some(work) = self.queue.pop_front() else { return };
            let (callback, presence) = match work {
                Work::Join(presence) => (Callback::Join, presence),
                Work::Leave(presence) => (Callback::Leave, presence),
            };
            let step = self.presences(&presence).and_then(|presences| {
                let limit = self.call_limit(room);
                self.machine.start(room, callback, presences, limit)
            });
            self.proceed_with(room, Owner::Match(callback), step);
        }
    }

    /// Runs `match_loop` with the messages since the last one.
    fn run_loop(&mut self, room: &mut Context<'_>) {
        let step = self.take_messages().and_then(|messages| {
            let limit = self.call_limit(room);
            self.machine.start(room, Callback::Loop, MultiValue::from_iter([messages]), limit)
        });
        self.proceed_with(room, Owner::Match(Callback::Loop), step);
    }

    /// Handles the outcome of a function, which the handler may leave out.
    fn proceed_with(&mut self, room: &mut Context<'_>, owner: Owner, step: Result<Option<Step>, ScriptError>) {
        match step.transpose() {
            Some(step) => self.proceed(room, owner, step),
            None => self.start_tasks(room),
        }
    }

    /// Handles the outcome of a script that has run: it has ended, waits for the services, or failed.
    fn proceed(&mut self, room: &mut Context<'_>, owner: Owner, step: Result<Step, ScriptError>) {
        match step {
            Ok(Step::Suspended(suspended)) => {
                let id = room.request(service_request(suspended.index, &suspended.arguments));
                match owner {
                    Owner::Match(_) => self.is_busy = true,
                    Owner::Task => self.machine.parts.tasks_waiting += 1,
                }
                self.waiting.insert(id, (owner, suspended));
            }
            Ok(Step::Done(results)) => {
                if let Owner::Match(callback) = owner
                    && let Err(error) = self.finish(room, callback, results)
                {
                    self.fail(room, &error);
                }
            }
            Err(error) => self.fail(room, &error),
        }
        self.start_tasks(room);
    }

    /// Starts the functions that the script wants to run beside the match.
    fn start_tasks(&mut self, room: &mut Context<'_>) {
        while !self.is_over
            && let Some(task) = self.machine.parts.tasks.pop_front()
        {
            let limit = self.call_limit(room);
            let step = self.machine.start_task(room, task, limit);
            match step {
                Ok(Step::Done(_)) => {}
                step => self.proceed(room, Owner::Task, step),
            }
        }
    }

    /// Takes over the results of a function of the match.
    fn finish(
        &mut self,
        room: &mut Context<'_>,
        callback: Callback,
        mut results: MultiValue,
    ) -> Result<(), ScriptError> {
        self.take_state(room, &mut results);
        if callback == Callback::Loop
            && self.machine.handler.form == Form::Aether
            && let Some(mlua::Value::Table(broadcasts)) = results.pop_front()
        {
            super::broadcast::send_all(&self.machine.parts.members, room, &broadcasts)?;
        }
        Ok(())
    }

    /// Takes the state from the results. No state ends the match; a function of the form `aether` that returns nothing at all
    /// keeps it.
    fn take_state(&mut self, room: &mut Context<'_>, results: &mut MultiValue) {
        if results.is_empty() && self.machine.handler.form == Form::Aether {
            return;
        }
        match results.pop_front().unwrap_or(mlua::Value::Nil) {
            mlua::Value::Nil => {
                self.is_over = true;
                room.end();
            }
            state => self.machine.state = state,
        }
    }

    /// Ends the match because its script failed.
    fn fail(&mut self, room: &mut Context<'_>, error: &ScriptError) {
        self.is_over = true;
        room.fail(format!("match handler `{}`: {}", self.setup.handler, located(error)));
    }

    fn presences(&self, presence: &Presence) -> Result<MultiValue, ScriptError> {
        let lua = self.machine.vm.lua();
        let list = self.machine.parts.members.table(lua, presence).and_then(|table| lua.create_sequence_from([table]));
        let list = list.map_err(|error| ScriptError::invalid(error.to_string()))?;
        Ok(MultiValue::from_iter([mlua::Value::Table(list)]))
    }

    /// Returns the table of the messages since the last `match_loop`.
    fn take_messages(&mut self) -> Result<mlua::Value, ScriptError> {
        let messages = std::mem::take(&mut self.messages);
        self.message_tables(&messages).map_err(|error| ScriptError::invalid(error.to_string()))
    }

    fn message_tables(&self, messages: &VecDeque<Message>) -> mlua::Result<mlua::Value> {
        let (lua, members) = (self.machine.vm.lua(), &self.machine.parts.members);
        let list = lua.create_table_with_capacity(messages.len(), 0)?;
        for (index, message) in messages.iter().enumerate() {
            let table = lua.create_table_with_capacity(0, 5)?;
            table.raw_set("sender", members.table(lua, &message.sender)?)?;
            table.raw_set("op_code", message.op_code)?;
            table.raw_set("data", lua.create_string(&message.data)?)?;
            // Over WebSocket and in the inbox of a room, nothing is lost.
            table.raw_set("reliable", true)?;
            table.raw_set("receive_time_ms", message.received_ms)?;
            list.raw_set(index + 1, table)?;
        }
        list.into_lua(lua)
    }

    /// Returns the arguments of a join attempt: the context with the user, and the presence. `nk` gets the metadata too.
    fn attempt(&self, request: &JoinRequest) -> mlua::Result<(mlua::Value, MultiValue)> {
        let lua = self.machine.vm.lua();
        let parts = &self.machine.parts;
        let presence = presence_of(PlayerId(0), request);
        let table = parts.members.table(lua, &presence)?;
        let metadata = lua.create_table()?;
        for (key, value) in request.metadata.iter() {
            metadata.raw_set(key, value)?;
        }
        let context = lua.create_table()?;
        for pair in parts.context.pairs::<mlua::Value, mlua::Value>() {
            let (key, value) = pair?;
            context.raw_set(key, value)?;
        }
        context.raw_set("user_id", presence.user.as_str())?;
        context.raw_set("username", presence.username.as_str())?;
        context.raw_set("session_id", presence.session.as_str())?;
        let extra = match self.machine.handler.form {
            Form::Nk => MultiValue::from_iter([mlua::Value::Table(table), mlua::Value::Table(metadata)]),
            Form::Aether => {
                table.raw_set("metadata", metadata)?;
                MultiValue::from_iter([mlua::Value::Table(lua.create_sequence_from([table])?)])
            }
        };
        Ok((mlua::Value::Table(context), extra))
    }

    /// Decides about a join attempt by the results of the script.
    fn decide(&mut self, room: &mut Context<'_>, mut results: MultiValue) -> Result<(), Rejection> {
        let is_nk = self.machine.handler.form == Form::Nk;
        if is_nk || matches!(results.front(), Some(mlua::Value::Table(_))) {
            self.take_state(room, &mut results);
        }
        // The form `aether` accepts unless it says otherwise.
        if !is_nk && results.front().is_none_or(mlua::Value::is_nil) {
            return Ok(());
        }
        let allowed = results
            .pop_front()
            .is_some_and(|allowed| !matches!(allowed, mlua::Value::Boolean(false) | mlua::Value::Nil));
        if allowed && !self.is_over {
            return Ok(());
        }
        let reason = results.pop_front().and_then(|reason| reason.as_string().map(|text| text.to_string_lossy()));
        let reason = reason.filter(|reason| !reason.is_empty());
        Err(Rejection::new(ErrorCode::JoinRefused, reason.unwrap_or_else(|| "Match join rejected.".to_owned())))
    }

    /// Adds a player with a table.
    pub(super) fn add_member(&mut self, presence: &Arc<Presence>) -> Result<(), ScriptError> {
        let added = self.machine.parts.members.add(self.machine.vm.lua(), presence);
        added.map_err(|error| ScriptError::invalid(error.to_string()))
    }

    fn enqueue_join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let presence = Arc::new(presence_in(room, player));
        if let Err(error) = self.add_member(&presence) {
            return self.fail(room, &error);
        }
        self.queue.push_back(Work::Join(presence));
        self.run_queue(room);
    }
}

impl RuntimeGame for ScriptGame {
    fn schema(&self) -> &RuntimeSchema {
        &self.schema
    }

    fn setup(&self) -> Vec<u8> {
        self.setup.to_bytes()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        if let Err(error) = self.run_init(room) {
            self.fail(room, &error);
        }
    }

    fn join_attempt(&mut self, room: &mut Context<'_>, request: &JoinRequest) -> Result<(), Rejection> {
        let refused = || Rejection::new(ErrorCode::JoinRefused, "the match has ended; join another one");
        if self.is_over {
            return Err(refused());
        }
        let attempt = self.attempt(request).map_err(|error| ScriptError::invalid(error.to_string()));
        let results = attempt.and_then(|(context, extra)| self.run_attempt(room, context, extra));
        match results {
            Ok(None) => Ok(()),
            Ok(Some(results)) => self.decide(room, results),
            Err(error) => {
                self.fail(room, &error);
                Err(refused())
            }
        }
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        self.enqueue_join(room, player);
    }

    fn leave(&mut self, room: &mut Context<'_>, player: PlayerId, _reason: CloseReason) {
        self.machine.parts.possessions.remove(&player);
        if let Some(presence) = self.machine.parts.members.remove(player) {
            self.queue.push_back(Work::Leave(presence));
            self.run_queue(room);
        }
    }

    /// A player who resumes in another session leaves and joins for the script, which knows players by their session.
    fn resumed(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let Some(before) = self.machine.parts.members.get(player).cloned() else { return };
        if before.session != room.session(player).unwrap_or_default() {
            self.queue.push_back(Work::Leave(before));
            self.enqueue_join(room, player);
        }
    }

    /// The restored state has the players of its checkpoint. The script is told of the others.
    fn rejoin(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let session = room.session(player).unwrap_or_default();
        let is_known = |former: &Arc<Presence>| former.player == player && former.session == session;
        let Some(at) = self.former.iter().position(is_known) else {
            return self.enqueue_join(room, player);
        };
        let presence = self.former.remove(at);
        if let Some(entity) = self.machine.parts.possessions.get(&player)
            && room.world.contains(*entity)
        {
            room.possess(player, *entity);
        }
        if let Err(error) = self.add_member(&presence) {
            self.fail(room, &error);
        }
    }

    fn data(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        op_code: u16,
        payload: &[u8],
    ) -> Result<(), Rejection> {
        let Some(sender) = self.machine.parts.members.get(player).cloned() else { return Ok(()) };
        if self.messages.len() >= MESSAGES_MAX {
            let sentence = "the match has too many messages to handle; send fewer";
            return Err(Rejection::new(ErrorCode::RateLimited, sentence));
        }
        self.messages.push_back(Message { sender, op_code, data: payload.to_vec(), received_ms: room.now_ms() });
        Ok(())
    }

    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, input: &Record) {
        let Some(record_type) = self.schema.input().cloned() else { return };
        self.call_with_record(room, Callback::Input, player, (&record_type, input));
    }

    fn message(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        message: EventHandle,
        record: &Record,
    ) -> Result<(), Rejection> {
        let event = self.schema.event(message).cloned();
        let Some(record_type) = event.filter(|_| self.machine.handler.function(Callback::Event).is_some()) else {
            return Err(Rejection::new(ErrorCode::UnknownCommand, "this match accepts no events of players"));
        };
        let mut results =
            self.call_with_record(room, Callback::Event, player, (&record_type, record)).unwrap_or_default();
        if !matches!(results.pop_front(), Some(mlua::Value::Boolean(false))) {
            return Ok(());
        }
        let reason = results.pop_front().and_then(|reason| reason.as_string().map(|text| text.to_string_lossy()));
        Err(Rejection::new(ErrorCode::BadValue, reason.unwrap_or_else(|| "the match refused the event".to_owned())))
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        self.change_code(room);
        let mut abandoned = Vec::new();
        for presence in std::mem::take(&mut self.former) {
            abandoned.extend(self.machine.parts.possessions.remove(&presence.player));
            self.queue.push_back(Work::Leave(presence));
        }
        self.run_queue(room);
        // The room does the same when a player leaves.
        for entity in abandoned {
            room.world.despawn(entity);
        }
        if !self.is_busy && !self.is_over {
            self.run_loop(room);
        }
        for broadcast in std::mem::take(&mut self.machine.parts.deferred) {
            broadcast.send(room);
        }
    }

    fn answer(&mut self, room: &mut Context<'_>, id: RequestId, answer: &Answer) {
        let Some((owner, suspended)) = self.waiting.remove(&id) else { return };
        match owner {
            Owner::Match(_) => self.is_busy = false,
            Owner::Task => self.machine.parts.tasks_waiting -= 1,
        }
        if self.is_over {
            return;
        }
        let answer = match answer {
            Answer::Value(Some(bytes)) => {
                Value::from_bytes(bytes).map_err(|error| ScriptError::invalid(error.to_string()))
            }
            Answer::Failed(text) => Err(ScriptError::invalid(text.clone())),
            Answer::Done | Answer::Value(None) => Ok(Value::Nil),
        };
        let limit = self.call_limit(room);
        let step = self.machine.resume(room, suspended, answer.and_then(read_answer), limit);
        self.proceed(room, owner, step);
        self.run_queue(room);
    }

    fn signal(&mut self, room: &mut Context<'_>, data: &[u8]) -> Vec<u8> {
        if self.is_over {
            return Vec::new();
        }
        let text = self.machine.vm.lua().create_string(data).map_err(|error| ScriptError::invalid(error.to_string()));
        let results = text.and_then(|text| {
            self.run_at_once(room, Callback::Signal, MultiValue::from_iter([mlua::Value::String(text)]))
        });
        match results {
            Ok(Some(mut results)) => {
                self.take_state(room, &mut results);
                self.start_tasks(room);
                results.pop_front().and_then(|reply| Some(reply.as_string()?.as_bytes().to_vec())).unwrap_or_default()
            }
            Ok(None) => Vec::new(),
            Err(error) => {
                self.fail(room, &error);
                Vec::new()
            }
        }
    }

    fn reload(&mut self, room: &mut Context<'_>, code: &[u8]) {
        self.take_code(room, code);
    }

    fn terminate(&mut self, room: &mut Context<'_>) {
        if self.is_over {
            return;
        }
        // The players are closed after this call, whatever it takes.
        let grace_seconds = match self.machine.handler.form {
            Form::Nk => MultiValue::from_iter([mlua::Value::Number(0.0)]),
            Form::Aether => MultiValue::new(),
        };
        let outcome = self.run_at_once(room, Callback::Terminate, grace_seconds);
        for broadcast in std::mem::take(&mut self.machine.parts.deferred) {
            broadcast.send(room);
        }
        self.is_over = true;
        if let Err(error) = outcome {
            warn!(match_id = self.setup.match_id, error = located(&error), "match_terminate failed");
        }
    }

    fn checkpoint(&self, world: &World) -> Option<Vec<u8>> {
        MatchCheckpoint::take(self, Some(world))
    }

    fn restore(&mut self, room: &mut Context<'_>, checkpoint: &[u8]) -> Result<(), Rejection> {
        MatchCheckpoint::restore(self, room, checkpoint)
    }

    fn capture(&self, _world: &World) -> Option<Vec<u8>> {
        // A coroutine cannot be captured. The room captures the world.
        if self.is_idle() { MatchCheckpoint::take(self, None) } else { None }
    }

    fn restore_capture(&mut self, room: &mut Context<'_>, capture: &[u8]) -> Result<(), Rejection> {
        MatchCheckpoint::restore_exactly(self, room, capture)
    }

    fn hash(&self, hasher: &mut StateHasher) {
        let Ok(state) = read_state(&self.machine.state) else { return hasher.word(u64::MAX) };
        let bytes = state.value.to_bytes();
        hasher.word(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            hasher.word(u64::from_le_bytes(word));
        }
    }
}

impl ScriptGame {
    /// Runs `match_input` or `match_event`, which must answer at once. Their results are no state: they change it in place.
    fn call_with_record(
        &mut self,
        room: &mut Context<'_>,
        callback: Callback,
        player: PlayerId,
        (record_type, record): (&RecordType, &Record),
    ) -> Option<MultiValue> {
        if self.is_over || self.machine.handler.function(callback).is_none() {
            return None;
        }
        let lua = self.machine.vm.lua();
        let arguments = to_table(lua, record_type, record).and_then(|fields| {
            let mut arguments = MultiValue::from_iter([mlua::Value::Number(f64::from(player.0))]);
            if callback == Callback::Event {
                arguments.push_back(mlua::Value::String(lua.create_string(record_type.name())?));
            }
            arguments.push_back(mlua::Value::Table(fields));
            Ok(arguments)
        });
        let arguments = arguments.map_err(|error| ScriptError::invalid(error.to_string()));
        let results = arguments.and_then(|arguments| self.run_at_once(room, callback, arguments));
        self.start_tasks(room);
        results.unwrap_or_else(|error| {
            self.fail(room, &error);
            None
        })
    }

    /// Runs `match_join_attempt` with its own context.
    fn run_attempt(
        &mut self,
        room: &mut Context<'_>,
        context: mlua::Value,
        extra: MultiValue,
    ) -> Result<Option<MultiValue>, ScriptError> {
        self.machine.attempt_context = Some(context);
        let results = self.run_at_once(room, Callback::JoinAttempt, extra);
        self.start_tasks(room);
        results
    }

    /// Notes that the match keeps its code.
    pub(super) fn keep_code(&self, error: &ScriptError) {
        let (match_id, handler) = (self.setup.match_id.as_str(), self.setup.handler.as_str());
        info!(match_id, handler, error = located(error), "match keeps its code");
    }
}

/// Returns the text of an error, which begins with module and line.
fn located(error: &ScriptError) -> String {
    match (&error.module, error.line) {
        (Some(module), Some(line)) if !error.message.starts_with(&format!("{module}:{line}:")) => {
            format!("{module}:{line}: {error}")
        }
        _ => error.to_string(),
    }
}

fn presence_of(player: PlayerId, request: &JoinRequest) -> Presence {
    let username = if request.username.is_empty() { &request.name } else { &request.username };
    Presence { player, user: request.user.clone(), session: request.session.clone(), username: username.clone() }
}

fn presence_in(room: &Context<'_>, player: PlayerId) -> Presence {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let username = room.username(player).filter(|name| !name.is_empty()).or_else(|| room.name(player));
    Presence { player, user: text(room.user(player)), session: text(room.session(player)), username: text(username) }
}
