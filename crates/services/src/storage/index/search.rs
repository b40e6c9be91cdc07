//! Lists of a storage index.

use super::entry::{EntryKey, IndexEntry, SortValue};
use super::limits::ORDER_FIELDS_MAX;
use super::state::{Entries, StorageIndex};
use crate::cursor;
use crate::error::{GrpcCode, ServiceError};
use crate::storage::read::{check_limit, is_readable};
use crate::storage::{Object, ObjectId};
use aether_query::{Query, SearchOrder};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::cmp::Ordering;
use uuid::Uuid;

/// Request for a page of a storage index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexQuery {
    /// Name of the index.
    pub index: String,
    /// Query over `value.<field>`, `key`, `user_id`, `version`, `read`, `write`, `create_time` and `update_time`. Empty
    /// finds all.
    pub query: String,
    /// Fields to sort by, such as `value.level`, or `-value.level` for the highest first: sortable fields, `create_time` and
    /// `update_time`. Without any, the best score comes first. Equal objects are sorted by their last write, newest first.
    pub order: Vec<String>,
    /// Maximum number of objects of the page.
    pub limit: i32,
    /// Cursor of the page before; empty for the first.
    pub cursor: String,
}

/// Checked request.
pub(super) struct Search {
    query: Query,
    order: Vec<OrderField>,
    limit: usize,
    after: Option<Position>,
    digest: u64,
    user: Option<Uuid>,
}

/// Found objects of a page.
pub(super) struct Found {
    /// Ids, in order.
    pub ids: Vec<ObjectId>,
    /// Objects with the indexed fields only, if the index answers from memory.
    pub objects: Vec<Object>,
    pub cursor: String,
}

/// Field to sort by.
struct OrderField {
    source: OrderSource,
    is_descending: bool,
}

enum OrderSource {
    /// Number of the sortable field.
    Field(usize),
    CreateTime,
    UpdateTime,
}

/// Place of an object in an order.
#[derive(Debug, Serialize, Deserialize)]
struct Position {
    /// Digest of query and order, which the next page must have as well.
    digest: u64,
    values: Vec<Option<SortValue>>,
    /// Bits of the score.
    score: u64,
    updated_at: i64,
    owner: Uuid,
    key: String,
}

/// Object that matches.
struct Hit<'a> {
    key: &'a EntryKey,
    entry: &'a IndexEntry,
    score: f64,
}

impl IndexQuery {
    /// Checks the request for an index, on behalf of a user, or of the server if `None`.
    pub(super) fn check(&self, index: &StorageIndex, user: Option<Uuid>) -> Result<Search, ServiceError> {
        check_limit(self.limit)?;
        let query = Query::parse(&self.query)
            .map_err(|error| ServiceError::invalid(format!("The query is not valid: {error}.")))?;
        if self.order.len() > ORDER_FIELDS_MAX {
            return Err(ServiceError::invalid(format!("A list is sorted by at most {ORDER_FIELDS_MAX} fields.")));
        }
        let sortable = &index.definition.sortable;
        let order = self.order.iter().map(|name| OrderField::parse(name, sortable)).collect::<Result<_, _>>()?;
        let digest = self.digest();
        let after: Option<Position> = cursor::decode(&self.cursor)?;
        let is_of_this = |after: &Position| after.digest == digest && after.values.len() == self.order.len();
        if after.as_ref().is_some_and(|after| !is_of_this(after)) {
            return Err(ServiceError::new(GrpcCode::InvalidArgument, "The cursor belongs to another list."));
        }
        Ok(Search { query, order, limit: usize::try_from(self.limit).unwrap_or(0), after, digest, user })
    }

    fn digest(&self) -> u64 {
        let mut hash = Sha256::new();
        for text in [&self.index, &self.query].into_iter().chain(&self.order) {
            hash.update(text.len().to_le_bytes());
            hash.update(text.as_bytes());
        }
        let mut first = [0; 8];
        first.copy_from_slice(&hash.finalize()[..8]);
        u64::from_be_bytes(first)
    }
}

impl Search {
    /// Finds the objects of the page.
    pub fn run(&self, index: &StorageIndex) -> Found {
        let entries = index.entries();
        let mut hits = self.hits(&entries);
        let compare = |left: &Hit<'_>, right: &Hit<'_>| self.compare(left, right);
        let has_more = hits.len() > self.limit;
        if has_more {
            hits.select_nth_unstable_by(self.limit, compare);
            hits.truncate(self.limit);
        }
        hits.sort_unstable_by(compare);
        let cursor = hits.last().filter(|_| has_more).map(|last| cursor::encode(&self.position(last)));
        let collection = &index.definition.collection;
        let ids = hits.iter().map(|hit| ObjectId::new(collection, hit.key.1.as_ref(), hit.key.0)).collect();
        let objects = match index.definition.index_only {
            true => hits.iter().map(|hit| hit.object(collection)).collect(),
            false => Vec::new(),
        };
        Found { ids, objects, cursor: cursor.unwrap_or_default() }
    }

    /// Returns all objects that match, are readable and come after the page before, unordered.
    fn hits<'a>(&self, entries: &'a Entries) -> Vec<Hit<'a>> {
        let found = entries.documents.search_scored(&self.query, usize::MAX, &SearchOrder::default());
        let hits = found.into_iter().filter_map(|(key, score)| {
            let (key, entry) = entries.by_key.get_key_value(&key)?;
            Some(Hit { key, entry, score: score.value() })
        });
        let is_after =
            |hit: &Hit<'_>| self.after.as_ref().is_none_or(|after| self.compare_to(hit, after) == Ordering::Greater);
        hits.filter(|hit| is_readable(self.user, hit.key.0, hit.entry.read)).filter(is_after).collect()
    }

    fn compare(&self, left: &Hit<'_>, right: &Hit<'_>) -> Ordering {
        let by_field = self.order.iter().map(|field| field.compare(field.value(left), field.value(right)));
        by_field
            .fold(Ordering::Equal, Ordering::then)
            .then_with(|| self.compare_scores(left.score, right.score))
            .then_with(|| right.entry.updated_at.cmp(&left.entry.updated_at))
            .then_with(|| left.key.cmp(right.key))
    }

    fn compare_to(&self, hit: &Hit<'_>, position: &Position) -> Ordering {
        let values = position.values.iter().cloned();
        let by_field = self.order.iter().zip(values).map(|(field, value)| field.compare(field.value(hit), value));
        by_field
            .fold(Ordering::Equal, Ordering::then)
            .then_with(|| self.compare_scores(hit.score, f64::from_bits(position.score)))
            .then_with(|| position.updated_at.cmp(&hit.entry.updated_at))
            .then_with(|| (hit.key.0, hit.key.1.as_ref()).cmp(&(position.owner, position.key.as_str())))
    }

    /// The score counts only in a list without an order.
    fn compare_scores(&self, left: f64, right: f64) -> Ordering {
        if self.order.is_empty() { right.total_cmp(&left) } else { Ordering::Equal }
    }

    fn position(&self, hit: &Hit<'_>) -> Position {
        Position {
            digest: self.digest,
            values: self.order.iter().map(|field| field.value(hit)).collect(),
            score: hit.score.to_bits(),
            updated_at: hit.entry.updated_at,
            owner: hit.key.0,
            key: hit.key.1.as_ref().to_owned(),
        }
    }
}

impl Hit<'_> {
    /// Returns the object with the indexed fields.
    fn object(&self, collection: &str) -> Object {
        let entry = self.entry;
        Object {
            id: ObjectId::new(collection, self.key.1.as_ref(), self.key.0),
            value: entry.fields.as_deref().unwrap_or("{}").to_owned(),
            version: entry.version.as_ref().to_owned(),
            read: entry.read,
            write: entry.write,
            created_at: entry.created_at,
            updated_at: entry.updated_at,
        }
    }
}

impl OrderField {
    fn parse(name: &str, sortable: &[String]) -> Result<OrderField, ServiceError> {
        let (is_descending, plain) = name.strip_prefix('-').map_or((false, name), |plain| (true, plain));
        let field = |name: &str| sortable.iter().position(|known| known == name).map(OrderSource::Field);
        let source = match plain {
            "create_time" => Some(OrderSource::CreateTime),
            "update_time" => Some(OrderSource::UpdateTime),
            plain => plain.strip_prefix("value.").and_then(field),
        };
        let unknown = || {
            let message = format!(
                "The index cannot be sorted by `{name:.64}`. Use `value.` with a sortable field, `create_time` or \
                 `update_time`, with `-` before it for the highest first."
            );
            ServiceError::invalid(message)
        };
        Ok(OrderField { source: source.ok_or_else(unknown)?, is_descending })
    }

    fn value(&self, hit: &Hit<'_>) -> Option<SortValue> {
        match self.source {
            OrderSource::Field(number) => hit.entry.sort.get(number).cloned().flatten(),
            OrderSource::CreateTime => Some(SortValue::time(hit.entry.created_at)),
            OrderSource::UpdateTime => Some(SortValue::time(hit.entry.updated_at)),
        }
    }

    /// Compares values. Objects without the field come last.
    fn compare(&self, left: Option<SortValue>, right: Option<SortValue>) -> Ordering {
        match (left, right) {
            (Some(left), Some(right)) if self.is_descending => right.cmp(&left),
            (Some(left), Some(right)) => left.cmp(&right),
            (left, right) => right.is_some().cmp(&left.is_some()),
        }
    }
}
