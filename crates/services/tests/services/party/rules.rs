//! Calls of parties, one by one.

use super::*;
use aether_services::matchmaker::{Decision, MatchTarget, Matchmaker, Output, Settings};
use aether_services::party::limits::{DATA_BYTES_MAX, LABEL_BYTES_MAX, PARTIES_PER_SESSION_MAX, SIZE_MAX};
use aether_services::party::{PartyError, PartyFilter, TicketRequest};
use aether_services::{GrpcCode, ServiceError};

#[test]
fn the_creator_is_member_and_leader() {
    let mut parties = Parties::new();
    let new = NewParty { label: r#"{"mode":"duel"}"#.to_owned(), ..new_party("p", true, 4) };
    let outcome = parties.create(new, presence(1), 0).unwrap();
    let Some(PartyEvent::State(state)) = outcome.reply else { panic!("the answer is the state") };
    assert_eq!((state.own, state.leader), (presence(1), presence(1)));
    assert_eq!(state.presences, [presence(1)]);
    assert_eq!((state.info.max_size, state.info.label.as_str()), (4, r#"{"mode":"duel"}"#));
    assert!(outcome.deliveries.is_empty());
    assert_eq!(parties.create(new_party("p", true, 4), presence(2), 0), Err(PartyError::Duplicate));
}

#[test]
fn invalid_parties_are_refused() {
    let mut parties = Parties::new();
    let mut create = |max_size, label: &str| {
        let new =
            NewParty { label: label.to_owned(), ..new_party(&format!("{max_size}{}", label.len()), true, max_size) };
        parties.create(new, presence(1), 0).err().map(|error| error.label())
    };
    assert_eq!(create(0, ""), Some("max_size"));
    assert_eq!(create(SIZE_MAX + 1, ""), Some("max_size"));
    assert_eq!(create(SIZE_MAX, ""), None);
    let label = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
    assert_eq!(create(1, &label(LABEL_BYTES_MAX)), None);
    assert_eq!(create(1, &label(LABEL_BYTES_MAX + 1)), Some("label_too_long"));
    assert_eq!(create(1, "[1]"), Some("label_invalid"));
    assert_eq!(create(1, "{"), Some("label_invalid"));
}

#[test]
fn a_session_is_in_a_limited_number_of_parties() {
    let mut parties = Parties::new();
    for number in 0..PARTIES_PER_SESSION_MAX {
        parties.create(new_party(&format!("p{number}"), true, 4), presence(1), 0).unwrap();
    }
    parties.create(new_party("other", true, 4), presence(2), 0).unwrap();
    assert_eq!(parties.create(new_party("more", true, 4), presence(1), 0), Err(PartyError::TooManyParties));
    assert_eq!(parties.join("other", presence(1)), Err(PartyError::TooManyParties));
    parties.leave("p0", session(1)).unwrap();
    parties.join("other", presence(1)).unwrap();
}

#[test]
fn an_open_party_is_joined_until_it_is_full() {
    let mut parties = Parties::new();
    parties.create(new_party("p", true, 2), presence(1), 0).unwrap();
    let outcome = parties.join("p", presence(2)).unwrap();
    assert_eq!(shown(&outcome), ["[2] state [1, 2] led by 1", "[1, 2] joins [2] leaves []"]);
    assert_eq!((outcome.reply, outcome.changed), (None, vec!["p".to_owned()]));
    let again = parties.join("p", presence(2)).unwrap();
    assert_eq!(shown(&again), ["[2] state [1, 2] led by 1"]);
    assert!(again.changed.is_empty());
    assert_eq!(parties.join("p", presence(3)), Err(PartyError::Full));
    assert_eq!(parties.join("q", presence(3)), Err(PartyError::NotFound));
    let other_session = UserPresence { session_id: Uuid::from_u128(7), ..presence(2) };
    assert_eq!(parties.join("p", other_session), Err(PartyError::AlreadyMember));
}

#[test]
fn a_closed_party_collects_requests_for_its_leader() {
    let mut parties = Parties::new();
    parties.create(new_party("p", false, 3), presence(1), 0).unwrap();
    for number in [2, 3, 4] {
        let outcome = parties.join("p", presence(number)).unwrap();
        assert_eq!(shown(&outcome), [format!("[1] asks [{number}]")]);
    }
    assert_eq!(parties.join("p", presence(2)), Err(PartyError::DuplicateRequest));
    assert_eq!(parties.join("p", presence(5)), Err(PartyError::RequestsFull));
    assert_eq!(parties.join_requests("p", session(2)), Err(PartyError::NotLeader));
    let listed = parties.join_requests("p", session(1)).unwrap().reply;
    let presences = vec![presence(2), presence(3), presence(4)];
    assert_eq!(listed, Some(PartyEvent::JoinRequests { party_id: "p".to_owned(), presences }));

    assert_eq!(parties.accept("p", session(2), &presence(3)), Err(PartyError::NotLeader));
    let outcome = parties.accept("p", session(1), &presence(3)).unwrap();
    assert_eq!(shown(&outcome), ["[3] state [1, 3] led by 1", "[1, 3] joins [3] leaves []"]);
    assert_eq!(parties.accept("p", session(1), &presence(3)), Err(PartyError::NotRequested));
    let outcome = parties.remove("p", session(1), &presence(2)).unwrap();
    assert!(outcome.deliveries.is_empty() && outcome.changed.is_empty());
    parties.accept("p", session(1), &presence(4)).unwrap();
    parties.join("p", presence(5)).unwrap_err();
    parties.end_session(session(3));
    parties.join("p", presence(5)).unwrap();
    parties.end_session(session(5));
    assert_eq!(parties.accept("p", session(1), &presence(5)), Err(PartyError::NotRequested));
}

#[test]
fn the_oldest_member_follows_a_leader_who_leaves() {
    let mut parties = party_of(&[1, 2, 3]);
    let outcome = parties.leave("p", session(1)).unwrap();
    assert_eq!(shown(&outcome), ["[2, 3] joins [] leaves [1]", "[2, 3] leader 2"]);
    assert_eq!(outcome.changed, ["p"]);
    assert_eq!(parties.leave("p", session(1)), Err(PartyError::NotMember));
    let outcome = parties.leave("p", session(3)).unwrap();
    assert_eq!(shown(&outcome), ["[2] joins [] leaves [3]"]);
    let outcome = parties.end_session(session(2));
    assert!(outcome.deliveries.is_empty());
    assert_eq!(outcome.changed, ["p"]);
    assert!(parties.is_empty());
}

#[test]
fn the_leader_promotes_removes_and_closes() {
    let mut parties = party_of(&[1, 2, 3]);
    assert_eq!(parties.promote("p", session(2), &presence(3)), Err(PartyError::NotLeader));
    assert_eq!(parties.promote("p", session(1), &presence(9)), Err(PartyError::NotMember));
    let outcome = parties.promote("p", session(1), &presence(3)).unwrap();
    assert_eq!(shown(&outcome), ["[1, 2, 3] leader 3"]);
    assert_eq!(parties.remove("p", session(1), &presence(2)), Err(PartyError::NotLeader));
    assert_eq!(parties.remove("p", session(3), &presence(3)), Err(PartyError::RemoveSelf));
    assert_eq!(parties.remove("p", session(3), &presence(9)), Err(PartyError::NotMember));
    let outcome = parties.remove("p", session(3), &presence(1)).unwrap();
    assert_eq!(shown(&outcome), ["[2, 3] joins [] leaves [1]", "[1] closed"]);
    assert_eq!(parties.close("p", session(2)), Err(PartyError::NotLeader));
    let outcome = parties.close("p", session(3)).unwrap();
    assert_eq!(shown(&outcome), ["[2, 3] closed"]);
    assert_eq!(outcome.changed, ["p"]);
    assert_eq!(parties.close("p", session(3)), Err(PartyError::NotFound));
}

#[test]
fn data_goes_to_the_other_members() {
    let parties = party_of(&[1, 2, 3]);
    let outcome = parties.send_data("p", session(2), 5, vec![1, 2]).unwrap();
    assert_eq!(shown(&outcome), ["[1, 3] data 2 5 [1, 2]"]);
    assert_eq!(parties.send_data("p", session(9), 5, Vec::new()), Err(PartyError::NotMember));
    let long = vec![0; DATA_BYTES_MAX + 1];
    assert_eq!(parties.send_data("p", session(1), 5, long), Err(PartyError::DataTooLong(DATA_BYTES_MAX + 1)));
}

#[test]
fn parties_are_listed_by_query_and_page() {
    let mut parties = Parties::new();
    for number in 1..=5u128 {
        let mode = if number % 2 == 0 { "team" } else { "duel" };
        let label = format!(r#"{{"mode":"{mode}","rank":{number}}}"#);
        let new = NewParty { label, ..new_party(&format!("p{number}"), number != 3, 4) };
        parties.create(new, presence(number), 0).unwrap();
    }
    let ids = |parties: &Parties, filter: PartyFilter| {
        let page = parties.list(&filter).unwrap();
        (page.parties.into_iter().map(|info| info.party_id).collect::<Vec<_>>(), page.cursor)
    };
    let query = |query: &str| PartyFilter { query: query.to_owned(), ..PartyFilter::default() };
    assert_eq!(ids(&parties, query("")).0, ["p5", "p4", "p3", "p2", "p1"], "the newest first");
    assert_eq!(ids(&parties, query("+label.mode:duel label.rank:1^5")).0, ["p1", "p5", "p3"]);
    assert_eq!(ids(&parties, PartyFilter { open: Some(false), ..query("") }).0, ["p3"]);
    parties.join("p2", presence(9)).unwrap();
    assert_eq!(ids(&parties, query("+size:>=2")).0, ["p2"]);
    parties.update("p2", session(2), update(String::new(), true, true)).unwrap();
    assert_eq!(ids(&parties, query("+size:>=2")).0, [""; 0], "hidden");

    let first = PartyFilter { limit: Some(2), ..query("") };
    let (page, cursor) = ids(&parties, first.clone());
    assert_eq!(page, ["p5", "p4"]);
    parties.create(new_party("p6", true, 4), presence(6), 0).unwrap();
    let second = PartyFilter { cursor: cursor.clone(), ..first };
    let (page, rest) = ids(&parties, second);
    assert_eq!((page, rest), (vec!["p3".to_owned(), "p1".to_owned()], String::new()));
    let label = |filter: PartyFilter| parties.list(&filter).unwrap_err().label();
    assert_eq!(label(PartyFilter { cursor, ..query("other") }), "cursor");
    assert_eq!(label(PartyFilter { cursor: "?".to_owned(), ..query("") }), "cursor");
    assert_eq!(label(PartyFilter { limit: Some(101), ..query("") }), "limit");
    assert_eq!(label(query("+a:\"")), "query");
}

#[test]
fn an_update_changes_who_may_join() {
    let mut parties = party_of(&[1, 2]);
    assert_eq!(parties.update("p", session(2), update(String::new(), false, false)), Err(PartyError::NotLeader));
    parties.update("p", session(1), update(r#"{"a":1}"#.to_owned(), false, false)).unwrap();
    assert_eq!(shown(&parties.join("p", presence(3)).unwrap()), ["[1] asks [3]"]);
    assert_eq!(parties.list(&PartyFilter::default()).unwrap().parties[0].label, r#"{"a":1}"#);
    parties.update("p", session(1), update(String::new(), true, false)).unwrap();
    assert_eq!(shown(&parties.join("p", presence(3)).unwrap())[0], "[3] state [1, 2, 3] led by 1");
    let empty = PartyEvent::JoinRequests { party_id: "p".to_owned(), presences: Vec::new() };
    assert_eq!(parties.join_requests("p", session(1)).unwrap().reply, Some(empty));
}

#[test]
fn a_party_matches_with_one_ticket_until_its_members_change() {
    let mut parties = party_of(&[1, 2]);
    let mut matchmaker = Matchmaker::new(Settings::default());
    let request = |ticket| TicketRequest {
        ticket: Uuid::from_u128(ticket),
        min_count: 2,
        max_count: 2,
        count_multiple: 1,
        ..TicketRequest::default()
    };
    let refused = parties.add_to_matchmaker(&mut matchmaker, "p", session(2), request(7), 0);
    assert_eq!(refused, Err(PartyError::NotLeader));
    let outcome = parties.add_to_matchmaker(&mut matchmaker, "p", session(1), request(7), 0).unwrap();
    assert_eq!(shown(&outcome), ["[2] ticket 7"]);
    assert!(matches!(outcome.reply, Some(PartyEvent::MatchmakerTicket { .. })));
    matchmaker.run(0);
    let Some(Output::Candidate(candidate)) = matchmaker.poll_output() else { panic!("the party fills the match") };
    let target = MatchTarget { match_id: "m".to_owned(), token: None };
    assert_eq!(matchmaker.resolve(candidate.id, Decision::Accept(target), 0).unwrap().len(), 2);

    let larger = TicketRequest { max_count: 4, ..request(8) };
    parties.add_to_matchmaker(&mut matchmaker, "p", session(1), larger.clone(), 0).unwrap();
    let outcome = parties.join("p", presence(3)).unwrap();
    outcome.changed.iter().for_each(|party_id| matchmaker.remove_party(party_id));
    assert_eq!(matchmaker.stats().tickets, 0);
    parties.add_to_matchmaker(&mut matchmaker, "p", session(1), larger, 0).unwrap();
    let refused = parties.remove_from_matchmaker(&mut matchmaker, "p", session(2), Uuid::from_u128(8));
    assert_eq!(refused, Err(PartyError::NotLeader));
    parties.remove_from_matchmaker(&mut matchmaker, "p", session(1), Uuid::from_u128(8)).unwrap();
    let gone = parties.remove_from_matchmaker(&mut matchmaker, "p", session(1), Uuid::from_u128(8)).unwrap_err();
    assert_eq!(ServiceError::from(gone).code, GrpcCode::NotFound);
    let small = parties.add_to_matchmaker(&mut matchmaker, "p", session(1), request(9), 0).unwrap_err();
    assert_eq!(small.label(), "party_too_large");
}
