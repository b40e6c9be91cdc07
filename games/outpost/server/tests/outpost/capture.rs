//! A recording of a running room begins with its exact state.

use crate::support::{build, controls, outwards, prompt, stage};
use aether::engine::recording::RecordingChannel;
use aether::prelude::*;
use aether_outpost_rules::Kind;
use aether_outpost_server::{NAME, Outpost};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

#[test]
fn a_recording_that_begins_among_shots_structures_and_absent_players_replays_exactly() {
    let mut stage = stage(prompt());
    let [ann, ben, eve] =
        ["ann", "ben", "eve"].map(|name| stage.join(name, DeliveryOrder::Ordered, Conditions::PERFECT));
    stage.tick(90);
    let cell = outwards(&stage, ann, 9.0);
    build(&mut stage, ann, cell, Kind::Turret).expect("there is room for it");
    stage.leave(eve);
    let play = |stage: &mut crate::support::Stage, ticks: u32| {
        for _ in 0..ticks {
            let tick = stage.room().now().0;
            for (number, client) in [(1, ann), (2, ben)] {
                stage.set_input(client, Some(&controls(tick, number)));
            }
            stage.tick(1);
        }
    };
    play(&mut stage, 200);
    let channel = RecordingChannel::new(1 << 24);
    let (sender, reply) = sync_channel(1);
    stage.room().handle().start_recording(NAME, Arc::clone(&channel), sender).expect("the mailbox has room");
    let before = (stage.room().now(), stage.room().hash());
    play(&mut stage, 1);
    let started = reply.recv().expect("the room answers").expect("Outpost can be captured");
    assert_eq!(started.hash, before.1);
    let mut file = Vec::new();
    for _ in 0..30 {
        play(&mut stage, 10);
        file.extend(std::iter::from_fn(|| channel.next_chunk()).flatten());
    }
    let recording = Recording::from_bytes(&file).expect("it was written");
    assert_eq!(recording.start.tick(), before.0);
    assert!(recording.ticks() > 250, "{} ticks", recording.ticks());
    let mut replay = Replay::new(Outpost::default(), prompt(), &recording).expect("it is the same game");
    let last = replay.run_to(Tick(u32::MAX)).expect("every hash is as recorded");
    assert_eq!(last.map(|(tick, _)| tick), Some(recording.last_tick()));
}
