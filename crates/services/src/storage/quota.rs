//! Storage quota of users.

use crate::error::{GrpcCode, ServiceError};
use aether_store::{SqlValue, Transaction, values};
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

    /// Returns the condition, to be added to a statement, that the user does not exceed the quota after the write of an
    /// object. Collection, key, owner and value are its first parameters, and those of the quota come after `parameters`.
    ///
    /// If a transaction of the same user commits while the statement waits for it, the condition does not see that. Then the
    /// user can exceed the quota by one object.
    pub(super) fn condition(&self, parameters: usize) -> String {
        let (objects_max, bytes_max) = (parameters + 1, parameters + 2);
        let found = "FROM storage_objects q WHERE q.collection = ?1 AND q.user_id = ?3 AND q.key = ?2";
        let total = |column| format!("coalesce((SELECT t.{column} FROM storage_totals t WHERE t.user_id = ?3), 0)");
        format!(
            "AND {} + CASE WHEN EXISTS (SELECT 1 {found}) THEN 0 ELSE 1 END <= ?{objects_max} \
             AND {} + octet_length(CAST(?4 AS TEXT)) - coalesce((SELECT octet_length(q.value) {found}), 0) <= ?{bytes_max}",
            total("objects"),
            total("bytes"),
        )
    }

    /// Returns the parameters of the condition.
    pub(super) fn parameters(&self) -> [SqlValue<'static>; 2] {
        let limit = |max: Option<u64>| i64::try_from(max.unwrap_or(u64::MAX)).unwrap_or(i64::MAX).into();
        [limit(self.objects_max), limit(self.bytes_max)]
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
