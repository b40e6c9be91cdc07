//! Match types that the program or a module adds to the server.

use super::limits::{MATCH_TYPE_NAME_BYTES_MAX, MATCH_TYPES_MAX};
use crate::error::{GrpcCode, ServiceError};
use crate::matches::MatchType;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Match types by name.
pub type MatchTypesByName = BTreeMap<String, Arc<dyn MatchType>>;

/// Match types of the program or of one module.
#[derive(Default)]
pub struct MatchTypes {
    by_name: MatchTypesByName,
}

impl MatchTypes {
    /// Adds a match type under its name.
    pub fn register(&mut self, match_type: Arc<dyn MatchType>) -> Result<(), ServiceError> {
        let name = match_type.name();
        if name.is_empty() || name.len() > MATCH_TYPE_NAME_BYTES_MAX {
            let message = format!("The name of a match type must have 1 to {MATCH_TYPE_NAME_BYTES_MAX} bytes.");
            return Err(ServiceError::invalid(message));
        }
        if self.by_name.len() >= MATCH_TYPES_MAX {
            let message =
                format!("Match type `{name}` cannot be added: the limit of {MATCH_TYPES_MAX} match types is reached.");
            return Err(ServiceError::with(GrpcCode::ResourceExhausted, message));
        }
        if self.by_name.contains_key(name) {
            return Err(ServiceError::with(
                GrpcCode::AlreadyExists,
                format!("Match type `{name}` already exists. Choose another name."),
            ));
        }
        self.by_name.insert(name.to_owned(), match_type);
        Ok(())
    }

    /// Returns the number of match types.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Returns true if there are no match types.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Arc<dyn MatchType>)> {
        self.by_name.iter()
    }
}
