//! Players who play by themselves: points, splits, waves.

use crate::support::{all_seen, asteroids, join, play, stage, standing};
use aether_asteroids_rules::{AsteroidSize, Explosion, ExplosionKind, Wave};

#[test]
fn shots_split_asteroids_and_earn_points() {
    let mut stage = stage(11);
    let ann = join(&mut stage, "ann");
    let before = asteroids(&stage).len();
    let split = (0..60 * 30).any(|_| {
        play(&mut stage, ann);
        stage.tick(1);
        asteroids(&stage).iter().any(|asteroid| asteroid.size == AsteroidSize::Small)
    });
    assert!(split, "a large one split into medium ones, and one of those into small ones");
    assert!(asteroids(&stage).len() > before);
    let score = standing(&stage, ann).score;
    assert!(score >= 20, "{score} points");
    stage.tick(3);
    assert!(all_seen::<aether_asteroids_rules::Standing>(&stage, ann).iter().any(|standing| standing.score >= score));
}

#[test]
fn explosions_are_reported_with_the_player_who_caused_them() {
    let mut stage = stage(12);
    let ann = join(&mut stage, "ann");
    for _ in 0..60 * 20 {
        play(&mut stage, ann);
        stage.tick(1);
    }
    let own = crate::support::number(&stage, ann);
    let seen: Vec<Explosion> = stage.events(ann);
    assert!(seen.iter().any(|explosion| explosion.kind == ExplosionKind::Large && explosion.by == own), "{seen:?}");
}

#[test]
fn cleared_waves_are_followed_by_larger_ones() {
    let mut stage = stage(13);
    let players: Vec<_> = ["ann", "ben", "cat"].iter().map(|name| join(&mut stage, name)).collect();
    let mut waves = Vec::new();
    for _ in 0..60 * 240 {
        for player in &players {
            play(&mut stage, *player);
        }
        stage.tick(1);
        let wave = stage.room().world().each::<Wave>().next().map(|(_, wave)| wave.clone()).expect("there is a wave");
        if waves.last().is_none_or(|last: &Wave| last.number < wave.number) {
            waves.push(wave);
        }
        if waves.len() == 3 {
            break;
        }
    }
    let numbers: Vec<u16> = waves.iter().map(|wave| wave.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert!(waves.is_sorted_by(|a, b| a.asteroids < b.asteroids), "{waves:?}");
}
