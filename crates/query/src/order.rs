//! Orders of results.

use std::cmp::Ordering;

use crate::document::{Document, FieldValue};
use crate::query::MatchScore;

/// Order of search results. Equal documents are in the order of insertion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchOrder {
    keys: Vec<SortKey>,
}

/// One criterion of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortKey {
    /// Best score first.
    Best,
    /// Worst score first.
    Worst,
    /// Last inserted first.
    Newest,
    /// First inserted first.
    Oldest,
    /// Lowest value of a field first; documents without it come last.
    Lowest(String),
    /// Highest value of a field first; documents without it come last.
    Highest(String),
}

/// Values of a document by which results are ordered.
pub(crate) struct Ranked<'a> {
    pub score: MatchScore,
    pub sequence: u64,
    pub document: &'a Document,
}

impl SearchOrder {
    /// Creates an order by several criteria, the first of which counts most.
    pub fn new(keys: impl Into<Vec<SortKey>>) -> SearchOrder {
        SearchOrder { keys: keys.into() }
    }

    /// Returns the order of match listings: best score first, then the newest.
    pub fn best_then_newest() -> SearchOrder {
        SearchOrder::new([SortKey::Best, SortKey::Newest])
    }

    /// Returns the order of the matchmaker: best score first, then the oldest.
    pub fn best_then_oldest() -> SearchOrder {
        SearchOrder::new([SortKey::Best, SortKey::Oldest])
    }

    /// Creates an order by field names, as the storage index takes them: `name` for the lowest first, `-name` for the highest,
    /// and `_score` for the score.
    pub fn by_names<'a>(names: impl IntoIterator<Item = &'a str>) -> SearchOrder {
        let keys = names.into_iter().map(|name| match name.strip_prefix('-') {
            Some("_score") => SortKey::Best,
            Some(name) => SortKey::Highest(name.to_owned()),
            None if name == "_score" => SortKey::Worst,
            None => SortKey::Lowest(name.to_owned()),
        });
        SearchOrder { keys: keys.collect() }
    }

    pub(crate) fn compare(&self, left: &Ranked<'_>, right: &Ranked<'_>) -> Ordering {
        let by_key = self.keys.iter().map(|key| key.compare(left, right)).find(|ordering| ordering.is_ne());
        by_key.unwrap_or_else(|| left.sequence.cmp(&right.sequence))
    }
}

impl SortKey {
    fn compare(&self, left: &Ranked<'_>, right: &Ranked<'_>) -> Ordering {
        match self {
            SortKey::Best => right.score.value().total_cmp(&left.score.value()),
            SortKey::Worst => left.score.value().total_cmp(&right.score.value()),
            SortKey::Newest => right.sequence.cmp(&left.sequence),
            SortKey::Oldest => left.sequence.cmp(&right.sequence),
            SortKey::Lowest(name) => {
                let lowest = |document: &Document| document.values_of(name).first().map(|field| field.value.clone());
                last_if_none(lowest(left.document), lowest(right.document), |left, right| left.cmp(right))
            }
            SortKey::Highest(name) => {
                let highest = |document: &Document| document.values_of(name).last().map(|field| field.value.clone());
                last_if_none(highest(left.document), highest(right.document), |left, right| right.cmp(left))
            }
        }
    }
}

fn last_if_none(
    left: Option<FieldValue>,
    right: Option<FieldValue>,
    compare: impl Fn(&FieldValue, &FieldValue) -> Ordering,
) -> Ordering {
    match (left, right) {
        (Some(left), Some(right)) => compare(&left, &right),
        (left, right) => right.is_some().cmp(&left.is_some()),
    }
}
