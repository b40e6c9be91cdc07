//! Seats, and requests of running matches for players.

use super::*;
use aether_services::matchmaker::{BackfillRequest, MatchmakerError};

fn request(seats: usize) -> BackfillRequest {
    BackfillRequest { match_id: "m".to_owned(), players: 2, seats, ..BackfillRequest::default() }
}

/// Accepts a candidate for the match that asked.
fn accept(matchmaker: &mut Matchmaker, candidate: &Candidate, now_ms: i64) {
    assert_eq!(candidate.backfill.as_deref(), Some("m"));
    matchmaker.resolve(candidate.id, Decision::Accept(target("m")), now_ms).expect("the candidate exists");
}

#[test]
fn seats_are_kept_for_fifteen_seconds() {
    let mut matchmaker = matchmaker();
    matchmaker.add(ticket(&[1]), 0).unwrap();
    matchmaker.add(ticket(&[2]), 0).unwrap();
    let candidate = run(&mut matchmaker, 0).remove(0);
    matchmaker.resolve(candidate.id, Decision::Accept(target("m")), 0).unwrap();
    assert_eq!(matchmaker.reserved_seats("m"), 2);
    assert!(matchmaker.claim_seat("m", presence(1).user_id));
    assert!(!matchmaker.claim_seat("m", presence(1).user_id), "a seat is claimed once");
    assert!(!matchmaker.claim_seat("other", presence(2).user_id));
    assert_eq!(matchmaker.next_run_ms(), Some(15_000));
    matchmaker.run(14_999);
    assert_eq!(matchmaker.poll_output(), None);
    matchmaker.run(15_000);
    let freed = Output::SeatsFreed { match_id: "m".to_owned(), users: vec![presence(2).user_id] };
    assert_eq!(matchmaker.poll_output(), Some(freed));
    assert!(!matchmaker.claim_seat("m", presence(2).user_id));
    assert_eq!(matchmaker.next_run_ms(), None);
}

#[test]
fn tickets_join_a_running_match_that_asks_for_players() {
    let mut matchmaker = matchmaker();
    matchmaker.add(two_to_four(1), 0).unwrap();
    run(&mut matchmaker, 0);
    matchmaker.request_backfill(request(2)).unwrap();
    assert!(matchmaker.next_run_ms().unwrap() <= 0);
    let found = run(&mut matchmaker, 0);
    assert_eq!(numbers_of(&found[0]), [1], "a waiting ticket is found by the request");
    accept(&mut matchmaker, &found[0], 0);
    matchmaker.add(two_to_four(2), 0).unwrap();
    matchmaker.add(two_to_four(3), 0).unwrap();
    let found = run(&mut matchmaker, 0);
    assert_eq!(found.iter().map(numbers_of).collect::<Vec<_>>(), [[2]], "a new ticket finds the last seat");
    accept(&mut matchmaker, &found[0], 0);
    assert_eq!((matchmaker.reserved_seats("m"), matchmaker.stats().backfilled), (2, 2));
    assert!(matchmaker.claim_seat("m", presence(1).user_id));
    assert!(matchmaker.claim_seat("m", presence(2).user_id));
    assert_eq!(matchmaker.stats().backfills, 0, "all seats are taken");
}

#[test]
fn the_seat_of_a_player_who_does_not_join_is_filled_again() {
    let mut matchmaker = matchmaker();
    matchmaker.add(two_to_four(1), 0).unwrap();
    matchmaker.request_backfill(request(2)).unwrap();
    let candidate = run(&mut matchmaker, 0).remove(0);
    accept(&mut matchmaker, &candidate, 0);
    matchmaker.add(two_to_four(2), 100).unwrap();
    let candidate = run(&mut matchmaker, 100).remove(0);
    accept(&mut matchmaker, &candidate, 100);
    matchmaker.claim_seat("m", presence(2).user_id);
    matchmaker.add(two_to_four(3), 200).unwrap();
    assert!(run(&mut matchmaker, 200).is_empty(), "no seat is open");
    let found = run(&mut matchmaker, 15_000);
    assert_eq!(numbers_of(&found[0]), [3]);
}

#[test]
fn a_match_and_a_ticket_accept_each_other_and_the_size() {
    let mut matchmaker = matchmaker();
    let query = "+properties.mode:duel".to_owned();
    let properties = texts(&[("map", "ice")]);
    matchmaker.request_backfill(BackfillRequest { query, properties, ..request(2) }).unwrap();
    let new = |number, mode, map: &str| NewTicket {
        query: format!("+properties.map:{map}"),
        properties: texts(&[("mode", mode), ("map", "none")]),
        ..two_to_four(number)
    };
    matchmaker.add(new(1, "team", "ice"), 0).unwrap();
    matchmaker.add(new(2, "duel", "lava"), 0).unwrap();
    matchmaker.add(NewTicket { max_count: 3, ..new(3, "duel", "ice") }, 0).unwrap();
    assert!(run(&mut matchmaker, 0).is_empty(), "the match refuses, the ticket refuses, the size is too large");
    matchmaker.add(new(4, "duel", "ice"), 0).unwrap();
    let found = run(&mut matchmaker, 0);
    assert_eq!(numbers_of(&found[0]), [4]);
    // Three players do not fit into the other seat.
    let party = NewTicket { presences: (5..8).map(presence).collect(), ..new(5, "duel", "ice") };
    matchmaker.add(party, 0).unwrap();
    assert!(run(&mut matchmaker, 0).is_empty());
}

#[test]
fn a_released_candidate_returns_its_seats_until_the_next_interval() {
    let mut matchmaker = matchmaker();
    matchmaker.add(NewTicket { min_count: 4, ..two_to_four(1) }, 0).unwrap();
    matchmaker.request_backfill(request(1)).unwrap();
    let new = NewTicket { max_count: 3, ..ticket(&[2]) };
    let candidate = run(&mut matchmaker, 0);
    assert!(candidate.is_empty(), "the full match has three players");
    matchmaker.add(new, 0).unwrap();
    let candidate = run(&mut matchmaker, 0).remove(0);
    matchmaker.resolve(candidate.id, Decision::Release, 0).unwrap();
    assert!(run(&mut matchmaker, 0).is_empty());
    let candidate = run(&mut matchmaker, 1_000).remove(0);
    assert_eq!(numbers_of(&candidate), [2]);
    matchmaker.end_session(presence(2).session_id);
    matchmaker.add(NewTicket { max_count: 3, ..ticket(&[3]) }, 1_000).unwrap();
    assert_eq!(numbers_of(&run(&mut matchmaker, 1_000)[0]), [3], "the seat of the ticket that ended is open");
    assert!(matchmaker.cancel_backfill("m"));
    assert!(!matchmaker.cancel_backfill("m"));
}

#[test]
fn a_request_without_seats_is_refused() {
    let mut matchmaker = matchmaker();
    assert_eq!(matchmaker.request_backfill(request(0)), Err(MatchmakerError::Seats));
    assert_eq!(matchmaker.request_backfill(request(300)), Err(MatchmakerError::Seats));
    matchmaker.request_backfill(request(1)).unwrap();
    matchmaker.end_match("m");
    assert_eq!(matchmaker.stats().backfills, 0);
}
