//! Older values are stored for a while, as baselines of deltas.

use crate::support::{Body, begun, body, builder};
use aether_bits::{BasisAges, BitReader, BitWriter, DeltaBasis, Replicate};
use aether_wire::{EntityId, Tick};
use aether_world::World;

fn ages(elapsed: u32, spacing: u32) -> BasisAges {
    BasisAges { elapsed, spacing, seconds_per_tick: 0.05 }
}

/// A world whose entity was at `x = t` at every tick `t` from 1 to `ticks`.
fn walked(ticks: u32, versions: u8) -> (World, EntityId) {
    let mut world = begun(builder().versions(versions));
    let id = world.spawn(body(1.0, 0.0)).unwrap();
    world.settle();
    for tick in 2..=ticks {
        world.advance();
        world.get_mut::<Body>(id).unwrap().position[0] = tick as f32;
        world.settle();
    }
    (world, id)
}

fn delta(world: &World, id: EntityId, base: u32, ages: BasisAges) -> Option<Vec<u8>> {
    let mut writer = BitWriter::new();
    world.columns()[0].write_delta(id.slot, Tick(base), ages, &mut writer).then(|| writer.to_bytes())
}

#[test]
fn a_delta_is_from_the_value_at_the_older_tick() {
    let (world, id) = walked(10, 32);
    for base in 1..10 {
        let ages = ages(10 - base, 0);
        let bytes = delta(&world, id, base, ages).unwrap();
        let known = body(base as f32, 0.0);
        let read =
            Body::read_delta(DeltaBasis { value: &known, earlier: None, ages }, &mut BitReader::new(&bytes)).unwrap();
        assert_eq!(read, body(10.0, 0.0), "from tick {base}");
        let other = body(base as f32 + 1.0, 0.0);
        let wrong = Body::read_delta(DeltaBasis { value: &other, earlier: None, ages }, &mut BitReader::new(&bytes));
        assert_ne!(wrong, Ok(body(10.0, 0.0)), "another baseline gives another value");
    }
}

#[test]
fn motion_is_derived_from_two_older_values() {
    let (world, id) = walked(10, 32);
    let ages = ages(2, 3);
    let bytes = delta(&world, id, 8, ages).unwrap();
    let (value, earlier) = (body(8.0, 0.0), body(5.0, 0.0));
    let basis = DeltaBasis { value: &value, earlier: Some(&earlier), ages };
    assert_eq!(Body::read_delta(basis, &mut BitReader::new(&bytes)), Ok(body(10.0, 0.0)));
}

#[test]
fn a_value_is_valid_until_the_next_change() {
    let (mut world, id) = walked(3, 4);
    for _ in 0..50 {
        world.advance();
        world.settle();
    }
    world.advance();
    world.get_mut::<Body>(id).unwrap().position[0] = 60.0;
    world.settle();
    let ages = ages(4, 0);
    let bytes = delta(&world, id, 50, ages).unwrap();
    let basis = DeltaBasis { value: &body(3.0, 0.0), earlier: None, ages };
    assert_eq!(Body::read_delta(basis, &mut BitReader::new(&bytes)), Ok(body(60.0, 0.0)));
}

#[test]
fn a_value_is_dropped_after_as_many_changes_as_versions() {
    let (world, id) = walked(10, 4);
    let known: Vec<u32> = (1..=10).filter(|&base| delta(&world, id, base, ages(10 - base, 0)).is_some()).collect();
    assert_eq!(known, [7, 8, 9, 10]);
    assert!(delta(&world, id, 8, ages(2, 1)).is_some());
    assert!(delta(&world, id, 8, ages(2, 2)).is_none(), "the earlier of the two is gone");
}

#[test]
fn at_least_two_versions_are_stored() {
    let (world, id) = walked(5, 0);
    assert!(delta(&world, id, 4, ages(1, 0)).is_some());
    assert!(delta(&world, id, 3, ages(2, 0)).is_none());
}

#[test]
fn a_component_that_was_added_again_has_no_old_versions() {
    let (mut world, id) = walked(4, 32);
    world.advance();
    world.remove::<Body>(id);
    world.settle();
    world.advance();
    world.insert(id, body(6.0, 0.0)).unwrap();
    world.settle();
    assert!(delta(&world, id, 4, ages(2, 0)).is_none());
    assert!(delta(&world, id, 6, ages(0, 0)).is_some());
}

#[test]
fn the_next_entity_of_a_slot_has_no_old_versions() {
    let (mut world, id) = walked(4, 32);
    world.advance();
    world.despawn(id);
    world.settle();
    world.advance();
    let next = world.spawn(body(9.0, 0.0)).unwrap();
    world.settle();
    assert_eq!(next.slot, id.slot);
    assert!(delta(&world, next, 4, ages(2, 0)).is_none());
}

#[test]
fn a_whole_value_needs_no_version() {
    let (world, id) = walked(10, 2);
    let mut writer = BitWriter::new();
    world.columns()[0].write_full(id.slot, &mut writer);
    assert_eq!(Body::read_full(&mut BitReader::new(&writer.to_bytes())), Ok(body(10.0, 0.0)));
}
