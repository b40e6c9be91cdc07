//! Compares the index with a check of every document.

use std::collections::{BTreeMap, BTreeSet};

use aether_query::{Document, DocumentIndex, MatchScore, Query, SearchOrder, SortKey};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::random::{document, documents, queries};

/// Documents in the order of insertion, searched one by one.
#[derive(Default)]
struct Plain {
    entries: Vec<(u8, Document)>,
}

impl Plain {
    fn insert(&mut self, key: u8, document: Document) {
        match self.entries.iter_mut().find(|(other, _)| *other == key) {
            Some(entry) => entry.1 = document,
            None => self.entries.push((key, document)),
        }
    }

    fn remove(&mut self, key: u8) -> Option<Document> {
        let place = self.entries.iter().position(|(other, _)| *other == key)?;
        Some(self.entries.remove(place).1)
    }

    fn scores(&self, query: &Query) -> BTreeMap<u8, MatchScore> {
        self.entries.iter().filter_map(|(key, document)| Some((*key, query.matches(document)?))).collect()
    }

    /// Keys of the matches, best first, then the newest or oldest.
    fn best(&self, query: &Query, newest_first: bool) -> Vec<u8> {
        let mut entries: Vec<&(u8, Document)> = self.entries.iter().collect();
        if newest_first {
            entries.reverse();
        }
        let mut hits: Vec<(f64, u8)> =
            entries.into_iter().filter_map(|(key, document)| Some((query.matches(document)?.value(), *key))).collect();
        hits.sort_by(|left, right| right.0.total_cmp(&left.0));
        hits.into_iter().map(|(_, key)| key).collect()
    }
}

/// A change of an index.
#[derive(Clone, Debug)]
enum Change {
    Insert(u8, Value),
    Remove(u8),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        4 => (0..24u8, documents()).prop_map(|(key, document)| Change::Insert(key, document)),
        1 => (0..24u8).prop_map(Change::Remove),
    ];
    prop::collection::vec(change, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// With so many documents, the clauses of a query also filter the lists of each other.
    #[test]
    fn a_search_of_many_documents_finds_the_same(
        documents in prop::collection::vec(documents(), 100..250),
        queries in prop::collection::vec(queries(), 8..16),
    ) {
        let mut index = DocumentIndex::new();
        let mut plain = Plain::default();
        for (key, value) in (0..).zip(&documents) {
            index.insert(key, document(value));
            plain.insert(key, document(value));
        }
        for query in queries {
            let query = Query::parse(&query).unwrap();
            let found = index.search(&query, documents.len(), &SearchOrder::best_then_oldest());
            prop_assert_eq!(&found, &plain.best(&query, false), "{}", query);
            if let Some(candidates) = index.candidates(&query) {
                let candidates: BTreeSet<u8> = candidates.into_iter().collect();
                prop_assert!(found.iter().all(|key| candidates.contains(key)), "{}", query);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn a_search_finds_what_checking_every_document_finds(
        changes in changes(),
        queries in prop::collection::vec(queries(), 1..6),
        limit in 0..30usize,
    ) {
        let mut index = DocumentIndex::new();
        let mut plain = Plain::default();
        for change in changes {
            match change {
                Change::Insert(key, value) => {
                    index.insert(key, document(&value));
                    plain.insert(key, document(&value));
                }
                Change::Remove(key) => prop_assert_eq!(index.remove(&key), plain.remove(key)),
            }
        }
        prop_assert_eq!(index.len(), plain.entries.len());
        for query in queries {
            let query = Query::parse(&query).unwrap();
            for (order, newest_first) in
                [(SearchOrder::best_then_newest(), true), (SearchOrder::best_then_oldest(), false)]
            {
                let mut expected = plain.best(&query, newest_first);
                expected.truncate(limit);
                prop_assert_eq!(index.search(&query, limit, &order), expected, "{}", query);
            }
            let scored = index.search_scored(&query, usize::MAX, &SearchOrder::default());
            let scores = plain.scores(&query);
            if let Some(candidates) = index.candidates(&query) {
                prop_assert!(scores.keys().all(|key| candidates.contains(key)), "{}", query);
                let unique: BTreeSet<u8> = candidates.iter().copied().collect();
                prop_assert_eq!(unique.len(), candidates.len());
            }
            prop_assert_eq!(scored.into_iter().collect::<BTreeMap<_, _>>(), scores);
        }
    }

    #[test]
    fn parsing_never_panics(text in r#"[-+a5.:<>="~^/\\*?() {}\[\]|ä\n]{0,40}"#) {
        if let Ok(query) = Query::parse(&text) {
            prop_assert_eq!(Query::parse(&query.to_string()), Ok(query));
        }
    }

    #[test]
    fn a_printed_query_parses_to_the_same(text in queries()) {
        let query = Query::parse(&text).unwrap();
        prop_assert_eq!(Query::parse(&query.to_string()), Ok(query));
    }
}

fn index_of(documents: &[Value]) -> DocumentIndex<usize> {
    let mut index = DocumentIndex::new();
    for (key, value) in documents.iter().enumerate() {
        index.insert(key, document(value));
    }
    index
}

#[test]
fn an_order_by_fields_puts_documents_without_them_last() {
    let index =
        index_of(&[json!({"rank": 5}), json!({}), json!({"rank": 7, "mode": "b"}), json!({"rank": 7, "mode": "a"})]);
    let search = |names: &[&str]| index.search(&Query::all(), 10, &SearchOrder::by_names(names.iter().copied()));
    assert_eq!(search(&["rank", "mode"]), [0, 3, 2, 1]);
    assert_eq!(search(&["-rank", "-mode"]), [2, 3, 0, 1]);
    assert_eq!(search(&["mode"]), [3, 2, 0, 1]);
    assert_eq!(search(&[]), [0, 1, 2, 3]);
    let by_score = |name| index.search(&Query::parse("* rank:7^3").unwrap(), 2, &SearchOrder::by_names([name]));
    assert_eq!(by_score("-_score"), [2, 3]);
    assert_eq!(by_score("_score"), [0, 1]);
}

#[test]
fn a_replaced_document_keeps_its_position_and_loses_its_old_values() {
    let mut index = index_of(&[json!({"mode": "duel"}), json!({"mode": "duel"})]);
    index.insert(0, document(&json!({"mode": "team"})));
    let search = |query| index.search(&Query::parse(query).unwrap(), 10, &SearchOrder::new([SortKey::Newest]));
    assert_eq!(search("*"), [1, 0]);
    assert_eq!(search("+mode:duel"), [1]);
    assert_eq!(search("+mode:team"), [0]);
}

#[test]
fn two_bounds_hold_for_different_values_of_a_list() {
    let mut documents: Vec<Value> = (0..20).map(|rank| json!({"rank": rank})).collect();
    documents.push(json!({"rank": [0, 100]}));
    let query = Query::parse("+rank:>=5 +rank:<7").unwrap();
    assert_eq!(index_of(&documents).search(&query, 10, &SearchOrder::default()), [5, 6, 20]);
}

#[test]
fn an_empty_range_finds_nothing() {
    let index = index_of(&(0..20).map(|rank| json!({"rank": rank})).collect::<Vec<_>>());
    for query in ["+rank:>5 +rank:<5", "+rank:>=5 +rank:<5", "+rank:>7 +rank:<=5", "+rank:>7 +rank:<5 rank:6"] {
        assert!(index.search(&Query::parse(query).unwrap(), 10, &SearchOrder::default()).is_empty(), "{query}");
    }
}

#[test]
fn a_removed_document_is_found_by_no_query() {
    let mut index = index_of(&[json!({"mode": "duel", "rank": [1, 2]})]);
    assert!(index.remove(&0).is_some());
    assert!(index.remove(&0).is_none());
    assert!(index.is_empty());
    for query in ["*", "mode:duel", "rank:>0"] {
        assert!(index.search(&Query::parse(query).unwrap(), 10, &SearchOrder::default()).is_empty());
    }
}

#[test]
fn candidates_are_those_of_the_most_selective_clause() {
    let index = index_of(&(0..100).map(|rank| json!({"rank": rank, "mode": "duel"})).collect::<Vec<_>>());
    let candidates = |query| index.candidates(&Query::parse(query).unwrap());
    assert_eq!(candidates("+rank:>=5 +rank:<7 -mode:duel"), Some(vec![5, 6]));
    assert_eq!(candidates("+mode:team"), Some(Vec::new()));
    assert_eq!(candidates("*"), None);
}
