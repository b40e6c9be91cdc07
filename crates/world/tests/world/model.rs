//! Random operations on a world and on a simple model, compared.

use crate::support::{Body, Label, begun, body, builder, label};
use aether_space::IndexedPoint;
use aether_wire::EntityId;
use aether_world::{Visibility, World};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
enum Act {
    SpawnBody(i8, i8),
    SpawnLabel(u16),
    Despawn(usize),
    InsertBody(usize, i8),
    InsertLabel(usize, u16),
    RemoveBody(usize),
    RemoveLabel(usize),
    Move(usize, i8),
    MoveAll(i8),
    Restrict(usize, bool),
    Step,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    body: Option<Body>,
    label: Option<Label>,
    restricted: bool,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (any::<i8>(), any::<i8>()).prop_map(|(x, y)| Act::SpawnBody(x, y)),
        1 => any::<u16>().prop_map(Act::SpawnLabel),
        2 => any::<usize>().prop_map(Act::Despawn),
        1 => (any::<usize>(), any::<i8>()).prop_map(|(pick, x)| Act::InsertBody(pick, x)),
        1 => (any::<usize>(), 0u16..5).prop_map(|(pick, score)| Act::InsertLabel(pick, score)),
        1 => any::<usize>().prop_map(Act::RemoveBody),
        1 => any::<usize>().prop_map(Act::RemoveLabel),
        3 => (any::<usize>(), -3i8..3).prop_map(|(pick, x)| Act::Move(pick, x)),
        1 => (-2i8..2).prop_map(Act::MoveAll),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(pick, restricted)| Act::Restrict(pick, restricted)),
        3 => Just(Act::Step),
    ]
}

/// A position on the grid and in range, so that snapping does not change it.
fn at(x: i8, y: i8) -> Body {
    body(f32::from(x) / 2.0, f32::from(y) / 2.0)
}

struct Pair {
    world: World,
    model: BTreeMap<EntityId, Model>,
    /// State at the last `settle`.
    settled: BTreeMap<EntityId, Model>,
}

impl Pair {
    fn pick(&self, pick: usize) -> Option<EntityId> {
        self.model.keys().nth(pick % self.model.len().max(1)).copied()
    }

    fn spawn(&mut self, result: Result<EntityId, aether_world::SpawnError>, model: Model) {
        if let Ok(id) = result {
            assert!(self.model.keys().all(|other| other.slot != id.slot), "a slot has one entity");
            self.model.insert(id, model);
        } else {
            assert_eq!(self.model.len(), 12);
        }
    }

    fn change(&mut self, id: EntityId, act: &Act) {
        let model = self.model.entry(id).or_default();
        let world = &mut self.world;
        match *act {
            Act::InsertBody(_, x) => {
                world.insert(id, at(x, x)).unwrap();
                model.body = Some(at(x, x));
            }
            Act::InsertLabel(_, score) => {
                world.insert(id, label("l", score)).unwrap();
                model.label = Some(label("l", score));
            }
            Act::RemoveBody(_) => assert_eq!(world.remove::<Body>(id), model.body.take().is_some()),
            Act::RemoveLabel(_) => assert_eq!(world.remove::<Label>(id), model.label.take().is_some()),
            Act::Move(_, x) => {
                let moved = world.get_mut::<Body>(id).map(|body| *body = at(x, 1));
                assert_eq!(moved.is_some(), model.body.is_some());
                model.body = model.body.as_ref().map(|_| at(x, 1));
            }
            Act::Restrict(_, restricted) => {
                let visibility = if restricted { Visibility::Owner } else { Visibility::Everyone };
                world.set_visibility(id, visibility);
                model.restricted = restricted;
            }
            _ => {
                assert!(world.despawn(id));
                self.model.remove(&id);
            }
        }
    }

    fn act(&mut self, act: &Act) {
        match *act {
            Act::SpawnBody(x, y) => {
                let result = self.world.spawn(at(x, y));
                self.spawn(result, Model { body: Some(at(x, y)), ..Model::default() });
            }
            Act::SpawnLabel(score) => {
                let result = self.world.spawn(label("s", score));
                self.spawn(result, Model { label: Some(label("s", score)), ..Model::default() });
            }
            Act::MoveAll(x) => {
                self.world.each_mut::<Body>(|_, body| *body = at(x, x));
                self.model.values_mut().filter(|model| model.body.is_some()).for_each(|m| m.body = Some(at(x, x)));
            }
            Act::Step => {
                self.world.settle();
                self.check();
                self.settled = self.model.clone();
                self.world.advance();
            }
            Act::Despawn(pick)
            | Act::InsertBody(pick, _)
            | Act::InsertLabel(pick, _)
            | Act::RemoveBody(pick)
            | Act::RemoveLabel(pick)
            | Act::Move(pick, _)
            | Act::Restrict(pick, _) => {
                if let Some(id) = self.pick(pick) {
                    self.change(id, act);
                }
            }
        }
    }

    /// Compares the world with the model after `settle`.
    fn check(&self) {
        let Pair { world, model, settled } = self;
        assert_eq!(world.len(), model.len());
        assert!(world.entities().all(|id| model.contains_key(&id)));
        for (&id, expected) in model {
            let mask = u32::from(expected.body.is_some()) | u32::from(expected.label.is_some()) << 1;
            assert_eq!(world.get::<Body>(id), expected.body.as_ref());
            assert_eq!(world.get::<Label>(id), expected.label.as_ref());
            assert_eq!(world.shape(id.slot), mask);
            assert_eq!(world.position(id), expected.body.as_ref().map(|body| body.position));
            assert_eq!(world.without_position().contains(id.slot), expected.body.is_none());
            assert_eq!(world.restricted().contains(id.slot), expected.restricted);
            let content = |model: &Model| (model.body.clone(), model.label.clone());
            if settled.get(&id).map(content) != Some(content(expected)) {
                assert!(world.changed().contains(id.slot), "{id} changed");
            }
        }
        let living: BTreeSet<u32> = model.keys().map(|id| id.slot).collect();
        for set in [world.changed(), world.without_position(), world.restricted(), world.alive()] {
            assert!(set.iter().all(|slot| living.contains(&slot)), "no set contains a despawned entity");
        }
        let mut points = world.points().to_vec();
        points.sort_unstable_by_key(|point| point.slot);
        let expected = model.iter().filter_map(|(id, model)| {
            let [x, y] = model.body.as_ref()?.position;
            Some(IndexedPoint { slot: id.slot, x, y })
        });
        let mut expected: Vec<IndexedPoint> = expected.collect();
        expected.sort_unstable_by_key(|point| point.slot);
        assert_eq!(points, expected);
    }
}

proptest! {
    #![proptest_config(crate::cases(400))]

    #[test]
    fn a_world_matches_the_model(acts in proptest::collection::vec(act(), 1..150)) {
        let world = begun(builder().entities_max(12));
        let mut pair = Pair { world, model: BTreeMap::new(), settled: BTreeMap::new() };
        for act in &acts {
            pair.act(act);
        }
        pair.act(&Act::Step);
    }

    #[test]
    fn an_untouched_world_does_not_change(acts in proptest::collection::vec(act(), 1..60)) {
        let world = begun(builder().entities_max(12));
        let mut pair = Pair { world, model: BTreeMap::new(), settled: BTreeMap::new() };
        for act in &acts {
            pair.act(act);
        }
        pair.act(&Act::Step);
        let hash = pair.world.hash();
        pair.act(&Act::Step);
        pair.world.settle();
        prop_assert!(pair.world.changed().is_empty());
        prop_assert_eq!(pair.world.hash(), hash);
    }
}
