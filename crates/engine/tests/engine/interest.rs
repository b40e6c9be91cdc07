//! Interest: what a player sees by its position.

use crate::support::{Client, Scene, Scoreboard, Secret, settings};
use aether_engine::{RoomSettings, Viewpoint};
use aether_space::InterestSettings;
use aether_wire::EntityId;

fn sees(client: &Client, entity: EntityId) -> bool {
    client.mirror.contains(entity)
}

#[test]
fn entities_outside_the_radius_are_never_sent() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    let far: Vec<_> = (0..20).map(|i| scene.spawn_at([400.0 + 10.0 * i as f32, 0.0])).collect();
    let near = scene.spawn_at([150.0, 0.0]);
    for tick in 0..40 {
        // They move and are spawned and despawned, all outside the radius.
        for &entity in &far {
            scene.put(entity, [400.0 + tick as f32, tick as f32]);
        }
        scene.play(1, &mut [&mut ann]);
    }
    let gone = far[0];
    scene.next(move |room| assert!(room.world.despawn(gone)));
    scene.play(3, &mut [&mut ann]);
    assert!(ann.ever.contains(&near));
    assert!(far.iter().all(|entity| !ann.ever.contains(entity)));
    let board = scene.room.world().each::<Scoreboard>().next().unwrap().0;
    let secret = scene.room.world().each::<Secret>().next().unwrap().0;
    assert_eq!(ann.ever, [board, ann.possession().unwrap(), secret, near].into());
}

#[test]
fn entities_enter_at_the_radius_and_leave_beyond_the_hysteresis_as_the_player_moves() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    let landmark = scene.spawn_at([500.0, 0.0]);
    scene.play(1, &mut [&mut ann]);
    let body = ann.possession().unwrap();
    // A radius of 200 and a tenth of hysteresis: enters at 300, leaves before 280.
    for (x, seen) in [
        (299.0, false),
        (300.0, true),
        (290.0, true),
        (280.5, true),
        (279.0, false),
        (290.0, false),
        (299.5, false),
        (301.0, true),
    ] {
        scene.put(body, [x, 0.0]);
        scene.play(1, &mut [&mut ann]);
        assert_eq!(sees(&ann, landmark), seen, "from {x}");
        assert!(scene.agrees_with(&ann));
    }
}

#[test]
fn an_entity_that_enters_again_has_its_newest_state() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    let landmark = scene.spawn_at([100.0, 0.0]);
    scene.play(1, &mut [&mut ann]);
    let body = ann.possession().unwrap();
    scene.put(body, [-500.0, 0.0]);
    scene.play(1, &mut [&mut ann]);
    assert!(!sees(&ann, landmark));
    scene.put(landmark, [101.0, 7.0]);
    scene.play(5, &mut [&mut ann]);
    scene.put(body, [10.0, 0.0]);
    scene.play(1, &mut [&mut ann]);
    assert_eq!(ann.place(landmark), Some([101.0, 7.0]));
}

#[test]
fn in_a_crowd_only_the_nearest_are_seen() {
    let interest = InterestSettings { nearest_max: Some(5), ..InterestSettings::default() };
    let mut scene = Scene::new(RoomSettings { interest: Some(interest), ..settings() });
    let crowd: Vec<_> = (1..=20).map(|i| scene.spawn_at([10.0, 3.0 * i as f32])).collect();
    let mut ann = scene.join("ann");
    scene.play(5, &mut [&mut ann]);
    assert_eq!(ann.crates(), 5, "its own and the four nearest");
    assert!(crowd[..4].iter().all(|&entity| sees(&ann, entity)));
    assert!(crowd[4..].iter().all(|entity| !ann.ever.contains(entity)));
    let board = scene.room.world().each::<Scoreboard>().next().unwrap().0;
    assert!(sees(&ann, board), "entities without position do not count");
}

#[test]
fn without_interest_everyone_sees_everything() {
    let mut scene = Scene::new(RoomSettings { interest: None, ..settings() });
    let corners = [[-1000.0, -1000.0], [1000.0, 1000.0]].map(|place| scene.spawn_at(place));
    let mut ann = scene.join("ann");
    ann.read();
    assert!(corners.iter().all(|&entity| sees(&ann, entity)));
}

#[test]
fn a_viewpoint_may_be_a_fixed_position() {
    let mut scene = Scene::new(settings());
    let there = scene.spawn_at([800.0, 800.0]);
    let mut ann = scene.join("ann");
    scene.play(1, &mut [&mut ann]);
    let (player, body) = (ann.player, ann.possession().unwrap());
    scene.next(move |room| room.set_viewpoint(player, Viewpoint::At([790.0, 800.0])));
    scene.play(1, &mut [&mut ann]);
    assert!(sees(&ann, there) && !sees(&ann, body));
    scene.next(move |room| room.set_viewpoint(player, Viewpoint::Possession));
    scene.play(1, &mut [&mut ann]);
    assert!(!sees(&ann, there) && sees(&ann, body));
}

#[test]
fn a_spectator_may_see_everything_but_no_secrets() {
    let mut scene = Scene::new(settings());
    let corners = [[-1000.0, -1000.0], [1000.0, 1000.0]].map(|place| scene.spawn_at(place));
    let _ann = scene.join("ann");
    let mut eve = scene.join("eve");
    let spectator = eve.player;
    scene.next(move |room| room.set_viewpoint(spectator, Viewpoint::Everything));
    scene.play(2, &mut [&mut eve]);
    assert!(corners.iter().all(|&entity| sees(&eve, entity)));
    let world = scene.room.world();
    let secrets = world.each::<Secret>().map(|(id, _)| id).filter(|&id| world.owner(id) != Some(spectator));
    assert_eq!(secrets.filter(|id| eve.ever.contains(id)).count(), 0);
    assert!(scene.agrees_with(&eve));
}

#[test]
fn a_player_without_possession_sees_only_entities_without_position() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    scene.play(1, &mut [&mut ann]);
    let body = ann.possession().unwrap();
    scene.next(move |room| assert!(room.world.despawn(body)));
    scene.play(1, &mut [&mut ann]);
    assert_eq!(ann.crates(), 0);
    assert_eq!(ann.mirror.entities().count(), 2, "the scoreboard and its secret");
}

#[test]
fn positions_at_the_edge_of_the_world_and_beyond_are_seen_like_any_other() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    scene.play(1, &mut [&mut ann]);
    scene.put(ann.possession().unwrap(), [f32::INFINITY, f32::NEG_INFINITY]);
    let corner = scene.spawn_at([1e9, -1e9]);
    scene.play(2, &mut [&mut ann]);
    assert_eq!(ann.own_place(), Some([1000.0, -1000.0]));
    assert_eq!(ann.place(corner), Some([1000.0, -1000.0]));
}
