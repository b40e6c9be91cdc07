//! Properties of the rules for arbitrary input.

use aether::prelude::*;
use aether_asteroids_rules::{
    ASTEROIDS_LARGE_MAX, Asteroid, AsteroidSize, Controls, HEIGHT, LIFE_POINTS, RELOAD_STEPS, SHOT_STEPS, SPEED_MAX,
    STEP_SECONDS, Ship, WIDTH, asteroids_of, drift, fly, is_near, lives_earned, meets, offset, split, steer, wrapped,
};
use proptest::num::f32::ANY;
use proptest::prelude::*;

const SIZES: [AsteroidSize; 3] = [AsteroidSize::Large, AsteroidSize::Medium, AsteroidSize::Small];

fn any_controls() -> impl Strategy<Value = Controls> {
    (any::<i8>(), any::<bool>(), any::<bool>()).prop_map(|(turn, thrust, fire)| Controls { turn, thrust, fire })
}

fn any_position() -> impl Strategy<Value = [f32; 2]> {
    (0.0..WIDTH, 0.0..HEIGHT).prop_map(|(x, y)| wrapped([x, y]))
}

fn is_inside([x, y]: [f32; 2]) -> bool {
    (0.0..WIDTH).contains(&x) && (0.0..HEIGHT).contains(&y)
}

fn length([x, y]: [f32; 2]) -> f32 {
    (x * x + y * y).sqrt()
}

proptest! {
    #[test]
    fn nothing_leaves_the_world(
        start in ([ANY, ANY], [ANY, ANY], ANY),
        inputs in proptest::collection::vec(any_controls(), 1..120),
        size in proptest::sample::select(SIZES.to_vec()),
    ) {
        let (position, velocity, heading) = start;
        let mut ship = Ship { velocity, heading, position, ..Ship::at([0.0; 2], 1) };
        let mut asteroid = Asteroid { position, velocity, size };
        let mut shots = Vec::new();
        for controls in inputs {
            if steer(&mut ship, &controls).fired {
                shots.push(ship.fire());
            }
            drift(&mut asteroid);
            shots.retain_mut(fly);
            prop_assert!(is_inside(ship.position), "{ship:?}");
            prop_assert!(is_inside(asteroid.position), "{asteroid:?}");
            prop_assert!(shots.iter().all(|shot| is_inside(shot.position)), "{shots:?}");
            prop_assert!(ship.velocity.iter().all(|part| part.is_finite()) && ship.heading.is_finite());
        }
    }

    #[test]
    fn any_numbers_are_wrapped_into_the_world(position in [ANY, ANY]) {
        prop_assert!(is_inside(wrapped(position)));
    }

    #[test]
    fn the_shortest_way_leads_to_the_target_and_is_at_most_half_of_the_world(from in any_position(), to in any_position()) {
        let [x, y] = offset(from, to);
        prop_assert!(x.abs() <= WIDTH / 2.0 && y.abs() <= HEIGHT / 2.0);
        let reached = wrapped([from[0] + x, from[1] + y]);
        prop_assert!(is_near(reached, to, 0.02), "{reached:?} {to:?}");
    }

    #[test]
    fn distances_do_not_depend_on_the_place_of_the_seam(
        from in any_position(), to in any_position(), shift in (0.0..WIDTH, 0.0..HEIGHT),
    ) {
        let moved = |position: [f32; 2]| wrapped([position[0] + shift.0, position[1] + shift.1]);
        let before = length(offset(from, to));
        let after = length(offset(moved(from), moved(to)));
        prop_assert!((before - after).abs() < 0.1, "{before} {after}");
    }

    #[test]
    fn flight_is_the_same_everywhere(
        position in any_position(), inputs in proptest::collection::vec(any_controls(), 1..90),
    ) {
        let middle = [WIDTH / 2.0, HEIGHT / 2.0];
        let mut there = Ship::at(position, 1);
        let mut here = Ship::at(middle, 1);
        for controls in &inputs {
            steer(&mut there, controls);
            steer(&mut here, controls);
        }
        prop_assert_eq!(there.velocity, here.velocity);
        let [way_there, way_here] = [offset(position, there.position), offset(middle, here.position)];
        prop_assert!((way_there[0] - way_here[0]).abs() < 0.05 && (way_there[1] - way_here[1]).abs() < 0.05);
    }

    #[test]
    fn a_craft_never_exceeds_its_speed(inputs in proptest::collection::vec(any_controls(), 1..300)) {
        let mut ship = Ship::at([10.0, 10.0], 1);
        for controls in inputs {
            let before = ship.position;
            steer(&mut ship, &controls);
            prop_assert!(length(ship.velocity) <= SPEED_MAX + 0.1);
            prop_assert!(length(offset(before, ship.position)) <= SPEED_MAX * STEP_SECONDS + 0.1);
        }
    }

    #[test]
    fn reloading_limits_the_rate_of_bullets(inputs in proptest::collection::vec(any_controls(), 1..300)) {
        let mut ship = Ship::at([10.0, 10.0], 1);
        let mut last: Option<usize> = None;
        for (step, controls) in inputs.iter().enumerate() {
            if steer(&mut ship, controls).fired {
                prop_assert!(last.is_none_or(|last| step - last >= usize::from(RELOAD_STEPS)));
                last = Some(step);
            }
        }
    }

    #[test]
    fn a_split_makes_two_of_the_next_size_near_the_whole(
        position in any_position(),
        velocity in [-180.0f32..180.0, -180.0f32..180.0],
        size in proptest::sample::select(SIZES.to_vec()),
        seed in any::<u64>(),
    ) {
        let asteroid = Asteroid::at(position, velocity, size);
        let parts = split(&asteroid, &mut Random::new(seed));
        prop_assert_eq!(parts.is_some(), size != AsteroidSize::Small);
        for part in parts.into_iter().flatten() {
            prop_assert_eq!(Some(part.size), size.smaller());
            prop_assert!(part.size.radius() < size.radius() && part.size.points() > size.points());
            prop_assert!(is_near(part.position, position, size.radius()));
            prop_assert!(is_inside(part.position));
            let mut snapped = part.clone();
            snapped.snap();
            prop_assert_eq!(&snapped, &part, "it is on the grid of the wire");
        }
    }

    #[test]
    fn an_asteroid_drifts_exactly_straight(position in any_position(), velocity in [-180.0f32..180.0, -180.0f32..180.0]) {
        let mut asteroid = Asteroid::at(position, velocity, AsteroidSize::Medium);
        let (from, velocity) = (asteroid.position, asteroid.velocity);
        for step in 1..=120 {
            drift(&mut asteroid);
            let expected = wrapped([0, 1].map(|axis| from[axis] + velocity[axis] * step as f32 * STEP_SECONDS));
            prop_assert!(is_near(asteroid.position, expected, 0.03), "{asteroid:?} {expected:?}");
        }
    }

    #[test]
    fn a_path_meets_what_lies_on_it_also_across_the_seam(
        to in any_position(), path in [-20.0f32..20.0, -20.0f32..20.0], share in 0.0f32..1.0,
    ) {
        let on_path = wrapped([to[0] - path[0] * share, to[1] - path[1] * share]);
        prop_assert!(meets(to, path, on_path, 0.1));
        let beside = wrapped([on_path[0] + 60.0, on_path[1]]);
        prop_assert!(!meets(to, path, beside, 15.0));
    }
}

#[test]
fn a_bullet_ends_after_its_steps() {
    let mut shot = Ship::at([5.0, 5.0], 1).fire();
    let steps = 1 + (0..1_000).take_while(|_| fly(&mut shot)).count();
    assert_eq!(steps, usize::from(SHOT_STEPS));
}

#[test]
fn a_bullet_across_the_seam_meets_an_asteroid_on_the_other_side() {
    let mut shot = Ship::at([100.0, 20.0], 1).fire();
    let asteroid = Asteroid::at([100.0, HEIGHT - 60.0], [0.0; 2], AsteroidSize::Small);
    let hit = (0..30).any(|_| {
        fly(&mut shot);
        let path = shot.velocity.map(|part| part * STEP_SECONDS);
        meets(shot.position, path, asteroid.position, asteroid.size.radius())
    });
    assert!(hit, "it flew up, over the upper edge");
}

#[test]
fn drag_stops_a_craft_and_thrust_moves_it_forward() {
    let mut ship = Ship::at([WIDTH / 2.0, HEIGHT / 2.0], 1);
    for _ in 0..60 {
        steer(&mut ship, &Controls { thrust: true, ..Controls::default() });
    }
    assert!(ship.velocity[1] < -200.0 && ship.velocity[0].abs() < 1.0, "up: {ship:?}");
    let fast = length(ship.velocity);
    for _ in 0..120 {
        steer(&mut ship, &Controls::default());
    }
    assert!(length(ship.velocity) < fast * 0.6);
}

#[test]
fn waves_grow_with_their_number_and_with_players_up_to_a_limit() {
    assert!(asteroids_of(2, 1) > asteroids_of(1, 1));
    assert!(asteroids_of(1, 3) > asteroids_of(1, 1));
    assert_eq!(asteroids_of(u16::MAX, u32::MAX), ASTEROIDS_LARGE_MAX);
    assert!(asteroids_of(0, 0) > 0, "an empty room has drifting asteroids");
}

#[test]
fn a_life_is_earned_at_each_multiple_of_its_points() {
    assert_eq!(lives_earned(0, LIFE_POINTS - 1), 0);
    assert_eq!(lives_earned(LIFE_POINTS - 20, LIFE_POINTS), 1);
    assert_eq!(lives_earned(LIFE_POINTS, LIFE_POINTS + 20), 0);
    assert_eq!(lives_earned(0, 2 * LIFE_POINTS), 2);
}
