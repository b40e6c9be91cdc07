//! Why an operation failed.

use std::fmt;

/// Why the store could not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The database cannot be reached, or too much is waiting for it. It may work in a moment.
    Unavailable(String),
    /// A row of the same key is there already. It names the columns of the key, as `users.username`, or the columns
    /// with a comma between them.
    Duplicate(String),
    /// The database does not know what was asked, or what it holds is not what was expected: a defect.
    Failed(String),
    /// The database cannot be used by this version, or with these settings.
    Refused(String),
}

impl StoreError {
    /// A short name, for metrics.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            StoreError::Unavailable(_) => "unavailable",
            StoreError::Duplicate(_) => "duplicate",
            StoreError::Failed(_) => "failed",
            StoreError::Refused(_) => "refused",
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Unavailable(why) => write!(f, "the database is not available: {why}"),
            StoreError::Duplicate(what) => write!(f, "there is one already: {what}"),
            StoreError::Failed(why) => write!(f, "the database failed: {why}"),
            StoreError::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for StoreError {}
