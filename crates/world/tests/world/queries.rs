//! Spatial queries find the same entities as a comparison with every entity, now and in the past.

use crate::support::{Anchor, Body, Label, body, label};
use aether_bits::runtime::{FieldBuilder, RecordBuilder, SchemaBuilder};
use aether_bits::{Random, Replicate};
use aether_space::WorldBounds;
use aether_wire::{EntityId, Tick};
use aether_world::{FoundEntity, SpatialQuery, World};
use std::collections::BTreeMap;

const REWIND_TICKS: u16 = 6;

/// A component with a position in three dimensions.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(position = position)]
struct Bird {
    #[replicate(range = -100.0..=100.0, step = 0.5)]
    position: [f32; 3],
}

/// The same with a field for each coordinate.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(position(x, y, z))]
struct Kite {
    #[replicate(range = -100.0..=100.0, step = 0.5)]
    x: f32,
    #[replicate(range = -100.0..=100.0, step = 0.5)]
    y: f32,
    #[replicate(range = -100.0..=100.0, step = 0.5)]
    z: f32,
}

/// A world, and the positions of all entities after each tick.
struct Scene {
    world: World,
    history: BTreeMap<Tick, BTreeMap<EntityId, [f32; 3]>>,
    random: Random,
}

/// The arguments of one query of each kind.
#[derive(Clone, Copy, Debug)]
struct Arguments {
    center: [f32; 3],
    corner: [f32; 3],
    radius: f32,
    count: usize,
}

impl Scene {
    fn new(seed: u64) -> Scene {
        // Some entities are outside the bounds.
        let bounds = WorldBounds { min: [-60.0, -80.0], max: [70.0, 50.0] };
        let builder = World::builder().component::<Body>().component::<Label>().component::<Anchor>();
        let builder = builder.component::<Bird>().component::<Kite>();
        let world = builder.rewind_ticks(REWIND_TICKS).bounds(bounds).build();
        Scene { world, history: BTreeMap::new(), random: Random::new(seed) }
    }

    /// A coordinate; often a whole number, so that distances are equal and borders are hit.
    fn coordinate(&mut self) -> f32 {
        match self.random.below(3) {
            0 => self.random.below(11) as f32 * 20.0 - 100.0,
            _ => self.random.between(-100.0, 100.0),
        }
    }

    fn vector(&mut self) -> [f32; 3] {
        [self.coordinate(), self.coordinate(), self.coordinate()]
    }

    fn arguments(&mut self) -> Arguments {
        let radius = [0.0, 0.5, 5.0, 20.0, 60.0, 1e9, 1e30, f32::INFINITY][self.random.below(8) as usize];
        let (center, corner) = (self.vector(), self.vector());
        Arguments { center, corner, radius, count: self.random.below(40) as usize }
    }

    fn spawn(&mut self) {
        let [x, y, z] = self.vector();
        let spawned = match self.random.below(6) {
            0 => self.world.spawn(label("sun", 1)),
            1 => self.world.spawn(Anchor { position: [x, y] }),
            2 => self.world.spawn(Bird { position: [x, y, z] }),
            3 => self.world.spawn(Kite { x, y, z }),
            _ => self.world.spawn(body(x, y)),
        };
        spawned.expect("the world has no limit");
    }

    /// Moves, respawns and changes some entities.
    fn play(&mut self) {
        let entities: Vec<EntityId> = self.world.entities().collect();
        for id in entities {
            match self.random.below(40) {
                0 => drop(self.world.despawn(id)),
                1 => drop(self.world.remove::<Body>(id)),
                2 => drop(self.world.remove::<Bird>(id)),
                3 => {
                    let [x, y, _] = self.vector();
                    self.world.insert(id, Anchor { position: [x, y] }).expect("it fits a packet");
                }
                4..=6 => {
                    let place = self.vector();
                    self.put(id, place);
                }
                7..=30 => {
                    let step = [(); 3].map(|()| self.random.between(-1.5, 1.5));
                    let position = self.world.position_3d(id).unwrap_or_default();
                    self.put(id, std::array::from_fn(|axis| (position[axis] + step[axis]).clamp(-100.0, 100.0)));
                }
                _ => {}
            }
        }
        for _ in 0..self.random.below(4) {
            self.spawn();
        }
    }

    fn put(&mut self, id: EntityId, [x, y, z]: [f32; 3]) {
        if let Some(body) = self.world.get_mut::<Body>(id) {
            body.position = [x, y];
        }
        if let Some(bird) = self.world.get_mut::<Bird>(id) {
            bird.position = [x, y, z];
        }
        if let Some(kite) = self.world.get_mut::<Kite>(id) {
            (kite.x, kite.y, kite.z) = (x, y, z);
        }
    }

    fn settle(&mut self) {
        self.world.settle();
        let positions = self.world.entities().filter_map(|id| Some((id, self.world.position_3d(id)?))).collect();
        self.history.insert(self.world.tick(), positions);
    }

    /// Positions now, as of the last `settle`, without the entities that were despawned since.
    fn now(&self) -> BTreeMap<EntityId, [f32; 3]> {
        self.world.entities().filter_map(|id| Some((id, self.world.position_3d(id)?))).collect()
    }

    /// Positions in the past, from the positions that the test has stored.
    fn then(&self, tick: Tick, fraction: f32) -> BTreeMap<EntityId, [f32; 3]> {
        let newest = *self.history.keys().next_back().expect("a tick has passed");
        let oldest = Tick(newest.0.saturating_sub(u32::from(REWIND_TICKS) - 1).max(1));
        let tick = tick.clamp(oldest, newest);
        let after = self.history.get(&tick.next());
        let place = |(&id, &before): (&EntityId, &[f32; 3])| match after.and_then(|after| after.get(&id)) {
            Some(after) => (id, std::array::from_fn(|axis| before[axis] + (after[axis] - before[axis]) * fraction)),
            None => (id, before),
        };
        self.history[&tick].iter().map(place).collect()
    }
}

fn squared(a: &[f32]) -> f32 {
    a.iter().map(|a| a * a).sum()
}

/// Compares every kind of query, with the first `axes` coordinates, with a comparison with every entity.
fn check<const AXES: usize>(query: SpatialQuery<'_>, expected: &BTreeMap<EntityId, [f32; 3]>, arguments: Arguments)
where
    [f32; AXES]: aether_world::QueryVector + Copy,
{
    let part = |vector: [f32; 3]| -> [f32; AXES] { std::array::from_fn(|axis| vector[axis]) };
    let Arguments { center, corner, radius, count } = arguments;
    let all: Vec<FoundEntity> =
        expected.iter().map(|(&entity, &position)| FoundEntity { entity, position, distance: 0.0 }).collect();
    // An old result must be removed.
    let mut found =
        vec![FoundEntity { entity: EntityId { slot: 9_999, generation: 0 }, position: [0.0; 3], distance: 0.0 }];

    let distance = |found: &FoundEntity| {
        let offset: [f32; AXES] = std::array::from_fn(|axis| found.position[axis] - center[axis]);
        squared(&offset)
    };
    let near = all.iter().filter(|found| distance(found) <= radius * radius);
    let mut near: Vec<FoundEntity> =
        near.map(|found| FoundEntity { distance: distance(found).sqrt(), ..*found }).collect();
    near.sort_by_key(|found| found.entity.slot);
    query.near(part(center), radius, &mut found);
    assert_eq!(found, near, "near {arguments:?}");

    near.sort_by(|a, b| a.distance.total_cmp(&b.distance).then(a.entity.slot.cmp(&b.entity.slot)));
    near.truncate(count);
    query.nearest(part(center), radius, count, &mut found);
    assert_eq!(found, near, "nearest {arguments:?}");

    let [min, max] = [f32::min, f32::max]
        .map(|end: fn(f32, f32) -> f32| -> [f32; AXES] { std::array::from_fn(|axis| end(center[axis], corner[axis])) });
    let is_inside =
        |position: [f32; 3]| (0..AXES).all(|axis| min[axis] <= position[axis] && position[axis] <= max[axis]);
    let mut inside: Vec<FoundEntity> = all.iter().filter(|found| is_inside(found.position)).copied().collect();
    inside.sort_by_key(|found| found.entity.slot);
    query.in_rect(min, max, &mut found);
    assert_eq!(found, inside, "in_rect {arguments:?}");

    check_ray(query, &all, arguments, part);
}

/// Compares rays. A ray that barely touches an entity may differ by rounding, so that entities at the border are left
/// out of the comparison.
fn check_ray<const AXES: usize>(
    query: SpatialQuery<'_>,
    all: &[FoundEntity],
    Arguments { center, corner, radius, .. }: Arguments,
    part: impl Fn([f32; 3]) -> [f32; AXES],
) where
    [f32; AXES]: aether_world::QueryVector + Copy,
{
    let radius = radius.min(60.0);
    let direction: [f64; AXES] = std::array::from_fn(|axis| f64::from(corner[axis]) - f64::from(center[axis]));
    let size = direction.iter().map(|a| a * a).sum::<f64>().sqrt();
    let length = size * 1.5;
    let mut found = Vec::new();
    let step = std::array::from_fn(|axis| if axis < AXES { corner[axis] - center[axis] } else { 0.0 });
    query.ray(part(center), part(step), length as f32, radius, &mut found);
    if size < 1e-3 {
        return;
    }
    // Distance from the line from the center to the entity, in double precision.
    let gap = |found: &FoundEntity| {
        let offset: [f64; AXES] = std::array::from_fn(|axis| f64::from(found.position[axis] - center[axis]));
        let along: f64 = (0..AXES).map(|axis| offset[axis] * direction[axis] / size).sum::<f64>().clamp(0.0, length);
        (0..AXES).map(|axis| (offset[axis] - direction[axis] / size * along).powi(2)).sum::<f64>().sqrt()
    };
    for entity in all {
        let is_found = found.iter().any(|found| found.entity == entity.entity);
        let beyond = gap(entity) - f64::from(radius);
        assert!(
            beyond.abs() < 1e-2 || is_found == (beyond < 0.0),
            "ray from {center:?} to {corner:?}, radius {radius}: {entity:?} is {beyond} beyond and found: {is_found}",
        );
    }
    assert!(found.iter().all(|found| all.iter().any(|known| known.entity == found.entity)));
    assert!(found.is_sorted_by(|a, b| (a.distance, a.entity.slot) <= (b.distance, b.entity.slot)), "{found:?}");
}

#[test]
fn queries_find_the_same_as_a_comparison_with_all_entities() {
    for seed in 0..12 {
        let mut scene = Scene::new(seed);
        scene.world.advance();
        // From a few entities, which are in one cell, to many.
        (0..20 * (seed + 1)).for_each(|_| scene.spawn());
        scene.settle();
        for _ in 0..30 {
            scene.world.advance();
            // The first half of the queries comes before the changes of the tick, which they must not see.
            for half in 0..2 {
                for _ in 0..3 {
                    let arguments = scene.arguments();
                    check::<2>(scene.world.query(), &scene.now(), arguments);
                    check::<3>(scene.world.query(), &scene.now(), arguments);
                    let tick = Tick(scene.world.tick().0.saturating_sub(scene.random.below(9)));
                    let fraction = scene.random.below(5) as f32 / 4.0;
                    let query = scene.world.query_at(tick, fraction).expect("there is a history");
                    check::<2>(query, &scene.then(tick, fraction), arguments);
                    check::<3>(query, &scene.then(tick, fraction), arguments);
                }
                if half == 0 {
                    scene.play();
                }
            }
            scene.settle();
        }
        assert!(scene.history.values().any(|positions| positions.len() > 10), "there were entities to find");
    }
}

#[test]
fn only_entities_with_a_component_are_found() {
    let mut scene = Scene::new(7);
    scene.world.advance();
    (0..300).for_each(|_| scene.spawn());
    scene.settle();
    scene.world.advance();
    let mut found = Vec::new();
    scene.world.query().with::<Bird>().near([0.0, 0.0], f32::INFINITY, &mut found);
    let birds: Vec<EntityId> = scene.world.each::<Bird>().map(|(id, _)| id).collect();
    assert!(found.iter().map(|found| found.entity).eq(birds.iter().copied()) && !birds.is_empty());
    scene.world.query().with::<Bird>().nearest([0.0, 0.0], f32::INFINITY, 5, &mut found);
    assert!(found.len() == 5 && found.iter().all(|found| birds.contains(&found.entity)));
    scene.world.query().with::<Bird>().with::<Kite>().near([0.0, 0.0], f32::INFINITY, &mut found);
    assert_eq!(found, [], "no entity has both");
    let past = scene.world.query_at(Tick(1), 0.0).expect("there is a history");
    past.with::<Bird>().near([0.0, 0.0], f32::INFINITY, &mut found);
    assert_eq!(found.len(), birds.len());
    scene.world.despawn(birds[0]);
    let past = scene.world.query_at(Tick(1), 0.0).expect("there is a history");
    past.with::<Bird>().near([0.0, 0.0], f32::INFINITY, &mut found);
    assert_eq!(found.len(), birds.len() - 1, "a despawned entity has no components");
    past.near([0.0, 0.0], f32::INFINITY, &mut found);
    assert!(found.iter().any(|found| found.entity == birds[0]), "but it existed then");
}

#[test]
fn a_component_that_is_not_declared_finds_nothing() {
    let mut world = World::builder().component::<Body>().build();
    world.advance();
    world.spawn(body(0.0, 0.0)).expect("the world has no limit");
    world.settle();
    let mut found = Vec::new();
    world.query().with::<Bird>().near([0.0, 0.0], 1.0, &mut found);
    assert_eq!(found, []);
    world.query().with::<Body>().near([0.0, 0.0], 1.0, &mut found);
    assert_eq!(found.len(), 1);
}

#[test]
fn invalid_arguments_find_nothing() {
    let mut scene = Scene::new(3);
    scene.world.advance();
    (0..100).for_each(|_| scene.spawn());
    scene.settle();
    scene.world.advance();
    for query in [scene.world.query(), scene.world.query_at(Tick(1), f32::NAN).expect("there is a history")] {
        let mut found = vec![];
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            query.near([bad, 0.0], f32::INFINITY, &mut found);
            assert_eq!(found, []);
            query.nearest([0.0, 0.0, bad], f32::INFINITY, 3, &mut found);
            assert_eq!(found, []);
            query.in_rect([bad, 0.0], [100.0, 100.0], &mut found);
            assert_eq!(found, []);
            query.ray([0.0, 0.0], [bad, 0.0], 10.0, 50.0, &mut found);
            assert_eq!(found, []);
            query.ray([bad, 0.0, 0.0], [1.0, 0.0, 0.0], 10.0, 50.0, &mut found);
            assert_eq!(found, []);
        }
        query.near([0.0, 0.0], f32::NAN, &mut found);
        assert_eq!(found, []);
        query.near([0.0, 0.0], -1.0, &mut found);
        assert_eq!(found, []);
        query.nearest([0.0, 0.0], f32::NAN, 3, &mut found);
        assert_eq!(found, []);
        query.in_rect([50.0, 50.0], [-50.0, -50.0], &mut found);
        assert_eq!(found, []);
        query.ray([0.0, 0.0], [0.0, 0.0], 10.0, 50.0, &mut found);
        assert_eq!(found, []);
        query.ray([0.0, 0.0], [1.0, 0.0], 10.0, f32::NAN, &mut found);
        assert_eq!(found, []);
        query.ray([0.0, 0.0], [1.0, 0.0], f32::INFINITY, f32::INFINITY, &mut found);
        assert!(!found.is_empty(), "length and radius may be infinite");
    }
}

#[test]
fn without_a_history_there_are_no_past_queries() {
    let mut world = World::builder().component::<Body>().build();
    world.advance();
    world.settle();
    assert!(world.query_at(Tick(1), 0.0).is_none());
}

#[test]
fn components_declared_at_run_time_are_found_in_three_dimensions() {
    let mut schema = SchemaBuilder::default();
    let vector = |numbers| FieldBuilder::numbers(numbers, -100.0..=100.0, 0.5);
    let bird = schema.component(RecordBuilder::new("Bird").position("at").field("at", vector(3))).unwrap();
    let sun = schema.component(RecordBuilder::new("Sun").position("at").field("at", vector(2))).unwrap();
    let schema = schema.build();
    let builder = World::builder().rewind_ticks(4);
    let mut world = schema.components().iter().fold(builder, |world, known| world.described(known)).build();
    world.advance();
    let birds = schema.component(bird).unwrap();
    let at = birds.field("at").unwrap();
    let ids: Vec<EntityId> = (0..50)
        .map(|number| {
            let mut record = birds.initial().clone();
            birds.edit(&mut record).set_numbers(at, &[number as f32, 0.0, number as f32]).unwrap();
            world.spawn_record(bird, record).unwrap()
        })
        .collect();
    world.spawn_record(sun, schema.component(sun).unwrap().initial().clone()).unwrap();
    world.settle();
    let mut found = Vec::new();
    for query in [world.query(), world.query_at(Tick(1), 0.5).expect("there is a history")] {
        query.with_record(bird).near([20.0, 0.0, 20.0], 1.5, &mut found);
        assert!(found.iter().map(|found| found.entity).eq(ids[19..=21].iter().copied()), "{found:?}");
        query.with_record(bird).near([20.0, 0.0], 1.5, &mut found);
        assert_eq!(found.len(), 3);
        query.near([0.0, 0.0, 0.0], 0.5, &mut found);
        assert_eq!(found.len(), 2, "a bird and the sun");
        query.with_record(sun).near([0.0, 0.0, 0.0], 0.5, &mut found);
        assert_eq!(found.len(), 1);
    }
}

#[test]
fn queries_allocate_nothing_once_memory_has_grown() {
    let mut scene = Scene::new(5);
    scene.world.advance();
    (0..500).for_each(|_| scene.spawn());
    scene.settle();
    let mut found = Vec::new();
    for tick in 0..40 {
        scene.world.advance();
        let step = if tick % 2 == 0 { 1.5 } else { -1.5 };
        scene.world.each_mut(|_, body: &mut Body| body.position[0] += step);
        let measured = allocation_counter::measure(|| {
            let past = scene.world.query_at(Tick(scene.world.tick().0.saturating_sub(3)), 0.5);
            for query in [scene.world.query(), past.expect("there is a history")] {
                query.near([0.0, 0.0], f32::INFINITY, &mut found);
                query.nearest([0.0, 0.0], f32::INFINITY, 10, &mut found);
                query.ray([0.0, 0.0], [1.0, 1.0], 100.0, 5.0, &mut found);
            }
        });
        assert!(tick < 20 || measured.count_total == 0, "tick {tick}: {measured:?}");
        scene.world.settle();
    }
}
