//! Types of matches that the program or a module adds to the server.

use super::limits::{MATCH_TYPE_NAME_BYTES_MAX, MATCH_TYPES_MAX};
use crate::matches::MatchType;
use crate::refusal::{GrpcCode, ServiceError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Types of matches by name.
pub type MatchTypesByName = BTreeMap<String, Arc<dyn MatchType>>;

/// Types of matches, of the program or of one module.
#[derive(Default)]
pub struct MatchTypes {
    by_name: MatchTypesByName,
}

impl MatchTypes {
    /// Adds a type under its own name.
    pub fn register(&mut self, match_type: Arc<dyn MatchType>) -> Result<(), ServiceError> {
        let name = match_type.name();
        if name.is_empty() || name.len() > MATCH_TYPE_NAME_BYTES_MAX {
            let sentence = format!("The name of a match type has 1 to {MATCH_TYPE_NAME_BYTES_MAX} bytes.");
            return Err(ServiceError::invalid(sentence));
        }
        if self.by_name.len() >= MATCH_TYPES_MAX {
            let sentence = format!("There are {MATCH_TYPES_MAX} match types already; `{name}` would be one too many.");
            return Err(ServiceError::with(GrpcCode::ResourceExhausted, sentence));
        }
        if self.by_name.contains_key(name) {
            return Err(ServiceError::with(
                GrpcCode::AlreadyExists,
                format!("The match type `{name}` exists already; choose another name."),
            ));
        }
        self.by_name.insert(name.to_owned(), match_type);
        Ok(())
    }

    /// Number of types.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Arc<dyn MatchType>)> {
        self.by_name.iter()
    }
}
