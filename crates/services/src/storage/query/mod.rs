//! Finding objects by what they say.
//!
//! A [`Filter`] compares fields with values and is combined with and, or and not. It is compiled to one statement in
//! which everything that came from outside is a parameter. A comparison holds for fields of the same type as the value:
//! the number 1 is not the text "1". What is missing or of another type is different from every value. Of a name that an
//! object has twice, which its writer should not do, SQLite sees the first and PostgreSQL the last.

mod field;
mod filter;
mod sql;

pub use field::{FIELD_BYTES_MAX, FIELD_STEPS_MAX, Field};
pub use filter::{COMPARISONS_MAX, Comparison, FILTER_DEPTH_MAX, Filter, Scalar, TEXT_BYTES_MAX};

use super::object::{COLLECTION_BYTES_MAX, Object, check_name, refuse_zero};
use super::read::{Page, check_limit};
use crate::cursor;
use crate::error::ServiceError;
use aether_store::{SqlRow, StoreError, Transaction};
use serde::{Deserialize, Serialize};
use sql::Statement;
use uuid::Uuid;

/// Which objects are looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The collection.
    pub collection: String,
    /// Of this owner alone.
    pub owner: Option<Uuid>,
    /// What has to hold; nothing, if it is none.
    pub filter: Option<Filter>,
    /// In which order; if it is none, by owner and key.
    pub sort: Option<Sort>,
    /// Objects of a page.
    pub limit: i32,
    /// Where a list goes on; empty for its beginning.
    pub cursor: String,
}

/// An order by a field. Objects in which it is missing or of another type are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    /// The field.
    pub field: Field,
    /// What it holds.
    pub kind: Kind,
    /// Whether the largest comes first.
    pub descending: bool,
}

/// What a field holds by which is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers, as near as 64-bit floats come to them.
    Number,
    /// Texts, by their bytes.
    Text,
}

/// The last object of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PageCursor {
    sorted: Option<SortedBy>,
    owner: Uuid,
    key: String,
}

/// What an object is sorted by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum SortedBy {
    /// The bits of a number, because its text could come back as its neighbour.
    Number(u64),
    Text(String),
}

/// A query that was checked.
pub(super) struct Checked {
    query: Query,
    user: Option<Uuid>,
    after: Option<PageCursor>,
}

impl Query {
    /// All objects of a collection.
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
        if let Some(place) = &after {
            place.check(self.sort.as_ref())?;
        }
        Ok(Checked { query: self, user, after })
    }
}

impl PageCursor {
    /// Refuses a place of another list than the one that is asked for.
    fn check(&self, sort: Option<&Sort>) -> Result<(), ServiceError> {
        refuse_zero("Cursor", &self.key)?;
        match (&self.sorted, sort.map(|sort| sort.kind)) {
            (None, None) => Ok(()),
            (Some(SortedBy::Number(bits)), Some(Kind::Number)) if !f64::from_bits(*bits).is_nan() => Ok(()),
            (Some(SortedBy::Text(text)), Some(Kind::Text)) => refuse_zero("Cursor", text),
            _ => Err(ServiceError::invalid("Cursor belongs to a list of another order.")),
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
        // It stands behind the columns of an object.
        match kind {
            None => Ok(None),
            Some(Kind::Number) => Ok(Some(SortedBy::Number(row.get::<f64>(9)?.to_bits()))),
            Some(Kind::Text) => Ok(Some(SortedBy::Text(row.get(9)?))),
        }
    }
}
