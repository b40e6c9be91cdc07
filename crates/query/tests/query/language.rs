//! Clauses: accepted values and scores.

use aether_query::{Document, Query};
use serde_json::{Value, json};

fn score(query: &str, document: &Value) -> Option<f64> {
    let query = Query::parse(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    query.matches(&Document::from_json(document).expect("the document is within the limits")).map(|score| score.value())
}

fn check(query: &str, document: &Value, expected: bool) {
    assert_eq!(score(query, document).is_some(), expected, "{query} on {document}");
}

#[test]
fn text_is_compared_as_a_whole_and_with_case() {
    let document = json!({"label": {"mode": "Capture the flag"}});
    check("label.mode:Capture", &document, false);
    check("label.mode:\"capture the flag\"", &document, false);
    check("label.mode:\"Capture the flag\"", &document, true);
    check(r"label.mode:Capture\ the\ flag", &document, true);
}

#[test]
fn booleans_are_t_and_f() {
    let document = json!({"open": true, "full": false});
    check("open:T", &document, true);
    check("open:F", &document, false);
    check("full:F", &document, true);
    check("open:true", &document, false);
}

#[test]
fn a_number_is_found_as_number_and_as_text() {
    check("rank:5", &json!({"rank": 5}), true);
    check("rank:5", &json!({"rank": "5"}), true);
    check("rank:5.0", &json!({"rank": 5}), true);
    check("rank:5.0", &json!({"rank": "5"}), false);
    check("rank:-5", &json!({"rank": -5}), true);
    check("rank:\"5\"", &json!({"rank": 5}), false);
    check("rank:0", &json!({"rank": -0.0}), true);
}

#[test]
fn ranges_with_an_equals_sign_include_their_bound() {
    let document = json!({"rank": 10});
    for (query, expected) in
        [("rank:>10", false), ("rank:>=10", true), ("rank:<10", false), ("rank:<=10", true), ("rank:>-3.5", true)]
    {
        check(query, &document, expected);
    }
    check("rank:>5", &json!({"rank": "10"}), false);
    check("rank:>5", &json!({}), false);
}

#[test]
fn times_have_ranges_and_are_text_too() {
    let document = json!({"start": "2026-01-31T12:00:00+01:00"});
    check("start:>\"2026-01-31T10:59:59Z\"", &document, true);
    check("start:>\"2026-01-31T11:00:00Z\"", &document, false);
    check("start:>=\"2026-01-31T11:00:00Z\"", &document, true);
    check("start:<\"2026-02-01\"", &document, true);
    check("start:\"2026-01-31T12:00:00+01:00\"", &document, true);
    check("start:>5", &document, false);
}

#[test]
fn patterns_match_whole_texts() {
    let document = json!({"map": "ice-cave", "size": 12});
    check("map:ice*", &document, true);
    check("map:ice", &document, false);
    check("map:*cave", &document, true);
    check("map:ice?cave", &document, true);
    check("map:/ice-.+/", &document, true);
    check("map:/ice/", &document, false);
    check(r"map:/[\^x]+/", &document, true);
    check(r"map:/\w+-\w+/", &document, true);
    check("size:1*", &document, false);
    check("size:*", &document, true);
    check("weather:*", &document, false);
}

#[test]
fn an_escaped_star_is_a_star() {
    check(r"map:a\*b", &json!({"map": "a*b"}), true);
    check(r"map:a\*b", &json!({"map": "aXb"}), false);
    check(r"map:\/a\/", &json!({"map": "/a/"}), true);
    check(r"map:a\*?", &json!({"map": "a*b"}), true);
}

#[test]
fn fuzzy_words_allow_changes() {
    let document = json!({"name": "wolf"});
    check("name:woolf~", &document, true);
    check("name:wulf~1", &document, true);
    check("name:gulf~1", &document, false);
    check("name:gulf~2", &document, true);
    check("name:wulf~0", &document, false);
}

#[test]
fn one_matching_element_of_a_list_is_enough() {
    let document = json!({"tags": ["eu", "ranked"], "teams": [{"size": 2}, {"size": 5}]});
    check("+tags:eu +tags:ranked", &document, true);
    check("-tags:eu", &document, false);
    check("+teams.size:>4 +teams.size:<3", &document, true);
}

#[test]
fn a_value_without_a_field_is_searched_in_all_fields() {
    let document = json!({"a": {"b": "wolf"}, "c": 7});
    check("wolf", &document, true);
    check("w*", &document, true);
    check("7", &document, true);
    check("bear", &document, false);
}

#[test]
fn names_may_have_escaped_characters_and_digits() {
    check(r"my\ field\:x:1", &json!({"my field:x": 1}), true);
    check("2v2:T", &json!({"2v2": true}), true);
    check("22:T", &json!({"22": true}), true);
}

#[test]
fn spaces_around_signs_change_nothing() {
    let document = json!({"rank": 10});
    check("  + rank : >= 10 ^ 2 ", &document, true);
    check("rank\n:\t10", &document, true);
}

#[test]
fn must_must_not_and_should() {
    let duel = json!({"mode": "duel", "map": "ice"});
    assert_eq!(score("+mode:duel", &duel), Some(1.0));
    assert_eq!(score("+mode:team map:ice", &duel), None);
    assert_eq!(score("+mode:duel map:lava", &duel), Some(1.0), "beside a must, a should only adds to the score");
    assert_eq!(score("+mode:duel map:ice^5", &duel), Some(6.0));
    assert_eq!(score("mode:team map:ice^0.5", &duel), Some(0.5));
    assert_eq!(score("mode:team map:lava", &duel), None, "without a must, one should has to hold");
    assert_eq!(score("-mode:team", &duel), Some(1.0));
    assert_eq!(score("map:lava -mode:team", &duel), None);
    assert_eq!(score("map:ice^-3 *", &duel), Some(-2.0));
}

#[test]
fn a_must_clause_without_matches_rejects_all() {
    let document = json!({"mode": "duel"});
    check("+map:/x.*/ mode:duel", &document, false);
    check("+map:x mode:duel", &document, false);
}

#[test]
fn a_star_and_an_empty_query_match_everything() {
    for query in ["*", "", "  ", "+*", "**"] {
        assert_eq!(score(query, &json!({})), Some(1.0), "{query:?}");
    }
    check("-*", &json!({}), false);
}

#[test]
fn signs_within_words_are_letters() {
    check("name:a+b-c", &json!({"name": "a+b-c"}), true);
    check("name:(a)", &json!({"name": "(a)"}), true);
    check("name:a\"b", &json!({"name": "a\"b"}), true);
    check("name:/a", &json!({"name": "/a"}), true);
}

#[test]
fn patterns_cost_more_than_other_clauses() {
    let cost = |query| Query::parse(query).unwrap().cost();
    assert_eq!(cost(""), 0);
    assert_eq!(cost("+a:1 b:x -c:>5"), 3);
    assert_eq!(cost("a:x* b:/x/ c:x~"), 3 * aether_query::limits::PATTERN_COST);
}
