//! Relay rooms.

use aether_net::relay::{RELAY_JOINED, RELAY_LEFT};
use aether_testkit_server::{Encoding, JSON, PROTOBUF, TRANSPORTS, TestPlayer, TestServer, TransportKind};
use aether_wire::{ClientMessage, CommandSeq, ErrorCode, Event, GameBody, GameMessage, PlayerId, ServerMessage};
use std::collections::BTreeMap;

/// Messages that each member sends. They are within the burst of the rate limit.
const MESSAGES: u32 = 50;

fn say(seq: u32, code: u16, payload: &[u8]) -> ClientMessage {
    let body = GameBody::Packed { code, payload: payload.to_vec() };
    ClientMessage::Game(GameMessage { seq: CommandSeq(seq), body })
}

/// Returns the next event: sender, code and payload.
async fn event(player: &mut TestPlayer) -> (PlayerId, u16, Vec<u8>) {
    player
        .wait("an event", |message| match message {
            ServerMessage::Event(Event { sender: Some(sender), body: GameBody::Packed { code, payload }, .. }) => {
                Some((sender, code, payload))
            }
            _ => None,
        })
        .await
}

fn kinds() -> impl Iterator<Item = (TransportKind, Encoding)> {
    TRANSPORTS.into_iter().flat_map(|transport| [(transport, JSON), (transport, PROTOBUF)])
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_reach_all_other_members_once_and_in_order() {
    let server = TestServer::start(|_| {}).await;
    let mut members = Vec::new();
    for (transport, encoding) in kinds() {
        members.push(server.join(transport, encoding, &server.hello("relay")).await);
    }
    for number in 0..MESSAGES {
        for member in &mut members {
            member.send(say(0, 7, &number.to_le_bytes())).await;
        }
    }
    let ids: Vec<PlayerId> = members.iter().map(|member| member.welcome.player).collect();
    for (member, kind) in members.iter_mut().zip(kinds()) {
        let own = member.welcome.player;
        let mut heard: BTreeMap<PlayerId, u32> = BTreeMap::new();
        while heard.values().sum::<u32>() < MESSAGES * 3 {
            let (sender, code, payload) = event(member).await;
            assert_ne!(sender, own, "a sender does not get its own message");
            if code == 7 {
                let expected = heard.entry(sender).or_default();
                assert_eq!(payload, expected.to_le_bytes(), "{kind:?} from {sender:?}");
                *expected += 1;
            }
        }
        let others = ids.iter().filter(|id| **id != own).map(|id| (*id, MESSAGES));
        assert!(others.eq(heard), "{kind:?}");
    }
    // A duplicate would arrive before this message.
    members[0].send(say(1, 8, b"last")).await;
    assert_eq!(members[0].answer(1).await, None);
    for member in &mut members[1..] {
        let (_, code, payload) = event(member).await;
        assert_eq!((code, &payload[..]), (8, &b"last"[..]));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_get_the_list_of_members_and_joins_and_leaves() {
    let server = TestServer::start(|_| {}).await;
    for (first, (second_transport, second_encoding)) in kinds().zip(kinds().skip(1).chain(kinds().take(1))) {
        let mut stays = server.join(first.0, first.1, &server.hello("relay")).await;
        let mut comes = server.join(second_transport, second_encoding, &server.hello("relay")).await;
        let (stays_id, comes_id) = (stays.welcome.player, comes.welcome.player);
        assert_ne!(stays_id, comes_id);
        assert!(stays.welcome.resume_token.is_none() && stays.welcome.tick_hz == 0);
        let (sender, code, name) = event(&mut comes).await;
        assert_eq!((sender, code), (stays_id, RELAY_JOINED));
        assert!(name.starts_with(b"player-"));
        let (sender, code, _) = event(&mut stays).await;
        assert_eq!((sender, code), (comes_id, RELAY_JOINED));
        comes.send(ClientMessage::Leave).await;
        let (sender, code, _) = event(&mut stays).await;
        assert_eq!((sender, code), (comes_id, RELAY_LEFT));
        stays.send(ClientMessage::Leave).await;
        stays.end().await;
        comes.end().await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_cannot_use_the_codes_of_the_room() {
    let server = TestServer::start(|_| {}).await;
    for (transport, encoding) in kinds() {
        let mut member = server.join(transport, encoding, &server.hello("relay")).await;
        for code in [RELAY_JOINED, RELAY_LEFT] {
            member.send(say(u32::from(code), code, b"eve")).await;
            let error = member.answer(u32::from(code)).await.expect("the request is rejected");
            assert_eq!(error.code, ErrorCode::BadValue);
        }
    }
    server.stop().await;
}
