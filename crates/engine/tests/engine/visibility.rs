//! Visibility: what a player may see, regardless of distance.

use crate::support::{Crate, Scene, Secret, settings};
use aether_wire::{EntityId, PlayerId};
use aether_world::Visibility;

/// Spawns a crate near the players with limited visibility.
fn hidden_crate(scene: &mut Scene, owner: Option<PlayerId>, visibility: Visibility) -> EntityId {
    scene.now(move |room| {
        let entity = room.world.spawn(Crate { position: [12.0, 0.0], velocity: [0.0; 2] }).unwrap();
        room.world.set_owner(entity, owner);
        room.world.set_visibility(entity, visibility);
        entity
    })
}

/// Moves an entity for a while in view of everyone.
fn stir(scene: &mut Scene, entity: EntityId, clients: &mut [&mut crate::support::Client]) {
    for step in 0..10 {
        scene.put(entity, [12.0 + step as f32, 0.0]);
        scene.play(1, clients);
    }
}

#[test]
fn an_owner_only_entity_is_in_no_byte_for_other_players() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    let mut ben = scene.join("ben");
    for round in 0..20u32 {
        scene.next(move |room| room.world.each_mut::<Secret>(|_, secret| secret.code = round));
        scene.play(1, &mut [&mut ann, &mut ben]);
    }
    let world = scene.room.world();
    for (secret, value) in world.each::<Secret>() {
        let (owner, other) = if world.owner(secret) == Some(ann.player) { (&ann, &ben) } else { (&ben, &ann) };
        assert_eq!(owner.mirror.get::<Secret>(secret), Some(value));
        assert!(!other.ever.contains(&secret));
    }
}

#[test]
fn an_owner_only_entity_with_a_new_owner_leaves_one_player_and_enters_for_the_other() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    let mut ben = scene.join("ben");
    let (a, b) = (ann.player, ben.player);
    let treasure = hidden_crate(&mut scene, Some(a), Visibility::Owner);
    scene.play(2, &mut [&mut ann, &mut ben]);
    assert!(ann.mirror.contains(treasure) && !ben.ever.contains(&treasure));
    scene.next(move |room| room.world.set_owner(treasure, Some(b)));
    scene.play(1, &mut [&mut ann, &mut ben]);
    assert!(!ann.mirror.contains(treasure) && ben.mirror.contains(treasure));
}

#[test]
fn a_team_sees_its_own() {
    let mut scene = Scene::new(settings());
    let mut clients = ["ann", "ben", "cleo"].map(|name| scene.join(name));
    scene.next(|room| {
        room.set_team(PlayerId(1), Some(1));
        room.set_team(PlayerId(2), Some(2));
    });
    let flag = hidden_crate(&mut scene, None, Visibility::Team(1));
    let [ann, ben, cleo] = &mut clients;
    stir(&mut scene, flag, &mut [ann, ben, cleo]);
    assert!(ann.mirror.contains(flag));
    assert!(!ben.ever.contains(&flag) && !cleo.ever.contains(&flag));
    scene.next(|room| {
        room.set_team(PlayerId(1), None);
        room.set_team(PlayerId(3), Some(1));
    });
    scene.play(1, &mut [ann, ben, cleo]);
    assert!(!ann.mirror.contains(flag) && cleo.mirror.contains(flag));
    assert!(!ben.ever.contains(&flag));
}

#[test]
fn the_game_decides_player_by_player_and_snapshot_by_snapshot() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    let mut ben = scene.join("ben");
    let fogged = hidden_crate(&mut scene, None, Visibility::Game);
    stir(&mut scene, fogged, &mut [&mut ann, &mut ben]);
    assert!(!ann.ever.contains(&fogged) && !ben.ever.contains(&fogged));
    scene.revealed.lock().unwrap().insert((ann.player, fogged));
    scene.play(1, &mut [&mut ann, &mut ben]);
    assert!(ann.mirror.contains(fogged) && !ben.ever.contains(&fogged));
    scene.revealed.lock().unwrap().clear();
    scene.play(1, &mut [&mut ann, &mut ben]);
    assert!(!ann.mirror.contains(fogged));
}

#[test]
fn an_entity_that_becomes_public_enters_and_one_that_becomes_hidden_leaves() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    let entity = hidden_crate(&mut scene, None, Visibility::Owner);
    scene.play(2, &mut [&mut ann]);
    assert!(!ann.ever.contains(&entity));
    scene.next(move |room| room.world.set_visibility(entity, Visibility::Everyone));
    scene.play(1, &mut [&mut ann]);
    assert!(ann.mirror.contains(entity));
    scene.next(move |room| room.world.set_visibility(entity, Visibility::Owner));
    scene.play(1, &mut [&mut ann]);
    assert!(!ann.mirror.contains(entity));
}

#[test]
fn a_secret_in_the_slot_of_something_public_stays_a_secret() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    let public = scene.spawn_at([12.0, 0.0]);
    scene.play(2, &mut [&mut ann]);
    assert!(ann.mirror.contains(public));
    scene.next(move |room| assert!(room.world.despawn(public)));
    scene.tick();
    let secret = hidden_crate(&mut scene, None, Visibility::Owner);
    assert_eq!(secret.slot, public.slot);
    stir(&mut scene, secret, &mut [&mut ann]);
    assert!(!ann.mirror.contains(public) && !ann.ever.contains(&secret));
}

#[test]
fn a_slot_that_held_a_secret_keeps_nothing_of_it_for_the_next_entity() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    let secret = hidden_crate(&mut scene, None, Visibility::Owner);
    scene.play(1, &mut [&mut ann]);
    scene.next(move |room| assert!(room.world.despawn(secret)));
    scene.play(1, &mut [&mut ann]);
    let public = scene.spawn_at([12.0, 0.0]);
    ann.read();
    assert_eq!(public.slot, secret.slot);
    assert!(ann.mirror.contains(public));
    assert!(!ann.ever.contains(&secret));
}
