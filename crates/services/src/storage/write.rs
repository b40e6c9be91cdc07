//! Writes objects, with permissions, versions and quotas, by one statement each.

use super::Author;
use super::json;
use super::object::{Object, ObjectId, Permission, VALUE_BYTES_MAX, reject_nul, version_of};
use crate::error::{GrpcCode, ServiceError};
use aether_store::{Dialect, SqlValue, Statements, Transaction, values};
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

    /// Returns the object as it is after the write, without its creation time. `None` if the user is not the owner, whose
    /// write keeps the permissions that the object has.
    pub(crate) fn object(&self, user: Option<Uuid>, now: i64) -> Option<Object> {
        let Write { id, value, read, write, .. } = &self.write;
        let is_own = user.is_none_or(|user| user == id.owner);
        is_own.then(|| Object {
            id: id.clone(),
            value: value.clone(),
            version: self.version.clone(),
            read: *read,
            write: *write,
            created_at: 0,
            updated_at: now,
        })
    }

    /// Returns the acknowledgement of the write.
    pub(crate) fn ack(&self, created_at: i64, now: i64) -> Ack {
        Ack { id: self.write.id.clone(), version: self.version.clone(), created_at, updated_at: now }
    }

    /// Returns the statement that writes the object for an author and returns its creation time. It writes nothing if that
    /// is not allowed. `None` if it never is.
    pub(crate) fn statement(&self, author: Author, now: i64, dialect: Dialect) -> Option<Statements> {
        match author.user {
            Some(user) if user != self.write.id.owner => self.foreign_statement(now, dialect),
            _ => Some(self.own_statement(author, now, dialect)),
        }
    }

    fn own_statement(&self, author: Author, now: i64, dialect: Dialect) -> Statements {
        let Write { id, value, condition, read, write } = &self.write;
        let needed = if author.user.is_some() { Permission::Owner } else { Permission::Nobody }.number();
        let is_server = id.owner.is_nil();
        let mut parameters: Vec<SqlValue<'_>> = Vec::with_capacity(13);
        parameters.extend_from_slice(values![&id.collection, &id.key, id.owner, value, &self.version]);
        parameters.extend_from_slice(values![read.number(), write.number(), now]);
        let statement = match condition {
            Condition::Always => {
                parameters.extend_from_slice(values![is_server, needed]);
                UPSERT
            }
            Condition::Absent => {
                parameters.extend_from_slice(values![is_server]);
                CREATE
            }
            Condition::Version(expected) => {
                parameters.extend_from_slice(values![expected, needed, is_server]);
                REPLACE
            }
        };
        let sql = statement.of(dialect);
        if author.user.is_none() || !author.quota.is_set() {
            return Statements::writing(sql, &parameters);
        }
        let limited = sql.replace("/* quota */", &author.quota.condition(parameters.len()));
        parameters.extend(author.quota.parameters());
        Statements::writing(limited, &parameters)
    }

    /// Users other than the owner may only change the value of an existing object that is open to everyone.
    fn foreign_statement(&self, now: i64, dialect: Dialect) -> Option<Statements> {
        let Write { id, value, condition, .. } = &self.write;
        let expected = match condition {
            Condition::Always => None,
            Condition::Absent => return None,
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
        Some(Statements::writing(CHANGE_VALUE.of(dialect), parameters))
    }

    /// Returns the reason why nothing was written for a user, or for the server if `None`.
    pub(crate) fn rejection_reason(
        &self,
        transaction: &mut Transaction<'_>,
        user: Option<Uuid>,
    ) -> Result<ServiceError, ServiceError> {
        let Write { id, condition, .. } = &self.write;
        let needed = match user {
            Some(user) if user != id.owner => Permission::Everyone,
            Some(_) => Permission::Owner,
            None => Permission::Nobody,
        };
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
    pub(super) fn of(&self, dialect: Dialect) -> &'static str {
        match dialect {
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
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8 WHERE (?9 OR",
            $on_conflict
        )
    };
}

/// Inserts, or overwrites if the caller has permission.
const UPSERT: ObjectStatement = insert_statement!(
    ") /* quota */ ON CONFLICT (collection, user_id, key) \
     DO UPDATE SET value = excluded.value, version = excluded.version, permission_read = excluded.permission_read, \
     permission_write = excluded.permission_write, updated_at = excluded.updated_at \
     WHERE storage_objects.permission_write >= ?10 RETURNING created_at"
);

const CREATE: ObjectStatement =
    insert_statement!(") /* quota */ ON CONFLICT (collection, user_id, key) DO NOTHING RETURNING created_at");

const REPLACE: ObjectStatement = object_statement!(
    "UPDATE storage_objects SET
        value = ?4, version = ?5, permission_read = ?6, permission_write = ?7, updated_at = ?8
    WHERE collection = ?1 AND key = ?2 AND user_id = ?3 AND version = ?9 AND permission_write >= ?10 AND (?11 OR",
    ") /* quota */ RETURNING created_at"
);

const CHANGE_VALUE: ObjectStatement = object_statement!(
    "UPDATE storage_objects SET value = ?4, version = ?5, updated_at = ?6
    WHERE collection = ?1 AND key = ?2 AND user_id = ?3 AND permission_write = 2 AND (?7 OR version = ?8) AND (?9 OR",
    ") RETURNING created_at"
);

const FIND: &str = "SELECT
        collection, key, user_id, value, version, permission_read, permission_write, created_at, updated_at
    FROM storage_objects WHERE collection = ?1 AND user_id = ?2 AND key = ?3";
