//! Components are added to entities and removed.

use crate::support::{Anchor, Body, Label, begun, body, builder, changed, label, step, world};
use aether_wire::Tick;

#[test]
fn a_shape_has_a_bit_for_each_component() {
    let mut world = world();
    let id = world.spawn(body(0.0, 0.0)).unwrap();
    assert_eq!(world.shape(id.slot), 0b01);
    world.insert(id, label("a", 1)).unwrap();
    assert_eq!(world.shape(id.slot), 0b11);
    assert!(world.remove::<Body>(id));
    assert_eq!(world.shape(id.slot), 0b10);
    assert!(!world.remove::<Body>(id), "the component was removed before");
    assert_eq!(world.shape(99), 0);
}

#[test]
fn only_a_different_shape_counts_as_a_change() {
    let mut world = world();
    let id = world.spawn(body(0.0, 0.0)).unwrap();
    step(&mut world);
    world.insert(id, body(1.0, 0.0)).unwrap();
    world.settle();
    assert_eq!((world.shaped_at(id.slot), world.changed_at(id.slot)), (Tick(1), Tick(2)));
    world.advance();
    world.insert(id, label("a", 1)).unwrap();
    world.settle();
    assert_eq!((world.shaped_at(id.slot), world.changed_at(id.slot)), (Tick(3), Tick(3)));
    world.advance();
    world.remove::<Label>(id);
    world.settle();
    assert_eq!((world.shaped_at(id.slot), world.changed_at(id.slot)), (Tick(4), Tick(4)));
    assert_eq!(changed(&world), [id.slot], "clients must remove the component");
}

#[test]
fn replacing_by_the_same_value_is_no_change() {
    let mut world = world();
    let id = world.spawn(body(1.0, 2.0)).unwrap();
    step(&mut world);
    world.insert(id, body(1.0, 2.0)).unwrap();
    world.settle();
    assert!(changed(&world).is_empty());
}

#[test]
fn removing_and_adding_within_a_tick_keeps_the_entity_whole() {
    let mut world = world();
    let id = world.spawn(body(1.0, 2.0)).unwrap();
    step(&mut world);
    world.remove::<Body>(id);
    world.insert(id, body(1.0, 2.0)).unwrap();
    world.settle();
    assert_eq!((world.shape(id.slot), world.position(id)), (0b01, Some([1.0, 2.0])));
    assert!(!world.without_position().contains(id.slot));
    assert_eq!(world.points().len(), 1);
}

#[test]
fn an_entity_is_without_position_until_it_gets_one() {
    let mut world = world();
    let id = world.spawn(label("sun", 1)).unwrap();
    world.settle();
    assert!(world.without_position().contains(id.slot));
    assert_eq!((world.position(id), world.position_at(id.slot)), (None, None));
    world.advance();
    world.insert(id, body(1.0, 2.0)).unwrap();
    world.settle();
    assert!(!world.without_position().contains(id.slot));
    assert_eq!(world.position(id), Some([1.0, 2.0]));
    world.advance();
    world.remove::<Body>(id);
    world.settle();
    assert!(world.without_position().contains(id.slot));
    assert_eq!((world.position(id), world.points().len()), (None, 0));
    world.despawn(id);
    assert!(world.without_position().is_empty());
}

#[test]
fn an_entity_may_have_no_component_at_all() {
    let mut world = world();
    let id = world.spawn(body(1.0, 2.0)).unwrap();
    world.remove::<Body>(id);
    world.settle();
    assert!(world.contains(id));
    assert_eq!((world.shape(id.slot), world.len()), (0, 1));
    assert!(world.without_position().contains(id.slot));
    assert_eq!(changed(&world), [id.slot]);
}

#[test]
fn a_position_is_that_of_the_last_settle() {
    let mut world = world();
    let id = world.spawn(body(1.0, 2.0)).unwrap();
    assert_eq!(world.position(id), None);
    step(&mut world);
    world.get_mut::<Body>(id).unwrap().position = [7.0, 8.0];
    assert_eq!(world.position(id), Some([1.0, 2.0]));
    world.settle();
    assert_eq!(world.position(id), Some([7.0, 8.0]));
}

#[test]
fn an_entity_with_two_positions_keeps_one_when_the_other_is_removed() {
    let mut world = begun(builder().component::<Anchor>());
    let id = world.spawn(body(1.0, 2.0)).unwrap();
    world.insert(id, Anchor { position: [50.0, 60.0] }).unwrap();
    step(&mut world);
    world.remove::<Anchor>(id);
    world.settle();
    assert_eq!(world.position(id), Some([1.0, 2.0]));
    assert!(!world.without_position().contains(id.slot), "the whole room would see it");
}
