//! Log of the server.

use crate::api;
use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Parameter, optional, required};
use crate::vm::from_lua;
use mlua::{Lua, MultiValue};
use tracing::{debug, error, info, warn};

/// Maximum bytes of a message, and of its fields as JSON. The rest is cut off.
const LOGGED_BYTES_MAX: usize = 8 << 10;

const PARAMETERS: &[Parameter] = &[
    required("message", "string", "Text of the log line."),
    optional("vars", "{[string]: any}", "Fields of the log line."),
];

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

/// Declares the function that writes lines of one level.
macro_rules! logger {
    ($name:literal, $write:ident, $about:literal) => {
        Function::native($name, |lua, _, arguments| {
            let Line { message, vars, module, line } = read(lua, $name, &arguments)?;
            $write!(target: "lua", module, line, vars, "{message}");
            Ok(MultiValue::new())
        })
        .about($about)
        .parameters(PARAMETERS)
    };
}

pub(crate) const FUNCTIONS: &[Function] = &[
    logger!("logger_debug", debug, "Writes a line for developers to the log."),
    logger!("logger_info", info, "Writes a line to the log."),
    logger!("logger_warn", warn, "Writes a warning to the log."),
    logger!("logger_error", error, "Writes an error to the log."),
];

/// Line of the log.
struct Line {
    message: String,
    /// Fields, as JSON.
    vars: Option<String>,
    /// Position of the call in the scripts.
    module: Option<String>,
    line: Option<usize>,
}

fn read(lua: &Lua, name: &str, arguments: &MultiValue) -> mlua::Result<Line> {
    let values = arguments.iter().map(from_lua).collect::<Result<_, _>>().map_err(mlua::Error::external)?;
    let missing = || mlua::Error::external(ScriptError::invalid("the function is not declared"));
    let (_, function) = api::find(name, true).ok_or_else(missing)?;
    let args = Arguments::new(function, values);
    let fields = || Ok::<_, ScriptError>((args.text(0)?, args.optional_object(1)?));
    let (message, vars) = fields().map_err(mlua::Error::external)?;
    let position = lua.inspect_stack(1, |caller| {
        (caller.source().short_src.map(|module| module.into_owned()), caller.current_line())
    });
    let (module, line) = position.unwrap_or_default();
    Ok(Line { message: cut(message), vars: vars.map(|vars| cut(&vars.to_string())), module, line })
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(LOGGED_BYTES_MAX)].to_owned()
}
