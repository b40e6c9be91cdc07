//! Choice of the documents that a search checks.
//!
//! A plan is a superset of the matches: every candidate is checked against the whole query afterwards. So a plan may
//! ignore clauses and should be small.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::clause::{Clause, Comparison, Condition, Occurrence};
use crate::document::FieldValue;
use crate::pattern::is_within;
use crate::postings::{FieldPostings, Postings, Slot};
use crate::query::Query;

/// Fields of an index by their name.
pub type Fields = BTreeMap<Arc<str>, FieldPostings>;

/// Documents that a search checks.
pub enum Plan<'a> {
    /// All of them.
    Scan,
    /// Those in the lists of a clause that are also in the lists of every filter.
    Lists { lists: Vec<&'a Postings>, filters: Vec<Vec<&'a Postings>> },
}

/// Lists of postings, and the total number of their slots.
#[derive(Default)]
struct Candidates<'a> {
    lists: Vec<&'a Postings>,
    count: usize,
}

/// Bounds of a range on one field.
struct Range {
    lower: Bound<FieldValue>,
    upper: Bound<FieldValue>,
}

impl<'a> Plan<'a> {
    /// Chooses the plan for a query over a number of documents.
    pub fn choose(query: &Query, fields: &'a Fields, documents: usize) -> Plan<'a> {
        // A scan costs less per document than reading lists.
        let most = documents / 2;
        let has_must = query.clauses().iter().any(|clause| clause.occurrence == Occurrence::Must);
        if !has_must {
            let candidates = any_should(query, fields, most);
            return candidates.map_or(Plan::Scan, |found| Plan::Lists { lists: found.lists, filters: Vec::new() });
        }
        let Some((clause, found)) = most_selective(query, fields, most) else { return Plan::Scan };
        let filters = if found.count >= FILTERED_MIN { filters(query, clause, fields) } else { Vec::new() };
        Plan::Lists { lists: found.lists, filters }
    }

    /// Returns the slots of the documents to check, each once, or `None` for all.
    pub fn slots(&self) -> Option<Vec<Slot>> {
        let Plan::Lists { lists, filters } = self else { return None };
        let mut slots: Vec<Slot> = lists.iter().flat_map(|postings| postings.slots()).copied().collect();
        for filter in filters {
            slots.retain(|slot| filter.iter().any(|postings| postings.contains(*slot)));
        }
        if lists.len() > 1 {
            slots.sort_unstable();
            slots.dedup();
        }
        Some(slots)
    }
}

/// Number of candidates from which on other clauses filter them. To check fewer is cheaper than to filter them first.
const FILTERED_MIN: usize = 16;

fn musts(query: &Query) -> impl Iterator<Item = &Clause> {
    query.clauses().iter().filter(|clause| clause.occurrence == Occurrence::Must)
}

/// Returns the `+` clause with the fewest candidates, and these. Cheap clauses are tried first, and a later one is
/// abandoned as soon as it has as many as the best so far.
fn most_selective<'a, 'q>(query: &'q Query, fields: &'a Fields, most: usize) -> Option<(&'q Clause, Candidates<'a>)> {
    let mut best: Option<(&Clause, Candidates<'a>)> = None;
    for effort in [Effort::Lookup, Effort::Range, Effort::Pattern] {
        for clause in musts(query).filter(|clause| Effort::of(clause) == Some(effort)) {
            let most = best.as_ref().map_or(most, |(_, best)| best.count.saturating_sub(1));
            if best.as_ref().is_some_and(|(_, best)| best.count <= effort.enough()) {
                return best;
            }
            let found = candidates(clause, &|| musts(query), fields, most);
            best = found.map(|found| (clause, found)).or(best);
        }
    }
    best
}

/// Returns the lists of all other `+` clauses whose documents can be looked up.
fn filters<'a>(query: &Query, chosen: &Clause, fields: &'a Fields) -> Vec<Vec<&'a Postings>> {
    let lookups = musts(query).filter(|clause| Effort::of(clause) == Some(Effort::Lookup));
    let others = lookups.filter(|clause| !std::ptr::eq(*clause, chosen));
    let lists = others.filter_map(|clause| candidates(clause, &std::iter::empty::<&Clause>, fields, usize::MAX));
    lists.map(|found| found.lists).collect()
}

/// Returns the candidates of all clauses without a sign, one of which must hold. Returns `None` if the candidates of one
/// are unknown.
fn any_should<'a>(query: &Query, fields: &'a Fields, most: usize) -> Option<Candidates<'a>> {
    let mut all = Candidates::default();
    let mut has_should = false;
    for clause in query.clauses().iter().filter(|clause| clause.occurrence == Occurrence::Should) {
        has_should = true;
        let found = candidates(clause, &std::iter::empty::<&Clause>, fields, most - all.count)?;
        all.count += found.count;
        all.lists.extend(found.lists);
    }
    has_should.then_some(all)
}

/// Work to find the candidates of a clause.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effort {
    Lookup,
    Range,
    Pattern,
}

impl Effort {
    fn of(clause: &Clause) -> Option<Effort> {
        clause.field.as_ref()?;
        match clause.condition {
            Condition::Text(_) | Condition::Number { .. } => Some(Effort::Lookup),
            Condition::NumberRange(..) | Condition::TimeRange { .. } => Some(Effort::Range),
            Condition::Pattern(_) | Condition::Fuzzy { .. } => Some(Effort::Pattern),
            Condition::All | Condition::Exists => None,
        }
    }

    /// Number of candidates up to which this effort is not worth it.
    fn enough(self) -> usize {
        match self {
            Effort::Lookup => 0,
            Effort::Range => 16,
            Effort::Pattern => 256,
        }
    }
}

/// Returns the candidates of one clause, unless they are unknown or more than `most`. `others` are clauses that must hold
/// too and may narrow a range.
fn candidates<'a, 'q, I: Iterator<Item = &'q Clause>>(
    clause: &Clause,
    others: &impl Fn() -> I,
    fields: &'a Fields,
    most: usize,
) -> Option<Candidates<'a>> {
    Effort::of(clause)?;
    let mut found = Candidates::default();
    let Some(field) = fields.get(clause.field.as_deref()?) else { return Some(found) };
    match &clause.condition {
        Condition::Text(text) => found.add(field.exact(&text_value(text)), most),
        Condition::Number { value, text } => {
            found.add(field.exact(&FieldValue::Number(*value)), most) && found.add(field.exact(&text_value(text)), most)
        }
        Condition::NumberRange(..) | Condition::TimeRange { .. } => {
            let range = Range::of(clause, others(), field)?;
            field.range((range.lower, range.upper)).all(|(_, postings)| found.add(Some(postings), most))
        }
        Condition::Pattern(pattern) => field
            .texts(pattern.prefix())
            .filter(|(text, _)| pattern.is_match(text))
            .all(|(_, postings)| found.add(Some(postings), most)),
        Condition::Fuzzy { word, distance } => field
            .texts("")
            .filter(|(text, _)| is_within(*distance, text, word))
            .all(|(_, postings)| found.add(Some(postings), most)),
        Condition::All | Condition::Exists => false,
    }
    .then_some(found)
}

impl<'a> Candidates<'a> {
    /// Adds a list. Returns true if the count is still within `most`.
    fn add(&mut self, postings: Option<&'a Postings>, most: usize) -> bool {
        if let Some(postings) = postings {
            self.count += postings.slots().len();
            self.lists.push(postings);
        }
        self.count <= most
    }
}

impl Range {
    /// Returns the range of a clause. If no document has several values, other clauses on the same field narrow it:
    /// `+a:>=5 +a:<10`.
    fn of<'q>(clause: &Clause, others: impl Iterator<Item = &'q Clause>, field: &FieldPostings) -> Option<Range> {
        let mut range = Range::all_of_kind(&clause.condition)?;
        range.narrow(&clause.condition);
        let can_narrow = match clause.condition {
            Condition::NumberRange(..) => field.has_single_numbers(),
            _ => field.has_single_times(),
        };
        let is_same = |other: &&Clause| {
            let is_same_kind = std::mem::discriminant(&other.condition) == std::mem::discriminant(&clause.condition);
            is_same_kind && other.field == clause.field
        };
        for other in others.filter(is_same).filter(|_| can_narrow) {
            range.narrow(&other.condition);
        }
        Some(range)
    }

    /// Returns the range of all values that a comparison of this kind can accept.
    fn all_of_kind(condition: &Condition) -> Option<Range> {
        let (lowest, highest) = match condition {
            Condition::NumberRange(..) => (FieldValue::Number(f64::MIN), FieldValue::Number(f64::MAX)),
            Condition::TimeRange { .. } => (FieldValue::Time(i64::MIN), FieldValue::Time(i64::MAX)),
            _ => return None,
        };
        Some(Range { lower: Bound::Included(lowest), upper: Bound::Included(highest) })
    }

    fn narrow(&mut self, condition: &Condition) {
        let (comparison, bound) = match condition {
            Condition::NumberRange(comparison, bound) => (comparison, FieldValue::Number(*bound)),
            Condition::TimeRange { comparison, microseconds, .. } => (comparison, FieldValue::Time(*microseconds)),
            _ => return,
        };
        match comparison {
            Comparison::Greater => self.raise(Bound::Excluded(bound)),
            Comparison::GreaterOrEqual => self.raise(Bound::Included(bound)),
            Comparison::Less => self.lower(Bound::Excluded(bound)),
            Comparison::LessOrEqual => self.lower(Bound::Included(bound)),
        }
    }

    fn raise(&mut self, bound: Bound<FieldValue>) {
        if let (Bound::Included(new) | Bound::Excluded(new), Bound::Included(old) | Bound::Excluded(old)) =
            (&bound, &self.lower)
            && (new > old || new == old && matches!(bound, Bound::Excluded(_)))
        {
            self.lower = bound;
        }
    }

    fn lower(&mut self, bound: Bound<FieldValue>) {
        if let (Bound::Included(new) | Bound::Excluded(new), Bound::Included(old) | Bound::Excluded(old)) =
            (&bound, &self.upper)
            && (new < old || new == old && matches!(bound, Bound::Excluded(_)))
        {
            self.upper = bound;
        }
    }
}

fn text_value(text: &str) -> FieldValue {
    FieldValue::Text(Arc::from(text))
}
