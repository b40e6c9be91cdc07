//! Movement of entities that are not the player's.

use super::support::{Flyer, events, is_same, links, violations};
use aether_server::tokens::Role;
use aether_testkit_server::{TestServer, until};
use aether_wire::{ClientMessage, CommandSeq, EntityId, ErrorCode, Hello, PlaygroundSpawn, RoomSelector};
use std::collections::BTreeMap;

/// Returns a flyer whose ship is out of another's view.
async fn hidden_from(server: &TestServer, other: &Flyer) -> Flyer {
    for _ in 0..100 {
        let flyer = Flyer::join(server, links()[1]).await;
        let [dx, dy] = [0, 1].map(|axis| flyer.position[axis] - other.position[axis]);
        if dx.hypot(dy) > 300.0 {
            return flyer;
        }
    }
    panic!("most ships start out of view");
}

/// Returns a thing that a flyer sees and that belongs to another player.
async fn visible_thing(server: &TestServer, flyer: &mut Flyer) -> EntityId {
    let mut developer = server.join(links()[1].0, links()[1].1, &server.hello_as(Role::Developer, "sandbox")).await;
    let [x, y] = flyer.position;
    let spawn = PlaygroundSpawn { seq: CommandSeq(1), kind: "crate".to_owned(), x, y, rotation: 0.0 };
    developer.send(ClientMessage::PlaygroundSpawn(spawn)).await;
    assert_eq!(developer.answer(1).await, None);
    let is_there = |flyer: &Flyer| flyer.things.iter().find(|(_, at)| is_same(**at, [x, y])).map(|(id, _)| *id);
    flyer.read_until("the crate", |flyer| is_there(flyer).is_some()).await;
    is_there(flyer).expect("it is there")
}

/// Returns a flyer of another room whose ship has an id that is not another's. Ids are those of one room only.
async fn in_another_room(server: &TestServer, other: &Flyer) -> Flyer {
    let private = RoomSelector::NewPrivate { name: "sandbox".to_owned(), label: None };
    let hello = Hello { room: Some(private), ..server.hello("sandbox") };
    let mut flyer = Flyer::join_with(server, links()[1], &hello).await;
    while flyer.ship == other.ship {
        let room = RoomSelector::Code(flyer.player.welcome.room_code.clone());
        flyer = Flyer::join_with(server, links()[1], &Hello { room: Some(room), ..server.hello("sandbox") }).await;
    }
    assert_ne!(flyer.player.welcome.room, other.player.welcome.room);
    flyer
}

#[tokio::test(flavor = "multi_thread")]
async fn moving_a_foreign_hidden_or_distant_entity_is_answered_like_a_missing_one() {
    let server = TestServer::start(|_| {}).await;
    let mut refused = 0;
    for link in links() {
        let mut flyer = Flyer::join(&server, link).await;
        let crate_in_view = visible_thing(&server, &mut flyer).await;
        let mut hidden = hidden_from(&server, &flyer).await;
        let mut elsewhere = in_another_room(&server, &flyer).await;
        let generation = flyer.ship.generation + 1;
        let cases = [
            EntityId { slot: u32::MAX, generation: u16::MAX },
            EntityId { generation, ..flyer.ship },
            crate_in_view,
            hidden.ship,
            elsewhere.ship,
        ];
        assert!(!cases.contains(&flyer.ship), "{cases:?}");
        let mut notices = Vec::new();
        for entity in cases {
            let movement = flyer.movement(entity, [1.0, 0.0]);
            flyer.player.send(ClientMessage::MovementDelta(movement)).await;
            notices.push(flyer.notice().await);
        }
        assert_eq!((notices[0].code, notices[0].fatal), (ErrorCode::NotFound, false));
        assert!(notices.iter().all(|notice| *notice == notices[0]), "{link:?}: {notices:?}");
        refused += cases.len() as u64;
        until("all are counted", || events(&server, "refused") == refused).await;
        // The owner can still move its ship, from where it was.
        for (owner, what) in [(&mut hidden, "hidden"), (&mut elsewhere, "elsewhere"), (&mut flyer, "own")] {
            let [x, y] = owner.position;
            owner.step([1.0, 0.0]).await;
            assert!(is_same(owner.position, [x + 1.0, y]), "{link:?}, {what}: {:?}", owner.position);
        }
    }
    assert_eq!((violations(&server), events(&server, "corrections")), (BTreeMap::new(), 0));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_game_that_moves_by_inputs_says_so() {
    let server = TestServer::start(|_| {}).await;
    for (transport, encoding) in links() {
        let mut player = server.join(transport, encoding, &server.hello("outpost")).await;
        let entity = player.possession().await;
        let movement = aether_wire::MovementDelta {
            entity,
            seq: aether_wire::InputSeq(1),
            dx: 1.0,
            ..aether_wire::MovementDelta::default()
        };
        player.send(ClientMessage::MovementDelta(movement)).await;
        let notice = player
            .wait("an error", |message| match message {
                aether_wire::ServerMessage::Error(notice) => Some(notice),
                _ => None,
            })
            .await;
        assert_eq!((notice.code, notice.fatal), (ErrorCode::UnknownCommand, false));
        assert!(notice.message.contains("send inputs"), "{}", notice.message);
    }
    server.stop().await;
}
