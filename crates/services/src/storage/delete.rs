//! Removing.

use super::object::{ObjectId, Permission};
use super::write::{Condition, find};
use crate::error::{GrpcCode, ServiceError};
use aether_store::{Transaction, values};
use uuid::Uuid;

const VERSION_FAILED: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "Storage delete rejected - version check failed.");
const DENIED: ServiceError =
    ServiceError::new(GrpcCode::PermissionDenied, "Storage delete rejected - permission denied.");

/// The end of an object. One that is gone already is no failure, unless a version of it was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// Which object.
    pub id: ObjectId,
    /// The version that it has to have, if that matters.
    pub version: Option<String>,
}

/// A removal that was checked as far as that goes without the database.
pub(crate) struct Checked(Delete);

impl Delete {
    /// The removal of an object whatever its version.
    #[must_use]
    pub fn new(id: ObjectId) -> Delete {
        Delete { id, version: None }
    }

    pub(crate) fn check(self) -> Result<Checked, ServiceError> {
        self.id.check()?;
        self.version.clone().map_or(Condition::Always, Condition::Version).check()?;
        Ok(Checked(self))
    }
}

impl Checked {
    pub(crate) fn id(&self) -> &ObjectId {
        &self.0.id
    }

    /// Removes it for a user, or for the server if there is none.
    pub(crate) fn apply(&self, transaction: &mut Transaction<'_>, user: Option<Uuid>) -> Result<(), ServiceError> {
        let Delete { id, version } = &self.0;
        if user.is_some_and(|user| user != id.owner) {
            return Err(DENIED);
        }
        let needed = if user.is_some() { Permission::Owner } else { Permission::Nobody };
        let (any, expected) = (version.is_none(), version.as_deref().unwrap_or(""));
        let parameters = values![&id.collection, &id.key, id.owner, needed.number(), any, expected];
        if transaction.execute(REMOVE, parameters)? > 0 {
            return Ok(());
        }
        match find(transaction, id)? {
            Some(found) if found.write < needed => Err(DENIED),
            _ if version.is_some() => Err(VERSION_FAILED),
            // It was gone, even if someone has written it anew a moment later.
            _ => Ok(()),
        }
    }
}

const REMOVE: &str = "DELETE FROM storage_objects
    WHERE collection = ?1 AND key = ?2 AND user_id = ?3 AND permission_write >= ?4 AND (?5 OR version = ?6)";
