//! Stored objects and their permissions.

use crate::error::ServiceError;
use aether_store::{SqlRow, StoreError};
use md5::{Digest, Md5};
use std::fmt::Write as _;
use uuid::Uuid;

/// Maximum bytes of a collection name. Names in an index have to be short.
pub const COLLECTION_BYTES_MAX: usize = 128;
/// Maximum bytes of a key.
pub const KEY_BYTES_MAX: usize = 128;
/// Maximum bytes of a value: as much as one request can carry.
pub const VALUE_BYTES_MAX: usize = 262_144;

/// Columns of an object, in the order in which [`Object::from_row`] reads them.
pub(super) const COLUMNS: &str =
    "collection, key, user_id, value, version, permission_read, permission_write, created_at, updated_at";

/// Id of an object. Ids of one owner are ordered as transactions lock them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// Collection.
    pub collection: String,
    /// Owner: a user, or the nil id for the server.
    pub owner: Uuid,
    /// Key, unique per collection and owner.
    pub key: String,
}

/// Permission of an object. Server code bypasses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// No user.
    Nobody = 0,
    /// The owner.
    #[default]
    Owner = 1,
    /// Every user. As a write permission it is an extension of Aether: others may change the value of an existing
    /// object, but neither its permissions nor delete it.
    Everyone = 2,
}

/// Stored object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Id.
    pub id: ObjectId,
    /// JSON object, as it was written.
    pub value: String,
    /// Version of the value. Equal values have equal versions.
    pub version: String,
    /// Read permission.
    pub read: Permission,
    /// Write permission.
    pub write: Permission,
    /// Time of the first write, in milliseconds since 1970.
    pub created_at: i64,
    /// Time of the last write, in milliseconds since 1970.
    pub updated_at: i64,
}

impl ObjectId {
    /// Creates the id of an object of a user, or of the server for the nil id.
    pub fn new(collection: impl Into<String>, key: impl Into<String>, owner: Uuid) -> ObjectId {
        ObjectId { collection: collection.into(), owner, key: key.into() }
    }

    /// Validates collection and key.
    pub(crate) fn check(&self) -> Result<(), ServiceError> {
        check_name("Collection", &self.collection, COLLECTION_BYTES_MAX)?;
        check_name("Key", &self.key, KEY_BYTES_MAX)
    }
}

impl Permission {
    /// Converts a number: 0 nobody, 1 the owner, 2 everyone.
    pub fn from_number(number: i64) -> Result<Permission, ServiceError> {
        match number {
            0 => Ok(Permission::Nobody),
            1 => Ok(Permission::Owner),
            2 => Ok(Permission::Everyone),
            _ => Err(ServiceError::invalid("A permission must be 0 (nobody), 1 (the owner) or 2 (everyone).")),
        }
    }

    /// Returns the number used in the database and the API.
    #[must_use]
    pub fn number(self) -> i64 {
        self as i64
    }
}

impl Object {
    /// Returns true if no user may write the object, so that its value is what server code stored. Nobody signs in as
    /// the server, so its own objects are writable by users only if everyone may write.
    #[must_use]
    pub fn is_server_only(&self) -> bool {
        match self.write {
            Permission::Nobody => true,
            Permission::Owner => self.id.owner.is_nil(),
            Permission::Everyone => false,
        }
    }

    pub(super) fn from_row(row: &SqlRow<'_>) -> Result<Object, StoreError> {
        let permission = |index| {
            Permission::from_number(row.get(index)?).map_err(|error| StoreError::Failed(error.message.into_owned()))
        };
        Ok(Object {
            id: ObjectId { collection: row.get(0)?, key: row.get(1)?, owner: row.get(2)? },
            value: row.get(3)?,
            version: row.get(4)?,
            read: permission(5)?,
            write: permission(6)?,
            created_at: row.get(7)?,
            updated_at: row.get(8)?,
        })
    }
}

/// Returns the version of a value: its MD5 hash in hexadecimal, as clients expect. Security does not depend on it.
pub(super) fn version_of(value: &str) -> String {
    Md5::digest(value).iter().fold(String::with_capacity(32), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Rejects a name that is empty, too long, or cannot be stored.
pub(super) fn check_name(what: &str, name: &str, bytes_max: usize) -> Result<(), ServiceError> {
    if name.is_empty() || name.len() > bytes_max {
        return Err(ServiceError::invalid(format!("{what} must have 1 to {bytes_max} bytes.")));
    }
    reject_nul(what, name)
}

/// Rejects U+0000, which PostgreSQL cannot store.
pub(super) fn reject_nul(what: &str, text: &str) -> Result<(), ServiceError> {
    match text.contains('\0') {
        true => Err(ServiceError::invalid(format!("{what} must not contain the character U+0000."))),
        false => Ok(()),
    }
}
