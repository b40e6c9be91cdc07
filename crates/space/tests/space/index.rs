//! Both indexes find the same points as a comparison with every point.

use aether_space::{
    Grid, IndexedPoint, InterestSettingsError, NearbyEntity, Quadtree, SpatialIndex, WorldBounds, distance_squared,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const RADIUS: f32 = 20.0;

fn bounds() -> WorldBounds {
    WorldBounds { min: [-100.0, -60.0], max: [100.0, 80.0] }
}

fn grid() -> Grid {
    Grid::new(bounds(), RADIUS).expect("the bounds are valid")
}

/// Coordinates anywhere, on whole numbers so that distances are equal and borders are hit, far outside, and at the
/// limits of floats.
fn coordinate() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => -120.0..120.0f32,
        4 => (-12..=12i32).prop_map(|number| number as f32 * 10.0),
        1 => -1e6..1e6f32,
        1 => prop::sample::select(vec![
            0.0, -0.0, 1e-30, -1e-30, f32::MIN_POSITIVE, 1e30, -1e30, f32::MAX, f32::MIN,
        ]),
    ]
}

fn any_coordinate() -> impl Strategy<Value = f32> {
    prop_oneof![
        20 => coordinate(),
        1 => prop::sample::select(vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY]),
    ]
}

fn radius() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => 0.0..60.0f32,
        2 => (0..6i32).prop_map(|number| number as f32 * 10.0),
        1 => prop::sample::select(vec![0.0, -0.0, 1e-30, 1e-10, 1e10, 1e25, f32::MAX, f32::INFINITY]),
    ]
}

fn points() -> impl Strategy<Value = Vec<IndexedPoint>> {
    let positions = prop::collection::vec((any_coordinate(), any_coordinate()), 0..150);
    positions.prop_map(|positions| {
        let numbered = (0..).zip(positions);
        numbered.map(|(slot, (x, y))| IndexedPoint { slot, x, y }).collect()
    })
}

fn center() -> impl Strategy<Value = [f32; 2]> {
    [coordinate(), coordinate()]
}

/// Every point within the radius, nearest first.
fn compare_all(points: &[IndexedPoint], center: [f32; 2], radius: f32) -> Vec<NearbyEntity> {
    let finite = points.iter().filter(|point| point.x.is_finite() && point.y.is_finite());
    let measured = finite
        .map(|point| NearbyEntity { slot: point.slot, distance_squared: distance_squared(center, point.x, point.y) });
    let mut found: Vec<NearbyEntity> = measured.filter(|near| near.distance_squared <= radius * radius).collect();
    found.sort_by(NearbyEntity::compare);
    found
}

fn assert_finds_all(index: &mut impl SpatialIndex, points: &[IndexedPoint], center: [f32; 2], radius: f32) {
    index.rebuild(points);
    // An old result must be removed.
    let mut found = vec![NearbyEntity { slot: 9_999, distance_squared: 0.0 }];
    index.within(center, radius, &mut found);
    found.sort_by(NearbyEntity::compare);
    assert_eq!(found, compare_all(points, center, radius));
}

fn assert_finds_nearest(
    index: &mut impl SpatialIndex,
    points: &[IndexedPoint],
    center: [f32; 2],
    radius: f32,
    count: usize,
) {
    index.rebuild(points);
    let mut found = vec![NearbyEntity { slot: 9_999, distance_squared: 0.0 }];
    index.nearest(center, radius, count, &mut found);
    let mut nearest = compare_all(points, center, radius);
    nearest.truncate(count);
    assert_eq!(found, nearest);
}

/// The same cases on every run.
fn fixed() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(fixed())]

    #[test]
    fn a_grid_finds_all_within_a_radius(points in points(), center in center(), radius in radius()) {
        assert_finds_all(&mut grid(), &points, center, radius);
    }

    #[test]
    fn a_quadtree_finds_all_within_a_radius(points in points(), center in center(), radius in radius()) {
        assert_finds_all(&mut Quadtree::new(), &points, center, radius);
    }

    #[test]
    fn a_grid_finds_the_nearest(
        points in points(), center in center(), radius in radius(), count in 0..40usize,
    ) {
        assert_finds_nearest(&mut grid(), &points, center, radius, count);
    }

    #[test]
    fn a_quadtree_finds_the_nearest(
        points in points(), center in center(), radius in radius(), count in 0..40usize,
    ) {
        assert_finds_nearest(&mut Quadtree::new(), &points, center, radius, count);
    }

    #[test]
    fn rounding_loses_no_point_on_the_border_of_a_circle(
        center in [-300.0..300.0f32, -300.0..300.0f32], radius in 0.1..90.0f32, turns in 1..200u16,
    ) {
        // Points around the circle, each as near to the border as floats allow.
        let points: Vec<IndexedPoint> = (0..turns).map(|turn| {
            let angle = f32::from(turn) / f32::from(turns) * std::f32::consts::TAU;
            IndexedPoint {
                slot: u32::from(turn),
                x: center[0] + radius * angle.cos(),
                y: center[1] + radius * angle.sin(),
            }
        }).collect();
        assert_finds_all(&mut grid(), &points, center, radius);
        assert_finds_all(&mut Quadtree::new(), &points, center, radius);
    }

    #[test]
    fn a_rebuild_removes_old_points(before in points(), after in points(), center in center()) {
        let (mut grid, mut quadtree) = (grid(), Quadtree::new());
        grid.rebuild(&before);
        quadtree.rebuild(&before);
        assert_finds_all(&mut grid, &after, center, RADIUS);
        assert_finds_all(&mut quadtree, &after, center, RADIUS);
    }

    #[test]
    fn points_without_a_position_are_omitted_but_their_slots_count(points in points()) {
        let finite = points.iter().filter(|point| point.x.is_finite() && point.y.is_finite()).count();
        let (mut grid, mut quadtree) = (grid(), Quadtree::new());
        grid.rebuild(&points);
        quadtree.rebuild(&points);
        prop_assert_eq!([grid.len(), quadtree.len()], [finite; 2]);
        prop_assert_eq!([grid.slot_end(), quadtree.slot_end()], [points.len(); 2]);
    }
}

/// Runs a check on both indexes.
fn on_both(check: impl Fn(&mut dyn FnMut(&[IndexedPoint], [f32; 2], f32) -> usize)) {
    fn count(index: &mut impl SpatialIndex, points: &[IndexedPoint], center: [f32; 2], radius: f32) -> usize {
        assert_finds_nearest(index, points, center, radius, 7);
        let mut found = Vec::new();
        index.rebuild(points);
        index.within(center, radius, &mut found);
        found.len()
    }
    check(&mut |points, center, radius| count(&mut grid(), points, center, radius));
    check(&mut |points, center, radius| count(&mut Quadtree::new(), points, center, radius));
}

#[test]
fn an_empty_index_finds_nothing() {
    on_both(|count| assert_eq!(count(&[], [0.0; 2], f32::INFINITY), 0));
}

#[test]
fn one_point_is_found_at_its_position_with_radius_zero() {
    let point = IndexedPoint { slot: 3, x: -0.0, y: 7.0 };
    on_both(|count| {
        assert_eq!(count(&[point], [0.0, 7.0], 0.0), 1);
        assert_eq!(count(&[point], [0.0, 7.0], -0.0), 1);
        assert_eq!(count(&[point], [0.0, 7.000_001], 0.0), 0);
    });
}

#[test]
fn many_points_at_one_position_are_all_found() {
    let points: Vec<IndexedPoint> = (0..5_000).map(|slot| IndexedPoint { slot, x: 12.5, y: -3.25 }).collect();
    on_both(|count| {
        assert_eq!(count(&points, [12.5, -3.25], 0.0), 5_000);
        assert_eq!(count(&points, [12.5, -2.25], 1.0), 5_000);
        assert_eq!(count(&points, [12.5, -2.0], 1.0), 0);
    });
}

#[test]
fn points_that_differ_by_the_smallest_float_are_all_found() {
    let points: Vec<IndexedPoint> =
        (0..2_000).map(|slot| IndexedPoint { slot, x: f32::from_bits(slot), y: 1.0f32.next_up() }).collect();
    on_both(|count| assert_eq!(count(&points, [0.0, 1.0], 0.5), 2_000));
}

#[test]
fn points_far_outside_the_bounds_are_found() {
    let points: Vec<IndexedPoint> =
        (0..1_000).map(|slot| IndexedPoint { slot, x: 1e5 + slot as f32, y: -1e5 }).collect();
    on_both(|count| {
        assert_eq!(count(&points, [1e5 + 500.0, -1e5], 10.0), 21);
        assert_eq!(count(&points, [0.0, 0.0], 1_000.0), 0);
    });
}

#[test]
fn a_query_with_an_invalid_center_or_radius_finds_nothing() {
    let points = [IndexedPoint { slot: 0, x: 0.0, y: 0.0 }];
    on_both(|count| {
        assert_eq!(count(&points, [f32::NAN, 0.0], 10.0), 0);
        assert_eq!(count(&points, [0.0, f32::NAN], 10.0), 0);
        assert_eq!(count(&points, [0.0; 2], f32::NAN), 0);
    });
    for (center, radius) in [([f32::INFINITY, 0.0], f32::INFINITY), ([0.0; 2], -1.0)] {
        let (mut grid, mut quadtree, mut found) = (grid(), Quadtree::new(), Vec::new());
        grid.rebuild(&points);
        grid.within(center, radius, &mut found);
        assert_eq!(found, []);
        quadtree.rebuild(&points);
        quadtree.nearest(center, radius, 3, &mut found);
        assert_eq!(found, []);
    }
}

#[test]
fn a_grid_works_with_any_bounds_and_radius_that_pass_the_check() {
    let points: Vec<IndexedPoint> =
        (0..500).map(|slot| IndexedPoint { slot, x: (slot * 37 % 101) as f32, y: (slot * 53 % 97) as f32 }).collect();
    let wide = WorldBounds { min: [-1e18; 2], max: [1e18; 2] };
    let narrow = WorldBounds { min: [50.0; 2], max: [50.5, 51.0] };
    for (bounds, radius) in [(wide, 1e-15), (wide, 1e18), (narrow, 1e-15), (narrow, 1e15)] {
        let mut grid = Grid::new(bounds, radius).unwrap();
        assert_finds_all(&mut grid, &points, [40.0, 40.0], 25.0);
    }
}

#[test]
fn invalid_grid_settings_are_rejected() {
    for radius in [0.0, -0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert_eq!(Grid::new(bounds(), radius).err(), Some(InterestSettingsError::Radius));
    }
    for max in [f32::NAN, f32::INFINITY, -100.0, -101.0] {
        let bounds = WorldBounds { min: [-100.0; 2], max: [100.0, max] };
        assert_eq!(Grid::new(bounds, 1.0).err(), Some(InterestSettingsError::Bounds));
    }
}

#[test]
fn points_on_the_corners_of_cells_and_on_the_circle_are_found() {
    // Offsets such as (15, 20) are exactly on a circle of radius 25, and the points are exactly on the edges of the
    // rows and columns of the grid.
    let side = |number: u32| number as f32 * 5.0 - 60.0;
    let points: Vec<IndexedPoint> =
        (0..625).map(|slot| IndexedPoint { slot, x: side(slot % 25), y: side(slot / 25) }).collect();
    let (mut grid, mut quadtree) = (grid(), Quadtree::new());
    for center in (0..625).map(|number| [side(number % 25), side(number / 25)]) {
        for radius in [25.0, 50.0] {
            assert_finds_all(&mut grid, &points, center, radius);
            assert_finds_all(&mut quadtree, &points, center, radius);
        }
    }
}
