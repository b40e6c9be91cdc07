//! Queries for objects by their contents.
//!
//! A [`Filter`] compares fields with values, combined by and, or and not. It is compiled to one statement in which all
//! input is a parameter. A comparison holds for fields of the same type as the value: the number 1 is not the text "1".
//! A missing field, or one of another type, differs from every value. If an object has a name twice, SQLite uses the
//! first and PostgreSQL the last.

mod field;
mod filter;
mod sql;

pub use field::{FIELD_BYTES_MAX, FIELD_STEPS_MAX, Field};
pub use filter::{COMPARISONS_MAX, Comparison, FILTER_DEPTH_MAX, Filter, Scalar, TEXT_BYTES_MAX};

use super::object::{COLLECTION_BYTES_MAX, Object, check_name, reject_nul};
use super::read::{Page, check_limit};
use crate::cursor;
use crate::error::ServiceError;
use aether_store::{SqlRow, StoreError, Transaction};
use serde::{Deserialize, Serialize};
use sql::Statement;
use uuid::Uuid;

/// Query for objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Collection.
    pub collection: String,
    /// Owner, to restrict the query.
    pub owner: Option<Uuid>,
    /// Optional filter.
    pub filter: Option<Filter>,
    /// Sort order. By owner and key if `None`.
    pub sort: Option<Sort>,
    /// Objects per page.
    pub limit: i32,
    /// Cursor of the page. Empty for the first page.
    pub cursor: String,
}

/// Order by a field. Objects in which it is missing or of another type are omitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    /// Field.
    pub field: Field,
    /// Type of the field.
    pub kind: Kind,
    /// True for descending order.
    pub descending: bool,
}

/// Type of a sort field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers, as 64-bit floats.
    Number,
    /// Texts, by their bytes.
    Text,
}

/// Position of the last object of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PageCursor {
    sorted: Option<SortedBy>,
    owner: Uuid,
    key: String,
}

/// Sort value of an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum SortedBy {
    /// Bits of a number, because its text could round to a neighbor.
    Number(u64),
    Text(String),
}

/// Validated query.
pub(super) struct Checked {
    query: Query,
    user: Option<Uuid>,
    after: Option<PageCursor>,
}

impl Query {
    /// Creates a query for all objects of a collection.
    pub fn new(collection: impl Into<String>) -> Query {
        Query {
            collection: collection.into(),
            owner: None,
            filter: None,
            sort: None,
            limit: super::LIST_MAX,
            cursor: String::new(),
        }
    }

    pub(super) fn check(self, user: Option<Uuid>) -> Result<Checked, ServiceError> {
        check_name("Collection", &self.collection, COLLECTION_BYTES_MAX)?;
        check_limit(self.limit)?;
        self.filter.as_ref().map_or(Ok(()), Filter::check)?;
        let after: Option<PageCursor> = cursor::decode(&self.cursor)?;
        if let Some(cursor) = &after {
            cursor.check(self.sort.as_ref())?;
        }
        Ok(Checked { query: self, user, after })
    }
}

impl PageCursor {
    /// Rejects a cursor of a list with another order.
    fn check(&self, sort: Option<&Sort>) -> Result<(), ServiceError> {
        reject_nul("Cursor", &self.key)?;
        match (&self.sorted, sort.map(|sort| sort.kind)) {
            (None, None) => Ok(()),
            (Some(SortedBy::Number(bits)), Some(Kind::Number)) if !f64::from_bits(*bits).is_nan() => Ok(()),
            (Some(SortedBy::Text(text)), Some(Kind::Text)) => reject_nul("Cursor", text),
            _ => Err(ServiceError::invalid("Cursor belongs to a list with another order.")),
        }
    }
}

impl Checked {
    pub fn run(&self, transaction: &mut Transaction<'_>) -> Result<Page, ServiceError> {
        let statement = Statement::compile(transaction.dialect(), self);
        let kind = self.query.sort.as_ref().map(|sort| sort.kind);
        let found = transaction.rows(&statement.text, &statement.values(), |row| {
            Ok((Object::from_row(row)?, SortedBy::from_row(row, kind)?))
        })?;
        let mut sorted: Vec<Option<SortedBy>> = Vec::with_capacity(found.len());
        let objects: Vec<Object> = found
            .into_iter()
            .map(|(object, by)| {
                sorted.push(by);
                object
            })
            .collect();
        let last = usize::try_from(self.query.limit).unwrap_or(0).saturating_sub(1);
        Ok(Page::cut(objects, self.query.limit.into(), |object| {
            let sorted = sorted.get(last).cloned().flatten();
            cursor::encode(&PageCursor { sorted, owner: object.id.owner, key: object.id.key.clone() })
        }))
    }
}

impl SortedBy {
    fn from_row(row: &SqlRow<'_>, kind: Option<Kind>) -> Result<Option<SortedBy>, StoreError> {
        // The sort value follows the columns of an object.
        match kind {
            None => Ok(None),
            Some(Kind::Number) => Ok(Some(SortedBy::Number(row.get::<f64>(9)?.to_bits()))),
            Some(Kind::Text) => Ok(Some(SortedBy::Text(row.get(9)?))),
        }
    }
}
