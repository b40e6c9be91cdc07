//! Reads objects by id, and lists them.

use super::object::{COLUMNS, Object, ObjectId, Permission, VALUE_BYTES_MAX, reject_nul};
use crate::cursor;
use crate::error::ServiceError;
use aether_store::{SqlRow, SqlValue, Statements, StoreError, values};
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

/// Returns the statement that reads objects by id.
pub(super) fn search(ids: &[ObjectId]) -> Statements {
    by_ids(COLUMNS, ids)
}

/// Returns the statement that reads the sizes of objects, if a user could read more of them than fit into one answer. The
/// server reads for itself, and knows what it has stored.
pub(super) fn size_search(user: Option<Uuid>, ids: &[ObjectId]) -> Option<Statements> {
    (user.is_some() && ids.len() > OBJECTS_UNCHECKED_MAX).then(|| by_ids(SIZE_COLUMNS, ids))
}

/// Rejects objects that are too large together. `sizes` are the rows of [`size_search`].
pub(super) fn check_sizes(user: Option<Uuid>, sizes: &[ObjectSize]) -> Result<(), ServiceError> {
    let readable = sizes.iter().filter(|size| is_readable(user, size.owner, size.read));
    let bytes: i64 = readable.map(|size| size.bytes).sum();
    if bytes > VALUES_BYTES_MAX as i64 {
        let message = format!(
            "The objects have {bytes} bytes together; at most {VALUES_BYTES_MAX} can be read at once. Read fewer."
        );
        return Err(ServiceError::invalid(message));
    }
    Ok(())
}

/// Returns the found objects that the user may read, in the order of the ids. `None` is the server.
pub(super) fn readable(user: Option<Uuid>, ids: &[ObjectId], found: Vec<Object>) -> Vec<Object> {
    let found = found.into_iter().filter(|object| is_readable(user, object.id.owner, object.read));
    let mut found: HashMap<ObjectId, Object> = found.map(|object| (object.id.clone(), object)).collect();
    ids.iter().filter_map(|id| found.remove(id)).collect()
}

/// Size of an object, and who may read it.
pub(super) struct ObjectSize {
    bytes: i64,
    owner: Uuid,
    read: Permission,
}

impl ObjectSize {
    /// Reads [`SIZE_COLUMNS`].
    pub fn from_row(row: &SqlRow<'_>) -> Result<ObjectSize, StoreError> {
        let read = Permission::from_number(row.get(2)?).unwrap_or(Permission::Nobody);
        Ok(ObjectSize { bytes: row.get(0)?, owner: row.get(1)?, read })
    }
}

pub(super) fn is_readable(user: Option<Uuid>, owner: Uuid, read: Permission) -> bool {
    match user {
        None => true,
        Some(user) if user == owner => read >= Permission::Owner,
        Some(_) => read == Permission::Everyone,
    }
}

fn by_ids(columns: &str, ids: &[ObjectId]) -> Statements {
    // Padded to a power of two with the last id, so that there are few distinct statements to prepare.
    let count = ids.len().next_power_of_two();
    let parameters = ids.iter().chain(ids.last().into_iter().cycle()).take(count);
    let parameters: Vec<SqlValue<'_>> = parameters
        .flat_map(|id| [SqlValue::from(&id.collection), SqlValue::from(id.owner), SqlValue::from(&id.key)])
        .collect();
    Statements::reading(select(columns, count), &parameters)
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

    /// Returns the statement that reads the sizes of the objects, if a long page of large objects may have to end early.
    pub fn size_search(&self) -> Option<Statements> {
        let is_checked = self.user.is_some() && self.limit > OBJECTS_UNCHECKED_MAX as i64;
        is_checked.then(|| self.rows(SIZE_COLUMNS, self.limit))
    }

    /// Ends the page before it becomes too large. `sizes` are the rows of [`Listing::size_search`].
    pub fn shorten(&mut self, sizes: &[ObjectSize]) {
        self.limit = self.limit.min(count_fitting(sizes));
    }

    /// Returns the statement that reads the page.
    pub fn search(&self) -> Statements {
        // One object more than the limit tells if there is another page.
        self.rows(COLUMNS, self.limit + 1)
    }

    /// Returns the page of the found objects.
    pub fn page(&self, found: Vec<Object>) -> Page {
        Page::cut(found, self.limit, |last| {
            cursor::encode(&PageCursor { key: last.id.key.clone(), owner: last.id.owner })
        })
    }

    fn rows(&self, columns: &str, limit: i64) -> Statements {
        let after = &self.after;
        match (self.owner, self.user) {
            (Some(owner), user) => {
                let needed = match user {
                    None => Permission::Nobody,
                    Some(user) if user == owner => Permission::Owner,
                    Some(_) => Permission::Everyone,
                };
                let parameters = values![&self.collection, owner, &after.key, needed.number(), limit];
                Statements::reading(listing(columns, OF_OWNER), parameters)
            }
            (None, Some(_)) => {
                let parameters = values![&self.collection, &after.key, after.owner, limit];
                Statements::reading(listing(columns, PUBLIC), parameters)
            }
            (None, None) => {
                let parameters = values![&self.collection, after.owner, &after.key, limit];
                Statements::reading(listing(columns, ALL), parameters)
            }
        }
    }
}

/// Returns how many of the first objects fit into a page, at least one.
fn count_fitting(sizes: &[ObjectSize]) -> i64 {
    let mut bytes = 0;
    let fits = |size: &&ObjectSize| {
        bytes += size.bytes;
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
