//! Tests of the matchmaker.

mod backfill;
mod limits;
mod model;
mod rules;

use aether_services::matchmaker::{
    Candidate, Decision, MatchTarget, Matchmaker, NewTicket, Output, Properties, Settings, UserPresence,
};
use uuid::Uuid;

/// Presence of the user and session with a number.
fn presence(number: u128) -> UserPresence {
    UserPresence {
        user_id: Uuid::from_u128(number),
        session_id: Uuid::from_u128(1_000_000 + number),
        username: format!("player{number}"),
    }
}

/// Ticket of players, with the number of the first as its id, for two players and any others.
fn ticket(players: &[u128]) -> NewTicket {
    NewTicket {
        id: Uuid::from_u128(players[0]),
        presences: players.iter().map(|number| presence(*number)).collect(),
        party_id: (players.len() > 1).then(|| format!("party{}", players[0])),
        query: String::new(),
        min_count: 2,
        max_count: 2,
        count_multiple: 1,
        properties: Properties::default(),
        blocked: Default::default(),
    }
}

/// Ticket of one player for two to four players.
fn two_to_four(number: u128) -> NewTicket {
    NewTicket { max_count: 4, ..ticket(&[number]) }
}

/// Ticket of one player with a skill, for others in a range of skill.
fn skilled(number: u128, skill: f64, range: std::ops::RangeInclusive<i32>) -> NewTicket {
    let query = format!("+properties.skill:>={} +properties.skill:<={}", range.start(), range.end());
    NewTicket { query, properties: numbers(&[("skill", skill)]), ..ticket(&[number]) }
}

fn numbers(numbers: &[(&str, f64)]) -> Properties {
    let numbers = numbers.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Properties { numbers, ..Properties::default() }
}

fn texts(texts: &[(&str, &str)]) -> Properties {
    let strings = texts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Properties { strings, ..Properties::default() }
}

fn matchmaker() -> Matchmaker {
    Matchmaker::new(Settings::default())
}

fn target(match_id: &str) -> MatchTarget {
    MatchTarget { match_id: match_id.to_owned(), token: None }
}

/// Runs and returns the candidates.
fn run(matchmaker: &mut Matchmaker, now_ms: i64) -> Vec<Candidate> {
    matchmaker.run(now_ms);
    std::iter::from_fn(|| matchmaker.poll_output())
        .filter_map(|output| match output {
            Output::Candidate(candidate) => Some(candidate),
            Output::SeatsFreed { .. } => None,
        })
        .collect()
}

/// Numbers of the tickets of a candidate, sorted.
fn numbers_of(candidate: &Candidate) -> Vec<u128> {
    let mut numbers: Vec<u128> = candidate.tickets.iter().map(|ticket| ticket.ticket.as_u128()).collect();
    numbers.sort_unstable();
    numbers
}

/// Runs, accepts all candidates and returns the numbers of their tickets.
fn run_and_accept(matchmaker: &mut Matchmaker, now_ms: i64) -> Vec<Vec<u128>> {
    let candidates = run(matchmaker, now_ms);
    for candidate in &candidates {
        let target = target(&format!("match{}", candidate.id.0));
        matchmaker.resolve(candidate.id, Decision::Accept(target), now_ms).expect("the candidate exists");
    }
    candidates.iter().map(numbers_of).collect()
}
