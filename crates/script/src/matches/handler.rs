//! [`Handler`]: the functions of a script that run a match.

use super::LABEL_BYTES_MAX;
use super::schema::{schema_of, world_settings};
use crate::error::{ErrorKind, ScriptError};
use crate::value::Value;
use crate::vm::from_lua;
use aether_bits::runtime::RuntimeSchema;
use aether_engine::RoomSettings;
use mlua::{MultiValue, Table};

/// Players of a match whose handler does not say how many. A handler may allow up to [`PLAYERS_MAX`].
const PLAYERS_DEFAULT: usize = 300;
/// Most players that a handler may allow, as a room of any other game.
const PLAYERS_MAX: usize = 10_000;
/// Longest time in which a player may resume, in seconds.
const RESUME_SECONDS_MAX: u32 = 3_600;
/// Ticks per second of a match until its `match_init` sets them.
const TICK_HZ_DEFAULT: u32 = 20;

/// Form of a handler: which arguments its functions get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Table of `aether.register_match`. It may leave functions out.
    Aether,
    /// Module of `nk.match_create`: a table with all seven functions.
    Nk,
}

/// Function of a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callback {
    Init,
    JoinAttempt,
    Join,
    Leave,
    Loop,
    Terminate,
    Signal,
    Reload,
    /// Input of a player on the realtime path.
    Input,
    /// Event of the schema that a player sends.
    Event,
}

/// All functions, in the order of [`Handler::functions`].
const CALLBACKS: [Callback; 10] = [
    Callback::Init,
    Callback::JoinAttempt,
    Callback::Join,
    Callback::Leave,
    Callback::Loop,
    Callback::Terminate,
    Callback::Signal,
    Callback::Reload,
    Callback::Input,
    Callback::Event,
];

impl Callback {
    /// Returns the name in the table of the handler.
    pub fn name(self) -> &'static str {
        match self {
            Callback::Init => "match_init",
            Callback::JoinAttempt => "match_join_attempt",
            Callback::Join => "match_join",
            Callback::Leave => "match_leave",
            Callback::Loop => "match_loop",
            Callback::Terminate => "match_terminate",
            Callback::Signal => "match_signal",
            Callback::Reload => "match_reload",
            Callback::Input => "match_input",
            Callback::Event => "match_event",
        }
    }

    /// Returns true if `nk` requires the function.
    fn is_required(self) -> bool {
        !matches!(self, Callback::Reload | Callback::Input | Callback::Event)
    }
}

/// Handler as a program knows it, without its functions.
#[derive(Clone, Debug)]
pub(crate) struct HandlerInfo {
    /// Name, which is that of the room type.
    pub name: String,
    /// Module that is loaded to get the handler.
    pub module: String,
    pub form: Form,
    /// Hash of its schema.
    pub schema: u64,
    /// Settings of its rooms.
    pub settings: RoomSettings,
}

/// Functions of a handler in a VM.
pub(crate) struct Handler {
    pub form: Form,
    /// Components, input and events; empty for a match without a world.
    pub schema: RuntimeSchema,
    functions: [Option<mlua::Function>; CALLBACKS.len()],
}

impl Handler {
    /// Reads the functions of a table.
    pub fn read(name: &str, form: Form, table: &Table) -> Result<Handler, ScriptError> {
        let mut functions = [const { None }; CALLBACKS.len()];
        for (place, callback) in functions.iter_mut().zip(CALLBACKS) {
            match table.get::<mlua::Value>(callback.name()) {
                Ok(mlua::Value::Function(function)) => *place = Some(function),
                Ok(mlua::Value::Nil) if form == Form::Aether || !callback.is_required() => {}
                Ok(other) => {
                    let sentence = format!(
                        "match handler `{name}`: `{}` must be a function, got {}",
                        callback.name(),
                        other.type_name()
                    );
                    return Err(ScriptError::new(ErrorKind::Missing, sentence));
                }
                Err(error) => return Err(ScriptError::invalid(error.to_string())),
            }
        }
        Ok(Handler { form, schema: schema_of(name, table)?, functions })
    }

    /// Returns a function; none if the table leaves it out.
    pub fn function(&self, callback: Callback) -> Option<&mlua::Function> {
        let index = CALLBACKS.iter().position(|known| *known == callback)?;
        self.functions[index].as_ref()
    }
}

/// Returns true if a table that a module returns is a match handler: it has at least one of the functions.
pub(crate) fn is_handler(table: &Table) -> bool {
    CALLBACKS.iter().any(|callback| matches!(table.get::<mlua::Value>(callback.name()), Ok(mlua::Value::Function(_))))
}

/// Reads the settings of a handler's rooms from its table: `players_max`, `durable`, `private` and `resume_seconds`.
pub(crate) fn read_settings(name: &str, table: &Table) -> Result<RoomSettings, ScriptError> {
    let field = |field: &str| table.get::<mlua::Value>(field).unwrap_or(mlua::Value::Nil);
    let wrong = |field: &str, expected: &str| {
        ScriptError::invalid(format!("match handler `{name}`: `{field}` must be {expected}"))
    };
    let flag = |name: &str| match field(name) {
        mlua::Value::Nil => Ok(false),
        mlua::Value::Boolean(value) => Ok(value),
        _ => Err(wrong(name, "true or false")),
    };
    let number = |name: &str, default: u32, max: u32| match field(name) {
        mlua::Value::Nil => Ok(default),
        value => value
            .as_u32()
            .filter(|number| *number <= max)
            .ok_or_else(|| wrong(name, &format!("a whole number from 0 to {max}"))),
    };
    let players_max = number("players_max", PLAYERS_DEFAULT as u32, PLAYERS_MAX as u32)?.max(1);
    let settings = RoomSettings {
        tick_hz: TICK_HZ_DEFAULT,
        snapshot_hz: TICK_HZ_DEFAULT,
        interest: None,
        rings: Vec::new(),
        players_max: players_max as usize,
        durable: flag("durable")?,
        private: flag("private")?,
        resume_ticks: number("resume_seconds", 0, RESUME_SECONDS_MAX)? * TICK_HZ_DEFAULT,
        ..RoomSettings::default()
    };
    // A wrong schema is an error when the module is loaded, not when a match begins.
    schema_of(name, table)?;
    world_settings(table, settings)
        .map_err(|error| ScriptError { message: format!("match handler `{name}`: {}", error.message), ..error })
}

/// Start of a match, as `match_init` returns it.
pub(crate) struct MatchStart {
    pub state: mlua::Value,
    pub tick_hz: Option<u32>,
    pub label: Option<String>,
}

/// Reads the results of `match_init`.
pub(crate) fn read_start(form: Form, results: MultiValue) -> Result<MatchStart, ScriptError> {
    let mut results = results.into_iter();
    let first = results.next().unwrap_or(mlua::Value::Nil);
    let (state, rate, label) = match (form, &first) {
        (Form::Aether, mlua::Value::Table(table)) => {
            let field = |name: &str| table.get::<mlua::Value>(name).unwrap_or(mlua::Value::Nil);
            (field("state"), field("tick_rate"), field("label"))
        }
        (Form::Aether, mlua::Value::Nil) => (mlua::Value::Nil, mlua::Value::Nil, mlua::Value::Nil),
        (Form::Aether, other) => {
            let sentence = format!("match_init must return {{ state, tick_rate, label }}, got {}", other.type_name());
            return Err(ScriptError::invalid(sentence));
        }
        (Form::Nk, mlua::Value::Nil) => {
            return Err(ScriptError::invalid("match_init returned no state, so the match was not created"));
        }
        (Form::Nk, _) => {
            let mut next = || results.next().unwrap_or(mlua::Value::Nil);
            (first.clone(), next(), next())
        }
    };
    let highest = if form == Form::Nk { 60 } else { 128 };
    let tick_hz = match (&rate, form) {
        (mlua::Value::Nil, Form::Aether) => None,
        _ => Some(rate.as_u32().filter(|rate| (1..=highest).contains(rate)).ok_or_else(|| {
            ScriptError::invalid(format!("the tick rate of match_init must be a whole number from 1 to {highest}"))
        })?),
    };
    Ok(MatchStart { state, tick_hz, label: read_label(&label)? })
}

/// Reads a label: a string, or a table that becomes JSON.
pub(crate) fn read_label(label: &mlua::Value) -> Result<Option<String>, ScriptError> {
    let text = match from_lua(label)? {
        Value::Nil => return Ok(None),
        Value::Text(bytes) => {
            String::from_utf8(bytes).map_err(|_| ScriptError::invalid("the label of a match must be UTF-8"))?
        }
        value @ (Value::Map(_) | Value::List(_)) => value.to_json().to_string(),
        other => {
            let sentence = format!("the label of a match must be a string or a table, got {}", other.type_name());
            return Err(ScriptError::invalid(sentence));
        }
    };
    if text.len() > LABEL_BYTES_MAX {
        return Err(ScriptError::invalid(format!("the label of a match must have at most {LABEL_BYTES_MAX} bytes")));
    }
    Ok(Some(text))
}
