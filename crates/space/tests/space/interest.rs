//! Interest sets follow their rules over many steps, with either index.

use std::collections::BTreeSet;

use aether_space::{
    Grid, IndexedPoint, InterestChanges, InterestManager, InterestSettings, InterestSettingsError, Quadtree, SlotSet,
    SpatialIndex, Viewer, WorldBounds, distance_squared,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

static NOBODY: SlotSet = SlotSet::new();

/// One tick of a scene: positions of entities, and the viewer.
#[derive(Clone, Debug)]
struct Scene {
    points: Vec<IndexedPoint>,
    center: Option<[f32; 2]>,
    always: BTreeSet<u32>,
    hidden: BTreeSet<u32>,
}

fn coordinate() -> impl Strategy<Value = f32> {
    prop_oneof![
        10 => -60.0..60.0f32,
        10 => (-6..=6i32).prop_map(|number| number as f32 * 10.0),
        1 => prop::sample::select(vec![f32::NAN, f32::INFINITY, 1e9, -0.0]),
    ]
}

fn scene() -> impl Strategy<Value = Scene> {
    let position = prop::option::weighted(0.9, (coordinate(), coordinate()));
    let some_slots = || prop::collection::btree_set(0..150u32, 0..10);
    let positions = prop::collection::vec(position, 0..120);
    let center = prop::option::weighted(0.95, [-20.0..20.0f32, -20.0..20.0f32]);
    (positions, center, some_slots(), some_slots()).prop_map(|(positions, center, always, hidden)| {
        let positions = (0..).zip(positions);
        let points =
            positions.filter_map(|(slot, position)| position.map(|(x, y)| IndexedPoint { slot, x, y })).collect();
        Scene { points, center, always, hidden }
    })
}

/// A first scene, then steps in which most entities move a little and some jump.
fn scenes() -> impl Strategy<Value = Vec<Scene>> {
    let step = prop::collection::vec((-6.0..6.0f32, -6.0..6.0f32), 120);
    (scene(), prop::collection::vec((scene(), step), 1..8)).prop_map(|(first, others)| {
        let mut scenes = vec![first];
        for (jumped, moves) in others {
            let mut scene = jumped.clone();
            let last = &scenes[scenes.len() - 1];
            scene.center = scene.center.and(last.center.or(scene.center));
            for point in &mut scene.points {
                let before = last.points.iter().find(|before| before.slot == point.slot);
                if let Some(before) = before.filter(|before| before.slot % 8 != 0) {
                    let (dx, dy) = moves[point.slot as usize];
                    (point.x, point.y) = (before.x + dx, before.y + dy);
                }
            }
            scenes.push(scene);
        }
        scenes
    })
}

/// Applies the rules to one entity at a time.
fn expected(settings: &InterestSettings, scene: &Scene, before: &BTreeSet<u32>) -> BTreeSet<u32> {
    let inner = settings.radius * settings.radius;
    let outer = settings.outer_radius() * settings.outer_radius();
    let mut by_distance = Vec::new();
    for point in &scene.points {
        let Some(center) = scene.center else { continue };
        let distance = distance_squared(center, point.x, point.y);
        let (limit, measure) =
            if before.contains(&point.slot) { (outer, distance * (inner / outer)) } else { (inner, distance) };
        let is_free = !scene.hidden.contains(&point.slot) && !scene.always.contains(&point.slot);
        if distance <= limit && is_free {
            by_distance.push((measure, point.slot));
        }
    }
    by_distance.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    by_distance.truncate(settings.nearest_max.unwrap_or(usize::MAX));
    let visible = by_distance.into_iter().map(|(_, slot)| slot);
    visible.chain(scene.always.difference(&scene.hidden).copied()).collect()
}

fn assert_follows_rules(index: &mut impl SpatialIndex, settings: InterestSettings, scenes: &[Scene]) {
    let mut interest = InterestManager::new(settings).expect("the settings are valid");
    let mut visible = SlotSet::new();
    let mut before = BTreeSet::new();
    let mut changes = InterestChanges::new();
    for scene in scenes {
        index.rebuild(&scene.points);
        let viewer = Viewer {
            center: scene.center,
            always: &scene.always.iter().copied().collect(),
            hidden: &scene.hidden.iter().copied().collect(),
        };
        interest.update(index, &viewer, &mut visible, &mut changes);
        let now = expected(&settings, scene, &before);
        assert!(visible.iter().eq(now.iter().copied()), "{visible:?} is not {now:?}");
        assert_eq!(visible.len(), now.len());
        assert!(changes.entered.iter().eq(now.difference(&before)));
        assert!(changes.left.iter().eq(before.difference(&now)));
        for (rank, slot) in now.iter().enumerate() {
            assert_eq!(visible.rank(*slot), Some(rank));
        }
        before = now;
    }
}

fn grid() -> Grid {
    let bounds = WorldBounds { min: [-50.0; 2], max: [50.0; 2] };
    Grid::new(bounds, 30.0).expect("the bounds are valid")
}

/// The same cases on every run.
fn fixed() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(fixed())]

    #[test]
    fn entities_enter_stay_and_leave_by_distance(
        scenes in scenes(), radius in 1.0..50.0f32, hysteresis in 0.0..0.5f32,
    ) {
        let settings = InterestSettings { radius, hysteresis, nearest_max: None };
        assert_follows_rules(&mut grid(), settings, &scenes);
        assert_follows_rules(&mut Quadtree::new(), settings, &scenes);
    }

    #[test]
    fn only_the_nearest_are_visible_in_a_crowd(
        scenes in scenes(), radius in 1.0..50.0f32, hysteresis in 0.0..0.5f32, count in 0..30usize,
    ) {
        let settings = InterestSettings { radius, hysteresis, nearest_max: Some(count) };
        assert_follows_rules(&mut grid(), settings, &scenes);
        assert_follows_rules(&mut Quadtree::new(), settings, &scenes);
    }

    #[test]
    fn without_radius_every_slot_that_is_not_hidden_is_visible(
        steps in prop::collection::vec(
            (prop::collection::btree_set(0..20_000u32, 0..50), prop::collection::btree_set(0..20_000u32, 0..50)),
            1..6,
        ),
    ) {
        let mut interest = InterestManager::new(InterestSettings::default()).unwrap();
        let (mut visible, mut changes) = (SlotSet::new(), InterestChanges::new());
        let mut before = BTreeSet::new();
        for (everyone, hidden) in &steps {
            let hidden_set = hidden.iter().copied().collect();
            let everyone_set = everyone.iter().copied().collect();
            interest.update_everyone(&everyone_set, &hidden_set, &mut visible, &mut changes);
            let now: BTreeSet<u32> = everyone.difference(hidden).copied().collect();
            prop_assert!(visible.iter().eq(now.iter().copied()));
            prop_assert!(changes.entered.iter().eq(now.difference(&before)));
            prop_assert!(changes.left.iter().eq(before.difference(&now)));
            prop_assert_eq!(visible.len(), now.len());
            for (rank, slot) in now.iter().enumerate() {
                prop_assert_eq!(visible.rank(*slot), Some(rank));
            }
            before = now;
        }
    }
}

/// One entity at a distance, and one viewer.
struct Approach {
    index: Quadtree,
    interest: InterestManager,
    visible: SlotSet,
    changes: InterestChanges,
}

impl Approach {
    fn new(settings: InterestSettings) -> Self {
        Self {
            index: Quadtree::new(),
            interest: InterestManager::new(settings).expect("the settings are valid"),
            visible: SlotSet::new(),
            changes: InterestChanges::new(),
        }
    }

    /// Returns the visible slots when the entities 0, 1, … are at these distances.
    fn see(&mut self, distances: &[f32]) -> Vec<u32> {
        let numbered = (0..).zip(distances);
        let points: Vec<IndexedPoint> = numbered.map(|(slot, &x)| IndexedPoint { slot, x, y: 0.0 }).collect();
        self.index.rebuild(&points);
        let viewer = Viewer { center: Some([0.0; 2]), always: &NOBODY, hidden: &NOBODY };
        self.interest.update(&self.index, &viewer, &mut self.visible, &mut self.changes);
        self.visible.iter().collect()
    }
}

#[test]
fn with_the_defaults_an_entity_enters_at_200_and_leaves_beyond_220() {
    let mut approach = Approach::new(InterestSettings::default());
    assert_eq!(approach.see(&[200.1]), []);
    assert_eq!(approach.see(&[200.0]), [0]);
    assert_eq!(approach.changes, InterestChanges { entered: vec![0], left: vec![] });
    assert_eq!(approach.see(&[219.9]), [0]);
    assert!(approach.changes.is_empty());
    assert_eq!(approach.see(&[220.1]), []);
    assert_eq!(approach.changes, InterestChanges { entered: vec![], left: vec![0] });
    assert_eq!(approach.see(&[210.0]), []);
}

#[test]
fn a_removed_entity_leaves() {
    let mut approach = Approach::new(InterestSettings::default());
    assert_eq!(approach.see(&[1.0, 2.0]), [0, 1]);
    assert_eq!(approach.see(&[1.0]), [0]);
    assert_eq!(approach.see(&[f32::NAN]), []);
    assert_eq!(approach.changes.left, [0]);
}

#[test]
fn under_the_limit_a_new_entity_must_be_clearly_nearer_to_replace_another() {
    let mut approach = Approach::new(InterestSettings { nearest_max: Some(1), ..InterestSettings::default() });
    assert_eq!(approach.see(&[100.0, 101.0]), [0]);
    assert_eq!(approach.see(&[101.0, 100.0]), [0]);
    assert_eq!(approach.see(&[109.0, 100.0]), [0]);
    assert_eq!(approach.see(&[111.0, 100.0]), [1]);
    assert_eq!(approach.changes, InterestChanges { entered: vec![1], left: vec![0] });
}

#[test]
fn a_limit_of_zero_shows_nothing_by_distance() {
    let mut approach = Approach::new(InterestSettings { nearest_max: Some(0), ..InterestSettings::default() });
    assert_eq!(approach.see(&[0.0, 1.0]), []);
}

#[test]
fn a_viewer_without_a_position_sees_only_always_without_hidden() {
    let mut interest = InterestManager::new(InterestSettings::default()).unwrap();
    let (mut visible, mut changes) = (SlotSet::new(), InterestChanges::new());
    let mut index = grid();
    index.rebuild(&[IndexedPoint { slot: 0, x: 0.0, y: 0.0 }]);
    for center in [None, Some([f32::NAN; 2])] {
        let viewer =
            Viewer { center, always: &[1, 5_000].into_iter().collect(), hidden: &[1, 70_000].into_iter().collect() };
        interest.update(&index, &viewer, &mut visible, &mut changes);
        assert!(visible.iter().eq([5_000]));
    }
}

#[test]
fn one_interest_manager_serves_many_viewers() {
    let mut interest = InterestManager::new(InterestSettings::default()).unwrap();
    let mut changes = InterestChanges::new();
    let mut index = grid();
    let points: Vec<IndexedPoint> =
        (0..300).map(|slot| IndexedPoint { slot, x: slot as f32 * 1_000.0, y: 0.0 }).collect();
    index.rebuild(&points);
    let mut sets = vec![SlotSet::new(); points.len()];
    for _ in 0..2 {
        for (point, visible) in points.iter().zip(&mut sets) {
            let viewer = Viewer { center: Some([point.x, 0.0]), always: &NOBODY, hidden: &NOBODY };
            interest.update(&index, &viewer, visible, &mut changes);
            assert!(visible.iter().eq([point.slot]));
        }
    }
}

#[test]
fn invalid_interest_settings_are_rejected() {
    let with = |radius, hysteresis| {
        let settings = InterestSettings { radius, hysteresis, nearest_max: None };
        InterestManager::new(settings).err()
    };
    for radius in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e30] {
        assert_eq!(with(radius, 0.1), Some(InterestSettingsError::Radius));
    }
    for hysteresis in [-0.1, f32::NAN, f32::INFINITY, 1e30] {
        assert_eq!(with(200.0, hysteresis), Some(InterestSettingsError::Hysteresis));
    }
    assert_eq!(with(200.0, 0.0), None);
}
