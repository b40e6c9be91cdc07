//! Configuration of the server.

use crate::function::{Function, Outcome};
use crate::scripts::ScriptServices;
use crate::value::Value;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

pub(crate) const FUNCTIONS: &[Function] = &[Function::service("get_config", |used, _| Box::pin(get(used)))
    .about("Returns settings of the server as a table, without secrets.")
    .returns("{[string]: any}")];

async fn get(used: ScriptServices) -> Outcome {
    Ok(vec![Value::from_json(&used.scripts.settings().config)])
}
