//! Inputs of players: order, repetition and rate.

use crate::support::{Call, Client, Scene, settings};
use aether_engine::{INPUT_DROPS_MAX, INPUT_QUEUE_MAX, RoomSettings};
use aether_wire::{
    ClientMessage, CloseReason, FieldValues, InputBytes, InputPayload, InputSeq, Inputs, PlayerId, StateAck, ViewTick,
};

/// Returns the pushes that the game handled, in order: player and distance.
fn pushes(scene: &Scene) -> Vec<(u32, f32)> {
    let calls = scene.room.game().calls.iter();
    calls.filter_map(|call| if let Call::Input(player, by) = call { Some((player.0, by[0])) } else { None }).collect()
}

fn eager() -> RoomSettings {
    RoomSettings { inputs_per_tick: 4, ..settings() }
}

#[test]
fn inputs_are_applied_by_player_and_then_by_sequence() {
    let mut scene = Scene::new(eager());
    let ann = scene.join("ann");
    let ben = scene.join("ben");
    ben.push(1, &[1.0, 2.0]);
    ann.push(1, &[3.0, 4.0]);
    ben.push(3, &[5.0]);
    ann.push(3, &[6.0]);
    scene.tick();
    assert_eq!(pushes(&scene), [(1, 3.0), (1, 4.0), (1, 6.0), (2, 1.0), (2, 2.0), (2, 5.0)]);
}

#[test]
fn an_input_that_is_repeated_is_applied_once() {
    let mut scene = Scene::new(eager());
    let ann = scene.join("ann");
    ann.push(1, &[1.0, 2.0]);
    ann.push(1, &[1.0, 2.0, 3.0]);
    scene.tick();
    ann.push(2, &[2.0, 3.0, 4.0]);
    scene.ticks(2);
    assert_eq!(pushes(&scene), [(1, 1.0), (1, 2.0), (1, 3.0), (1, 4.0)]);
    assert_eq!((scene.totals().inputs, scene.totals().inputs_repeated), (4, 4));
}

#[test]
fn a_gap_in_the_sequence_is_fine_and_what_comes_after_its_turn_is_not() {
    let mut scene = Scene::new(eager());
    let ann = scene.join("ann");
    ann.push(5, &[5.0]);
    ann.push(90, &[9.0]);
    scene.tick();
    ann.push(6, &[6.0]);
    scene.tick();
    assert_eq!(pushes(&scene), [(1, 5.0), (1, 9.0)]);
}

#[test]
fn a_player_has_one_input_a_tick_and_bursts_after_a_pause() {
    let mut scene = Scene::new(RoomSettings { inputs_per_tick: 1, inputs_burst: 4, ..settings() });
    let ann = scene.join("ann");
    scene.ticks(20);
    ann.push(1, &[1.0; 8]);
    let applied: Vec<_> = (0..6)
        .map(|_| {
            scene.tick();
            scene.watch.ticked.last().unwrap().1.inputs
        })
        .collect();
    assert_eq!(applied, [4, 4, 0, 0, 0, 0]);
    assert_eq!(scene.totals().inputs_dropped, 0);
}

/// Sends many inputs per tick until the client is closed, next to an honest client.
fn flood(per_tick: u32) {
    let mut scene = Scene::new(settings());
    let flooder = scene.join("flooder");
    let mut ann = scene.join("ann");
    ann.read();
    let (mut seq, mut ticks, mut sent) = (1, 0, 0);
    while flooder.closed().is_none() {
        for _ in 0..per_tick / 10 {
            // Only the flooding client loses messages beyond the inbox.
            if flooder.try_push(seq, &[1.0; 10]).is_ok() {
                sent += 10;
            }
            seq += 10;
        }
        ann.push(ticks + 1, &[1.0]);
        scene.play(1, &mut [&mut ann]);
        ticks += 1;
        assert!(ticks < 100, "a flood goes on for ever");
    }
    assert_eq!(flooder.closed(), Some(CloseReason::Flooded));
    assert!(scene.room.game().calls.contains(&Call::Leave(flooder.player, CloseReason::Flooded)));
    let applied = pushes(&scene).iter().filter(|(player, _)| *player == flooder.player.0).count() as u32;
    assert!((ticks..=ticks + scene.room.settings().inputs_burst).contains(&applied), "{applied} in {ticks} ticks");
    let dropped = scene.totals().inputs_dropped as u32;
    assert!(dropped > INPUT_DROPS_MAX);
    let queued = sent - applied - dropped;
    assert!(queued <= INPUT_QUEUE_MAX as u32, "{queued} are unaccounted for");
    assert_eq!(ann.closed(), None);
    assert_eq!(ann.own_place(), Some([20.0 + ticks as f32, 0.0]), "the other clients lose nothing");
}

#[test]
fn a_flood_is_limited_to_its_rate_and_then_closed() {
    flood(100);
    // Ten thousand per second, in a room of twenty ticks per second.
    flood(500);
}

#[test]
fn a_client_with_a_slightly_fast_clock_is_not_closed() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    let mut seq = 1;
    for tick in 0..2_000 {
        // Its clock is five percent fast.
        let count = if tick % 20 == 0 { 2 } else { 1 };
        ann.push(seq, &vec![0.0; count]);
        seq += count as u32;
        scene.play(1, &mut [&mut ann]);
    }
    assert_eq!(ann.closed(), None);
    assert!(scene.totals().inputs_dropped > 0);
}

#[test]
fn an_input_that_cannot_be_read_is_counted_and_costs_nothing_else() {
    let mut scene = Scene::new(eager());
    let mut ann = scene.join("ann");
    ann.read();
    let bad = |first_seq| {
        let payloads = vec![InputPayload::Packed(InputBytes::new(&[]).unwrap())].into();
        let (ack, view) = (StateAck::NONE, ViewTick::default());
        ClientMessage::Inputs(Inputs { first_seq: InputSeq(first_seq), payloads, ack, view })
    };
    ann.send(bad(1));
    ann.push(2, &[3.0]);
    ann.send(bad(3));
    ann.push(4, &[4.0]);
    scene.play(1, &mut [&mut ann]);
    assert_eq!(scene.totals().decode_errors, 2);
    assert_eq!(pushes(&scene), [(1, 3.0), (1, 4.0)]);
    assert_eq!(ann.mirror.input_ack(), InputSeq(4));
    assert_eq!(ann.closed(), None);
}

#[test]
fn readable_inputs_do_not_belong_in_a_room() {
    let mut scene = Scene::new(eager());
    let ann = scene.join("ann");
    let payloads = vec![InputPayload::Fields(FieldValues::default())].into();
    let (ack, view) = (StateAck::NONE, ViewTick::default());
    ann.send(ClientMessage::Inputs(Inputs { first_seq: InputSeq(1), payloads, ack, view }));
    ann.push(2, &[1.0]);
    scene.tick();
    assert_eq!((scene.totals().unexpected, scene.totals().inputs), (1, 1));
}

#[test]
fn the_snapshot_says_which_input_it_includes() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    ann.read();
    assert_eq!(ann.mirror.input_ack(), InputSeq(0));
    for seq in 1..=10 {
        ann.push(seq, &[1.0]);
        scene.play(1, &mut [&mut ann]);
        assert_eq!(ann.mirror.input_ack(), InputSeq(seq));
        assert_eq!(ann.own_place(), Some([10.0 + seq as f32, 0.0]));
    }
    // An input that changes nothing is acknowledged too.
    ann.push(11, &[0.0]);
    scene.play(1, &mut [&mut ann]);
    assert_eq!(ann.mirror.input_ack(), InputSeq(11));
}

#[test]
fn one_players_inputs_are_acknowledged_to_that_player_alone() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    let mut ben = scene.join("ben");
    ann.push(7, &[1.0]);
    scene.play(2, &mut [&mut ann, &mut ben]);
    let acks = |client: &Client| client.mirror.input_ack();
    assert_eq!((acks(&ann), acks(&ben)), (InputSeq(7), InputSeq(0)));
    assert_eq!(pushes(&scene), [(PlayerId(1).0, 1.0)]);
}

#[test]
fn the_last_numbers_of_a_sequence_are_inputs_too() {
    let mut scene = Scene::new(eager());
    let ann = scene.join("ann");
    ann.push(u32::MAX - 1, &[1.0, 2.0, 3.0, 4.0]);
    scene.ticks(2);
    assert_eq!(pushes(&scene), [(1, 1.0), (1, 2.0)], "numbers past the last one repeat it");
}

#[test]
fn a_stall_does_not_make_all_later_inputs_late() {
    const STALL_TICKS: u32 = 20;
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    ann.read();
    scene.ticks(STALL_TICKS);
    // The inputs of the stall arrive at once, then one per tick.
    ann.push(1, &[0.0; STALL_TICKS as usize]);
    let mut seq = STALL_TICKS;
    for _ in 0..400 {
        seq += 1;
        ann.push(seq, &[0.0]);
        scene.play(1, &mut [&mut ann]);
    }
    let late = seq - ann.mirror.input_ack().0;
    assert!(late <= scene.room.settings().inputs_burst, "inputs are still {late} ticks late");
}
