//! Reads objects by id, and lists them.

use super::object::{COLUMNS, Object, ObjectId, Permission, VALUE_BYTES_MAX, reject_nul};
use crate::cursor;
use crate::error::ServiceError;
use aether_store::{SqlRow, SqlValue, StoreError, Transaction, values};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use uuid::Uuid;

/// Maximum objects per page.
pub const LIST_MAX: i32 = 100;

/// Maximum bytes of all values of one read or page. An answer is in memory as a whole until the client has read it.
pub const VALUES_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// Objects that fit into [`VALUES_BYTES_MAX`] at any size, so that their sizes are not queried first.
pub(super) const OBJECTS_UNCHECKED_MAX: usize = VALUES_BYTES_MAX / VALUE_BYTES_MAX;

/// Page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Objects.
    pub objects: Vec<Object>,
    /// Cursor of the next page. Empty on the last page.
    pub cursor: String,
}

/// Position of the last object of a page.
#[derive(Serialize, Deserialize)]
struct PageCursor {
    key: String,
    owner: Uuid,
}

/// Request for a page of a collection.
pub(super) struct Listing {
    collection: String,
    owner: Option<Uuid>,
    user: Option<Uuid>,
    limit: i64,
    after: PageCursor,
}

/// Reads the objects that exist and that the user may read, in the order of the ids. `None` is the server.
pub(super) fn read(
    transaction: &mut Transaction<'_>,
    user: Option<Uuid>,
    ids: &[ObjectId],
) -> Result<Vec<Object>, ServiceError> {
    let Some(last) = ids.last() else { return Ok(Vec::new()) };
    // Padded to a power of two with the last id, so that there are few distinct statements to prepare.
    let count = ids.len().next_power_of_two();
    let parameters = ids.iter().chain(std::iter::repeat(last)).take(count);
    let parameters: Vec<SqlValue<'_>> = parameters
        .flat_map(|id| [SqlValue::from(&id.collection), SqlValue::from(id.owner), SqlValue::from(&id.key)])
        .collect();
    let is_readable = |owner: Uuid, read: Permission| match user {
        None => true,
        Some(user) if user == owner => read >= Permission::Owner,
        Some(_) => read == Permission::Everyone,
    };
    // The server reads for itself, and knows what it has stored.
    if user.is_some() && ids.len() > OBJECTS_UNCHECKED_MAX {
        let sizes = transaction.rows(&select(SIZE_COLUMNS, count), &parameters, |row| {
            let read = Permission::from_number(row.get(2)?).unwrap_or(Permission::Nobody);
            Ok((row.get::<i64>(0)?, is_readable(row.get(1)?, read)))
        })?;
        let bytes: i64 = sizes.iter().filter(|(_, is_readable)| *is_readable).map(|(bytes, _)| bytes).sum();
        if bytes > VALUES_BYTES_MAX as i64 {
            let message = format!(
                "The objects have {bytes} bytes together; at most {VALUES_BYTES_MAX} can be read at once. Read fewer."
            );
            return Err(ServiceError::invalid(message));
        }
    }
    let found = transaction.rows(&select(COLUMNS, count), &parameters, Object::from_row)?;
    let found = found.into_iter().filter(|object| is_readable(object.id.owner, object.read));
    let mut found: HashMap<ObjectId, Object> = found.map(|object| (object.id.clone(), object)).collect();
    Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
}

impl Listing {
    pub fn check(
        collection: &str,
        owner: Option<Uuid>,
        user: Option<Uuid>,
        limit: i32,
        cursor: &str,
    ) -> Result<Listing, ServiceError> {
        super::object::check_name("Collection", collection, super::object::COLLECTION_BYTES_MAX)?;
        check_limit(limit)?;
        let after = cursor::decode(cursor)?.unwrap_or(PageCursor { key: String::new(), owner: Uuid::nil() });
        reject_nul("Cursor", &after.key)?;
        Ok(Listing { collection: collection.to_owned(), owner, user, limit: limit.into(), after })
    }

    pub fn run(&self, transaction: &mut Transaction<'_>) -> Result<Page, ServiceError> {
        let mut limit = self.limit;
        // A long page of large objects ends early.
        if self.user.is_some() && limit > OBJECTS_UNCHECKED_MAX as i64 {
            let sizes = self.rows(transaction, SIZE_COLUMNS, limit, |row| row.get::<i64>(0))?;
            limit = limit.min(count_fitting(&sizes));
        }
        // One object more than the limit tells if there is another page.
        let objects = self.rows(transaction, COLUMNS, limit + 1, Object::from_row)?;
        Ok(Page::cut(objects, limit, |last| {
            cursor::encode(&PageCursor { key: last.id.key.clone(), owner: last.id.owner })
        }))
    }

    fn rows<T>(
        &self,
        transaction: &mut Transaction<'_>,
        columns: &str,
        limit: i64,
        read: impl FnMut(&SqlRow<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let after = &self.after;
        match (self.owner, self.user) {
            (Some(owner), user) => {
                let needed = match user {
                    None => Permission::Nobody,
                    Some(user) if user == owner => Permission::Owner,
                    Some(_) => Permission::Everyone,
                };
                let parameters = values![&self.collection, owner, &after.key, needed.number(), limit];
                transaction.rows(&listing(columns, OF_OWNER), parameters, read)
            }
            (None, Some(_)) => {
                let parameters = values![&self.collection, &after.key, after.owner, limit];
                transaction.rows(&listing(columns, PUBLIC), parameters, read)
            }
            (None, None) => {
                let parameters = values![&self.collection, after.owner, &after.key, limit];
                transaction.rows(&listing(columns, ALL), parameters, read)
            }
        }
    }
}

/// Returns how many of the first objects fit into a page, at least one.
fn count_fitting(sizes: &[i64]) -> i64 {
    let mut bytes = 0;
    let fits = |size: &&i64| {
        bytes += **size;
        bytes <= VALUES_BYTES_MAX as i64
    };
    (sizes.iter().take_while(fits).count() as i64).max(1)
}

impl Page {
    /// Builds a page of objects, of which there may be one more than the limit.
    pub(super) fn cut(mut objects: Vec<Object>, limit: i64, cursor: impl FnOnce(&Object) -> String) -> Page {
        let limit = usize::try_from(limit).unwrap_or(0);
        let has_more = objects.len() > limit;
        objects.truncate(limit);
        let cursor = objects.last().filter(|_| has_more).map(cursor).unwrap_or_default();
        Page { objects, cursor }
    }
}

/// Rejects limits out of range.
pub(super) fn check_limit(limit: i32) -> Result<(), ServiceError> {
    match (1..=LIST_MAX).contains(&limit) {
        true => Ok(()),
        false => Err(ServiceError::invalid(format!("Limit must be between 1 and {LIST_MAX}."))),
    }
}

const OF_OWNER: &str = "collection = ?1 AND user_id = ?2 AND key > ?3 AND permission_read >= ?4
    ORDER BY key LIMIT ?5";
const PUBLIC: &str = "collection = ?1 AND permission_read = 2 AND (key, user_id) > (?2, ?3)
    ORDER BY key, user_id LIMIT ?4";
const ALL: &str = "collection = ?1 AND (user_id, key) > (?2, ?3)
    ORDER BY user_id, key LIMIT ?4";

/// Columns that tell how much a read would return, without reading the values.
const SIZE_COLUMNS: &str = "CAST(octet_length(value) AS BIGINT), user_id, permission_read";

fn listing(columns: &str, rest: &str) -> String {
    format!("SELECT {columns} FROM storage_objects WHERE {rest}")
}

/// Returns the statement that finds a number of objects by id.
fn select(columns: &str, count: usize) -> String {
    let one = |index: usize| {
        let first = index * 3 + 1;
        format!("(collection = ?{first} AND user_id = ?{} AND key = ?{})", first + 1, first + 2)
    };
    listing(columns, &(0..count).map(one).collect::<Vec<_>>().join(" OR "))
}
