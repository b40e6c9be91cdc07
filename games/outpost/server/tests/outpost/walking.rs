//! Joining, walking and leaving.

use crate::support::{all_seen, build, controls, entity, names, outwards, player, seen, stage};
use aether::prelude::*;
use aether_outpost_rules::{Cell, Controls, Kind, Player, STEP_SECONDS, Structure, StructureGrid, Surroundings, walk};
use aether_outpost_server::settings;
use std::time::Duration;

#[test]
fn a_player_walks_where_it_steers_and_comes_to_rest() {
    let mut stage = stage(settings());
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(2);
    let from = player(&stage, ann).position;
    stage.set_input(ann, Some(&Controls { push: [1.0, 0.0], ..Controls::default() }));
    stage.tick(31);
    let walked = player(&stage, ann).position;
    assert!((12.0..=18.1).contains(&(walked[0] - from[0])), "{from:?} to {walked:?}");
    assert_eq!(walked[1], from[1]);
    stage.set_input(ann, Some(&Controls::default()));
    stage.tick(30);
    assert_eq!(player(&stage, ann).velocity, [0.0; 2]);
}

#[test]
fn the_list_of_players_follows_joins_and_leaves() {
    let mut stage = stage(settings());
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    let ben = stage.join("ben", DeliveryOrder::Unordered, Conditions::BROADBAND);
    stage.tick(30);
    for client in [ann, ben] {
        assert_eq!(names(&stage, client), ["ann", "ben"]);
    }
    stage.leave(ben);
    stage.tick(30);
    assert_eq!(names(&stage, ann), ["ann"]);
    assert_eq!(all_seen::<Player>(&stage, ann).len(), 1, "the body is gone too");
}

#[test]
fn a_name_that_is_too_long_is_shortened() {
    let mut stage = stage(settings());
    let request = JoinRequest { user: "ann".to_owned(), name: "né".repeat(64), ..JoinRequest::default() };
    let long = stage.join_as(request, DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(30);
    assert_eq!(names(&stage, long), [format!("{}…", "né".repeat(7))]);
}

#[test]
fn a_returning_player_is_where_it_was() {
    let mut stage = stage(settings());
    let ann = stage.join("ann", DeliveryOrder::Unordered, Conditions::PERFECT);
    stage.tick(2);
    stage.set_input(ann, Some(&Controls { push: [0.0, 1.0], ..Controls::default() }));
    stage.tick(40);
    stage.set_input(ann, None);
    stage.tick(3);
    let (before, own) = (player(&stage, ann), entity(&stage, ann));
    stage.disconnect(ann);
    stage.tick(60);
    stage.resume(ann);
    stage.tick(3);
    assert_eq!((player(&stage, ann).position, entity(&stage, ann)), (before.position, own), "by resuming");
    stage.leave(ann);
    stage.tick(3);
    let ann = stage.join("ann", DeliveryOrder::Unordered, Conditions::PERFECT);
    stage.tick(3);
    assert_eq!(player(&stage, ann).position, before.position, "by joining again");
}

/// Predicts with the same rules and structures as the server.
#[test]
fn predicted_state_equals_the_server_state() {
    let jittery =
        Conditions { latency: Duration::from_millis(80), jitter: Duration::from_millis(60), ..Conditions::PERFECT };
    let lossy = Conditions { loss: 0.02, ..jittery };
    for (order, conditions) in [
        (DeliveryOrder::Unordered, jittery),
        (DeliveryOrder::Ordered, lossy),
        (DeliveryOrder::Ordered, Conditions::PERFECT),
    ] {
        let mut stage = stage(settings());
        let ann = stage.join("ann", order, conditions);
        stage.tick(60);
        for distance in [7.0, 11.0] {
            let cell = outwards(&stage, ann, distance);
            for row in cell.row.saturating_sub(1)..=cell.row + 1 {
                // Some cells are too far away, which is fine.
                let _ = build(&mut stage, ann, Cell { row, ..cell }, Kind::Wall);
            }
        }
        stage.tick(30);
        let mut grid = StructureGrid::default();
        for structure in all_seen::<Structure>(&stage, ann) {
            grid.set(Cell::at(structure.position).expect("it is inside"), Some(structure.kind));
        }
        let mut own = player(&stage, ann);
        assert_eq!(seen::<Player>(&stage, ann, entity(&stage, ann)), Some(own.clone()));
        let outward = own.position.map(|coordinate| coordinate / 20.0);
        let first = stage.client(ann).last_input().0;
        let mut predicted = Vec::new();
        let mut compared = 0;
        let mut touched = 0;
        for tick in 0..900 {
            let mut controls = Controls { fire: false, ..controls(tick, 3) };
            if tick % 60 < 30 {
                controls.push = outward;
            }
            stage.set_input(ann, Some(&controls));
            stage.tick(1);
            walk(&mut own, &controls, &grid, STEP_SECONDS);
            let is_stopped = |axis: usize| own.velocity[axis] == 0.0 && controls.push[axis].abs() > 0.1;
            touched += usize::from(is_stopped(0) || is_stopped(1));
            predicted.push(own.clone());
            let acknowledged = stage.client(ann).mirror().input_ack().0.checked_sub(first + 1);
            if let Some(at) = acknowledged {
                let sent = seen::<Player>(&stage, ann, entity(&stage, ann)).expect("it is in view");
                assert_eq!(sent, predicted[at as usize], "{order:?}: input {at}, {:?}", stage.room().totals());
                compared += 1;
            }
        }
        assert!(compared > 800, "{order:?}: {compared} states were compared");
        assert!(touched > 0, "a wall blocked the player");
        assert_eq!(stage.room().totals().inputs_dropped, 0);
        assert!(grid.structure_at(any_occupied(&grid)).is_some(), "something was built");
    }
}

/// Returns any occupied cell.
fn any_occupied(grid: &StructureGrid) -> Cell {
    let cells = (0..128).flat_map(|column| (0..128).map(move |row| Cell { column, row }));
    cells.into_iter().find(|cell| grid.structure_at(*cell).is_some()).unwrap_or(Cell { column: 0, row: 0 })
}
