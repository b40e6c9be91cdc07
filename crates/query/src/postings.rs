//! Documents by value: for each field, the slots of the documents that have a value.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::document::{Field, FieldValue};

/// Index of a document in the table.
pub type Slot = u32;

/// Sorted slots of the documents that have one value. A value of a single document, such as an id, takes no allocation.
#[derive(Clone, Debug)]
pub enum Postings {
    One(Slot),
    Many(Vec<Slot>),
}

/// Values of one field.
#[derive(Clone, Debug, Default)]
pub struct FieldPostings {
    values: BTreeMap<FieldValue, Postings>,
    /// Number of values beyond the first number of a document. Only without any, two bounds make one range.
    more_numbers: usize,
    /// Number of values beyond the first time of a document.
    more_times: usize,
}

impl Postings {
    pub fn slots(&self) -> &[Slot] {
        match self {
            Postings::One(slot) => std::slice::from_ref(slot),
            Postings::Many(slots) => slots,
        }
    }

    fn insert(&mut self, slot: Slot) {
        match self {
            Postings::One(other) if *other == slot => {}
            Postings::One(other) => *self = Postings::Many(vec![slot.min(*other), slot.max(*other)]),
            Postings::Many(slots) => {
                if let Err(index) = slots.binary_search(&slot) {
                    slots.insert(index, slot);
                }
            }
        }
    }

    /// Returns true if a slot is in the list.
    pub fn contains(&self, slot: Slot) -> bool {
        self.slots().binary_search(&slot).is_ok()
    }

    /// Removes a slot. Returns true if none is left.
    fn remove(&mut self, slot: Slot) -> bool {
        match self {
            Postings::One(other) => *other == slot,
            Postings::Many(slots) => {
                if let Ok(index) = slots.binary_search(&slot) {
                    slots.remove(index);
                }
                match slots.as_slice() {
                    [] => return true,
                    [only] => *self = Postings::One(*only),
                    _ if slots.len() * 4 < slots.capacity() => slots.shrink_to(slots.len() * 2),
                    _ => {}
                }
                false
            }
        }
    }
}

impl FieldPostings {
    /// Adds a document's values of this field. They then share their text with the index.
    pub fn insert(&mut self, values: &mut [Field], slot: Slot) {
        self.more_numbers += more_numbers(values);
        self.more_times += more_times(values);
        for field in values {
            if let FieldValue::Text(text) = &mut field.value
                && let Some(shared) = self.shared_text(text)
            {
                *text = shared;
            }
            self.values
                .entry(field.value.clone())
                .and_modify(|postings| postings.insert(slot))
                .or_insert(Postings::One(slot));
        }
    }

    /// Removes a document's values of this field.
    pub fn remove(&mut self, values: &[Field], slot: Slot) {
        self.more_numbers -= more_numbers(values);
        self.more_times -= more_times(values);
        for field in values {
            if self.values.get_mut(&field.value).is_some_and(|postings| postings.remove(slot)) {
                self.values.remove(&field.value);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Documents with this value.
    pub fn exact(&self, value: &FieldValue) -> Option<&Postings> {
        self.values.get(value)
    }

    /// Values between two bounds, with their documents.
    pub fn range(
        &self,
        range: (Bound<FieldValue>, Bound<FieldValue>),
    ) -> impl Iterator<Item = (&FieldValue, &Postings)> {
        let range = (!is_empty_range(&range)).then_some(range);
        range.into_iter().flat_map(|range| self.values.range(range))
    }

    /// Texts that begin with a prefix, with their documents.
    pub fn texts(&self, prefix: &str) -> impl Iterator<Item = (&str, &Postings)> {
        let start = Bound::Included(FieldValue::Text(Arc::from(prefix)));
        let texts = self.values.range((start, Bound::Unbounded)).filter_map(|(value, postings)| match value {
            FieldValue::Text(text) => Some((&**text, postings)),
            _ => None,
        });
        texts.take_while(move |(text, _)| text.starts_with(prefix))
    }

    /// Returns true if no document has more than one number in this field.
    pub fn has_single_numbers(&self) -> bool {
        self.more_numbers == 0
    }

    /// Returns true if no document has more than one time in this field.
    pub fn has_single_times(&self) -> bool {
        self.more_times == 0
    }

    fn shared_text(&self, text: &Arc<str>) -> Option<Arc<str>> {
        match self.values.get_key_value(&FieldValue::Text(Arc::clone(text))) {
            Some((FieldValue::Text(shared), _)) => Some(Arc::clone(shared)),
            _ => None,
        }
    }
}

fn more_numbers(values: &[Field]) -> usize {
    values.iter().filter(|field| matches!(field.value, FieldValue::Number(_))).count().saturating_sub(1)
}

fn more_times(values: &[Field]) -> usize {
    values.iter().filter(|field| matches!(field.value, FieldValue::Time(_))).count().saturating_sub(1)
}

/// Returns true if the range is empty. `BTreeMap::range` panics on most empty ranges.
fn is_empty_range((lower, upper): &(Bound<FieldValue>, Bound<FieldValue>)) -> bool {
    match (lower, upper) {
        (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
        (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => {
            lower >= upper
        }
        _ => false,
    }
}
