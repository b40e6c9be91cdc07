//! Rules of matches, one by one.

use super::*;
use aether_services::matchmaker::limits::BLOCK_TICKETS;
use aether_services::matchmaker::{CandidateId, Delivery, Matched, MatchmakerError};

#[test]
fn a_ticket_searches_right_after_it_arrives() {
    let mut matchmaker = matchmaker();
    assert_eq!(matchmaker.next_run_ms(), None);
    matchmaker.add(ticket(&[1]), 500).unwrap();
    assert!(matchmaker.next_run_ms().unwrap() <= 500);
    assert!(run(&mut matchmaker, 500).is_empty());
    // The next event is the interval that starts after ten intervals of waiting.
    assert_eq!(matchmaker.next_run_ms(), Some(11_000));
    matchmaker.add(ticket(&[2]), 700).unwrap();
    assert!(matchmaker.next_run_ms().unwrap() <= 700);
    assert_eq!(run_and_accept(&mut matchmaker, 700), [[1, 2]]);
    assert_eq!(matchmaker.stats().tickets, 0);
}

#[test]
fn players_of_a_match_get_each_other_with_ticket_target_and_properties() {
    let mut matchmaker = matchmaker();
    let first = NewTicket { properties: texts(&[("mode", "duel")]), ..ticket(&[1]) };
    matchmaker.add(first, 0).unwrap();
    matchmaker.add(ticket(&[2]), 0).unwrap();
    let candidate = run(&mut matchmaker, 0).remove(0);
    assert_eq!(candidate.tickets[0].users[0].properties.strings["mode"], "duel");
    let target = MatchTarget { match_id: "m1.".to_owned(), token: Some("token".to_owned()) };
    let deliveries = matchmaker.resolve(candidate.id, Decision::Accept(target.clone()), 0).unwrap();
    assert_eq!(deliveries.len(), 2);
    for Delivery { to, event: Matched { ticket, target: sent, users, own } } in deliveries {
        assert_eq!(to, [users[own].presence.session_id]);
        assert_eq!(ticket, users[own].presence.user_id);
        assert_eq!((sent, users.len()), (target.clone(), 2));
    }
}

#[test]
fn a_ticket_waits_for_its_maximum_and_then_accepts_its_minimum() {
    let mut matchmaker = matchmaker();
    (1..=3).for_each(|number| matchmaker.add(two_to_four(number), 0).unwrap());
    for now_ms in (0..10_000).step_by(1_000) {
        assert!(run(&mut matchmaker, now_ms).is_empty(), "{now_ms}");
    }
    assert_eq!(run_and_accept(&mut matchmaker, 10_000), [[1, 2, 3]]);
    (4..=8).for_each(|number| matchmaker.add(two_to_four(number), 10_000).unwrap());
    assert_eq!(run_and_accept(&mut matchmaker, 10_000), [[4, 5, 6, 7]]);
    assert_eq!(matchmaker.stats().tickets, 1);
}

#[test]
fn the_oldest_tickets_are_found_among_more_than_a_block_of_others() {
    let mut matchmaker = matchmaker();
    let in_mode = |number: u128, mode: &str, wanted: &str| NewTicket {
        query: format!("+properties.mode:{wanted}"),
        properties: texts(&[("mode", mode)]),
        ..ticket(&[number])
    };
    let others = 3 * BLOCK_TICKETS as u128;
    let lonely = |number: u128| in_mode(number, "lonely", "nobody");
    let duel = |number: u128| in_mode(number, "duel", "duel");
    matchmaker.add(lonely(1), 0).unwrap();
    matchmaker.add(duel(2), 0).unwrap();
    assert!(run(&mut matchmaker, 0).is_empty());
    for number in 3..others {
        matchmaker.add(lonely(number), 0).unwrap();
    }
    for number in others..others + 4 {
        matchmaker.add(duel(number), 0).unwrap();
    }
    // A ticket of the first block has waited longest.
    assert_eq!(run_and_accept(&mut matchmaker, 0), [vec![2, others], vec![others + 1, others + 2]]);
    // Most of the others leave, and blocks are merged.
    for number in (3..others).filter(|number| !number.is_multiple_of(4_000)) {
        matchmaker.end_session(presence(number).session_id);
    }
    matchmaker.add(duel(others + 4), 0).unwrap();
    assert_eq!(run_and_accept(&mut matchmaker, 0), [[others + 3, others + 4]]);
    assert_eq!(matchmaker.stats().tickets, 1 + others as usize / 4_000);
}

#[test]
fn sizes_are_multiples() {
    let mut matchmaker = matchmaker();
    let add = |matchmaker: &mut Matchmaker, number| {
        let new = NewTicket { max_count: 6, count_multiple: 2, ..ticket(&[number]) };
        matchmaker.add(new, 0).unwrap();
    };
    (1..=5).for_each(|number| add(&mut matchmaker, number));
    assert!(run(&mut matchmaker, 0).is_empty());
    assert_eq!(run_and_accept(&mut matchmaker, 10_000), [[1, 2, 3, 4]]);
}

#[test]
fn a_party_stays_whole_and_fills_a_match_by_itself() {
    let mut matchmaker = matchmaker();
    matchmaker.add(NewTicket { max_count: 4, min_count: 4, ..ticket(&[1, 2, 3]) }, 0).unwrap();
    matchmaker.add(NewTicket { max_count: 4, min_count: 4, ..ticket(&[4, 5]) }, 0).unwrap();
    assert!(run(&mut matchmaker, 0).is_empty(), "five players do not fit");
    matchmaker.add(NewTicket { max_count: 4, min_count: 4, ..ticket(&[6]) }, 0).unwrap();
    let candidate = run(&mut matchmaker, 0).remove(0);
    assert_eq!(numbers_of(&candidate), [1, 6]);
    let party = candidate.tickets.iter().find(|ticket| ticket.users.len() == 3).unwrap();
    assert!(party.users.iter().all(|user| user.party_id.as_deref() == Some("party1")));
    matchmaker.add(NewTicket { max_count: 3, ..ticket(&[7, 8, 9]) }, 0).unwrap();
    assert_eq!(run_and_accept(&mut matchmaker, 0), [[7]]);
}

#[test]
fn a_match_needs_every_query_to_accept_every_other_ticket() {
    let mut matchmaker = matchmaker();
    matchmaker.add(skilled(1, 1_000.0, 0..=3_000), 0).unwrap();
    matchmaker.add(skilled(2, 2_000.0, 1_900..=2_100), 0).unwrap();
    assert!(run(&mut matchmaker, 0).is_empty());
    matchmaker.add(skilled(3, 1_950.0, 0..=3_000), 0).unwrap();
    assert_eq!(run_and_accept(&mut matchmaker, 0), [[1, 3]], "the older of two that suit");
}

#[test]
fn without_mutual_checks_the_ticket_that_searches_decides() {
    let mut matchmaker = Matchmaker::new(Settings { mutual: false, ..Settings::default() });
    matchmaker.add(skilled(1, 1_000.0, 0..=3_000), 0).unwrap();
    matchmaker.add(skilled(2, 2_000.0, 1_900..=2_100), 0).unwrap();
    assert_eq!(run_and_accept(&mut matchmaker, 0), [[1, 2]]);
    // An old ticket accepts a new one, which does not accept it.
    matchmaker.add(skilled(3, 1_000.0, 0..=3_000), 0).unwrap();
    run(&mut matchmaker, 0);
    matchmaker.add(skilled(4, 2_000.0, 1_900..=2_100), 100).unwrap();
    assert!(run(&mut matchmaker, 100).is_empty());
    assert_eq!(matchmaker.next_run_ms(), Some(1_000));
    assert_eq!(run_and_accept(&mut matchmaker, 1_000), [[3, 4]]);
}

#[test]
fn a_range_widens_while_its_ticket_waits() {
    let mut matchmaker = matchmaker();
    let widening = |number, skill| {
        let widen = [("skill", skill), ("widen.skill.from", 50.0), ("widen.skill.by", 25.0), ("widen.skill.to", 200.0)];
        NewTicket { properties: numbers(&widen), ..ticket(&[number]) }
    };
    matchmaker.add(widening(1, 1_000.0), 0).unwrap();
    matchmaker.add(widening(2, 1_120.0), 0).unwrap();
    matchmaker.add(widening(3, 1_500.0), 0).unwrap();
    for now_ms in [0, 1_000, 2_000] {
        assert!(run(&mut matchmaker, now_ms).is_empty(), "{now_ms}");
        assert_eq!(matchmaker.next_run_ms(), Some(now_ms + 1_000));
    }
    assert_eq!(run_and_accept(&mut matchmaker, 3_000), [[1, 2]], "50 + 3 × 25 is more than 120");
    for now_ms in (4_000..60_000).step_by(1_000) {
        assert!(run(&mut matchmaker, now_ms).is_empty());
    }
    matchmaker.add(widening(4, 1_300.0), 60_000).unwrap();
    assert!(run(&mut matchmaker, 60_000).is_empty(), "the new ticket accepts 50");
    assert!(run(&mut matchmaker, 65_000).is_empty());
    assert_eq!(run_and_accept(&mut matchmaker, 66_000), [[3, 4]], "both accept 200");
}

#[test]
fn a_range_and_a_query_without_required_clauses_hold_together() {
    let mut matchmaker = matchmaker();
    let properties = |skill, mode: &str| Properties {
        strings: [("mode".to_owned(), mode.to_owned())].into(),
        ..numbers(&[("skill", skill), ("widen.skill.from", 10.0)])
    };
    let query = "properties.mode:a properties.mode:b".to_owned();
    for (number, skill, mode) in [(1, 0.0, "a"), (2, 5.0, "c"), (3, 50.0, "b")] {
        let new = NewTicket { query: query.clone(), properties: properties(skill, mode), ..ticket(&[number]) };
        matchmaker.add(new, 0).unwrap();
    }
    assert!(run(&mut matchmaker, 0).is_empty());
    let new = NewTicket { query, properties: properties(-10.0, "b"), ..ticket(&[4]) };
    matchmaker.add(new, 0).unwrap();
    assert_eq!(run_and_accept(&mut matchmaker, 0), [[1, 4]]);
}

#[test]
fn a_better_score_is_preferred_and_then_the_older_ticket() {
    let mut matchmaker = matchmaker();
    let in_region = |number, region| NewTicket {
        query: "* properties.region:eu^5".to_owned(),
        properties: texts(&[("region", region)]),
        min_count: 3,
        max_count: 3,
        ..ticket(&[number])
    };
    for (number, region) in [(1, "us"), (2, "us")] {
        matchmaker.add(in_region(number, region), 0).unwrap();
    }
    run(&mut matchmaker, 0);
    for (number, region) in [(3, "eu"), (4, "eu"), (5, "us")] {
        matchmaker.add(in_region(number, region), 0).unwrap();
    }
    // The third searches: it prefers the fourth, then the oldest.
    assert_eq!(run_and_accept(&mut matchmaker, 0), [[1, 3, 4]]);
}

#[test]
fn a_user_is_in_a_match_once() {
    let mut matchmaker = matchmaker();
    let again = |number| {
        let mut again = ticket(&[1]);
        again.id = Uuid::from_u128(number);
        again.presences[0].session_id = Uuid::from_u128(number);
        again
    };
    matchmaker.add(ticket(&[1]), 0).unwrap();
    matchmaker.add(again(77), 0).unwrap();
    assert!(run(&mut matchmaker, 0).is_empty());
    let mut matchmaker = Matchmaker::new(Settings { distinct_users: false, ..Settings::default() });
    matchmaker.add(ticket(&[1]), 0).unwrap();
    matchmaker.add(again(77), 0).unwrap();
    assert_eq!(run_and_accept(&mut matchmaker, 0), [[1, 77]]);
}

#[test]
fn tickets_end_with_their_session_and_a_candidate_with_its_ticket() {
    let mut matchmaker = matchmaker();
    matchmaker.add(ticket(&[1]), 0).unwrap();
    matchmaker.add(ticket(&[2]), 0).unwrap();
    let candidate = run(&mut matchmaker, 0).remove(0);
    matchmaker.end_session(presence(2).session_id);
    assert_eq!(matchmaker.stats().tickets, 1);
    let accepted = matchmaker.resolve(candidate.id, Decision::Accept(target("m")), 0);
    assert_eq!(accepted, Err(MatchmakerError::CandidateNotFound));
    assert_eq!(matchmaker.reserved_seats("m"), 0);
    matchmaker.add(ticket(&[3]), 0).unwrap();
    assert_eq!(run_and_accept(&mut matchmaker, 0), [[1, 3]]);
    // One member ends the ticket of a party.
    matchmaker.add(NewTicket { max_count: 3, ..ticket(&[4, 5]) }, 0).unwrap();
    matchmaker.end_session(presence(5).session_id);
    assert_eq!(matchmaker.stats().tickets, 0);
}

#[test]
fn a_candidate_that_nobody_polled_disappears_with_its_ticket() {
    let mut matchmaker = matchmaker();
    matchmaker.add(ticket(&[1]), 0).unwrap();
    matchmaker.add(ticket(&[2]), 0).unwrap();
    matchmaker.run(0);
    matchmaker.remove(presence(1).session_id, Uuid::from_u128(1)).unwrap();
    assert_eq!(matchmaker.poll_output(), None);
}

#[test]
fn only_the_owner_removes_a_ticket() {
    let mut matchmaker = matchmaker();
    matchmaker.add(ticket(&[1]), 0).unwrap();
    matchmaker.add(NewTicket { max_count: 3, ..ticket(&[2, 3]) }, 0).unwrap();
    let not_found = Err(MatchmakerError::TicketNotFound);
    assert_eq!(matchmaker.remove(presence(2).session_id, Uuid::from_u128(1)), not_found);
    assert_eq!(matchmaker.remove(presence(2).session_id, Uuid::from_u128(2)), not_found, "the leader uses the party");
    assert_eq!(matchmaker.remove_of_party("party9", Uuid::from_u128(2)), not_found);
    matchmaker.remove_of_party("party2", Uuid::from_u128(2)).unwrap();
    matchmaker.remove(presence(1).session_id, Uuid::from_u128(1)).unwrap();
    assert_eq!(matchmaker.stats().players, 0);
    matchmaker.add(NewTicket { max_count: 3, ..ticket(&[2, 3]) }, 0).unwrap();
    matchmaker.remove_party("party2");
    assert_eq!(matchmaker.stats().players, 0);
}

#[test]
fn a_decision_keeps_some_tickets_and_releases_others_until_the_next_interval() {
    let mut matchmaker = matchmaker();
    (1..=4).for_each(|number| matchmaker.add(two_to_four(number), 0).unwrap());
    let candidate = run(&mut matchmaker, 0).remove(0);
    let unknown = Decision::AcceptOnly(vec![Uuid::from_u128(9)], target("m"));
    assert_eq!(matchmaker.resolve(candidate.id, unknown, 0), Err(MatchmakerError::NotInCandidate));
    let only = Decision::AcceptOnly(vec![Uuid::from_u128(1), Uuid::from_u128(3)], target("m"));
    assert_eq!(matchmaker.resolve(candidate.id, only, 0).unwrap().len(), 2);
    assert_eq!(matchmaker.reserved_seats("m"), 2);
    matchmaker.add(two_to_four(5), 0).unwrap();
    matchmaker.add(two_to_four(6), 0).unwrap();
    let candidate = run(&mut matchmaker, 0).remove(0);
    assert_eq!(numbers_of(&candidate), [2, 4, 5, 6]);
    matchmaker.resolve(candidate.id, Decision::Release, 0).unwrap();
    assert!(run(&mut matchmaker, 100).is_empty(), "a released candidate is not proposed again at once");
    assert_eq!(matchmaker.next_run_ms(), Some(1_000));
    assert_eq!(run_and_accept(&mut matchmaker, 1_000), [[2, 4, 5, 6]]);
    let again = matchmaker.resolve(CandidateId(1), Decision::Release, 0);
    assert_eq!(again, Err(MatchmakerError::CandidateNotFound));
}

#[test]
fn stats_have_the_oldest_ticket_and_the_last_completions() {
    let mut matchmaker = matchmaker();
    matchmaker.add(two_to_four(1), 100).unwrap();
    matchmaker.add(ticket(&[2]), 200).unwrap();
    matchmaker.add(ticket(&[3]), 300).unwrap();
    run_and_accept(&mut matchmaker, 400);
    matchmaker.note_run_time(std::time::Duration::from_millis(3));
    let stats = matchmaker.stats();
    assert_eq!((stats.tickets, stats.players, stats.matches), (1, 1, 1));
    assert_eq!(stats.oldest_created_ms, Some(300));
    assert_eq!(stats.completions.last().map(|last| last.completed_ms), Some(400));
    assert_eq!(stats.last_run.time, Some(std::time::Duration::from_millis(3)));
    assert!(stats.last_run.work > 0);
}
