//! Shots with lag compensation.

use crate::support::{Stage, all_seen, body, build, entity, events, outwards, player, prompt, seen, stage, structure};
use aether::prelude::*;
use aether_outpost_rules::{Controls, Destroyed, Fallen, HEALTH_MAX, Hit, Kind, Player, SHOT_SPEED, aim_at};
use aether_outpost_server::settings;
use std::time::Duration;

/// Returns the aim at a moving target, as the shooter sees it.
fn lead(from: [f32; 2], target: &Player) -> f32 {
    let mut position = target.position;
    for _ in 0..4 {
        let (dx, dy) = (position[0] - from[0], position[1] - from[1]);
        let seconds = (dx * dx + dy * dy).sqrt() / SHOT_SPEED;
        position = [0, 1].map(|axis| target.position[axis] + target.velocity[axis] * seconds);
    }
    aim_at(from, position)
}

/// Ann shoots at Ben, who runs to and fro. Both have a high latency.
fn duel(settings: RoomSettings) -> (Stage, ClientNumber, usize) {
    let mut stage = stage(settings);
    let slow = Conditions { latency: Duration::from_millis(100), ..Conditions::PERFECT };
    let ann = stage.join("ann", DeliveryOrder::Unordered, slow);
    let ben = stage.join("ben", DeliveryOrder::Ordered, slow);
    // Players are protected after a join.
    stage.tick(80);
    let mut shots = 0;
    for tick in 0..900 {
        let direction = if tick / 40 % 2 == 0 { 1.0 } else { -1.0 };
        stage.set_input(ben, Some(&Controls { push: [direction, 0.0], ..Controls::default() }));
        let own = player(&stage, ann);
        let target = seen::<Player>(&stage, ann, entity(&stage, ben));
        let fire = target.is_some() && tick % 10 == 0;
        shots += usize::from(fire);
        let aim = target.map_or(0.0, |target| lead(own.position, &target));
        stage.set_input(ann, Some(&Controls { aim, fire, ..Controls::default() }));
        stage.tick(1);
    }
    (stage, ann, shots)
}

#[test]
fn shots_at_the_seen_position_hit_at_any_latency() {
    let (with, ann, shots) = duel(prompt());
    let hits = with.room().game().hits_of(with.client(ann).player().expect("it has joined"));
    let (without, ann, _) = duel(RoomSettings { rewind_ticks: 0, ..prompt() });
    let misses = without.room().game().hits_of(without.client(ann).player().expect("it has joined"));
    println!("of {shots} shots at 200 ms of round trip, {hits} hit with lag compensation and {misses} without");
    assert!(hits >= 20, "only {hits} of {shots} shots hit");
    assert!(misses * 3 < hits, "{misses} hit without compensation, {hits} with it: the difference is too small");
}

#[test]
fn a_player_without_health_respawns_with_protection() {
    let (stage, ann, _) = duel(prompt());
    let hits = events::<Hit>(&stage, ann);
    let fallen = events::<Fallen>(&stage, ann);
    assert!(!fallen.is_empty());
    assert_eq!(hits.iter().filter(|hit| hit.health == 0).count(), fallen.len());
    let healths: Vec<i32> = hits.iter().take(5).map(|hit| hit.health).collect();
    assert_eq!(healths, [80, 60, 40, 20, 0]);
}

#[test]
fn a_wall_is_destroyed_after_enough_shots() {
    let mut stage = stage(settings());
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(5);
    let cell = outwards(&stage, ann, 9.0);
    assert_eq!(build(&mut stage, ann, cell, Kind::Wall), Ok(()));
    let aim = aim_at(player(&stage, ann).position, cell.middle());
    stage.set_input(ann, Some(&Controls { aim, fire: true, ..Controls::default() }));
    stage.tick(30);
    let health = structure(&stage, cell).expect("it still stands").health;
    assert!((1..Kind::Wall.health()).contains(&health), "{health}");
    stage.tick(70);
    assert_eq!(structure(&stage, cell), None);
    let destroyed = events::<Destroyed>(&stage, ann);
    assert_eq!(destroyed, [Destroyed { column: cell.column, row: cell.row }]);
}

#[test]
fn a_turret_shoots_at_others_and_not_at_its_builder() {
    let mut stage = stage(settings());
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    let ben = stage.join("ben", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(5);
    let cell = outwards(&stage, ann, 9.0);
    assert_eq!(build(&mut stage, ann, cell, Kind::Turret), Ok(()));
    stage.tick(55);
    assert_eq!(body(&stage, ben).health, HEALTH_MAX, "players are protected after a join");
    stage.tick(120);
    assert!(events::<Hit>(&stage, ben).iter().all(|hit| Some(hit.target) == stage.client(ben).player().map(|it| it.0)));
    assert!(!events::<Hit>(&stage, ben).is_empty());
    assert_eq!(body(&stage, ann).health, HEALTH_MAX);
}

#[test]
fn shots_end() {
    let mut stage = stage(settings());
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(5);
    stage.set_input(ann, Some(&Controls { fire: true, ..Controls::default() }));
    stage.tick(300);
    let flying = all_seen::<aether_outpost_rules::Shot>(&stage, ann).len();
    assert!((1..=8).contains(&flying), "{flying} shots at once");
    stage.set_input(ann, Some(&Controls::default()));
    stage.tick(60);
    assert_eq!(stage.room().world().each::<aether_outpost_rules::Shot>().count(), 0);
}
