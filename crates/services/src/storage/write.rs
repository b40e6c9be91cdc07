//! Writes objects, with permissions and versions, by one statement each.

use super::json;
use super::object::{Object, ObjectId, Permission, VALUE_BYTES_MAX, reject_nul, version_of};
use crate::error::{GrpcCode, ServiceError};
use aether_store::{Dialect, Transaction, values};
use uuid::Uuid;

/// Maximum bytes of an expected version. Versions of this server have 32.
const VERSION_BYTES_MAX: usize = 128;

pub(super) const VERSION_FAILED: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "Storage write rejected - version check failed.");
pub(super) const DENIED: ServiceError =
    ServiceError::new(GrpcCode::PermissionDenied, "Storage write rejected - permission denied.");
pub(super) const NO_OWNER: ServiceError = ServiceError::new(GrpcCode::NotFound, "User account not found.");

/// Write of a new or existing object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Id of the object.
    pub id: ObjectId,
    /// JSON object.
    pub value: String,
    /// Condition of the write.
    pub condition: Condition,
    /// New read permission.
    pub read: Permission,
    /// New write permission.
    pub write: Permission,
}

/// Condition of a write or delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// No condition: the last write wins.
    #[default]
    Always,
    /// The object must not exist.
    Absent,
    /// The object must have this version.
    Version(String),
}

/// Acknowledgement of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Id of the object.
    pub id: ObjectId,
    /// New version.
    pub version: String,
    /// Time of the first write, in milliseconds since 1970.
    pub created_at: i64,
    /// Time of the last write, in milliseconds since 1970.
    pub updated_at: i64,
}

/// Write that passed all checks that need no database.
pub(crate) struct Checked {
    write: Write,
    version: String,
}

impl Write {
    /// Creates an unconditional write with the default permissions: the owner reads and writes.
    pub fn new(id: ObjectId, value: impl Into<String>) -> Write {
        Write {
            id,
            value: value.into(),
            condition: Condition::Always,
            read: Permission::Owner,
            write: Permission::Owner,
        }
    }

    /// Sets a condition.
    #[must_use]
    pub fn when(mut self, condition: Condition) -> Write {
        self.condition = condition;
        self
    }

    /// Sets permissions.
    #[must_use]
    pub fn permit(mut self, read: Permission, write: Permission) -> Write {
        self.read = read;
        self.write = write;
        self
    }

    pub(crate) fn check(self) -> Result<Checked, ServiceError> {
        self.id.check()?;
        self.condition.check()?;
        json::check_object("Value", &self.value, VALUE_BYTES_MAX)?;
        let version = version_of(&self.value);
        Ok(Checked { write: self, version })
    }
}

impl Condition {
    /// Parses the form of clients: empty for no condition, `*` for an absent object, otherwise a version.
    #[must_use]
    pub fn from_text(text: &str) -> Condition {
        match text {
            "" => Condition::Always,
            "*" => Condition::Absent,
            version => Condition::Version(version.to_owned()),
        }
    }

    pub(super) fn check(&self) -> Result<(), ServiceError> {
        match self {
            Condition::Version(version) if version.is_empty() || version.len() > VERSION_BYTES_MAX => {
                Err(ServiceError::invalid(format!("Version must have 1 to {VERSION_BYTES_MAX} bytes.")))
            }
            Condition::Version(version) => reject_nul("Version", version),
            Condition::Always | Condition::Absent => Ok(()),
        }
    }
}

impl Checked {
    pub(crate) fn id(&self) -> &ObjectId {
        &self.write.id
    }

    /// Writes the object for a user, or for the server if `None`.
    pub(crate) fn apply(
        &self,
        transaction: &mut Transaction<'_>,
        user: Option<Uuid>,
        now: i64,
    ) -> Result<Ack, ServiceError> {
        let created_at = match user {
            Some(user) if user != self.write.id.owner => self.write_foreign(transaction, now)?,
            _ => self.write_own(transaction, user, now)?,
        };
        let Write { id, .. } = &self.write;
        Ok(Ack { id: id.clone(), version: self.version.clone(), created_at, updated_at: now })
    }

    fn write_own(&self, transaction: &mut Transaction<'_>, user: Option<Uuid>, now: i64) -> Result<i64, ServiceError> {
        let Write { id, value, condition, read, write } = &self.write;
        let needed = if user.is_some() { Permission::Owner } else { Permission::Nobody };
        let (read, write) = (read.number(), write.number());
        let version = &self.version;
        let created_at = |row: &aether_store::SqlRow<'_>| row.get::<i64>(0);
        let written = match condition {
            Condition::Always => {
                let parameters = values![
                    &id.collection,
                    &id.key,
                    id.owner,
                    value,
                    version,
                    read,
                    write,
                    now,
                    id.owner.is_nil(),
                    needed.number()
                ];
                transaction.row(UPSERT.of(transaction), parameters, created_at)?
            }
            Condition::Absent => {
                let parameters =
                    values![&id.collection, &id.key, id.owner, value, version, read, write, now, id.owner.is_nil()];
                transaction.row(CREATE.of(transaction), parameters, created_at)?
            }
            Condition::Version(expected) => {
                let parameters = values![
                    &id.collection,
                    &id.key,
                    id.owner,
                    value,
                    version,
                    read,
                    write,
                    now,
                    expected,
                    needed.number(),
                    id.owner.is_nil()
                ];
                transaction.row(REPLACE.of(transaction), parameters, created_at)?
            }
        };
        match written {
            Some(created_at) => Ok(created_at),
            None => Err(self.rejection_reason(transaction, needed)?),
        }
    }

    /// Users other than the owner may only change the value of an existing object that is open to everyone.
    fn write_foreign(&self, transaction: &mut Transaction<'_>, now: i64) -> Result<i64, ServiceError> {
        let Write { id, value, condition, .. } = &self.write;
        let expected = match condition {
            Condition::Always => None,
            Condition::Absent => return Err(DENIED),
            Condition::Version(expected) => Some(expected.as_str()),
        };
        let parameters = values![
            &id.collection,
            &id.key,
            id.owner,
            value,
            &self.version,
            now,
            expected.is_none(),
            expected.unwrap_or(""),
            id.owner.is_nil()
        ];
        let written = transaction.row(CHANGE_VALUE.of(transaction), parameters, |row| row.get::<i64>(0))?;
        match written {
            Some(created_at) => Ok(created_at),
            None => Err(self.rejection_reason(transaction, Permission::Everyone)?),
        }
    }

    /// Returns the reason why nothing was written.
    fn rejection_reason(
        &self,
        transaction: &mut Transaction<'_>,
        needed: Permission,
    ) -> Result<ServiceError, ServiceError> {
        let Write { id, condition, .. } = &self.write;
        if let Some(found) = find(transaction, id)? {
            let error = if *condition != Condition::Absent && found.write < needed { DENIED } else { VERSION_FAILED };
            return Ok(error);
        }
        if needed == Permission::Everyone {
            // Users without permission do not learn if the object exists.
            return Ok(DENIED);
        }
        if matches!(condition, Condition::Version(_)) {
            return Ok(VERSION_FAILED);
        }
        let owner = transaction.row("SELECT 1 FROM users WHERE id = ?1", values![id.owner], |_| Ok(()))?;
        // The owner exists, so the object existed a moment ago.
        Ok(if owner.is_some() { VERSION_FAILED } else { NO_OWNER })
    }
}

/// Reads an object without checking permissions.
pub(super) fn find(transaction: &mut Transaction<'_>, id: &ObjectId) -> Result<Option<Object>, ServiceError> {
    Ok(transaction.row(FIND, values![&id.collection, id.owner, &id.key], Object::from_row)?)
}

/// Statement that changes an object whose owner exists, or that belongs to the server. No foreign key ties it to the
/// owner, so on PostgreSQL the statement locks the owner's row, before it touches an object: changes of one owner's
/// objects are counted one after the other, an account is not erased before the object exists and can be erased with it,
/// and one that is being erased is waited for and then not found. SQLite has one writer.
pub(super) struct ObjectStatement {
    pub(super) sqlite: &'static str,
    pub(super) postgres: &'static str,
}

impl ObjectStatement {
    pub(super) fn of(&self, transaction: &Transaction<'_>) -> &'static str {
        match transaction.dialect() {
            Dialect::Sqlite => self.sqlite,
            Dialect::Postgres => self.postgres,
        }
    }
}

macro_rules! object_statement {
    ($before:literal, $after:literal) => {
        $crate::storage::write::ObjectStatement {
            sqlite: concat!($before, " EXISTS (SELECT 1 FROM users WHERE id = ?3)", $after),
            postgres: concat!($before, " EXISTS (SELECT 1 FROM users WHERE id = ?3 FOR NO KEY UPDATE)", $after),
        }
    };
}
pub(super) use object_statement;

macro_rules! insert_statement {
    ($on_conflict:literal) => {
        object_statement!(
            "INSERT INTO storage_objects (collection, key, user_id, value, version, permission_read, permission_write, \
             created_at, updated_at) \
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8 WHERE ?9 OR",
            $on_conflict
        )
    };
}

/// Inserts, or overwrites if the caller has permission.
const UPSERT: ObjectStatement = insert_statement!(
    " ON CONFLICT (collection, user_id, key) \
     DO UPDATE SET value = excluded.value, version = excluded.version, permission_read = excluded.permission_read, \
     permission_write = excluded.permission_write, updated_at = excluded.updated_at \
     WHERE storage_objects.permission_write >= ?10 RETURNING created_at"
);

const CREATE: ObjectStatement =
    insert_statement!(" ON CONFLICT (collection, user_id, key) DO NOTHING RETURNING created_at");

const REPLACE: ObjectStatement = object_statement!(
    "UPDATE storage_objects SET
        value = ?4, version = ?5, permission_read = ?6, permission_write = ?7, updated_at = ?8
    WHERE collection = ?1 AND key = ?2 AND user_id = ?3 AND version = ?9 AND permission_write >= ?10 AND (?11 OR",
    ") RETURNING created_at"
);

const CHANGE_VALUE: ObjectStatement = object_statement!(
    "UPDATE storage_objects SET value = ?4, version = ?5, updated_at = ?6
    WHERE collection = ?1 AND key = ?2 AND user_id = ?3 AND permission_write = 2 AND (?7 OR version = ?8) AND (?9 OR",
    ") RETURNING created_at"
);

const FIND: &str = "SELECT
        collection, key, user_id, value, version, permission_read, permission_write, created_at, updated_at
    FROM storage_objects WHERE collection = ?1 AND user_id = ?2 AND key = ?3";
