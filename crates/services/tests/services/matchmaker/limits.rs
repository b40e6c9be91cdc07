//! Requests that the matchmaker refuses, and the limit of its work.

use super::*;
use aether_services::matchmaker::limits::{
    COUNT_MAX, MATCH_PROPERTIES_BYTES_MAX, PROPERTIES_BYTES_MAX, PROPERTIES_MAX, PROPERTY_EXTRA_BYTES,
    PROPERTY_NAME_BYTES_MAX, PROPERTY_TEXT_BYTES_MAX, QUERY_BYTES_MAX, QUERY_COST_MAX, TICKETS_PER_SESSION_MAX,
    TICKETS_PER_USER_MAX, WIDENED_MAX,
};
use aether_services::{GrpcCode, ServiceError};
use std::collections::BTreeMap;

/// Label of the error of a ticket, or `ok`.
fn result(new: NewTicket) -> &'static str {
    match matchmaker().add(new, 0) {
        Ok(()) => "ok",
        Err(error) => {
            let label = error.label();
            assert_eq!(ServiceError::from(error).code, GrpcCode::InvalidArgument);
            label
        }
    }
}

#[test]
fn invalid_counts_are_refused() {
    let counts = |min_count, max_count, count_multiple| {
        result(NewTicket { min_count, max_count, count_multiple, ..ticket(&[1]) })
    };
    assert_eq!(counts(1, 2, 1), "min_count");
    assert_eq!(counts(3, 2, 1), "max_count");
    assert_eq!(counts(2, COUNT_MAX + 1, 1), "max_count");
    assert_eq!(counts(2, COUNT_MAX, 1), "ok");
    assert_eq!(counts(2, 4, 0), "count_multiple");
    assert_eq!(counts(2, 3, 2), "count_multiple");
    assert_eq!(counts(3, 4, 2), "count_multiple");
    assert_eq!(counts(2, 4, 2), "ok");
}

#[test]
fn invalid_players_are_refused() {
    assert_eq!(result(NewTicket { presences: Vec::new(), ..ticket(&[1]) }), "no_players");
    assert_eq!(result(ticket(&[1, 2, 3])), "party_too_large");
    assert_eq!(result(ticket(&[1, 1])), "duplicate_player");
    assert_eq!(result(ticket(&[1, 2])), "ok");
}

#[test]
fn a_query_that_is_long_costly_or_malformed_is_refused() {
    let query = |query: &str| result(NewTicket { query: query.to_owned(), ..ticket(&[1]) });
    assert_eq!(query(&format!("a:{}", "x".repeat(QUERY_BYTES_MAX - 2))), "ok");
    assert_eq!(query(&"x".repeat(QUERY_BYTES_MAX + 1)), "query_too_long");
    assert_eq!(query(&"a:1 ".repeat(QUERY_COST_MAX)), "ok");
    assert_eq!(query(&"a:1 ".repeat(QUERY_COST_MAX + 1)), "query_too_costly");
    assert_eq!(query(&"a:/x+/ ".repeat(7)), "query_too_costly");
    assert_eq!(query("a:/(((x{9}){9}){9}){9}/"), "query", "a pattern that would grow too large");
    assert_eq!(query("+a:\"x"), "query");
    assert_eq!(query("*"), "ok");
}

#[test]
fn properties_are_limited() {
    let numbered = |count: usize| {
        let numbers = (0..count).map(|number| (format!("p{number}"), 1.0)).collect();
        result(NewTicket { properties: Properties { numbers, ..Properties::default() }, ..ticket(&[1]) })
    };
    assert_eq!(numbered(PROPERTIES_MAX), "ok");
    assert_eq!(numbered(PROPERTIES_MAX + 1), "too_many_properties");
    let number = |name: &str, value| result(NewTicket { properties: numbers(&[(name, value)]), ..ticket(&[1]) });
    assert_eq!(number(&"n".repeat(PROPERTY_NAME_BYTES_MAX), 1.0), "ok");
    assert_eq!(number(&"n".repeat(PROPERTY_NAME_BYTES_MAX + 1), 1.0), "property_name");
    assert_eq!(number("", 1.0), "property_name");
    assert_eq!(number("n", f64::NAN), "property_not_finite");
    let text = |bytes| result(NewTicket { properties: texts(&[("t", "x".repeat(bytes).as_str())]), ..ticket(&[1]) });
    assert_eq!(text(PROPERTY_TEXT_BYTES_MAX), "ok");
    assert_eq!(text(PROPERTY_TEXT_BYTES_MAX + 1), "property_too_long");
}

#[test]
fn the_properties_of_all_players_of_a_match_are_limited_together() {
    // Texts of 100 bytes, and one that fills up to the wanted sum.
    let sized = |bytes: usize, max_count: usize| {
        let whole = 2 + 100 + PROPERTY_EXTRA_BYTES;
        let mut strings: BTreeMap<String, String> =
            (0..(bytes / whole) - 1).map(|number| (format!("{number:02}"), "x".repeat(100))).collect();
        let rest = bytes - strings.len() * whole;
        strings.insert("z".to_owned(), "x".repeat(rest - 1 - PROPERTY_EXTRA_BYTES));
        result(NewTicket { max_count, properties: Properties { strings, ..Properties::default() }, ..ticket(&[1]) })
    };
    assert_eq!(sized(PROPERTIES_BYTES_MAX, 2), "ok");
    assert_eq!(sized(PROPERTIES_BYTES_MAX + 1, 2), "properties_too_large");
    let share = MATCH_PROPERTIES_BYTES_MAX / COUNT_MAX;
    assert_eq!(sized(share, COUNT_MAX), "ok");
    assert_eq!(sized(share + 1, COUNT_MAX), "properties_too_large");
}

#[test]
fn a_run_in_parts_finds_what_a_whole_run_finds() {
    let filled = || {
        let mut matchmaker = matchmaker();
        for number in 1..=40 {
            matchmaker.add(skilled(number, f64::from(number as u32 / 4), 0..=10), 0).expect("the ticket is valid");
        }
        matchmaker
    };
    let whole = run(&mut filled(), 0);
    let (mut matchmaker, mut found, mut parts) = (filled(), Vec::new(), 0);
    while matchmaker.next_run_ms() == Some(i64::MIN) {
        matchmaker.run_part(0, 1);
        parts += 1;
        found.extend(std::iter::from_fn(|| matchmaker.poll_output()));
    }
    assert!(parts > 10, "{parts}");
    assert_eq!(found, whole.into_iter().map(Output::Candidate).collect::<Vec<_>>());
}

#[test]
fn a_malformed_range_is_refused() {
    let range = |names: &[(&str, f64)]| result(NewTicket { properties: numbers(names), ..ticket(&[1]) });
    assert_eq!(range(&[("a.b", 1.0), ("widen.a.b.from", 1.0)]), "ok");
    assert_eq!(range(&[("widen.a.from", 1.0)]), "widening", "it has no property `a`");
    assert_eq!(range(&[("a", 1.0), ("widen.a.speed", 1.0)]), "widening");
    assert_eq!(range(&[("a", 1.0), ("widen.a", 1.0)]), "widening");
    assert_eq!(range(&[("a", 1.0), ("widen.a.by", -1.0)]), "widening");
    let many: Vec<(String, f64)> = (0..=WIDENED_MAX)
        .flat_map(|number| [(format!("a{number}"), 1.0), (format!("widen.a{number}.from"), 1.0)])
        .collect();
    let many: Vec<(&str, f64)> = many.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    assert_eq!(range(&many), "too_many_widenings");
    assert_eq!(range(&many[2..]), "ok");
}

#[test]
fn tickets_of_a_session_and_of_a_user_are_limited() {
    let mut matchmaker = matchmaker();
    let mut next = 100;
    let mut add = |session: u128, user: u128| {
        next += 1;
        let mut new = ticket(&[user]);
        new.id = Uuid::from_u128(next);
        new.presences[0].session_id = Uuid::from_u128(session);
        matchmaker.add(new, 0).map_err(|error| ServiceError::from(error).code)
    };
    (0..TICKETS_PER_SESSION_MAX).for_each(|_| add(1, 1).unwrap());
    assert_eq!(add(1, 1), Err(GrpcCode::ResourceExhausted));
    (TICKETS_PER_SESSION_MAX..TICKETS_PER_USER_MAX).for_each(|session| add(10 + session as u128, 1).unwrap());
    assert_eq!(add(50, 1), Err(GrpcCode::ResourceExhausted));
    add(60, 2).unwrap();
    let mut matchmaker = Matchmaker::new(Settings { tickets_max: 1, ..Settings::default() });
    matchmaker.add(ticket(&[1]), 0).unwrap();
    assert_eq!(matchmaker.add(ticket(&[1]), 0).unwrap_err().label(), "duplicate_ticket");
    assert_eq!(matchmaker.add(ticket(&[2]), 0).unwrap_err().label(), "full");
}

#[test]
fn the_work_of_an_interval_is_limited_and_the_rest_follows_in_the_next() {
    let work_max = 20_000;
    let mut matchmaker = Matchmaker::new(Settings { work_max, ..Settings::default() });
    // Every query checks every ticket, and no pair matches.
    for number in 1..=300 {
        let query = format!("-properties.mode:m{number}* -properties.mode:m*");
        let properties = texts(&[("mode", &format!("m{number}"))]);
        matchmaker.add(NewTicket { query, properties, ..ticket(&[number]) }, 0).unwrap();
    }
    let mut runs = 0;
    let mut now_ms = 0;
    loop {
        assert!(run(&mut matchmaker, now_ms).is_empty());
        let last = matchmaker.stats().last_run;
        assert!(last.work <= work_max);
        runs += 1;
        // A second run in the same interval has no work left.
        if last.left > 0 {
            matchmaker.run(now_ms + 1);
            assert_eq!(matchmaker.stats().last_run.searches, 0);
        }
        match matchmaker.next_run_ms() {
            Some(next) if last.left > 0 => {
                assert_eq!(next, now_ms + 1_000);
                now_ms = next;
            }
            _ => break,
        }
        assert!(runs < 1_000, "every ticket searches in the end");
    }
    assert!(runs > 10, "{runs}");
    // Two others that match are found at once, because their turn comes.
    for number in [1_001, 1_002] {
        let properties = texts(&[("mode", "x")]);
        let query = "+properties.mode:x".to_owned();
        matchmaker.add(NewTicket { query, properties, ..ticket(&[number]) }, now_ms + 1_000).unwrap();
    }
    assert_eq!(run_and_accept(&mut matchmaker, now_ms + 1_000), [[1_001, 1_002]]);
}

#[test]
fn candidates_that_exclude_each_other_do_not_stop_the_matchmaker() {
    let mut matchmaker = matchmaker();
    // Fifty pairs of rivals, of whom a match has one each: a match of sixty is impossible, and the search for it takes all
    // the steps that are allowed.
    for number in 0..100 {
        let rival = number ^ 1;
        let new = NewTicket {
            query: format!("-properties.name:n{rival}"),
            properties: texts(&[("name", &format!("n{number}"))]),
            min_count: 60,
            max_count: 60,
            ..ticket(&[number + 1])
        };
        matchmaker.add(new, 0).unwrap();
    }
    let found = run(&mut matchmaker, 0);
    assert!(found.is_empty());
    let stats = matchmaker.stats();
    assert!(stats.last_run.work <= Settings::default().work_max);
    assert_eq!(matchmaker.next_run_ms(), Some(1_000), "the searches that gave up are repeated");
}
