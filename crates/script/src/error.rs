//! [`ScriptError`]: errors of scripts, with module, line and stack.

use aether_services::{GrpcCode, ServiceError};
use std::fmt;

/// Kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The source is not valid Luau.
    Syntax,
    /// The script raised an error, or used a value wrongly.
    Runtime,
    /// The script exceeded its time.
    Time,
    /// The script exceeded its memory.
    Memory,
    /// A service refused or failed.
    Service,
    /// A module or function does not exist.
    Missing,
}

impl ErrorKind {
    /// Returns the label used in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Syntax => "syntax",
            ErrorKind::Runtime => "runtime",
            ErrorKind::Time => "time",
            ErrorKind::Memory => "memory",
            ErrorKind::Service => "service",
            ErrorKind::Missing => "missing",
        }
    }
}

/// Error of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// Kind of the error.
    pub kind: ErrorKind,
    /// Sentence that says what failed. It begins with module and line if they are known.
    pub message: String,
    /// Code for clients, if the script chose one or a service failed.
    pub code: Option<GrpcCode>,
    /// Module in which the error was raised.
    pub module: Option<String>,
    /// Line in the module.
    pub line: Option<u32>,
    /// Calls that led to the error, the innermost first.
    pub stack: Vec<String>,
}

impl ScriptError {
    /// Creates an error without a position.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> ScriptError {
        ScriptError { kind, message: message.into(), code: None, module: None, line: None, stack: Vec::new() }
    }

    /// Creates an error of a call with invalid arguments.
    pub fn invalid(message: impl Into<String>) -> ScriptError {
        ScriptError::new(ErrorKind::Runtime, message)
    }

    /// Sets the code for clients.
    #[must_use]
    pub fn with_code(mut self, code: GrpcCode) -> ScriptError {
        self.code = Some(code);
        self
    }

    /// Returns true if the VM must not be used again: memory may be exhausted, and a stopped script may have left its tables
    /// half changed.
    #[must_use]
    pub fn spoils_vm(&self) -> bool {
        matches!(self.kind, ErrorKind::Time | ErrorKind::Memory)
    }

    /// Creates the error of a message that Luau produced, which begins with `module:line:`.
    #[must_use]
    pub fn of_text(kind: ErrorKind, text: &str) -> ScriptError {
        let (head, trace) = text.split_once("\nstack traceback:").unwrap_or((text, ""));
        let stack: Vec<String> =
            trace.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
        let (module, line) = position(head).or_else(|| stack.first().and_then(|line| position(line))).unzip();
        ScriptError { kind, message: head.trim().to_owned(), code: None, module, line, stack }
    }
}

/// Returns the module and the line that a text begins with: `module:12: …` or `[string "module"]:12`.
fn position(text: &str) -> Option<(String, u32)> {
    let (module, rest) = match text.strip_prefix("[string \"") {
        Some(rest) => rest.split_once("\"]:")?,
        None => text.split_once(':')?,
    };
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let is_module = !module.is_empty() && module.chars().all(|it| it.is_alphanumeric() || "._-/".contains(it));
    is_module.then_some(())?;
    Some((module.to_owned(), digits.parse().ok()?))
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for line in &self.stack {
            write!(f, "\n  {line}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ScriptError {}

impl From<ServiceError> for ScriptError {
    fn from(error: ServiceError) -> ScriptError {
        ScriptError::new(ErrorKind::Service, error.message.into_owned()).with_code(error.code)
    }
}

impl From<ScriptError> for ServiceError {
    /// Returns the error that a client gets. The stack stays on the server.
    fn from(error: ScriptError) -> ServiceError {
        let code = error.code.unwrap_or(match error.kind {
            ErrorKind::Time => GrpcCode::DeadlineExceeded,
            ErrorKind::Memory => GrpcCode::ResourceExhausted,
            ErrorKind::Missing => GrpcCode::NotFound,
            ErrorKind::Syntax | ErrorKind::Runtime | ErrorKind::Service => GrpcCode::Internal,
        });
        ServiceError::with(code, error.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_line_and_stack_come_from_the_text() {
        let text = "shop.items:12: no such item\nstack traceback:\n shop.items:12 function buy\n main:3";
        let error = ScriptError::of_text(ErrorKind::Runtime, text);
        assert_eq!((error.module.as_deref(), error.line), (Some("shop.items"), Some(12)));
        assert_eq!(error.message, "shop.items:12: no such item");
        assert_eq!(error.stack, ["shop.items:12 function buy", "main:3"]);
        assert_eq!(ScriptError::of_text(ErrorKind::Runtime, "a plain text: 3").module, None);
    }
}
