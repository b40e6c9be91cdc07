//! Coming in, being lost, and coming back.

use aether_bits::Replicate;
use aether_client::{Client, ClientEvent, ClientPhase, ClientSettings, EndReason, JoinOptions};
use aether_replication::DeliveryOrder;
use aether_testkit_client::{Sandbox, Scene, network};
use aether_wire::{
    ClientMessage, CloseReason, Closing, ErrorCode, ErrorNotice, Hello, RoomId, RoomSelector, ServerMessage, Token,
    Welcome,
};
use std::time::Duration;

#[test]
fn a_client_that_was_cut_off_comes_back_to_its_ship_and_predicts_on() {
    let mut scene = Scene::new(9);
    let pilot = scene.join(DeliveryOrder::Unordered, network(50, 0.05));
    scene.run(Duration::from_secs(5));
    let (entity, player) = (scene.pilots[pilot].client.own_entity(), scene.pilots[pilot].player);
    let token = scene.pilots[pilot].client.welcome().expect("it is in").resume_token.clone();
    scene.disconnect(pilot);
    assert_eq!(*scene.pilots[pilot].client.phase(), ClientPhase::Resuming);
    let retry_at = scene.pilots[pilot].client.retry_at().expect("it tries again");
    assert!(retry_at > scene.now && retry_at < scene.now + Duration::from_millis(300));
    assert!(scene.pilots[pilot].client.own_state().is_some(), "what was last known is still shown");
    scene.run(retry_at - scene.now);
    // Over the other kind of link, as when datagrams do not get through.
    scene.resume(pilot, DeliveryOrder::Ordered, network(50, 0.0));
    scene.run(Duration::from_secs(8));
    let client = &mut scene.pilots[pilot].client;
    assert_eq!((client.phase(), client.own_entity()), (&ClientPhase::Joined, entity));
    assert!(client.events().any(|event| matches!(event, ClientEvent::Joined { resumed: true, .. })));
    assert_eq!((client.stats().corrections, client.stats().faults, client.stats().disconnects), (0, 0, 1));
    assert_eq!(scene.pilots[pilot].player, player);
    assert_eq!(
        scene.pilots[pilot].hellos[1],
        Hello { schema_hash: Some(hash()), resume_token: token, ..Hello::default() }
    );
    for (seq, predicted) in &scene.pilots[pilot].predicted {
        assert!(scene.flown(pilot, *seq).is_none_or(|flown| predicted.same(flown)), "{seq:?}");
    }
}

fn hash() -> aether_wire::SchemaHash {
    client().schema_hash()
}

fn login() -> JoinOptions {
    JoinOptions { token: Some(Token::new("login")), room: Some(RoomSelector::Code("ABCD".to_owned())) }
}

fn client() -> Client<Sandbox> {
    Client::new(Sandbox, ClientSettings::default(), login())
}

fn hello(client: &mut Client<Sandbox>) -> Hello {
    let said = client.advance(Duration::ZERO).next().expect("it says something");
    assert!(said.reliable);
    let ClientMessage::Hello(hello) = said.message else { panic!("{said:?}") };
    hello
}

fn welcome(client: &Client<Sandbox>, resume_token: Option<&str>) -> ServerMessage {
    let schema_hash = client.schema_hash();
    let resume_token = resume_token.map(Token::new);
    let (tick_hz, snapshot_hz) = (40, 20);
    ServerMessage::Welcome(Welcome {
        room: room(),
        tick_hz,
        snapshot_hz,
        schema_hash,
        resume_token,
        ..Welcome::default()
    })
}

/// The room that the client is in.
fn room() -> RoomId {
    RoomId("room-1".to_owned())
}

fn refusal(code: ErrorCode) -> ServerMessage {
    ServerMessage::Error(ErrorNotice { code, ..ErrorNotice::default() })
}

/// A client that is in, with a resume token.
fn joined() -> Client<Sandbox> {
    let mut client = client();
    client.connected(DeliveryOrder::Ordered, Duration::ZERO);
    hello(&mut client);
    client.receive(welcome(&client, Some("first")), Duration::ZERO);
    assert_eq!(*client.phase(), ClientPhase::Joined);
    client.advance(Duration::ZERO).for_each(drop);
    client
}

#[test]
fn a_resume_token_is_shown_until_it_is_answered() {
    let mut client = joined();
    client.disconnected(Duration::ZERO);
    // Once the answer never comes, once the server cannot tell for now, and once the token is too old.
    for answer in [None, Some(ErrorCode::Unavailable), Some(ErrorCode::ResumeRefused)] {
        assert_eq!(*client.phase(), ClientPhase::Resuming);
        client.connected(DeliveryOrder::Ordered, Duration::ZERO);
        assert_eq!(hello(&mut client).resume_token, Some(Token::new("first")));
        match answer {
            Some(code) => client.receive(refusal(code), Duration::ZERO),
            None => client.disconnected(Duration::ZERO),
        }
    }
    let again = hello(&mut client);
    let same_room = Some(RoomSelector::Id(room()));
    assert_eq!((again.resume_token, again.token, again.room), (None, login().token, same_room));
}

#[test]
fn a_connection_that_follows_another_resumes_it() {
    let mut client = joined();
    client.connected(DeliveryOrder::Unordered, Duration::ZERO);
    assert_eq!(hello(&mut client).resume_token, Some(Token::new("first")));
    client.receive(welcome(&client, Some("second")), Duration::ZERO);
    assert_eq!(*client.phase(), ClientPhase::Joined);
}

#[test]
fn a_connection_that_could_not_be_opened_costs_no_token() {
    let mut client = joined();
    for _ in 0..5 {
        client.disconnected(Duration::ZERO);
        assert_eq!(*client.phase(), ClientPhase::Resuming);
    }
    assert_eq!(client.attempts(), 5);
    client.connected(DeliveryOrder::Ordered, Duration::ZERO);
    assert_eq!(hello(&mut client).resume_token, Some(Token::new("first")));
}

#[test]
fn who_comes_too_late_to_resume_logs_in_again_on_the_same_connection() {
    let mut client = joined();
    client.disconnected(Duration::ZERO);
    client.connected(DeliveryOrder::Ordered, Duration::ZERO);
    hello(&mut client);
    client.receive(refusal(ErrorCode::ResumeRefused), Duration::ZERO);
    assert_eq!(hello(&mut client).token, login().token);
    client.receive(welcome(&client, None), Duration::ZERO);
    assert_eq!(*client.phase(), ClientPhase::Joined);
    let resumed = client.events().filter_map(|event| match event {
        ClientEvent::Joined { resumed, .. } => Some(resumed),
        _ => None,
    });
    assert_eq!(resumed.collect::<Vec<_>>(), [false, false]);
}

#[test]
fn refusals_at_the_door_end_it_or_are_waited_out() {
    for code in [ErrorCode::Unauthenticated, ErrorCode::RoomFull, ErrorCode::JoinRefused, ErrorCode::VersionMismatch] {
        let mut client = client();
        client.connected(DeliveryOrder::Ordered, Duration::ZERO);
        client.receive(refusal(code), Duration::ZERO);
        assert!(matches!(client.phase(), ClientPhase::Closed(EndReason::JoinRejected(notice)) if notice.code == code));
        assert_eq!(client.retry_at(), None);
        client.connected(DeliveryOrder::Ordered, Duration::ZERO);
        assert_eq!(client.advance(Duration::ZERO).count(), 0, "it does not come back");
    }
    let mut client = client();
    client.connected(DeliveryOrder::Ordered, Duration::ZERO);
    client.receive(refusal(ErrorCode::Unavailable), Duration::from_secs(1));
    assert_eq!(*client.phase(), ClientPhase::Connecting);
    assert!(client.retry_at().is_some_and(|at| at > Duration::from_secs(1)));
}

#[test]
fn the_reason_of_an_end_decides_whether_to_come_back() {
    let after = |reason, may_resume| {
        let mut client = joined();
        let closing = Closing { reason, may_resume, ..Closing::default() };
        client.receive(ServerMessage::Closing(closing), Duration::ZERO);
        client.disconnected(Duration::ZERO);
        client.phase().clone()
    };
    for reason in [CloseReason::Kicked, CloseReason::Replaced, CloseReason::SessionEnded, CloseReason::RoomEnded] {
        assert!(
            matches!(after(reason, false), ClientPhase::Closed(EndReason::ClosedByServer(closing)) if closing.reason == reason)
        );
    }
    assert_eq!(after(CloseReason::TimedOut, true), ClientPhase::Resuming);
    assert_eq!(after(CloseReason::TooSlow, false), ClientPhase::Connecting, "there is no place to come back to");
    assert_eq!(
        after(CloseReason::Shutdown, false),
        ClientPhase::Resuming,
        "a server that restarts may know its players"
    );
    assert_eq!(after(CloseReason::Unknown, true), ClientPhase::Resuming);
}

#[test]
fn a_notice_that_the_server_will_stop_changes_nothing_yet() {
    let mut client = joined();
    let notice = Closing { reason: CloseReason::Kicked, deadline_ms: 5_000, ..Closing::default() };
    client.receive(ServerMessage::Closing(notice), Duration::ZERO);
    assert_eq!(*client.phase(), ClientPhase::Joined);
    client.disconnected(Duration::ZERO);
    assert_eq!(*client.phase(), ClientPhase::Resuming);
}

#[test]
fn who_leaves_says_so_and_is_gone_for_good() {
    let mut client = joined();
    client.leave();
    let said: Vec<_> = client.advance(Duration::ZERO).map(|outgoing| outgoing.message).collect();
    assert_eq!(said, [ClientMessage::Leave]);
    client.disconnected(Duration::ZERO);
    assert_eq!((client.phase(), client.retry_at()), (&ClientPhase::Closed(EndReason::Left), None));
}

#[test]
fn the_same_room_is_asked_for_first_and_then_what_the_login_names() {
    let mut client = client();
    client.connected(DeliveryOrder::Ordered, Duration::ZERO);
    hello(&mut client);
    client.receive(welcome(&client, None), Duration::ZERO);
    client.disconnected(Duration::ZERO);
    client.connected(DeliveryOrder::Ordered, Duration::ZERO);
    assert_eq!(hello(&mut client).room, Some(RoomSelector::Id(room())));
    client.receive(refusal(ErrorCode::RoomNotFound), Duration::ZERO);
    assert_eq!(hello(&mut client).room, login().room);
    client.receive(refusal(ErrorCode::RoomNotFound), Duration::ZERO);
    assert!(
        matches!(client.phase(), ClientPhase::Closed(EndReason::JoinRejected(_))),
        "then there is nothing left to ask for"
    );
}
