//! The error of the store.

use std::fmt;

/// Reason why an operation failed or a database could not be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The database cannot be reached, or too many operations are queued. Retry later.
    Unavailable(String),
    /// A row with the same key exists. The text has the columns of the key, such as `users.username`, separated by commas.
    Duplicate(String),
    /// A value cannot be stored: a text with the character U+0000. It comes from a request, which must be rejected.
    BadValue(&'static str),
    /// A statement is invalid, or the data is not as expected. This is a bug.
    Failed(String),
    /// The database cannot be used by this version or with these settings. The text is a whole sentence.
    Refused(String),
}

impl StoreError {
    /// Returns the label for metrics.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            StoreError::Unavailable(_) => "unavailable",
            StoreError::Duplicate(_) => "duplicate",
            StoreError::BadValue(_) => "bad_value",
            StoreError::Failed(_) => "failed",
            StoreError::Refused(_) => "refused",
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Unavailable(why) => write!(f, "the database is not available: {why}"),
            StoreError::Duplicate(what) => write!(f, "a row with this key exists: {what}"),
            StoreError::BadValue(why) => f.write_str(why),
            StoreError::Failed(why) => write!(f, "the database failed: {why}"),
            StoreError::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for StoreError {}
