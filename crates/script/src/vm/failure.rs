//! Conversion of errors of Luau and mlua to [`ScriptError`].
//!
//! Values that scripts raise are read without their metamethods: those would run outside the time of the call.

use crate::error::{ErrorKind, ScriptError};
use mlua::Table;

/// Most bytes of a message: it goes to logs and clients, and the script chooses its length.
const MESSAGE_BYTES_MAX: usize = 4_096;
/// Name of the prelude in stacks. No module of a script has it.
const PRELUDE: &str = "aether";

/// Returns the error that the guard of the prelude caught: a table with the raised value and the stack.
pub(super) fn raised(caught: Option<&mlua::Value>) -> ScriptError {
    let Some(mlua::Value::Table(caught)) = caught else {
        return ScriptError::new(ErrorKind::Runtime, "the script failed without an error");
    };
    let problem: mlua::Value = caught.raw_get(1).unwrap_or(mlua::Value::Nil);
    let trace: String = caught.raw_get(2).unwrap_or_default();
    let error = match &problem {
        mlua::Value::Error(error) => of_mlua(error),
        mlua::Value::Table(table) => of_table(table),
        mlua::Value::String(text) => of_text(ErrorKind::Runtime, &text.to_string_lossy()),
        other => ScriptError::new(ErrorKind::Runtime, format!("the script raised a {}", other.type_name())),
    };
    located(error, stack_of(&trace))
}

/// Converts an error of mlua.
pub(super) fn of_mlua(error: &mlua::Error) -> ScriptError {
    match error {
        mlua::Error::CallbackError { cause, traceback } => {
            let inner = of_mlua(cause);
            if inner.stack.is_empty() { located(inner, stack_of(traceback)) } else { inner }
        }
        mlua::Error::RuntimeError(text) => of_text(ErrorKind::Runtime, text),
        mlua::Error::SyntaxError { message, .. } => of_text(ErrorKind::Syntax, message),
        mlua::Error::MemoryError(_) => out_of_memory(),
        mlua::Error::ExternalError(external) => match external.downcast_ref::<ScriptError>() {
            Some(error) => error.clone(),
            None => ScriptError::new(ErrorKind::Runtime, external.to_string()),
        },
        other => of_text(ErrorKind::Runtime, &other.to_string()),
    }
}

/// Adds the stack to an error, and takes module and line from it if they are unknown.
pub(super) fn located(mut error: ScriptError, stack: Vec<String>) -> ScriptError {
    let stack: Vec<String> = stack.into_iter().filter(|line| is_of_scripts(line)).collect();
    let place = ScriptError::of_text(error.kind, &format!("\nstack traceback:\n{}", stack.join("\n")));
    error.stack = stack;
    if error.module.is_none() {
        (error.module, error.line) = (place.module, place.line);
    }
    error
}

/// Returns the error of a table `{message, code}`, which scripts raise to choose the code.
fn of_table(table: &Table) -> ScriptError {
    let field = |index: i64, name: &str| -> mlua::Value {
        let by_index = table.raw_get(index).unwrap_or(mlua::Value::Nil);
        if by_index.is_nil() { table.raw_get(name).unwrap_or(mlua::Value::Nil) } else { by_index }
    };
    let message = field(1, "message");
    let message = message.as_string().map_or_else(|| "the script raised a table".to_owned(), |it| it.to_string_lossy());
    let error = ScriptError::new(ErrorKind::Runtime, shortened(&message));
    let code = field(2, "code").as_i64().and_then(crate::codes::code_of);
    code.map_or(error.clone(), |code| error.with_code(code))
}

fn of_text(kind: ErrorKind, text: &str) -> ScriptError {
    // The text of an error that was caught and raised again.
    if text.ends_with("not enough memory") {
        return out_of_memory();
    }
    ScriptError::of_text(kind, shortened(text))
}

fn out_of_memory() -> ScriptError {
    ScriptError::new(ErrorKind::Memory, "the script exceeded its memory; keep less data in tables and strings")
}

fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(MESSAGE_BYTES_MAX)]
}

/// Returns the lines of a stack that mlua described.
pub(super) fn stack_of(trace: &str) -> Vec<String> {
    trace
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && *line != "stack traceback:")
        .map(str::to_owned)
        .collect()
}

/// Returns true if a line of a stack belongs to a module, not to the prelude or the library.
fn is_of_scripts(line: &str) -> bool {
    let module = line.strip_prefix("[string \"").unwrap_or(line).split([':', '"', ' ']).next().unwrap_or_default();
    module != PRELUDE && !line.starts_with("[C]") && !line.starts_with("=[C]")
}
