//! Owner and visibility of an entity.

use crate::support::{body, changed, step, world};
use aether_wire::PlayerId;
use aether_world::Visibility;

#[test]
fn an_owner_is_set_changed_and_cleared() {
    let mut world = world();
    let id = world.spawn(body(0.0, 0.0)).unwrap();
    assert_eq!((world.owner(id), world.owner_at(id.slot)), (None, None));
    world.set_owner(id, Some(PlayerId(7)));
    assert_eq!((world.owner(id), world.owner_at(id.slot)), (Some(PlayerId(7)), Some(PlayerId(7))));
    world.set_owner(id, None);
    assert_eq!(world.owner(id), None);
    assert_eq!(world.owner_at(55), None);
}

#[test]
fn entities_with_a_visibility_are_in_the_restricted_set() {
    let mut world = world();
    let ids: Vec<_> = (0..4).map(|_| world.spawn(body(0.0, 0.0)).unwrap()).collect();
    world.set_visibility(ids[1], Visibility::Owner);
    world.set_visibility(ids[2], Visibility::Team(3));
    world.set_visibility(ids[3], Visibility::Game);
    let restricted = |world: &aether_world::World| world.restricted().iter().collect::<Vec<_>>();
    assert_eq!(restricted(&world), [1, 2, 3]);
    assert_eq!(world.visibility_at(2), Visibility::Team(3));
    assert_eq!(world.visibility_at(0), Visibility::Everyone);
    assert_eq!(world.visibility_at(99), Visibility::Everyone);
    world.set_visibility(ids[2], Visibility::Everyone);
    world.despawn(ids[3]);
    assert_eq!(restricted(&world), [1]);
}

#[test]
fn the_next_entity_of_a_slot_begins_unowned_and_visible() {
    let mut world = world();
    let old = world.spawn(body(0.0, 0.0)).unwrap();
    world.set_owner(old, Some(PlayerId(1)));
    world.set_visibility(old, Visibility::Owner);
    world.despawn(old);
    step(&mut world);
    let new = world.spawn(body(0.0, 0.0)).unwrap();
    assert_eq!(new.slot, old.slot);
    assert_eq!((world.owner(new), world.visibility_at(new.slot)), (None, Visibility::Everyone));
    assert!(world.restricted().is_empty());
}

#[test]
fn a_despawned_entity_gets_no_owner() {
    let mut world = world();
    let old = world.spawn(body(0.0, 0.0)).unwrap();
    world.despawn(old);
    step(&mut world);
    let new = world.spawn(body(0.0, 0.0)).unwrap();
    world.set_owner(old, Some(PlayerId(1)));
    world.set_visibility(old, Visibility::Owner);
    assert_eq!((world.owner(old), world.owner(new)), (None, None));
    assert!(world.restricted().is_empty());
}

#[test]
fn neither_owner_nor_visibility_is_state_that_is_sent() {
    let mut world = world();
    let id = world.spawn(body(0.0, 0.0)).unwrap();
    world.settle();
    let hash = world.hash();
    world.advance();
    world.set_owner(id, Some(PlayerId(1)));
    world.set_visibility(id, Visibility::Team(1));
    world.settle();
    assert_eq!((changed(&world), world.hash()), (vec![], hash));
}
