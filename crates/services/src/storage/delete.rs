//! Deletes objects.

use super::object::{ObjectId, Permission};
use super::write::{Condition, ObjectStatement, find, object_statement};
use crate::error::{GrpcCode, ServiceError};
use aether_store::{Dialect, Statements, Transaction, values};
use uuid::Uuid;

const VERSION_FAILED: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "Storage delete rejected - version check failed.");
pub(super) const DENIED: ServiceError =
    ServiceError::new(GrpcCode::PermissionDenied, "Storage delete rejected - permission denied.");

/// Deletion of an object. A missing object is not an error, unless a version is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// Id of the object.
    pub id: ObjectId,
    /// Expected version, if any.
    pub version: Option<String>,
}

/// Deletion that passed all checks that need no database.
pub(crate) struct Checked(Delete);

impl Delete {
    /// Creates the deletion of an object of any version.
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

    /// Returns the statement that deletes the object for a user, or for the server if `None`. It deletes nothing if that is
    /// not allowed. `None` if it never is.
    pub(crate) fn statement(&self, user: Option<Uuid>, dialect: Dialect) -> Option<Statements> {
        let Delete { id, version } = &self.0;
        if user.is_some_and(|user| user != id.owner) {
            return None;
        }
        let (any, expected) = (version.is_none(), version.as_deref().unwrap_or(""));
        let needed = needed_permission(user);
        let parameters = values![&id.collection, &id.key, id.owner, needed.number(), any, expected, id.owner.is_nil()];
        Some(Statements::writing(DELETE.of(dialect), parameters))
    }

    /// Returns the error if the object was not deleted because that is not allowed.
    pub(crate) fn check_absence(
        &self,
        transaction: &mut Transaction<'_>,
        user: Option<Uuid>,
    ) -> Result<(), ServiceError> {
        let Delete { id, version } = &self.0;
        let needed = needed_permission(user);
        match find(transaction, id)? {
            Some(found) if found.write < needed => Err(DENIED),
            _ if version.is_some() => Err(VERSION_FAILED),
            // It was absent, even if another request has just written it.
            _ => Ok(()),
        }
    }
}

fn needed_permission(user: Option<Uuid>) -> Permission {
    if user.is_some() { Permission::Owner } else { Permission::Nobody }
}

const DELETE: ObjectStatement = object_statement!(
    "DELETE FROM storage_objects
    WHERE collection = ?1 AND key = ?2 AND user_id = ?3 AND permission_write >= ?4 AND (?5 OR version = ?6) AND (?7 OR",
    ")"
);
