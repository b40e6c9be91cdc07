//! Playground commands.

use crate::support::{Client, Crate, Scene, settings};
use aether_engine::RoomSettings;
use aether_wire::limits::STRESS_ENTITIES_MAX;
use aether_wire::{
    ClientMessage, CloseReason, CommandSeq, ErrorCode, Permissions, PlayerId, PlaygroundClear, PlaygroundSpawn,
    PlaygroundStress, ServerMessage,
};

fn spawn(seq: u32, x: f32) -> ClientMessage {
    let kind = "crate".to_owned();
    ClientMessage::PlaygroundSpawn(PlaygroundSpawn { seq: CommandSeq(seq), kind, x, y: 0.0, rotation: 0.0 })
}

fn clear(seq: u32) -> ClientMessage {
    ClientMessage::PlaygroundClear(PlaygroundClear { seq: CommandSeq(seq) })
}

fn stress(seq: u32, count: u32) -> ClientMessage {
    ClientMessage::PlaygroundStress(PlaygroundStress { seq: CommandSeq(seq), count, rotate: false })
}

fn error(client: &Client, seq: u32) -> Option<ErrorCode> {
    client.ack(seq).unwrap().error.map(|error| error.code)
}

fn roomy() -> RoomSettings {
    RoomSettings { entities_max: 5_000, ..settings() }
}

#[test]
fn without_permission_every_command_is_rejected_counted_and_audited() {
    let mut scene = Scene::new(roomy());
    let mut ann = scene.join("ann");
    let entities = scene.room.world().len();
    for (seq, message) in [(1, spawn(1, 0.0)), (2, clear(2)), (3, stress(3, 10)), (4, stress(4, u32::MAX))] {
        ann.send(message);
        scene.play(1, &mut [&mut ann]);
        assert_eq!(error(&ann, seq), Some(ErrorCode::Forbidden));
    }
    assert_eq!(scene.room.world().len(), entities);
    assert_eq!((scene.totals().unprivileged, scene.totals().refused), (4, 4));
    let actions: Vec<_> = scene.watch.audits.iter().map(|(_, _, action, allowed)| (*action, *allowed)).collect();
    let [spawn, clear, stress] = ["playground.spawn", "playground.clear", "playground.stress"];
    assert_eq!(actions, [(spawn, false), (clear, false), (stress, false), (stress, false)]);
    assert!(scene.watch.audits.iter().all(|(player, user, ..)| *player == ann.player && user == "user-ann"));
    assert_eq!(ann.closed(), None);
}

#[test]
fn with_permission_an_entity_is_spawned_at_the_position_and_owned_by_the_caller() {
    let mut scene = Scene::new(roomy());
    let mut dev = scene.join_developer("dev");
    dev.read();
    dev.send(spawn(1, 33.0));
    scene.play(1, &mut [&mut dev]);
    assert_eq!(error(&dev, 1), None);
    let (id, _) = scene.room.world().each::<Crate>().find(|(_, body)| body.position == [33.0, 0.0]).unwrap();
    assert_eq!(scene.room.world().owner(id), Some(dev.player));
    assert_eq!(dev.place(id), Some([33.0, 0.0]));
    assert_eq!(scene.watch.audits, [(dev.player, "user-dev".to_owned(), "playground.spawn", true)]);
    assert_eq!(scene.totals().unprivileged, 0);
}

#[test]
fn changed_permissions_apply_from_the_next_tick_and_are_replayed() {
    let mut scene = Scene::new(roomy());
    let mut ann = scene.join("ann");
    let playground = Permissions { playground: true, ..Permissions::default() };
    for (seq, permissions, expected) in
        [(1, playground, None), (2, Permissions::default(), Some(ErrorCode::Forbidden)), (3, playground, None)]
    {
        scene.handle.set_permissions(ann.player, permissions).unwrap();
        ann.send(spawn(seq, 0.0));
        scene.play(1, &mut [&mut ann]);
        assert_eq!(error(&ann, seq), expected);
    }
    scene.handle.set_permissions(PlayerId(99), playground).unwrap();
    scene.tick();
    assert_eq!(scene.totals().unprivileged, 1);
    scene.assert_replays();
}

#[test]
fn a_removed_player_leaves_at_the_next_tick_with_the_reason_connected_or_not() {
    let mut scene = Scene::new(RoomSettings { resume_ticks: 1_000, ..roomy() });
    let (ann, bob) = (scene.join("ann"), scene.join("bob"));
    let (ann_id, bob_id) = (ann.player, bob.player);
    drop(bob);
    scene.ticks(2);
    assert_eq!(scene.room.players(), 2, "a lost connection may resume");
    for player in [ann_id, bob_id, PlayerId(99)] {
        scene.handle.remove(player, CloseReason::SessionEnded).unwrap();
    }
    scene.tick();
    assert_eq!(scene.room.players(), 0);
    assert_eq!(ann.closed(), Some(CloseReason::SessionEnded));
    let departures: Vec<_> = std::iter::from_fn(|| scene.handle.next_departure()).collect();
    assert_eq!(departures, [(ann_id, CloseReason::SessionEnded), (bob_id, CloseReason::SessionEnded)]);
    scene.assert_replays();
}

#[test]
fn a_stress_test_spawns_a_thousand_and_not_one_more() {
    let mut scene = Scene::new(roomy());
    let mut dev = scene.join_developer("dev");
    let before = scene.room.world().len();
    dev.send(stress(1, STRESS_ENTITIES_MAX));
    scene.play(1, &mut [&mut dev]);
    assert_eq!(error(&dev, 1), None);
    assert_eq!(scene.room.world().len(), before + 1_000);
    for (seq, count) in [(2, STRESS_ENTITIES_MAX + 1), (3, u32::MAX)] {
        dev.send(stress(seq, count));
        scene.play(1, &mut [&mut dev]);
        assert_eq!(error(&dev, seq), Some(ErrorCode::BadValue));
    }
    assert_eq!(scene.room.world().len(), before + 1_000);
}

#[test]
fn clearing_ends_everything_and_everyone_joins_anew() {
    let mut scene = Scene::new(roomy());
    let mut dev = scene.join_developer("dev");
    let mut ann = scene.join("ann");
    dev.send(stress(1, 100));
    scene.play(2, &mut [&mut dev, &mut ann]);
    let before: Vec<_> = scene.room.world().entities().collect();
    let possessions = [dev.possession().unwrap(), ann.possession().unwrap()];
    dev.reliable.clear();
    dev.send(clear(2));
    scene.play(1, &mut [&mut dev, &mut ann]);
    assert!(before.iter().all(|&entity| !scene.room.world().contains(entity)));
    assert!(before.iter().all(|&entity| !dev.mirror.contains(entity) && !ann.mirror.contains(entity)));
    let kinds: Vec<_> = dev.reliable.iter().map(|message| message.name()).collect();
    assert_eq!(kinds, ["ack", "cleared", "possession"], "acknowledged first, then cleared, then a new beginning");
    let cleared = ann.reliable.iter().find_map(|message| match &**message {
        ServerMessage::Cleared(cleared) => Some(cleared.tick),
        _ => None,
    });
    assert_eq!(cleared, Some(scene.room.now()));
    for (client, before) in [(&dev, possessions[0]), (&ann, possessions[1])] {
        let body = client.possession().unwrap();
        assert_ne!(body, before);
        assert_eq!(client.own_place(), Some(crate::support::home(client.player)));
        assert_eq!(scene.room.world().owner(body), Some(client.player));
        assert!(scene.agrees_with(client));
    }
    assert_eq!(scene.room.players(), 2);
}

#[test]
fn clearing_again_and_again_leaks_nothing() {
    let mut scene = Scene::new(roomy());
    let mut dev = scene.join_developer("dev");
    scene.play(1, &mut [&mut dev]);
    dev.send(clear(1));
    scene.play(1, &mut [&mut dev]);
    let entities = scene.room.world().len();
    for seq in 2..50 {
        dev.send(stress(1_000 + seq, 50));
        dev.send(clear(seq));
        dev.push(seq, &[1.0]);
        scene.play(1, &mut [&mut dev]);
        assert_eq!(scene.room.world().len(), entities);
        assert!(scene.agrees_with(&dev));
    }
}

#[test]
fn spawns_beyond_the_entity_limit_fail_and_are_counted() {
    let mut scene = Scene::new(RoomSettings { entities_max: 10, ..settings() });
    let mut dev = scene.join_developer("dev");
    assert_eq!(scene.room.world().len(), 3);
    dev.send(stress(1, 9));
    scene.play(1, &mut [&mut dev]);
    assert_eq!(error(&dev, 1), Some(ErrorCode::LimitReached));
    assert_eq!((scene.room.world().len(), scene.totals().spawns_refused), (10, 1));
    dev.send(spawn(2, 0.0));
    scene.play(1, &mut [&mut dev]);
    assert_eq!(error(&dev, 2), Some(ErrorCode::LimitReached));
    assert_eq!((scene.room.world().len(), scene.totals().spawns_refused), (10, 2));
}

#[test]
fn the_default_room_holds_three_hundred_entities() {
    let mut scene = Scene::new(RoomSettings::default());
    let mut dev = scene.join_developer("dev");
    dev.send(stress(1, 1_000));
    scene.play(2, &mut [&mut dev]);
    assert_eq!(scene.room.world().len(), 300);
    assert_eq!(scene.totals().spawns_refused, 1, "the game stopped at the first rejection");
}
