//! Past positions of entities, for lag compensation.

use crate::support::{Body, begun, body, builder, label};
use aether_wire::{EntityId, Tick};
use aether_world::World;

/// A world with a history of eight ticks, after twenty ticks. The entity was at `[t, 0]` at tick `t`.
fn walked() -> (World, EntityId) {
    let mut world = begun(builder().rewind_ticks(8));
    let id = world.spawn(body(1.0, 0.0)).unwrap();
    world.settle();
    for tick in 2..=20 {
        world.advance();
        world.get_mut::<Body>(id).unwrap().position[0] = tick as f32;
        world.settle();
    }
    (world, id)
}

fn x_at(world: &World, id: EntityId, tick: u32, fraction: f32) -> Option<f32> {
    world.rewind().position_at(id, Tick(tick), fraction).map(|position| position[0])
}

#[test]
fn the_last_ticks_are_available() {
    let (world, id) = walked();
    assert_eq!(world.rewind().range(), Some((Tick(13), Tick(20))));
    for tick in 13..=20 {
        assert_eq!(x_at(&world, id, tick, 0.0), Some(tick as f32));
    }
}

#[test]
fn between_two_ticks_the_position_is_interpolated() {
    let (world, id) = walked();
    assert_eq!(x_at(&world, id, 14, 0.25), Some(14.25));
    assert_eq!(x_at(&world, id, 14, 1.0), Some(15.0));
    assert_eq!(x_at(&world, id, 19, 0.5), Some(19.5));
    assert_eq!(x_at(&world, id, 20, 0.5), Some(20.0), "there is no extrapolation");
}

#[test]
fn an_absurd_tick_counts_as_the_nearest_end() {
    let (world, id) = walked();
    assert_eq!(x_at(&world, id, 0, 0.0), Some(13.0));
    assert_eq!(x_at(&world, id, 12, 0.0), Some(13.0));
    assert_eq!(x_at(&world, id, u32::MAX, 0.5), Some(20.0));
}

#[test]
fn an_absurd_fraction_counts_as_none() {
    let (world, id) = walked();
    for fraction in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.5, 1.5, f32::MAX] {
        assert_eq!(x_at(&world, id, 15, fraction), Some(15.0), "{fraction}");
    }
}

#[test]
fn another_entity_in_the_same_slot_is_not_returned() {
    let (mut world, old) = walked();
    world.advance();
    world.despawn(old);
    world.settle();
    world.advance();
    let new = world.spawn(body(-50.0, 0.0)).unwrap();
    world.settle();
    assert_eq!(new.slot, old.slot);
    assert_eq!(x_at(&world, old, 18, 0.0), Some(18.0), "it existed then");
    assert_eq!(x_at(&world, old, 20, 0.5), Some(20.0), "it was despawned after");
    assert_eq!(x_at(&world, old, 21, 0.0), None);
    assert_eq!(x_at(&world, old, 22, 0.0), None);
    assert_eq!(x_at(&world, new, 18, 0.0), None);
    assert_eq!(x_at(&world, new, 21, 0.5), None, "it did not exist yet");
    assert_eq!(x_at(&world, new, 22, 0.0), Some(-50.0));
    let never = EntityId { slot: 1_000_000, generation: 0 };
    assert_eq!(x_at(&world, never, 18, 0.0), None);
}

#[test]
fn entities_without_position_have_no_history() {
    let mut world = begun(builder().rewind_ticks(8));
    let id = world.spawn(label("sun", 1)).unwrap();
    world.settle();
    assert_eq!(x_at(&world, id, 1, 0.0), None);
}

#[test]
fn one_tick_of_history_is_the_present() {
    let mut world = begun(builder().rewind_ticks(1));
    let id = world.spawn(body(1.0, 0.0)).unwrap();
    world.settle();
    world.advance();
    world.get_mut::<Body>(id).unwrap().position[0] = 2.0;
    world.settle();
    assert_eq!(world.rewind().range(), Some((Tick(2), Tick(2))));
    assert_eq!(x_at(&world, id, 1, 0.5), Some(2.0));
}

#[test]
fn without_a_history_there_is_no_position() {
    let mut world = begun(builder());
    let id = world.spawn(body(1.0, 0.0)).unwrap();
    world.settle();
    assert_eq!(world.rewind().range(), None);
    assert_eq!(x_at(&world, id, 1, 0.0), None);
}
