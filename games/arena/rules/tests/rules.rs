//! Properties of the rules for arbitrary input.

use aether_arena_rules::{
    BLOBS_MAX, Blob, Dish, EDGE, MASS_MAX, MASS_START, MERGE_TICKS, Piece, SPLIT_MASS_MIN, STEP_SECONDS, can_devour,
    can_merge, decay, drive, heading, radius, speed, split,
};
use proptest::num::f32::ANY;
use proptest::prelude::*;

fn any_aim() -> impl Strategy<Value = [f32; 2]> {
    prop_oneof![4 => [-1.0f32..1.0, -1.0f32..1.0], 1 => [ANY, ANY]]
}

fn any_mass() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 1u32..400, 3 => 400u32..6_000, 1 => 6_000..=MASS_MAX]
}

prop_compose! {
    /// Blobs close together, some of one eater.
    fn any_dish()(
        blobs in proptest::collection::vec((1u32..6, [-220.0f32..220.0, -220.0f32..220.0], any_mass(), 0u32..60), 1..40),
    ) -> Dish {
        let mut dish = Dish::default();
        for (eater, position, mass, merges_at) in blobs {
            dish.pieces.push(Piece::new(eater, Blob { merges_at, ..Blob::at(position, mass) }));
        }
        dish
    }
}

proptest! {
    #[test]
    fn nothing_leaves_the_world(
        start in ([ANY, ANY], [ANY, ANY], any_mass()),
        aims in proptest::collection::vec(any_aim(), 1..60),
        seconds in prop_oneof![3 => Just(STEP_SECONDS), 1 => ANY],
    ) {
        let (position, thrust, mass) = start;
        let mut blob = Blob { thrust, ..Blob::at(position, mass) };
        for aim in aims {
            drive(&mut blob, aim, seconds);
            prop_assert!(blob.position.iter().all(|at| at.abs() <= EDGE), "{blob:?}");
            prop_assert!(blob.velocity.iter().all(|part| part.is_finite()));
        }
    }

    #[test]
    fn no_blob_exceeds_the_speed_of_its_mass(mass in any_mass(), aim in any_aim()) {
        let mut blob = Blob::at([0.0; 2], mass);
        drive(&mut blob, aim, STEP_SECONDS);
        let [x, y] = blob.position;
        prop_assert!((x * x + y * y).sqrt() <= speed(mass) * STEP_SECONDS + 0.1);
        let [x, y] = heading(aim);
        prop_assert!(x * x + y * y <= 1.0001);
    }

    #[test]
    fn a_split_halves_and_preserves_mass(mass in any_mass(), aim in any_aim(), now in any::<u32>()) {
        let mut blob = Blob::at([0.0; 2], mass);
        match split(&mut blob, aim, now) {
            Some(part) => {
                prop_assert_eq!(blob.mass + part.mass, mass);
                prop_assert!(blob.mass.abs_diff(part.mass) <= 1);
                prop_assert!(now >= u32::MAX - MERGE_TICKS || !can_merge(&blob, &part, now));
                prop_assert!(part.thrust.iter().all(|part| part.is_finite()));
            }
            None => prop_assert!(mass < SPLIT_MASS_MIN && blob.mass == mass),
        }
    }

    #[test]
    fn total_mass_is_preserved(
        mut dish in any_dish(),
        splits in proptest::collection::vec((1u32..6, any_aim()), 0..4),
        aim in any_aim(),
        now in 0u32..80,
    ) {
        let mass = dish.mass();
        for (eater, aim) in splits {
            dish.split(eater, aim, now);
            prop_assert_eq!(dish.mass(), mass, "by a split");
        }
        dish.drive(|_| aim, STEP_SECONDS);
        prop_assert_eq!(dish.mass(), mass, "by moving");
        dish.merge_or_separate(now);
        prop_assert_eq!(dish.mass(), mass, "by merging");
        let devoured = dish.devour();
        prop_assert_eq!(dish.mass(), mass, "by eating each other");
        for meal in devoured {
            let [prey, by] = [meal.prey, meal.by].map(|index| &dish.pieces[index]);
            prop_assert!(prey.is_gone && prey.eater != by.eater);
        }
        let lost = dish.decay();
        prop_assert_eq!(dish.mass() + lost, mass, "by decay");
        dish.tidy();
        prop_assert_eq!(dish.mass() + lost, mass);
        for piece in &dish.pieces {
            prop_assert!((1..=MASS_MAX).contains(&piece.blob.mass));
            prop_assert!(piece.blob.position.iter().all(|at| at.abs() <= EDGE));
        }
    }

    #[test]
    fn a_pellet_is_eaten_once_and_counts_once(
        mut dish in any_dish(),
        pellets in proptest::collection::vec([-300.0f32..300.0, -300.0f32..300.0], 0..80),
    ) {
        let mass = dish.mass();
        let mut eaten = Vec::new();
        dish.feed(&pellets, &mut eaten);
        prop_assert_eq!(dish.mass(), mass + eaten.len() as u64);
        prop_assert!(eaten.is_sorted_by(|a, b| a < b), "each once");
        prop_assert!(eaten.iter().all(|index| *index < pellets.len()));
    }

    #[test]
    fn only_a_clearly_heavier_blob_eats(one in any_mass(), other in any_mass(), at in [-200.0f32..200.0, -200.0f32..200.0]) {
        let (eater, prey) = (Blob::at([0.0; 2], one), Blob::at(at, other));
        if can_devour(&eater, &prey) {
            prop_assert!(one > other && one + other <= MASS_MAX);
            prop_assert!(at[0].hypot(at[1]) < radius(one));
            prop_assert!(!can_devour(&prey, &eater));
        }
    }

    #[test]
    fn heavier_blobs_are_larger_and_slower(one in any_mass(), other in any_mass()) {
        if one < other {
            prop_assert!(radius(one) < radius(other) && speed(one) > speed(other));
            prop_assert!(decay(one) <= decay(other) && decay(other) < other);
        }
    }

    #[test]
    fn an_eater_has_at_most_blobs_max_blobs(times in 1usize..8, mass in any_mass()) {
        let mut dish = Dish::default();
        dish.pieces.push(Piece::new(7, Blob::at([0.0; 2], mass)));
        for _ in 0..times {
            dish.split(7, [1.0, 0.0], 0);
        }
        prop_assert!(dish.alive().count() <= BLOBS_MAX);
        prop_assert_eq!(dish.mass(), u64::from(mass));
    }
}

#[test]
fn blobs_stay_apart_for_a_while_and_then_merge() {
    let mut dish = Dish::default();
    dish.pieces.push(Piece::new(1, Blob::at([0.0; 2], 200)));
    dish.split(1, [1.0, 0.0], 0);
    for now in 1..MERGE_TICKS {
        // Both steer to their common center.
        dish.drive(|_| [0.0; 2], STEP_SECONDS);
        dish.merge_or_separate(now);
        assert_eq!(dish.alive().count(), 2, "at tick {now}");
    }
    let apart = (dish.pieces[0].blob.position[0] - dish.pieces[1].blob.position[0]).abs();
    assert!((apart - 2.0 * radius(100)).abs() < 20.0, "they touch: {apart}");
    for now in MERGE_TICKS..MERGE_TICKS + 40 {
        dish.drive(|_| [0.0; 2], STEP_SECONDS);
        dish.merge_or_separate(now);
    }
    assert_eq!((dish.alive().count(), dish.mass()), (1, 200));
}

#[test]
fn a_new_eater_cannot_eat_one_of_equal_mass() {
    let one = Blob::at([0.0; 2], MASS_START);
    assert!(!can_devour(&one, &one));
    assert!(can_devour(&Blob::at([0.0; 2], MASS_START * 5 / 4), &one));
}
