//! What is stored, and who may read and write it.

use crate::error::ServiceError;
use aether_store::{SqlRow, StoreError};
use md5::{Digest, Md5};
use std::fmt::Write as _;
use uuid::Uuid;

/// Bytes of the name of a collection. What names things in an index has to be short.
pub const COLLECTION_BYTES_MAX: usize = 128;
/// Bytes of a key.
pub const KEY_BYTES_MAX: usize = 128;
/// Bytes of a value: as much as one request can carry.
pub const VALUE_BYTES_MAX: usize = 262_144;

/// The columns of an object, in the order in which [`Object::from_row`] reads them.
pub(super) const COLUMNS: &str =
    "collection, key, user_id, value, version, permission_read, permission_write, created_at, updated_at";

/// By what an object is found. Those of one owner are ordered as transactions lock them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// The collection.
    pub collection: String,
    /// Whose it is: a user, or the id of zeros for what belongs to the server.
    pub owner: Uuid,
    /// The key within the collection, of this owner.
    pub key: String,
}

/// Who may do something with an object. The server's own code may do everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Nobody.
    Nobody = 0,
    /// The owner.
    #[default]
    Owner = 1,
    /// Every user. To write this way is an extension of Aether: others than the owner may change the value of an object
    /// that is there, and neither its permissions, nor remove it.
    Everyone = 2,
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// By what it is found.
    pub id: ObjectId,
    /// A JSON object, as it was written.
    pub value: String,
    /// Names the value: equal values have equal versions.
    pub version: String,
    /// Who may read it.
    pub read: Permission,
    /// Who may write it.
    pub write: Permission,
    /// When it was written first, in milliseconds since 1970.
    pub created_at: i64,
    /// When it was written last, in milliseconds since 1970.
    pub updated_at: i64,
}

impl ObjectId {
    /// The id of an object of a user, or of the server for the id of zeros.
    pub fn new(collection: impl Into<String>, key: impl Into<String>, owner: Uuid) -> ObjectId {
        ObjectId { collection: collection.into(), owner, key: key.into() }
    }

    /// Refuses names that cannot be.
    pub(crate) fn check(&self) -> Result<(), ServiceError> {
        check_name("Collection", &self.collection, COLLECTION_BYTES_MAX)?;
        check_name("Key", &self.key, KEY_BYTES_MAX)
    }
}

impl Permission {
    /// The permission of a number: 0 nobody, 1 the owner, 2 everyone.
    pub fn from_number(number: i64) -> Result<Permission, ServiceError> {
        match number {
            0 => Ok(Permission::Nobody),
            1 => Ok(Permission::Owner),
            2 => Ok(Permission::Everyone),
            _ => Err(ServiceError::invalid("A permission must be 0 (nobody), 1 (the owner) or 2 (everyone).")),
        }
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> i64 {
        self as i64
    }
}

impl Object {
    pub(super) fn from_row(row: &SqlRow<'_>) -> Result<Object, StoreError> {
        let permission = |index| {
            Permission::from_number(row.get(index)?).map_err(|refusal| StoreError::Failed(refusal.message.into_owned()))
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

/// The version of a value: its MD5 hash, in hexadecimal, as clients have always seen it. Nothing secret rests on it.
pub(super) fn version_of(value: &str) -> String {
    Md5::digest(value).iter().fold(String::with_capacity(32), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Refuses a name that is empty, too long, or cannot be kept.
pub(super) fn check_name(what: &str, name: &str, bytes_max: usize) -> Result<(), ServiceError> {
    if name.is_empty() || name.len() > bytes_max {
        return Err(ServiceError::invalid(format!("{what} must have 1 to {bytes_max} bytes.")));
    }
    refuse_zero(what, name)
}

/// Refuses the character that PostgreSQL cannot keep.
pub(super) fn refuse_zero(what: &str, text: &str) -> Result<(), ServiceError> {
    match text.contains('\0') {
        true => Err(ServiceError::invalid(format!("{what} must not hold the character U+0000."))),
        false => Ok(()),
    }
}
