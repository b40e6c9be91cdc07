//! [`MatchSetup`]: everything that a match is made from. It is the setup in a recording, so a replay needs nothing else.

use super::handler::Form;
use crate::error::ScriptError;
use crate::source::Sources;
use crate::value::{InvalidValue, Key, Map, Value};
use aether_services::game_metrics::GameMetrics;
use std::sync::Arc;

/// Values from which a match is made.
#[derive(Clone)]
pub(crate) struct MatchSetup {
    /// Name of the handler.
    pub handler: String,
    /// Module that has the handler.
    pub module: String,
    pub form: Form,
    pub match_id: String,
    /// Parameters of the creator.
    pub params: Value,
    /// Texts of `context.env`.
    pub environment: Value,
    /// Version of the server, for the context.
    pub version: String,
    pub sources: Arc<Sources>,
    /// Answers of the services during `match_init`, in order.
    pub answers: Vec<Value>,
    /// Metrics of the server. Not in a recording: a replay records nothing.
    pub metrics: Option<Arc<GameMetrics>>,
}

impl MatchSetup {
    /// Returns the node in the id of the match.
    pub fn node(&self) -> &str {
        self.match_id.split_once('.').map_or("", |(_, node)| node)
    }

    /// Returns the byte form.
    pub fn to_bytes(&self) -> Vec<u8> {
        let setup = Value::table([
            ("handler", Value::from(self.handler.as_str())),
            ("module", Value::from(self.module.as_str())),
            ("is_nk", Value::Boolean(self.form == Form::Nk)),
            ("match_id", Value::from(self.match_id.as_str())),
            ("params", self.params.clone()),
            ("environment", self.environment.clone()),
            ("version", Value::from(self.version.as_str())),
            ("sources", sources_value(&self.sources)),
            ("answers", Value::List(self.answers.clone())),
        ]);
        setup.to_bytes()
    }

    /// Reads a byte form.
    pub fn from_bytes(bytes: &[u8]) -> Result<MatchSetup, ScriptError> {
        let damaged = |_: InvalidValue| ScriptError::invalid("the recording has no setup of a Lua match");
        let setup = Value::from_bytes(bytes).map_err(damaged)?;
        let text = |name: &str| setup.get(name).as_str().unwrap_or_default().to_owned();
        let answers = match setup.get("answers") {
            Value::List(answers) => answers.clone(),
            _ => Vec::new(),
        };
        Ok(MatchSetup {
            handler: text("handler"),
            module: text("module"),
            form: if *setup.get("is_nk") == Value::Boolean(true) { Form::Nk } else { Form::Aether },
            match_id: text("match_id"),
            params: setup.get("params").clone(),
            environment: setup.get("environment").clone(),
            version: text("version"),
            sources: Arc::new(read_sources(setup.get("sources"))?),
            answers,
            metrics: None,
        })
    }
}

/// Returns the byte form of sources: the code of a reload.
pub(crate) fn sources_bytes(sources: &Sources) -> Vec<u8> {
    sources_value(sources).to_bytes()
}

/// Reads sources from the code of a reload.
pub(crate) fn read_sources_bytes(bytes: &[u8]) -> Result<Sources, ScriptError> {
    let value = Value::from_bytes(bytes).map_err(|error| ScriptError::invalid(error.to_string()))?;
    read_sources(&value)
}

fn sources_value(sources: &Sources) -> Value {
    let entry = |name: &str| Some((Key::from(name), Value::from(&**sources.text(name)?)));
    Value::Map(sources.names().filter_map(entry).collect())
}

fn read_sources(value: &Value) -> Result<Sources, ScriptError> {
    let none = Map::new();
    let modules = match value {
        Value::Map(map) => map,
        _ => &none,
    };
    Sources::of(modules.iter().map(|(name, text)| (name.to_text(), text.as_str().unwrap_or_default())))
}
