//! Two worlds with the same state have the same hash.

use crate::support::{Body, Label, body, label, world};
use aether_wire::EntityId;
use aether_world::World;

/// Three entities, the last without a label.
fn sample() -> (World, Vec<EntityId>) {
    let mut world = world();
    let ids: Vec<EntityId> = (0..3).map(|index| world.spawn(body(index as f32, 2.0)).unwrap()).collect();
    for &id in &ids[..2] {
        world.insert(id, label("name", id.slot as u16)).unwrap();
    }
    world.settle();
    (world, ids)
}

#[test]
fn two_worlds_with_the_same_content_have_the_same_hash() {
    let (first, second) = (sample().0, sample().0);
    assert_eq!(first.hash(), second.hash());
    assert_ne!(first.hash(), world().hash());
}

#[test]
fn the_history_of_a_state_does_not_count() {
    let (direct, _) = sample();
    let mut other = world();
    let ids: Vec<EntityId> = (0..3).map(|_| other.spawn(label("x", 9)).unwrap()).collect();
    other.settle();
    for &id in ids.iter().rev() {
        other.advance();
        other.insert(id, body(-7.0, 7.0)).unwrap();
        other.settle();
        other.advance();
        *other.get_mut::<Body>(id).unwrap() = body(id.slot as f32, 2.0);
        if id == ids[2] {
            other.remove::<Label>(id);
        } else {
            *other.get_mut::<Label>(id).unwrap() = label("name", id.slot as u16);
        }
        other.settle();
    }
    assert_ne!(other.tick(), direct.tick());
    assert_eq!(other.hash(), direct.hash());
}

#[test]
fn every_field_counts() {
    let (reference, _) = sample();
    let changes: [fn(&mut World, &[EntityId]); 8] = [
        |world, ids| world.get_mut::<Body>(ids[0]).unwrap().position[0] += 0.5,
        |world, ids| world.get_mut::<Body>(ids[0]).unwrap().position[1] += 0.5,
        |world, ids| world.get_mut::<Body>(ids[2]).unwrap().velocity[0] += 0.25,
        |world, ids| world.get_mut::<Body>(ids[2]).unwrap().velocity[1] += 0.25,
        |world, ids| world.get_mut::<Label>(ids[1]).unwrap().name.push('s'),
        |world, ids| world.get_mut::<Label>(ids[1]).unwrap().score += 1,
        |world, ids| assert!(world.remove::<Label>(ids[1])),
        |world, ids| assert!(world.despawn(ids[2])),
    ];
    let mut hashes = vec![reference.hash()];
    for change in changes {
        let (mut world, ids) = sample();
        world.advance();
        change(&mut world, &ids);
        world.settle();
        hashes.push(world.hash());
    }
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 9);
}

#[test]
fn the_entity_of_a_value_counts_too() {
    let (mut swapped, ids) = sample();
    let before = swapped.hash();
    swapped.advance();
    *swapped.get_mut::<Body>(ids[0]).unwrap() = body(1.0, 2.0);
    *swapped.get_mut::<Body>(ids[1]).unwrap() = body(0.0, 2.0);
    swapped.settle();
    assert_ne!(swapped.hash(), before);
}

#[test]
fn another_generation_is_another_entity() {
    let (mut world, ids) = sample();
    let before = world.hash();
    world.advance();
    world.despawn(ids[2]);
    world.settle();
    world.advance();
    assert_eq!(world.spawn(body(2.0, 2.0)), Ok(EntityId { slot: 2, generation: 1 }));
    world.settle();
    assert_ne!(world.hash(), before);
}

#[test]
fn a_part_is_hashed_whatever_its_order_and_parts_add_up() {
    let (world, _) = sample();
    let part = |slots: &[u32]| world.hash_of(slots.iter().copied());
    assert_eq!(part(&[0, 2]), part(&[2, 0]));
    assert_ne!(part(&[0, 2]), part(&[0, 1]));
    assert_eq!(part(&[0]).wrapping_add(part(&[1, 2])), world.hash());
    assert_eq!(part(&[0, 77]), part(&[0]), "a slot that is not in use adds nothing");
}

#[test]
fn the_value_is_pinned_for_every_platform() {
    assert_eq!(sample().0.hash(), 0x4fe631242e73d619);
}
