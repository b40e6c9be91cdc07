//! Log of the server.

use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Parameter, optional, required};
use tracing::{debug, error, info, warn};

const PARAMETERS: &[Parameter] = &[
    required("message", "string", "Text of the log line."),
    optional("vars", "{[string]: any}", "Fields of the log line."),
];

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::local("logger_debug", |_, args| {
        let (message, vars) = read(&args)?;
        debug!(target: "lua", vars, "{message}");
        Ok(Vec::new())
    })
    .about("Writes a line for developers to the log.")
    .parameters(PARAMETERS),
    Function::local("logger_info", |_, args| {
        let (message, vars) = read(&args)?;
        info!(target: "lua", vars, "{message}");
        Ok(Vec::new())
    })
    .about("Writes a line to the log.")
    .parameters(PARAMETERS),
    Function::local("logger_warn", |_, args| {
        let (message, vars) = read(&args)?;
        warn!(target: "lua", vars, "{message}");
        Ok(Vec::new())
    })
    .about("Writes a warning to the log.")
    .parameters(PARAMETERS),
    Function::local("logger_error", |_, args| {
        let (message, vars) = read(&args)?;
        error!(target: "lua", vars, "{message}");
        Ok(Vec::new())
    })
    .about("Writes an error to the log.")
    .parameters(PARAMETERS),
];

fn read(args: &Arguments) -> Result<(String, Option<String>), ScriptError> {
    let vars = args.optional_map(1)?.map(|_| args.value(1).to_json().to_string());
    Ok((args.text(0)?.to_owned(), vars))
}
