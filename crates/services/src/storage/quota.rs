//! How much one user may keep.

use crate::error::{GrpcCode, ServiceError};
use aether_store::{Transaction, values};
use uuid::Uuid;

/// How much one user may keep. It binds what users write; what the server writes for them counts, and is never refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Objects of one user; no limit where there is none.
    pub objects_max: Option<u64>,
    /// Bytes of the values of one user's objects together; no limit where there is none.
    pub bytes_max: Option<u64>,
}

impl Quota {
    /// Whether anything is limited.
    pub(super) fn is_set(&self) -> bool {
        self.objects_max.is_some() || self.bytes_max.is_some()
    }

    /// Keeps others from writing for the user until this transaction has ended, so that they are counted one after the
    /// other. SQLite has one writer, so there nothing is needed.
    pub(super) fn hold(transaction: &mut Transaction<'_>, user: Uuid) -> Result<(), ServiceError> {
        let lock = transaction.for_update();
        if !lock.is_empty() {
            transaction.row(&format!("SELECT 1 FROM users WHERE id = ?1{lock}"), values![user], |_| Ok(()))?;
        }
        Ok(())
    }

    /// Refuses what the transaction has written if the user has too much now.
    pub(super) fn check(&self, transaction: &mut Transaction<'_>, user: Uuid) -> Result<(), ServiceError> {
        let counted = transaction.row(COUNT, values![user], |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?)))?;
        let (objects, bytes) = counted.unwrap_or_default();
        let is_beyond = |count: i64, max: Option<u64>| max.filter(|max| count.unsigned_abs() > *max);
        if let Some(max) = is_beyond(objects, self.objects_max) {
            return Err(full(format!("A user may keep at most {max} objects. Delete some first.")));
        }
        if let Some(max) = is_beyond(bytes, self.bytes_max) {
            return Err(full(format!("A user may keep at most {max} bytes in storage. Delete some objects first.")));
        }
        Ok(())
    }
}

fn full(sentence: String) -> ServiceError {
    ServiceError::with(GrpcCode::FailedPrecondition, sentence)
}

/// By an index of the owner, so it takes as long as the user has objects.
const COUNT: &str = "SELECT count(*), coalesce(sum(octet_length(value)), 0) FROM storage_objects WHERE user_id = ?1";
