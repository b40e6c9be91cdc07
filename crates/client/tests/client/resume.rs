//! Join, lost connections and resume.

use aether_bits::Replicate;
use aether_client::{Client, ClientEvent, ClientPhase, ClientSettings, EndReason, JoinOptions};
use aether_replication::DeliveryOrder;
use aether_testkit_client::{SandboxClient, Scene, network};
use aether_wire::{
    ClientMessage, CloseReason, Closing, ErrorCode, ErrorNotice, Hello, RoomId, RoomSelector, ServerMessage, Token,
    Welcome,
};
use std::time::Duration;

#[test]
fn a_disconnected_client_resumes_its_ship_and_predicts() {
    let mut scene = Scene::new(9);
    let pilot = scene.join(DeliveryOrder::Unordered, network(50, 0.05));
    scene.run(Duration::from_secs(5));
    let (entity, player) = (scene.pilots[pilot].client.own_entity(), scene.pilots[pilot].player);
    let token = scene.pilots[pilot].client.welcome().expect("the client has joined").resume_token.clone();
    scene.disconnect(pilot);
    assert_eq!(*scene.pilots[pilot].client.phase(), ClientPhase::Resuming);
    let retry_at = scene.pilots[pilot].client.retry_at().expect("a retry is scheduled");
    assert!(retry_at > scene.now && retry_at < scene.now + Duration::from_millis(300));
    assert!(scene.pilots[pilot].client.own_state().is_some(), "the last known state is still displayed");
    scene.run(retry_at - scene.now);
    // With the other delivery order, as after a fallback to WebSocket.
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

fn join_options() -> JoinOptions {
    JoinOptions {
        token: Some(Token::new("login")),
        room: Some(RoomSelector::Code("ABCD".to_owned())),
        metadata: [("team", "red")].into(),
    }
}

fn client() -> Client<SandboxClient> {
    Client::new(SandboxClient, ClientSettings::default(), join_options())
}

fn hello(client: &mut Client<SandboxClient>) -> Hello {
    let sent = client.advance(Duration::ZERO).next().expect("a message");
    assert!(sent.reliable);
    let ClientMessage::Hello(hello) = sent.message else { panic!("{sent:?}") };
    hello
}

fn welcome(client: &Client<SandboxClient>, resume_token: Option<&str>) -> ServerMessage {
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

/// Room of the client.
fn room() -> RoomId {
    RoomId("room-1".to_owned())
}

fn rejection(code: ErrorCode) -> ServerMessage {
    ServerMessage::Error(ErrorNotice { code, ..ErrorNotice::default() })
}

/// Returns a joined client with a resume token.
fn joined() -> Client<SandboxClient> {
    let mut client = client();
    client.connected(DeliveryOrder::Ordered, Duration::ZERO);
    hello(&mut client);
    client.receive(welcome(&client, Some("first")), Duration::ZERO);
    assert_eq!(*client.phase(), ClientPhase::Joined);
    client.advance(Duration::ZERO).for_each(drop);
    client
}

#[test]
fn metadata_that_no_server_accepts_closes_the_client_with_the_reason() {
    let metadata = [("team", "x".repeat(513))].into();
    let mut client = Client::new(SandboxClient, ClientSettings::default(), JoinOptions { metadata, ..join_options() });
    client.connected(DeliveryOrder::Ordered, Duration::ZERO);
    assert_eq!(client.advance(Duration::ZERO).count(), 0, "no hello is sent");
    let ClientPhase::Closed(EndReason::JoinRejected(notice)) = client.phase().clone() else {
        panic!("{:?}", client.phase())
    };
    assert_eq!(notice.code, ErrorCode::BadMessage);
    assert_eq!(notice.message, "The field `metadata value` has more than 512 bytes.");
    assert!(client.events().any(|event| matches!(event, ClientEvent::Closed(EndReason::JoinRejected(_)))));
}

#[test]
fn a_resume_token_is_sent_until_it_is_answered() {
    let mut client = joined();
    client.disconnected(Duration::ZERO);
    // First no answer, then a temporary error, then the token has expired.
    for answer in [None, Some(ErrorCode::Unavailable), Some(ErrorCode::ResumeRefused)] {
        assert_eq!(*client.phase(), ClientPhase::Resuming);
        client.connected(DeliveryOrder::Ordered, Duration::ZERO);
        let resuming = hello(&mut client);
        assert_eq!(resuming.resume_token, Some(Token::new("first")));
        assert!(resuming.metadata.is_empty(), "the player keeps the metadata of its join");
        match answer {
            Some(code) => client.receive(rejection(code), Duration::ZERO),
            None => client.disconnected(Duration::ZERO),
        }
    }
    let again = hello(&mut client);
    assert_eq!(again.metadata, join_options().metadata);
    let same_room = Some(RoomSelector::Id(room()));
    assert_eq!((again.resume_token, again.token, again.room), (None, join_options().token, same_room));
}

#[test]
fn a_connection_that_replaces_another_resumes() {
    let mut client = joined();
    client.connected(DeliveryOrder::Unordered, Duration::ZERO);
    assert_eq!(hello(&mut client).resume_token, Some(Token::new("first")));
    client.receive(welcome(&client, Some("second")), Duration::ZERO);
    assert_eq!(*client.phase(), ClientPhase::Joined);
}

#[test]
fn a_failed_attempt_keeps_the_resume_token() {
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
fn a_client_with_an_expired_resume_token_joins_on_the_same_connection() {
    let mut client = joined();
    client.disconnected(Duration::ZERO);
    client.connected(DeliveryOrder::Ordered, Duration::ZERO);
    hello(&mut client);
    client.receive(rejection(ErrorCode::ResumeRefused), Duration::ZERO);
    assert_eq!(hello(&mut client).token, join_options().token);
    client.receive(welcome(&client, None), Duration::ZERO);
    assert_eq!(*client.phase(), ClientPhase::Joined);
    let resumed = client.events().filter_map(|event| match event {
        ClientEvent::Joined { resumed, .. } => Some(resumed),
        _ => None,
    });
    assert_eq!(resumed.collect::<Vec<_>>(), [false, false]);
}

#[test]
fn a_rejected_join_closes_the_client_or_is_retried() {
    for code in [ErrorCode::Unauthenticated, ErrorCode::RoomFull, ErrorCode::JoinRefused, ErrorCode::VersionMismatch] {
        let mut client = client();
        client.connected(DeliveryOrder::Ordered, Duration::ZERO);
        client.receive(rejection(code), Duration::ZERO);
        assert!(matches!(client.phase(), ClientPhase::Closed(EndReason::JoinRejected(notice)) if notice.code == code));
        assert_eq!(client.retry_at(), None);
        client.connected(DeliveryOrder::Ordered, Duration::ZERO);
        assert_eq!(client.advance(Duration::ZERO).count(), 0, "a closed client sends nothing");
    }
    let mut client = client();
    client.connected(DeliveryOrder::Ordered, Duration::ZERO);
    client.receive(rejection(ErrorCode::Unavailable), Duration::from_secs(1));
    assert_eq!(*client.phase(), ClientPhase::Connecting);
    assert!(client.retry_at().is_some_and(|at| at > Duration::from_secs(1)));
}

#[test]
fn the_close_reason_decides_about_a_retry() {
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
    assert_eq!(after(CloseReason::TooSlow, false), ClientPhase::Connecting, "the player cannot be resumed");
    assert_eq!(after(CloseReason::Shutdown, false), ClientPhase::Resuming, "a restarted server may know its players");
    assert_eq!(after(CloseReason::Unknown, true), ClientPhase::Resuming);
}

#[test]
fn a_closing_notice_with_a_deadline_changes_nothing_yet() {
    let mut client = joined();
    let notice = Closing { reason: CloseReason::Kicked, deadline_ms: 5_000, ..Closing::default() };
    client.receive(ServerMessage::Closing(notice), Duration::ZERO);
    assert_eq!(*client.phase(), ClientPhase::Joined);
    client.disconnected(Duration::ZERO);
    assert_eq!(*client.phase(), ClientPhase::Resuming);
}

#[test]
fn leaving_sends_a_message_and_closes_the_client() {
    let mut client = joined();
    client.leave();
    let sent: Vec<_> = client.advance(Duration::ZERO).map(|outgoing| outgoing.message).collect();
    assert_eq!(sent, [ClientMessage::Leave]);
    client.disconnected(Duration::ZERO);
    assert_eq!((client.phase(), client.retry_at()), (&ClientPhase::Closed(EndReason::Left), None));
}

#[test]
fn the_last_room_is_tried_before_the_room_of_the_join_options() {
    let mut client = client();
    client.connected(DeliveryOrder::Ordered, Duration::ZERO);
    hello(&mut client);
    client.receive(welcome(&client, None), Duration::ZERO);
    client.disconnected(Duration::ZERO);
    client.connected(DeliveryOrder::Ordered, Duration::ZERO);
    assert_eq!(hello(&mut client).room, Some(RoomSelector::Id(room())));
    client.receive(rejection(ErrorCode::RoomNotFound), Duration::ZERO);
    assert_eq!(hello(&mut client).room, join_options().room);
    client.receive(rejection(ErrorCode::RoomNotFound), Duration::ZERO);
    assert!(matches!(client.phase(), ClientPhase::Closed(EndReason::JoinRejected(_))), "no other room to try");
}
