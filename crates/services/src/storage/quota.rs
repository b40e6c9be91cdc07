//! Storage quota of users.

use crate::error::{GrpcCode, ServiceError};
use aether_store::{Transaction, values};
use uuid::Uuid;

/// Limits of one user's stored objects. Writes of users are checked. Writes of the server count, but are never
/// rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Maximum number of objects. `None` for no limit.
    pub objects_max: Option<u64>,
    /// Maximum bytes of all values together. `None` for no limit.
    pub bytes_max: Option<u64>,
}

impl Quota {
    /// Returns true if there is a limit.
    pub(super) fn is_set(&self) -> bool {
        self.objects_max.is_some() || self.bytes_max.is_some()
    }

    /// Rejects the writes of the transaction if the user exceeds the quota.
    pub(super) fn check(&self, transaction: &mut Transaction<'_>, user: Uuid) -> Result<(), ServiceError> {
        let counted = transaction.row(TOTALS, values![user], |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?)))?;
        let (objects, bytes) = counted.unwrap_or_default();
        let is_beyond = |count: i64, max: Option<u64>| max.filter(|max| count.unsigned_abs() > *max);
        if let Some(max) = is_beyond(objects, self.objects_max) {
            return Err(quota_exceeded(format!("A user may store at most {max} objects. Delete some first.")));
        }
        if let Some(max) = is_beyond(bytes, self.bytes_max) {
            return Err(quota_exceeded(format!("A user may store at most {max} bytes. Delete some objects first.")));
        }
        Ok(())
    }
}

fn quota_exceeded(message: String) -> ServiceError {
    ServiceError::with(GrpcCode::FailedPrecondition, message)
}

/// Kept by triggers of the database, so that the cost of a write does not grow with what the user has stored.
const TOTALS: &str = "SELECT objects, bytes FROM storage_totals WHERE user_id = ?1";
