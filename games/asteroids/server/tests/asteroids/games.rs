//! Lives, the end of a game, and the next one.

use crate::support::{Stage, join, number, play, ship, stage, standing};
use aether::prelude::*;
use aether_asteroids_rules::{Controls, LIVES_START, PlayStatus, SHIP_POINTS, Standing, Wave, autopilot};

/// Lets a client fly into asteroids until its game is over.
fn crash_all_ships(stage: &mut Stage, client: ClientNumber) {
    let is_over = (0..60 * 180).any(|_| {
        let thrust = ship(stage, client).is_some_and(|ship| ship.velocity.iter().all(|part| part.abs() < 90.0));
        stage.set_input(client, Some(&Controls { thrust, turn: 0, fire: false }));
        stage.tick(1);
        standing(stage, client).status == PlayStatus::GameOver
    });
    assert!(is_over, "a ship that flies straight ahead hits something");
}

#[test]
fn a_lost_ship_costs_a_life_and_another_one_follows() {
    let mut stage = stage(21);
    let ann = join(&mut stage, "ann");
    stage.set_input(ann, Some(&Controls { thrust: true, ..Controls::default() }));
    let is_lost = (0..60 * 60).any(|_| {
        stage.tick(1);
        ship(&stage, ann).is_none()
    });
    assert!(is_lost);
    assert_eq!((standing(&stage, ann).lives, standing(&stage, ann).status), (LIVES_START - 1, PlayStatus::Waiting));
    stage.set_input(ann, Some(&Controls::default()));
    stage.tick(130);
    assert!(ship(&stage, ann).is_some_and(|ship| ship.is_protected));
    assert_eq!(stage.client(ann).received().possessions.len(), 2, "it controls the new ship");
}

#[test]
fn after_the_last_life_the_trigger_starts_another_game() {
    let mut stage = stage(22);
    let ann = join(&mut stage, "ann");
    crash_all_ships(&mut stage, ann);
    assert_eq!(standing(&stage, ann).lives, 0);
    stage.set_input(ann, Some(&Controls::default()));
    stage.tick(600);
    assert!(ship(&stage, ann).is_none(), "it waits for the trigger");
    stage.set_input(ann, Some(&Controls { fire: true, ..Controls::default() }));
    stage.tick(5);
    let now = standing(&stage, ann);
    assert_eq!((now.score, now.lives, now.status), (0, LIVES_START, PlayStatus::Flying));
    assert!(ship(&stage, ann).is_some());
    let (_, wave) = stage.room().world().each::<Wave>().next().expect("there is a wave");
    assert_eq!(wave.number, 1, "nobody else plays, so the waves begin anew");
}

#[test]
fn a_trigger_that_is_held_through_the_end_does_not_start_another_game() {
    let mut stage = stage(23);
    let ann = join(&mut stage, "ann");
    let is_over = (0..60 * 300).any(|_| {
        stage.set_input(ann, Some(&Controls { thrust: true, fire: true, turn: 0 }));
        stage.tick(1);
        standing(&stage, ann).status == PlayStatus::GameOver
    });
    assert!(is_over);
    stage.tick(300);
    assert_eq!(standing(&stage, ann).status, PlayStatus::GameOver);
}

#[test]
fn shooting_another_player_counts_as_a_kill() {
    let mut stage = stage(24);
    let ann = join(&mut stage, "ann");
    let ben = join(&mut stage, "ben");
    let mut has_killed = false;
    for _ in 0..60 * 120 {
        // Ann aims at Ben as at an asteroid, and Ben rests.
        if let (Some(own), Some(other)) = (ship(&stage, ann), ship(&stage, ben)) {
            let target = aether_asteroids_rules::Asteroid::at(
                other.position,
                other.velocity,
                aether_asteroids_rules::AsteroidSize::Small,
            );
            stage.set_input(ann, Some(&autopilot(&own, [&target])));
        } else {
            play(&mut stage, ann);
        }
        stage.set_input(ben, Some(&Controls { fire: standing(&stage, ben).lives == 0, ..Controls::default() }));
        stage.tick(1);
        if standing(&stage, ann).kills > 0 {
            has_killed = true;
            break;
        }
    }
    assert!(has_killed);
    assert!(standing(&stage, ann).score >= SHIP_POINTS);
    let _ = number(&stage, ben);
    let others: Vec<Standing> = crate::support::all_seen(&stage, ben);
    assert_eq!(others.len(), 2);
}
