//! Reads objects by id, and lists them.

use super::object::{COLUMNS, Object, ObjectId, Permission, reject_nul};
use crate::cursor;
use crate::error::ServiceError;
use aether_store::{SqlValue, Statements, values};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use uuid::Uuid;

/// Maximum objects per page.
pub const LIST_MAX: i32 = 100;

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
    // Padded to a power of two with the last id, so that there are few distinct statements to prepare.
    let count = ids.len().next_power_of_two();
    let parameters = ids.iter().chain(ids.last().into_iter().cycle()).take(count);
    let parameters: Vec<SqlValue<'_>> = parameters
        .flat_map(|id| [SqlValue::from(&id.collection), SqlValue::from(id.owner), SqlValue::from(&id.key)])
        .collect();
    Statements::reading(select(count), &parameters)
}

/// Returns the found objects that the user may read, in the order of the ids. `None` is the server.
pub(super) fn readable(user: Option<Uuid>, ids: &[ObjectId], found: Vec<Object>) -> Vec<Object> {
    let is_readable = |object: &Object| match user {
        None => true,
        Some(user) if user == object.id.owner => object.read >= Permission::Owner,
        Some(_) => object.read == Permission::Everyone,
    };
    let found = found.into_iter().filter(is_readable);
    let mut found: HashMap<ObjectId, Object> = found.map(|object| (object.id.clone(), object)).collect();
    ids.iter().filter_map(|id| found.remove(id)).collect()
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

    /// Returns the statement that reads the page.
    pub fn search(&self) -> Statements {
        // One object more than the limit tells if there is another page.
        let (limit, after) = (self.limit + 1, &self.after);
        match (self.owner, self.user) {
            (Some(owner), user) => {
                let needed = match user {
                    None => Permission::Nobody,
                    Some(user) if user == owner => Permission::Owner,
                    Some(_) => Permission::Everyone,
                };
                let parameters = values![&self.collection, owner, &after.key, needed.number(), limit];
                Statements::reading(listing(OF_OWNER), parameters)
            }
            (None, Some(_)) => {
                let parameters = values![&self.collection, &after.key, after.owner, limit];
                Statements::reading(listing(PUBLIC), parameters)
            }
            (None, None) => {
                let parameters = values![&self.collection, after.owner, &after.key, limit];
                Statements::reading(listing(ALL), parameters)
            }
        }
    }

    /// Returns the page of the found objects.
    pub fn page(&self, found: Vec<Object>) -> Page {
        Page::cut(found, self.limit, |last| {
            cursor::encode(&PageCursor { key: last.id.key.clone(), owner: last.id.owner })
        })
    }
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

fn listing(rest: &str) -> String {
    format!("SELECT {COLUMNS} FROM storage_objects WHERE {rest}")
}

/// Returns the statement that finds a number of objects by id.
fn select(count: usize) -> String {
    let one = |index: usize| {
        let first = index * 3 + 1;
        format!("(collection = ?{first} AND user_id = ?{} AND key = ?{})", first + 1, first + 2)
    };
    listing(&(0..count).map(one).collect::<Vec<_>>().join(" OR "))
}
