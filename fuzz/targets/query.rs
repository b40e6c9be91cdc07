//! Any text is a query or is rejected. A query survives printing, and an index finds the same documents as a direct
//! check.

#![no_main]

use aether_query::limits::QUERY_BYTES_MAX;
use aether_query::{Document, DocumentIndex, Query, SearchOrder};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &str, &str, f64)| {
    let (text, name, value, number) = input;
    let Ok(query) = Query::parse(text) else { return };
    let printed = query.to_string();
    assert!(printed.len() > QUERY_BYTES_MAX || Query::parse(&printed) == Ok(query.clone()), "{printed}");
    let Ok(document) = Document::builder().text(name, value).number(name, number).number("n", 1.0).build() else {
        return;
    };
    let is_match = query.matches(&document).is_some();
    let mut index = DocumentIndex::new();
    index.insert(0, document);
    index.insert(1, Document::default());
    index.insert(2, Document::default());
    assert_eq!(index.search(&query, 3, &SearchOrder::default()).contains(&0), is_match);
});
