//! Ships, the seam, and players who are away.

use crate::support::{all_seen, asteroids, join, ship, stage, standing};
use aether_asteroids_rules::{Asteroid, Controls, HEIGHT, PROTECTED_TICKS, PlayStatus, Ship, Standing, WIDTH};

#[test]
fn a_quiet_room_has_drifting_asteroids() {
    let mut stage = stage(1);
    stage.tick(1);
    let before = asteroids(&stage);
    stage.tick(600);
    let after = asteroids(&stage);
    assert!(before.len() >= 4 && after.len() == before.len());
    assert!(before.iter().zip(&after).all(|(before, after)| before.position != after.position));
}

#[test]
fn a_player_gets_a_protected_ship_and_a_name_that_others_see() {
    let mut stage = stage(2);
    let ann = join(&mut stage, "ann");
    let ben = join(&mut stage, "ben");
    assert!(ship(&stage, ann).is_some_and(|ship| ship.is_protected));
    assert_eq!(standing(&stage, ann).status, PlayStatus::Flying);
    let names: Vec<String> = all_seen::<Standing>(&stage, ben).into_iter().map(|standing| standing.name).collect();
    assert_eq!(names, ["ann", "ben"]);
    assert_eq!(all_seen::<Ship>(&stage, ben).len(), 2);
    assert_eq!(all_seen::<Asteroid>(&stage, ben), asteroids(&stage), "they see the same asteroids");
    stage.tick(PROTECTED_TICKS + 5);
    assert!(ship(&stage, ann).is_none_or(|ship| !ship.is_protected));
}

#[test]
fn a_ship_crosses_the_seam_and_stays_in_the_world() {
    let mut stage = stage(3);
    let ann = join(&mut stage, "ann");
    stage.set_input(ann, Some(&Controls { thrust: true, ..Controls::default() }));
    let mut crossings = 0;
    let mut before: Option<[f32; 2]> = None;
    for _ in 0..900 {
        stage.tick(1);
        let position = ship(&stage, ann).map(|ship| ship.position);
        if let (Some(before), Some([x, y])) = (before, position) {
            assert!((0.0..WIDTH).contains(&x) && (0.0..HEIGHT).contains(&y));
            crossings += u32::from((before[1] - y).abs() > HEIGHT / 2.0);
        }
        before = position;
    }
    assert!(crossings > 0, "it flew up for fifteen seconds");
}

#[test]
fn the_ship_of_a_player_without_inputs_drifts_on() {
    let mut stage = stage(4);
    let ann = join(&mut stage, "ann");
    stage.set_input(ann, Some(&Controls { thrust: true, ..Controls::default() }));
    stage.tick(20);
    stage.set_input(ann, None);
    stage.tick(40);
    let before = ship(&stage, ann).expect("it is protected").position;
    stage.tick(20);
    assert_ne!(ship(&stage, ann).expect("it is protected").position, before);
}

#[test]
fn a_player_who_leaves_takes_its_ship_along_and_the_last_one_resets_the_field() {
    let mut stage = stage(5);
    let ann = join(&mut stage, "ann");
    stage.leave(ann);
    stage.tick(3);
    let world = stage.room().world();
    assert_eq!((world.each::<Ship>().count(), world.each::<Standing>().count()), (0, 0));
    assert!(!asteroids(&stage).is_empty());
}
