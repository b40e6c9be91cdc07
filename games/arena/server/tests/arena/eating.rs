//! Eating, growing and splitting.

use crate::support::{all_seen, blobs, events, grow, join, number, stage, steer, towards};
use aether::prelude::*;
use aether_arena_rules::{Blob, EDGE, Eaten, Leaderboard, MASS_START, Pellet, Steer};

#[test]
fn a_player_starts_small_and_moves_where_it_steers() {
    let mut stage = stage(0);
    let ann = join(&mut stage, "ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(2);
    let own = number(&stage, ann);
    let before = blobs(&stage, own);
    assert_eq!((before.len(), before[0].mass), (1, MASS_START));
    let aim = [-before[0].position[0].signum(), 0.0];
    stage.set_input(ann, Some(&Steer { aim, split: false }));
    stage.tick(10);
    let after = blobs(&stage, own);
    assert!((after[0].position[0] - before[0].position[0]) * aim[0] > 40.0);
    assert!(stage.has_converged(ann));
}

#[test]
fn a_player_watches_until_it_steers() {
    let mut stage = stage(4);
    stage.tick(200);
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.set_input(ann, Some(&Steer::default()));
    stage.tick(100);
    let own = number(&stage, ann);
    assert!(blobs(&stage, own).is_empty());
    assert!(!all_seen::<Blob>(&stage, ann).is_empty(), "it sees the eaters");
    assert!(stage.client(ann).received().possessions.is_empty());
    stage.set_input(ann, Some(&Steer { aim: [1.0, 0.0], split: false }));
    stage.tick(5);
    assert_eq!(blobs(&stage, own).len(), 1);
    assert_eq!(stage.client(ann).received().possessions.len(), 1, "it controls its blob");
}

#[test]
fn only_nearby_pellets_are_sent() {
    let mut stage = stage(0);
    let ann = join(&mut stage, "ann", DeliveryOrder::Unordered, Conditions::PERFECT);
    stage.tick(20);
    let all = stage.room().world().each::<Pellet>().count();
    let seen = all_seen::<Pellet>(&stage, ann).len();
    assert_eq!(all, 800);
    assert!((20..300).contains(&seen), "{seen} of {all} are in view");
}

#[test]
fn eaten_pellets_add_mass_and_respawn() {
    let mut stage = stage(0);
    let ann = join(&mut stage, "ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(5);
    grow(&mut stage, ann, MASS_START + 10);
    stage.tick(1);
    assert_eq!(stage.room().world().each::<Pellet>().count(), 800);
    assert_eq!(stage.room().game().mass_of(number(&stage, ann)), Some(blobs(&stage, number(&stage, ann))[0].mass));
}

#[test]
fn a_split_makes_two_blobs_that_merge_again() {
    let mut stage = stage(0);
    let ann = join(&mut stage, "ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(5);
    grow(&mut stage, ann, 60);
    let own = number(&stage, ann);
    // A held button splits only once.
    stage.set_input(ann, Some(&Steer { aim: [0.0, 0.0], split: true }));
    stage.tick(10);
    let parts = blobs(&stage, own);
    assert_eq!(parts.len(), 2, "{parts:?}");
    assert!(parts[0].mass + parts[1].mass >= 60);
    stage.set_input(ann, Some(&Steer::default()));
    stage.tick(230);
    assert_eq!(blobs(&stage, own).len(), 2, "not yet");
    // Without a direction, both move to their common center.
    stage.tick(60);
    let parts = blobs(&stage, own);
    assert_eq!(parts.len(), 1, "{parts:?}");
    assert!(parts[0].mass >= 60);
}

#[test]
fn the_heavier_eats_the_lighter_who_respawns() {
    let mut stage = stage(0);
    let ann = join(&mut stage, "ann", DeliveryOrder::Unordered, Conditions::BROADBAND);
    let ben = join(&mut stage, "ben", DeliveryOrder::Ordered, Conditions::BROADBAND);
    stage.tick(10);
    grow(&mut stage, ann, 40);
    let [own, prey] = [number(&stage, ann), number(&stage, ben)];
    for _ in 0..1_200 {
        if !events::<Eaten>(&stage, ben).is_empty() {
            break;
        }
        let (Some(from), Some(to)) = (blobs(&stage, own).into_iter().next(), blobs(&stage, prey).into_iter().next())
        else {
            stage.tick(1);
            continue;
        };
        stage.set_input(ann, Some(&towards(from.position, to.position)));
        stage.tick(1);
    }
    let eaten = events::<Eaten>(&stage, ben);
    assert_eq!(eaten.iter().map(|eaten| (eaten.eater, eaten.by)).collect::<Vec<_>>(), [(prey, own)]);
    assert!(stage.room().game().mass_of(own).is_some_and(|mass| mass >= 60));
    assert!(blobs(&stage, prey).is_empty());
    assert!(!all_seen::<Pellet>(&stage, ben).is_empty(), "it still sees where it was eaten");
    stage.set_input(ann, Some(&Steer::default()));
    stage.set_input(ben, Some(&Steer::default()));
    stage.tick(100);
    assert!(blobs(&stage, prey).is_empty(), "it watches until it steers");
    stage.set_input(ben, Some(&Steer { aim: [0.0, 0.5], split: false }));
    stage.tick(20);
    assert_eq!(blobs(&stage, prey).len(), 1);
    assert!(blobs(&stage, prey)[0].mass >= MASS_START);
    assert_eq!(stage.client(ben).received().possessions.len(), 2, "it controls the new blob");
}

#[test]
fn the_room_leaderboard_is_sorted_by_mass() {
    let mut stage = stage(14);
    let ann = join(&mut stage, "ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(600);
    let boards = all_seen::<Leaderboard>(&stage, ann);
    assert_eq!(boards.len(), 1);
    assert_eq!(boards[0].rows.len(), 10);
    assert!(boards[0].rows.is_sorted_by(|a, b| a.mass >= b.mass));
    assert!(boards[0].rows[0].mass > MASS_START);
}

#[test]
fn all_clients_converge_after_a_storm_and_nothing_leaves_the_world() {
    let mut stage = stage(20);
    let clients: Vec<_> = (0..8)
        .map(|number| {
            let order = if number % 2 == 0 { DeliveryOrder::Ordered } else { DeliveryOrder::Unordered };
            stage.join(&format!("eater {number}"), order, Conditions::STORM)
        })
        .collect();
    for tick in 0..400 {
        for (number, client) in clients.iter().enumerate() {
            stage.set_input(*client, Some(&steer(tick, number as u32)));
        }
        stage.tick(1);
        for (_, blob) in stage.room().world().each::<Blob>() {
            assert!(blob.position.iter().all(|at| at.abs() <= EDGE));
        }
    }
    assert!(clients.iter().any(|client| !stage.has_converged(*client)), "the storm must cause divergence first");
    stage.heal();
    stage.tick(100);
    for client in &clients {
        assert!(stage.has_converged(*client), "{}", stage.client(*client).name());
        assert_eq!(stage.client(*client).received().faults, Vec::<String>::new());
    }
}
