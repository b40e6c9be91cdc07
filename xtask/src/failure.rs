//! Failures of commands: a sentence that says what to do.

use std::fmt;

/// A failure the person at the terminal can act on.
#[derive(Debug)]
pub struct Failure(String);

/// Result of a command or a step.
pub type Outcome = Result<(), Failure>;

impl Failure {
    /// A failure with something to say.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// A failure that was told in full already, so that nothing is to be added.
    pub fn told() -> Self {
        Self(String::new())
    }

    /// True if the failure was already printed.
    pub fn is_told(&self) -> bool {
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
