//! Failures of commands, with a message that says what to do.

use std::fmt;

/// A failure that the user can act on.
#[derive(Debug)]
pub struct Failure(String);

/// Result of a command or a step.
pub type Outcome = Result<(), Failure>;

impl Failure {
    /// Creates a failure with a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Creates a failure whose message is already printed.
    pub fn printed() -> Self {
        Self(String::new())
    }

    /// True if the failure was already printed.
    pub fn is_printed(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<lexopt::Error> for Failure {
    fn from(error: lexopt::Error) -> Self {
        Self::new(format!("{error}; `cargo xtask <command> --help` shows the usage"))
    }
}
