//! Random documents and queries, from few names and values so that many match.

use aether_query::Document;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const NAMES: &[&str] = &["mode", "map", "rank", "a.b"];
const TEXTS: &[&str] =
    &["duel", "team", "ice cave", "lava*", "5", "T", "2026-01-31", "2026-02-01T00:00:00Z", "", "\\d"];

/// Generates the JSON of documents.
pub fn documents() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        3 => prop::sample::select(TEXTS).prop_map(Value::from),
        3 => numbers().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
    ];
    let values = prop_oneof![
        4 => value.clone(),
        1 => prop::collection::vec(value, 0..3).prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    prop::collection::vec(prop::option::of(values), NAMES.len()).prop_map(|values| {
        let pairs = NAMES.iter().zip(values).filter_map(|(name, value)| Some(((*name).to_owned(), value?)));
        Value::Object(pairs.collect::<Map<String, Value>>())
    })
}

/// Builds a document from JSON.
pub fn document(value: &Value) -> Document {
    Document::builder()
        .json("", value)
        .json("x", &json!({"constant": 1}))
        .build()
        .expect("the document is within the limits")
}

/// Generates valid queries.
pub fn queries() -> impl Strategy<Value = String> {
    prop::collection::vec(clauses(), 0..5).prop_map(|clauses| clauses.join(" "))
}

fn clauses() -> impl Strategy<Value = String> {
    let sign = prop::sample::select(&["+", "+", "-", ""][..]);
    let field = prop::sample::select(&["mode:", "map:", "rank:", "a.b:", "x.constant:", "other:"][..]);
    let boost = prop::sample::select(&["", "", "^2", "^0.5", "^-1", "^0"][..]);
    let comparison = prop::sample::select(&[">", ">=", "<", "<="][..]);
    let date = prop::sample::select(&["\"2026-01-31\"", "\"2026-02-01T00:00:00Z\""][..]);
    let bound = prop_oneof![3 => numbers().prop_map(|number| number.to_string()), 1 => date.prop_map(str::to_owned)];
    let range =
        (field.clone(), comparison, bound).prop_map(|(field, comparison, bound)| format!("{field}{comparison}{bound}"));
    let exact = (
        field.clone(),
        prop_oneof![
            4 => prop::sample::select(TEXTS).prop_map(|text| format!("{:?}", text)),
            2 => numbers().prop_map(|number| number.to_string()),
        ],
    )
        .prop_map(|(field, value)| format!("{field}{value}"));
    let word = prop::sample::select(
        &[
            "*",
            "du*",
            "?eam",
            "*a*",
            "/.*/",
            "/(duel|team)/",
            r"/\d+/",
            r"/[\^d]*/",
            "/lava\\\\*/",
            "tean~",
            "duel~2",
            "5~",
            r"lava\*",
            "5",
            "T",
            r"\d",
            "/",
            "//",
        ][..],
    );
    let pattern = (prop_oneof![4 => field, 1 => Just("")], word).prop_map(|(field, word)| format!("{field}{word}"));
    let clause = prop_oneof![3 => range, 2 => exact, 2 => pattern];
    (sign, clause, boost).prop_map(|(sign, clause, boost)| format!("{sign}{clause}{boost}"))
}

fn numbers() -> impl Strategy<Value = f64> {
    prop::sample::select(&[-1.5, 0.0, 1.0, 5.0, 7.25, 1e12][..])
}
