//! Entities are spawned and despawned, and their slots are reused.

use crate::support::{BackPage, Body, Label, Page, Scroll, begun, body, builder, changed, label, step, world};
use aether_bits::Replicate;
use aether_wire::{EntityId, Tick};
use aether_world::{SpawnError, World};

#[test]
fn a_spawned_entity_has_its_component_at_once() {
    let mut world = world();
    let id = world.spawn(body(1.0, 2.0)).unwrap();
    assert_eq!(id, EntityId { slot: 0, generation: 0 });
    assert!(world.contains(id) && !world.is_empty());
    assert_eq!(world.get::<Body>(id), Some(&body(1.0, 2.0)));
    assert_eq!(world.get::<Label>(id), None);
    assert_eq!(world.entities().collect::<Vec<_>>(), [id]);
}

#[test]
fn a_spawned_entity_is_changed_in_the_same_tick() {
    let mut world = world();
    world.spawn(body(1.0, 2.0)).unwrap();
    step(&mut world);
    let id = world.spawn(body(3.0, 4.0)).unwrap();
    world.settle();
    assert_eq!(changed(&world), [id.slot]);
    assert_eq!(world.changed_at(id.slot), Tick(2));
    assert_eq!(world.shaped_at(id.slot), Tick(2));
}

#[test]
fn a_despawned_entity_is_gone_and_its_id_is_invalid() {
    let mut world = world();
    let id = world.spawn(body(1.0, 2.0)).unwrap();
    step(&mut world);
    assert!(world.despawn(id));
    assert!(!world.despawn(id), "it is despawned once");
    assert_eq!(world.despawned(), [id]);
    assert!(!world.contains(id) && world.is_empty());
    assert_eq!(world.get::<Body>(id), None);
    assert_eq!(world.get_mut::<Body>(id), None);
    assert_eq!(world.position(id), None);
    assert_eq!(world.insert(id, label("late", 1)), Err(SpawnError::NoEntity));
    assert!(!world.remove::<Body>(id));
    assert_eq!(world.entity_at(id.slot), None);
    step(&mut world);
    assert!(world.despawned().is_empty(), "the list is of one tick");
}

#[test]
fn a_slot_is_not_reused_in_the_same_tick() {
    let mut world = world();
    let first = world.spawn(body(0.0, 0.0)).unwrap();
    assert!(world.despawn(first));
    let second = world.spawn(body(0.0, 0.0)).unwrap();
    assert_ne!(second.slot, first.slot, "a slot has one entity per tick");
    step(&mut world);
    let third = world.spawn(body(0.0, 0.0)).unwrap();
    assert_eq!(third, EntityId { slot: first.slot, generation: first.generation + 1 });
    assert!(!world.contains(first) && world.contains(third));
    assert_eq!(world.get::<Body>(first), None, "the old id does not reach the new entity");
    assert!(!world.despawn(first), "the old id does not despawn the new entity");
}

#[test]
fn the_lowest_free_slot_is_used_first() {
    let mut world = world();
    let ids: Vec<EntityId> = (0..6).map(|_| world.spawn(body(0.0, 0.0)).unwrap()).collect();
    for index in [4, 1, 3] {
        assert!(world.despawn(ids[index]));
    }
    step(&mut world);
    let slots: Vec<u32> = (0..4).map(|_| world.spawn(body(0.0, 0.0)).unwrap().slot).collect();
    assert_eq!(slots, [1, 3, 4, 6]);
}

#[test]
fn generations_wrap_without_a_panic() {
    let mut world = world();
    let mut last = world.spawn(body(0.0, 0.0)).unwrap();
    for _ in 0..=u16::MAX {
        world.despawn(last);
        world.advance();
        last = world.spawn(body(0.0, 0.0)).unwrap();
    }
    assert_eq!(last, EntityId { slot: 0, generation: 0 });
}

#[test]
fn an_entity_of_one_tick_leaves_no_state() {
    let mut world = world();
    let other = world.spawn(body(5.0, 5.0)).unwrap();
    step(&mut world);
    let hash = world.hash();
    let id = world.spawn(body(1.0, 2.0)).unwrap();
    world.insert(id, label("brief", 1)).unwrap();
    assert!(world.despawn(id));
    world.settle();
    assert!(changed(&world).is_empty());
    assert_eq!(world.points().len(), 1);
    assert_eq!(world.without_position().len() + world.restricted().len(), 0);
    assert_eq!(world.hash(), hash);
    assert_eq!(world.entities().collect::<Vec<_>>(), [other]);
    assert_eq!(world.each::<Label>().count(), 0);
}

#[test]
fn a_new_entity_in_an_old_slot_inherits_nothing() {
    let mut world = world();
    let old = world.spawn(body(1.0, 2.0)).unwrap();
    world.insert(old, label("old", 7)).unwrap();
    step(&mut world);
    world.despawn(old);
    step(&mut world);
    let new = world.spawn(label("new", 1)).unwrap();
    world.settle();
    assert_eq!(new.slot, old.slot);
    assert_eq!(world.get::<Body>(new), None);
    assert_eq!((world.position(new), world.points().len()), (None, 0));
    assert_eq!(world.shape(new.slot), 0b10);
}

#[test]
fn a_full_world_rejects_spawns_until_a_despawn() {
    let mut world = begun(builder().entities_max(2));
    assert_eq!(world.entities_max(), 2);
    let first = world.spawn(body(0.0, 0.0)).unwrap();
    world.spawn(body(0.0, 0.0)).unwrap();
    assert_eq!(world.spawn(body(0.0, 0.0)), Err(SpawnError::Full));
    assert_eq!(world.len(), 2);
    assert_eq!((world.take_rejected_spawns(), world.take_rejected_spawns()), (1, 0), "rejected spawns are counted");
    world.insert(first, label("more", 1)).unwrap();
    world.despawn(first);
    world.spawn(body(0.0, 0.0)).unwrap();
    assert_eq!(world.spawn(body(0.0, 0.0)), Err(SpawnError::Full));
}

#[test]
fn components_that_do_not_fit_one_packet_are_rejected() {
    let text = || "x".to_owned();
    let scroll = Scroll { first: text(), second: text(), third: text(), fourth: text() };
    let mut world = begun(World::builder().component::<Scroll>().component::<Page>().component::<BackPage>());
    assert_eq!(world.spawn(scroll), Err(SpawnError::TooLarge), "the largest possible value counts");
    assert!(world.is_empty());
    let id = world.spawn(Page { first: text(), second: text() }).unwrap();
    assert_eq!(id.slot, 0, "a rejected spawn takes no slot");
    assert_eq!(world.insert(id, BackPage { first: text(), second: text() }), Err(SpawnError::TooLarge));
    assert_eq!(world.shape(id.slot), 0b10, "a rejected component does not change the entity");
    assert_eq!(world.get::<BackPage>(id), None);
}

#[test]
fn an_unknown_component_is_rejected() {
    #[derive(Clone, Replicate)]
    struct Stranger {
        flag: bool,
    }
    let mut world = world();
    assert_eq!(world.spawn(Stranger { flag: true }), Err(SpawnError::UnknownComponent));
    let id = world.spawn(body(0.0, 0.0)).unwrap();
    assert_eq!(world.insert(id, Stranger { flag: true }), Err(SpawnError::UnknownComponent));
    assert!(world.get::<Stranger>(id).is_none());
    assert!(!world.remove::<Stranger>(id));
    assert_eq!(world.each::<Stranger>().count(), 0);
    world.each_mut::<Stranger>(|_, _| panic!("there are none"));
}

#[test]
fn registering_a_component_twice_changes_nothing() {
    let world = builder().component::<Body>().build();
    assert_eq!(world.columns().len(), 2);
    let names: Vec<String> = world.schema().into_iter().map(|record| record.name).collect();
    assert_eq!(names, ["Body", "Label"]);
}
