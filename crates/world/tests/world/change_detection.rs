//! Only a change of the encoded value counts as a change.

use crate::support::{Body, Label, body, changed, label, step, world};
use aether_wire::Tick;

#[test]
fn writing_the_same_value_is_no_change() {
    let mut world = world();
    let id = world.spawn(body(1.0, 2.0)).unwrap();
    step(&mut world);
    *world.get_mut::<Body>(id).unwrap() = body(1.0, 2.0);
    world.settle();
    assert!(changed(&world).is_empty());
    assert_eq!(world.changed_at(id.slot), Tick(1));
}

#[test]
fn reading_is_no_change() {
    let mut world = world();
    let id = world.spawn(body(1.0, 2.0)).unwrap();
    step(&mut world);
    assert!(world.get::<Body>(id).is_some());
    world.each_mut::<Body>(|_, _| {});
    world.settle();
    assert!(changed(&world).is_empty());
}

#[test]
fn a_move_below_the_grid_of_the_wire_is_no_change_and_is_snapped_away() {
    let mut world = world();
    let id = world.spawn(body(1.0, 2.0)).unwrap();
    step(&mut world);
    world.get_mut::<Body>(id).unwrap().position[0] += 0.2;
    world.settle();
    assert!(changed(&world).is_empty());
    assert_eq!(world.get::<Body>(id), Some(&body(1.0, 2.0)));
}

#[test]
fn a_move_beyond_half_a_step_is_a_change() {
    let mut world = world();
    let id = world.spawn(body(1.0, 2.0)).unwrap();
    step(&mut world);
    world.get_mut::<Body>(id).unwrap().position[0] += 0.3;
    world.settle();
    assert_eq!(changed(&world), [id.slot]);
    assert_eq!(world.get::<Body>(id).unwrap().position, [1.5, 2.0]);
    assert_eq!(world.position(id), Some([1.5, 2.0]));
}

#[test]
fn values_outside_their_range_are_snapped_into_it() {
    let mut world = world();
    let id = world.spawn(body(1e6, f32::NAN)).unwrap();
    world.insert(id, label("a long name", 1)).unwrap();
    world.settle();
    let position = world.position(id).unwrap();
    assert_eq!(position[0], 100.0);
    assert!(position[1].is_finite());
    assert_eq!(world.get::<Label>(id).unwrap().name, "a long n");
}

#[test]
fn two_changes_that_undo_each_other_are_none() {
    let mut world = world();
    let id = world.spawn(body(1.0, 2.0)).unwrap();
    step(&mut world);
    world.get_mut::<Body>(id).unwrap().position = [9.0, 9.0];
    world.get_mut::<Body>(id).unwrap().position = [1.0, 2.0];
    world.settle();
    assert!(changed(&world).is_empty());
}

#[test]
fn a_skipped_field_is_no_change_and_stays() {
    let mut world = world();
    let id = world.spawn(label("a", 1)).unwrap();
    world.settle();
    let hash = world.hash();
    world.advance();
    world.get_mut::<Label>(id).unwrap().secret = 42;
    world.settle();
    assert!(changed(&world).is_empty());
    assert_eq!(world.hash(), hash);
    assert_eq!(world.get::<Label>(id).unwrap().secret, 42);
}

#[test]
fn a_change_is_recorded_for_its_component_alone() {
    let mut world = world();
    let id = world.spawn(body(1.0, 2.0)).unwrap();
    world.insert(id, label("a", 1)).unwrap();
    step(&mut world);
    world.get_mut::<Label>(id).unwrap().score = 2;
    world.settle();
    let after = |index: usize| world.columns()[index].changed_after(id.slot, Tick(1));
    assert_eq!((after(0), after(1)), (false, true));
}

#[test]
fn the_next_tick_begins_without_changes() {
    let mut world = world();
    let id = world.spawn(body(1.0, 2.0)).unwrap();
    step(&mut world);
    assert!(changed(&world).is_empty());
    world.settle();
    assert!(changed(&world).is_empty());
    assert_eq!(world.changed_at(id.slot), Tick(1), "the tick of the last change stays known");
    assert_eq!(world.changed_at(77), Tick::ZERO);
}

#[test]
fn only_the_touched_among_many_change() {
    let mut world = world();
    let ids: Vec<_> = (0..200).map(|index| world.spawn(body(index as f32 / 4.0, 0.0)).unwrap()).collect();
    step(&mut world);
    for &index in &[3usize, 64, 199] {
        world.get_mut::<Body>(ids[index]).unwrap().velocity[1] = 1.0;
    }
    world.settle();
    assert_eq!(changed(&world), [3, 64, 199]);
}
