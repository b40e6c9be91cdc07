//! Settings of a room type in the configuration change what clients see.

use super::{Order, Program, mirror, order_message, read_state, ships, steps, until_state};
use aether_engine::{IndexKind, InterestSettings, RoomSettings, UpdateRing, WorldBounds};
use aether_replication::{DeliveryOrder, Mirror};
use aether_sandbox_rules::Ship;
use aether_server::config::{Config, RoomOverrides};
use aether_testkit_server::{PROTOBUF, TestPlayer, TransportKind};
use aether_wire::{ClientMessage, ClientTime, Correction, InputSeq, MovementDelta, ServerMessage};
use std::collections::BTreeMap;

const MOVE: Order = Order { moves: true, burn_ms: 0 };

/// Number of ships: more than a player sees by any of the settings below.
const SHIPS: u32 = 120;

/// Starts a program with a room type as declared, one with settings of the configuration, and a small one.
async fn start(change: impl FnOnce(&mut RoomOverrides)) -> Program {
    let types = ["plain", "set", "small"].map(|name| (name, RoomSettings::default(), SHIPS));
    let change = |config: &mut Config| {
        change(config.room_mut("set"));
        config.room_mut("small").entities_max = Some(50);
    };
    Program::start(&types, change).await
}

async fn join(program: &Program, room_type: &str) -> (TestPlayer, Mirror) {
    let player = program.join(TransportKind::WebSocket, PROTOBUF, room_type).await;
    (player, mirror(DeliveryOrder::Ordered, &RoomSettings::default()))
}

async fn propose(player: &mut TestPlayer, seq: u32, entity: aether_wire::EntityId, dx: f32) -> Correction {
    let (seq, client_time) = (InputSeq(seq), ClientTime(1));
    player.send(ClientMessage::MovementDelta(MovementDelta { entity, seq, dx, dy: 0.0, client_time })).await;
    player
        .wait("a correction", |message| match message {
            ServerMessage::Correction(correction) => Some(correction),
            _ => None,
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn bounds_and_movement_rules_of_a_room_type_limit_its_players() {
    let program = start(|room| {
        room.bounds = Some(WorldBounds { min: [-3.0, -4.0], max: [3.0, 4.0] });
        room.speed_max = Some(2.0);
        room.acceleration_max = Some(2.0);
        room.teleport_min = Some(9.0);
    })
    .await;
    let (mut plain, _) = join(&program, "plain").await;
    let (mut set, _) = join(&program, "set").await;
    assert_eq!((plain.welcome.world.min.x, plain.welcome.world.max.y), (-1000.0, 1000.0));
    let world = set.welcome.world;
    assert_eq!((world.min.x, world.min.y, world.max.x, world.max.y), (-3.0, -4.0, 3.0, 4.0));

    // A movement above the speed limit is shortened to what the rules of the type allow.
    let (of_plain, of_set) = (plain.possession().await, set.possession().await);
    let corrected = propose(&mut plain, 1, of_plain, 8.0).await;
    assert_eq!((corrected.position.x, corrected.velocity.x), (2.0, 2.0), "5 units a tick, but 2 more than before");
    let corrected = propose(&mut set, 1, of_set, 8.0).await;
    assert_eq!((corrected.position.x, corrected.velocity.x), (2.0, 2.0));
    let corrected = propose(&mut plain, 2, of_plain, 8.0).await;
    assert_eq!(corrected.position.x, 6.0, "4 units a tick");
    let corrected = propose(&mut set, 2, of_set, 8.0).await;
    assert_eq!(corrected.position.x, 3.0, "at the speed limit, and no farther than the bounds");
    let corrected = propose(&mut set, 3, of_set, 10.0).await;
    assert_eq!((corrected.position.x, corrected.velocity.x), (3.0, 0.0), "a teleport is rejected");
    let violations = |kind: &str| program.events("set", kind);
    assert_eq!((violations("movement_speed"), violations("movement_teleport")), (2.0, 1.0));
    program.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_nearest_entities_and_the_entity_limit_are_settings_of_a_room_type() {
    let program = start(|room| room.nearest_max = Some(10)).await;
    let (mut player, mut shown) = join(&program, "plain").await;
    // The radius of 200 holds the own ship and 83 of the row.
    until_state(&mut player, &mut shown, "84 ships", |shown| ships(shown).len() == 84).await;
    let (mut player, mut shown) = join(&program, "set").await;
    until_state(&mut player, &mut shown, "ten ships", |shown| ships(shown).len() == 10).await;
    let farthest = ships(&shown).values().map(|ship| ship.position[0]).fold(0.0, f32::max);
    assert!(farthest < 22.0, "the nearest ones are shown, not one at {farthest}");
    // The ships and the player do not fit the small room.
    join(&program, "small").await;
    assert!(program.events("small", "spawns_refused") >= 1.0);
    program.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rings_of_a_room_type_decide_how_often_a_change_is_sent() {
    let ring = |distance, interval| UpdateRing { distance, interval };
    let program = start(|room| room.rings = Some(vec![ring(12.0, 1), ring(200.0, 5)])).await;
    // Share of the states in which a ship has moved: of a near one, and of one in the second ring.
    let mut shares = BTreeMap::new();
    for room_type in ["plain", "set"] {
        let (mut player, mut shown) = join(&program, room_type).await;
        player.send(order_message(&MOVE)).await;
        until_state(&mut player, &mut shown, "steps", |shown| steps(shown) > Some(20) && ships(shown).len() > 30).await;
        let at = |shown: &Mirror, place: f32| {
            let near = |ship: &Ship| (ship.position[0] - place).abs() <= 1.1 && ship.position[0] > 1.2;
            ships(shown).into_iter().find(|(_, ship)| near(ship)).map(|(entity, _)| entity).expect("it is shown")
        };
        let entities = [at(&shown, 4.8), at(&shown, 48.0)];
        let mut moved = [0; 2];
        for _ in 0..50 {
            let before = entities.map(|entity| shown.get::<Ship>(entity).cloned());
            read_state(&mut player, &mut shown).await;
            for (moved, (entity, before)) in moved.iter_mut().zip(entities.into_iter().zip(before)) {
                *moved += u32::from(shown.get::<Ship>(entity).cloned() != before);
            }
        }
        shares.insert(room_type, moved);
    }
    assert!(shares["plain"][0] >= 48 && shares["plain"][1] >= 48, "both are in the first ring: {shares:?}");
    assert!(shares["set"][0] >= 48, "{shares:?}");
    assert!((8..=14).contains(&shares["set"][1]), "every fifth snapshot: {shares:?}");
    program.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hysteresis_of_a_room_type_keeps_entities_at_the_border_in_sight() {
    // The ships at the border of this radius roam across it.
    let radius = 24.0;
    let program = start(|room| {
        room.interest_radius = Some(radius);
        room.hysteresis = Some(0.0);
    })
    .await;
    let interest = InterestSettings { radius, ..InterestSettings::default() };
    let wide = RoomSettings { interest: Some(interest), ..RoomSettings::default() };
    let steady = Program::start(&[("wide", wide, SHIPS)], |config| {
        config.room_mut("wide").hysteresis = Some(0.2);
    })
    .await;
    let watch = async |program: &Program, room_type: &str, steps_end: u32| {
        let (mut player, mut shown) = join(program, room_type).await;
        player.send(order_message(&MOVE)).await;
        until_state(&mut player, &mut shown, "20 steps", |shown| steps(shown) > Some(20)).await;
        while steps(&shown) < Some(steps_end) {
            read_state(&mut player, &mut shown).await;
            if !shown.left().is_empty() {
                return steps(&shown);
            }
        }
        None
    };
    let departure = watch(&program, "set", 800).await;
    let departure = departure.expect("without hysteresis, the ship at the border leaves the view");
    let kept = watch(&steady, "wide", departure + 100).await;
    assert_eq!(kept, None, "with it, the ship stays in view");
    steady.stop().await;
    program.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_see_the_same_with_either_index() {
    let settings = RoomSettings { snapshot_hz: 40, ..RoomSettings::default() };
    let types = [("grid", settings.clone(), SHIPS), ("quadtree", settings.clone(), SHIPS)];
    let program = Program::start(&types, |config| {
        config.room_mut("quadtree").index = Some(IndexKind::Quadtree);
        config.room_mut("quadtree").nearest_max = Some(30);
        config.room_mut("grid").nearest_max = Some(30);
    })
    .await;
    let mut seen = Vec::new();
    for room_type in ["grid", "quadtree"] {
        let (mut player, mut shown) = join(&program, room_type).await;
        player.send(order_message(&MOVE)).await;
        let mut states = BTreeMap::new();
        while steps(&shown) < Some(200) {
            read_state(&mut player, &mut shown).await;
            let visible: Vec<_> = ships(&shown).into_keys().collect();
            states.insert(steps(&shown), visible);
        }
        seen.push(states);
    }
    let both: Vec<_> = seen[0].iter().filter_map(|(step, grid)| Some((grid, seen[1].get(step)?))).collect();
    assert!(both.len() > 50, "only {} common states", both.len());
    for (grid, quadtree) in both {
        assert_eq!(grid, quadtree);
        assert_eq!(grid.len(), 30);
    }
    program.stop().await;
}
