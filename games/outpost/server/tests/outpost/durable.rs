//! Checkpoints.

use crate::support::{Stage, all_seen, answer, body, build, controls, outwards, player, stage, structure};
use aether::engine::BuildError;
use aether::prelude::*;
use aether_outpost_rules::{Cell, Controls, Kind, Place, Remove, Structure};
use aether_outpost_server::{NAME, Outpost, settings};

fn restored(checkpoint: Vec<u8>) -> Result<Stage, BuildError> {
    let room = Room::builder(Outpost::default(), settings()).seed(9).checkpoint(checkpoint).build()?;
    Ok(Harness::new(room, 10))
}

/// Creates a room in which Ann and Ben each built something, Ann walked, and Ben left.
fn before() -> (Stage, Cell) {
    let mut stage = stage(settings());
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    let ben = stage.join("ben", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(5);
    let cell = outwards(&stage, ann, 9.0);
    assert_eq!(build(&mut stage, ann, cell, Kind::Fence), Ok(()));
    let beside = outwards(&stage, ben, 9.0);
    assert_eq!(build(&mut stage, ben, beside, Kind::Door), Ok(()));
    stage.leave(ben);
    stage.set_input(ann, Some(&Controls { push: [0.0, -1.0], fire: true, ..Controls::default() }));
    stage.tick(20);
    (stage, cell)
}

#[test]
fn a_room_continues_from_its_checkpoint() {
    let (mut stage, cell) = before();
    let ann = stage.clients().next().expect("she joined").0;
    let checkpoint = stage.room().checkpoint().expect("it is durable");
    let (position, material) = (player(&stage, ann).position, body(&stage, ann).material);
    stage.tick(1);
    let mut after = restored(checkpoint).expect("it is a checkpoint");
    assert_eq!(after.room().world().each::<Structure>().count(), 2);
    assert_eq!(after.room().world().len(), 2, "no shots, and no players yet");
    let ann = after.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    let eve = after.join("eve", DeliveryOrder::Ordered, Conditions::PERFECT);
    after.tick(4);
    assert_eq!((player(&after, ann).position, body(&after, ann).material), (position, material));
    assert_eq!(structure(&after, cell).map(|fence| fence.kind), Some(Kind::Fence));
    let own = after.client(ann).player().map(|player| player.0);
    let owned = all_seen::<Structure>(&after, ann).into_iter().filter(|it| Some(it.builder) == own).count();
    assert_eq!(owned, 1, "what she built is hers again");
    let seq = after.send_message(eve, &Remove::on(cell));
    after.tick(2);
    let rejected = answer(&after, eve, seq).expect("it was answered").expect_err("it is not hers");
    assert_eq!(rejected.0, ErrorCode::Forbidden);
}

#[test]
fn a_checkpoint_of_a_restored_room_is_the_same() {
    let (stage, _) = before();
    let checkpoint = stage.room().checkpoint().expect("it is durable");
    let again = restored(checkpoint.clone()).expect("it is a checkpoint").room().checkpoint().expect("it is durable");
    let once_more = restored(again.clone()).expect("it is a checkpoint").room().checkpoint();
    assert_eq!(Some(again), once_more);
}

#[test]
fn a_damaged_checkpoint_is_rejected_without_panic() {
    let (stage, _) = before();
    let checkpoint = stage.room().checkpoint().expect("it is durable");
    for len in 0..checkpoint.len() - 1 {
        assert!(matches!(restored(checkpoint[..len].to_vec()), Err(BuildError::Checkpoint(_))), "{len} bytes");
    }
    for at in 0..checkpoint.len() {
        let mut damaged = checkpoint.clone();
        damaged[at] ^= 0x55;
        // Damaged data either gives a room or is rejected.
        if let Ok(mut stage) = restored(damaged) {
            stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
            stage.tick(3);
        }
    }
}

#[test]
fn a_recording_replays_to_the_same_hash() {
    let room = Room::builder(Outpost::default(), settings()).seed(3).record(NAME).build().expect("it is valid");
    let mut stage = Harness::new(room, 4);
    let clients: Vec<_> = (0..4)
        .map(|number| stage.join(&format!("player {number}"), DeliveryOrder::Unordered, Conditions::MOBILE))
        .collect();
    for tick in 0..600 {
        for (number, client) in clients.iter().enumerate() {
            stage.set_input(*client, Some(&controls(tick, number as u32)));
            if tick % 40 == 20 && !stage.client(*client).received().possessions.is_empty() {
                let cell = Cell::at(player(&stage, *client).position).expect("it is inside");
                let cell = Cell { column: cell.column.saturating_sub(2), ..cell };
                stage.send_message(*client, &Place::on(cell, Kind::ALL[number]));
            }
        }
        stage.tick(1);
    }
    let structures = stage.room().world().each::<Structure>().count();
    assert!(structures > 4, "only {structures} structures stand");
    let recording = stage.room().recording().expect("it is recorded").to_bytes();
    let recording = Recording::from_bytes(&recording).expect("it was written");
    let mut replay = Replay::new(Outpost::default(), settings(), &recording).expect("it is the same game");
    let last = (stage.room().now(), stage.room().hash());
    assert_eq!(replay.run_to(last.0), Ok(Some(last)));
}
