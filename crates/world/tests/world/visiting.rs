//! Iteration over all entities with a component.

use crate::support::{Body, Label, body, changed, label, step, world};
use aether_wire::EntityId;
use aether_world::World;

/// Ten entities: all with a body, every second with a label, and the third one despawned.
fn mixed() -> (World, Vec<EntityId>) {
    let mut world = world();
    let ids: Vec<EntityId> = (0..10).map(|index| world.spawn(body(index as f32, 0.0)).unwrap()).collect();
    for &id in ids.iter().step_by(2) {
        world.insert(id, label("even", id.slot as u16)).unwrap();
    }
    world.despawn(ids[2]);
    step(&mut world);
    (world, ids)
}

#[test]
fn each_visits_alive_entities_in_slot_order() {
    let (world, ids) = mixed();
    let found: Vec<(EntityId, u16)> = world.each::<Label>().map(|(id, label)| (id, label.score)).collect();
    assert_eq!(found, [(ids[0], 0), (ids[4], 4), (ids[6], 6), (ids[8], 8)]);
    assert_eq!(world.each::<Body>().count(), 9);
}

#[test]
fn each_mut_writes_all_and_changes_the_moved_ones() {
    let (mut world, ids) = mixed();
    world.each_mut::<Body>(|id, body| {
        if id.slot >= 8 {
            body.position[1] = 5.0;
        }
    });
    world.settle();
    assert_eq!(changed(&world), [8, 9]);
    assert_eq!(world.position(ids[9]), Some([9.0, 5.0]));
}

#[test]
fn each_with_visits_entities_with_both_and_writes_the_first() {
    let (mut world, ids) = mixed();
    let mut visited = Vec::new();
    world.each_with::<Body, Label>(|id, body, label| {
        visited.push(id);
        body.position[1] = f32::from(label.score);
    });
    world.settle();
    assert_eq!(visited, [ids[0], ids[4], ids[6], ids[8]]);
    assert_eq!(changed(&world), [4, 6, 8], "at slot 0 the score did not change");
    assert_eq!(world.position(ids[6]), Some([6.0, 6.0]));
}

#[test]
fn a_component_with_itself_is_no_pair() {
    let (mut world, _) = mixed();
    world.each_with::<Body, Body>(|_, _, _| panic!("one value cannot be both written and read"));
}

#[test]
fn a_column_gives_the_same_values_by_slot() {
    let (mut world, ids) = mixed();
    let column = world.column::<Label>().unwrap();
    assert_eq!(column.present().iter().collect::<Vec<_>>(), [0, 4, 6, 8]);
    assert_eq!(column.get(2), None, "it ended");
    assert_eq!(column.get(4).map(|label| label.score), Some(4));
    assert_eq!(column.get(1_000), None);
    let column = world.column_mut::<Label>().unwrap();
    assert!(column.get_mut(3).is_none());
    column.get_mut(4).unwrap().score = 44;
    world.settle();
    assert_eq!(world.get::<Label>(ids[4]).unwrap().score, 44);
    assert_eq!(changed(&world), [4]);
}
