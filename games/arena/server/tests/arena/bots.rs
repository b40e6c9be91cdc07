//! Bots in quiet rooms.

use crate::support::{blobs, stage, steer};
use aether::prelude::*;
use aether_arena_rules::MASS_START;
use aether_arena_server::{Arena, NAME, settings};
use std::time::Instant;

const BOTS_FROM: u32 = 1 << 24;

#[test]
fn bots_fill_a_quiet_room_one_by_one() {
    let mut stage = stage(12);
    stage.tick(25);
    assert!((1..=3).contains(&stage.room().game().bots()));
    stage.tick(150);
    assert_eq!(stage.room().game().bots(), 12);
}

#[test]
fn bots_make_room_for_players() {
    let mut stage = stage(6);
    stage.tick(100);
    assert_eq!(stage.room().game().bots(), 6);
    let clients: Vec<_> = (0..4)
        .map(|number| stage.join(&format!("eater {number}"), DeliveryOrder::Ordered, Conditions::PERFECT))
        .collect();
    for tick in 0..3_000 {
        for (number, client) in clients.iter().enumerate() {
            stage.set_input(*client, Some(&steer(tick, number as u32)));
        }
        stage.tick(1);
        if stage.room().game().bots() < 6 {
            break;
        }
    }
    assert!(stage.room().game().bots() < 6, "no bot was replaced by a player");
    for client in clients {
        stage.leave(client);
    }
    stage.tick(200);
    assert_eq!(stage.room().game().bots(), 6, "and the room fills again");
}

#[test]
fn bots_find_food_and_eat_each_other() {
    let mut stage = stage(16);
    stage.tick(1_500);
    let masses: Vec<u32> = (BOTS_FROM..BOTS_FROM + 16).filter_map(|bot| stage.room().game().mass_of(bot)).collect();
    let heaviest = masses.iter().max().copied().unwrap_or(0);
    println!("after 75 seconds 16 bots weigh {masses:?}");
    assert!(heaviest >= 5 * MASS_START, "{masses:?}");
}

#[test]
fn the_same_seed_gives_the_same_bots_and_a_recording_replays() {
    let room = Room::builder(Arena::default(), settings()).seed(3).record(NAME).build().expect("it is valid");
    let mut stage = Harness::new(room, 4);
    let ann = stage.join("ann", DeliveryOrder::Unordered, Conditions::MOBILE);
    for tick in 0..600 {
        stage.set_input(ann, Some(&steer(tick, 1)));
        stage.tick(1);
    }
    let recording = stage.room().recording().expect("it is recorded").to_bytes();
    let recording = Recording::from_bytes(&recording).expect("it was written");
    let mut replay = Replay::new(Arena::default(), settings(), &recording).expect("it is the same game");
    let last = (stage.room().now(), stage.room().hash());
    assert_eq!(replay.run_to(last.0), Ok(Some(last)));
}

/// Prints the cost of 200 bots; benchmarks measure it.
#[test]
fn two_hundred_bots_and_a_player_converge() {
    let mut stage = stage(201);
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(2_100);
    assert!(stage.room().game().bots() >= 195, "{} bots", stage.room().game().bots());
    let before = stage.client(ann).traffic().bytes;
    let started = Instant::now();
    stage.tick(200);
    let tick_us = started.elapsed().as_micros() / 200;
    let bytes_per_second = (stage.client(ann).traffic().bytes - before) / 10;
    println!("200 bots: {tick_us} µs a tick with its client, {bytes_per_second} bytes a second both ways");
    assert!(!blobs(&stage, BOTS_FROM).is_empty() || stage.room().world().len() > 900);
    assert!(stage.has_converged(ann));
}
