//! Invalid queries: position and kind of the error.

use aether_query::limits::{CLAUSES_MAX, PATTERNS_MAX, QUERY_BYTES_MAX};
use aether_query::{Query, QueryErrorKind as Kind};

fn check(query: &str, position: usize, kind: Kind) {
    let error = Query::parse(query).expect_err(query);
    assert_eq!((error.position(), error.kind()), (position, kind), "{query}");
}

#[test]
fn syntax_errors_have_a_position() {
    check("+", 1, Kind::MissingTerm);
    check("a +", 3, Kind::MissingTerm);
    check(":a", 0, Kind::MissingTerm);
    check("--a", 1, Kind::MissingTerm);
    check("a:", 2, Kind::MissingValue);
    check("a:-b", 3, Kind::MissingValue);
    check("a:=5", 2, Kind::MissingValue);
    check("a:>b", 3, Kind::MissingBound);
    check("a:>=", 4, Kind::MissingBound);
    check("a:>\"soon\"", 3, Kind::InvalidDate);
    check("\"a b\":c", 0, Kind::QuotedField);
    check("a:b^x", 3, Kind::InvalidBoost);
    check("a:b^inf", 3, Kind::InvalidBoost);
    check("a:b^9999999", 3, Kind::InvalidBoost);
    check("a:b~3", 3, Kind::InvalidFuzziness);
    check("a:b*~1", 4, Kind::FuzzyPattern);
    check("a:\"b\"~1", 5, Kind::FuzzyPattern);
    check("a:\"b", 2, Kind::UnclosedQuote);
    check("a:b\\", 3, Kind::TrailingBackslash);
    assert!(matches!(Query::parse("a:/(/").unwrap_err().kind(), Kind::PatternInvalid(_)));
}

#[test]
fn queries_beyond_a_limit_are_rejected() {
    let padding = |length: usize| " ".repeat(length);
    assert!(Query::parse(&padding(QUERY_BYTES_MAX)).is_ok());
    check(&padding(QUERY_BYTES_MAX + 1), QUERY_BYTES_MAX, Kind::TooLong);
    assert!(Query::parse(&"a ".repeat(CLAUSES_MAX)).is_ok());
    check(&"a ".repeat(CLAUSES_MAX + 1), CLAUSES_MAX * 2, Kind::TooManyClauses);
    assert!(Query::parse(&"a* ".repeat(PATTERNS_MAX)).is_ok());
    check(&("a* ".repeat(PATTERNS_MAX) + "a~"), PATTERNS_MAX * 3, Kind::TooManyPatterns);
    check(&("a:/".to_owned() + &"a".repeat(257) + "/"), 2, Kind::PatternTooLong);
    check(&("a:".to_owned() + &"a".repeat(256) + "*"), 2, Kind::PatternTooLong);
    check(&("a:".to_owned() + &"a".repeat(257) + "~"), 2, Kind::PatternTooLong);
    check("a:/x{200}/", 2, Kind::PatternTooLarge);
}

#[test]
fn a_message_has_the_position_and_advice() {
    let message = Query::parse("+label.mode:duel +label.rank:>x").unwrap_err().to_string();
    assert_eq!(
        message,
        "query is not valid at byte 30: a number such as `10` or a date such as `\"2026-01-31T12:00:00Z\"` was expected"
    );
}
