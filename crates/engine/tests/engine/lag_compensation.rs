//! Lag compensation: the position of a target as a player saw it.

use crate::support::{Client, Scene, settings};
use aether_engine::RoomSettings;
use aether_wire::{EntityId, PlayerId, Tick, ViewTick};

const REWIND_TICKS: u16 = 20;

/// Returns a room in which a target was at x = tick at every tick, up to tick 60, and a player.
fn scene() -> (Scene, Client, EntityId) {
    let mut scene = Scene::new(RoomSettings { rewind_ticks: REWIND_TICKS, ..settings() });
    let ann = scene.join("ann");
    let target = scene.spawn_at([2.0, 0.0]);
    for tick in 3..=60 {
        scene.put(target, [tick as f32, 0.0]);
        scene.tick();
    }
    assert_eq!(scene.room.now(), Tick(60));
    (scene, ann, target)
}

/// Returns the position of `target` for a player whose last input was made at that view.
fn seen(scene: &mut Scene, client: &Client, target: EntityId, (tick, fraction): (u32, u8)) -> Option<[f32; 2]> {
    let (player, seq) = (client.player, scene.room.now().0);
    client.push_seeing(seq, 0.0, ViewTick { tick: Tick(tick), fraction });
    // The target rests in the tick of the shot.
    scene.now(move |room| room.position_seen_by(player, target))
}

#[test]
fn a_target_is_found_where_the_player_saw_it() {
    let (mut scene, ann, target) = scene();
    assert_eq!(seen(&mut scene, &ann, target, (55, 0)), Some([55.0, 0.0]));
    assert_eq!(seen(&mut scene, &ann, target, (52, 128)), Some([52.5, 0.0]));
    assert_eq!(seen(&mut scene, &ann, target, (52, 64)), Some([52.25, 0.0]));
}

#[test]
fn a_view_outside_the_history_counts_as_its_end() {
    let (mut scene, ann, target) = scene();
    let oldest = 60.0 - f32::from(REWIND_TICKS) + 1.0;
    assert_eq!(seen(&mut scene, &ann, target, (0, 0)), Some([oldest, 0.0]));
    let oldest = oldest + 1.0;
    assert_eq!(seen(&mut scene, &ann, target, (3, 0)), Some([oldest, 0.0]), "each tick forgets one");
    assert_eq!(seen(&mut scene, &ann, target, (u32::MAX, 255)), Some([60.0, 0.0]));
}

#[test]
fn the_view_of_the_newest_input_counts() {
    let (mut scene, ann, target) = scene();
    let (player, seq) = (ann.player, 100);
    ann.push_seeing(seq, 0.0, ViewTick { tick: Tick(50), fraction: 0 });
    scene.tick();
    ann.push_seeing(seq + 1, 0.0, ViewTick { tick: Tick(57), fraction: 0 });
    assert_eq!(scene.now(move |room| room.position_seen_by(player, target)), Some([57.0, 0.0]));
    assert_eq!(
        scene.now(move |room| room.position_seen_by(player, target)),
        Some([57.0, 0.0]),
        "until a newer one comes"
    );
}

#[test]
fn an_entity_that_did_not_exist_then_has_no_position() {
    let (mut scene, ann, _) = scene();
    let young = scene.spawn_at([5.0, 5.0]);
    assert_eq!(seen(&mut scene, &ann, young, (55, 0)), None);
    assert_eq!(seen(&mut scene, &ann, young, (61, 0)), Some([5.0, 5.0]));
    let other = EntityId { generation: young.generation + 1, ..young };
    assert_eq!(seen(&mut scene, &ann, other, (61, 0)), None);
    let stranger = PlayerId(77);
    assert_eq!(scene.now(move |room| room.position_seen_by(stranger, young)), None);
}

#[test]
fn a_room_without_history_finds_nothing() {
    let mut scene = Scene::new(settings());
    let ann = scene.join("ann");
    let target = scene.spawn_at([5.0, 5.0]);
    scene.ticks(5);
    assert_eq!(seen(&mut scene, &ann, target, (4, 0)), None);
}

#[test]
fn queries_find_entities_where_the_player_saw_them() {
    let (mut scene, ann, target) = scene();
    let player = ann.player;
    let find = move |scene: &mut Scene, (tick, fraction): (u32, u8), center: [f32; 2]| {
        ann.push_seeing(scene.room.now().0, 0.0, ViewTick { tick: Tick(tick), fraction });
        scene.now(move |room| {
            let mut found = Vec::new();
            room.query_seen_by(player).expect("there is a history").near(center, 0.1, &mut found);
            found.iter().map(|found| found.entity).collect::<Vec<_>>()
        })
    };
    assert_eq!(find(&mut scene, (55, 0), [55.0, 0.0]), [target]);
    assert_eq!(find(&mut scene, (55, 128), [55.5, 0.0]), [target]);
    assert_eq!(find(&mut scene, (55, 128), [55.0, 0.0]), []);
    assert_eq!(find(&mut scene, (u32::MAX, 0), [60.0, 0.0]), [target]);
    let stranger = PlayerId(77);
    assert!(scene.now(move |room| room.query_seen_by(stranger).is_none()));
    let seen = scene.now(move |room| room.position_3d_seen_by(player, target));
    assert_eq!(seen, Some([60.0, 0.0, 0.0]));
}

#[test]
fn a_room_without_history_has_no_past_queries() {
    let mut scene = Scene::new(settings());
    let ann = scene.join("ann").player;
    scene.spawn_at([5.0, 5.0]);
    assert!(scene.now(move |room| room.query_seen_by(ann).is_none()));
}
