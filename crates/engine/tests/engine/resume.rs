//! Resuming after a lost connection.

use crate::support::{Call, Scene, settings};
use aether_engine::RoomSettings;
use aether_replication::DeliveryOrder;
use aether_wire::{ClientMessage, CloseReason, ErrorCode, InputSeq, PlayerId};

const RESUME_TICKS: u32 = 10;

fn patient() -> RoomSettings {
    RoomSettings { resume_ticks: RESUME_TICKS, ..settings() }
}

#[test]
fn a_resume_in_time_keeps_player_and_entity_and_gets_the_full_state() {
    let mut scene = Scene::new(patient());
    let mut ann = scene.join("ann");
    scene.play(3, &mut [&mut ann]);
    let (player, body) = (ann.player, ann.possession().unwrap());
    ann.push(1, &[5.0]);
    scene.tick();
    drop(ann);
    scene.ticks(RESUME_TICKS - 1);
    assert!(scene.room.world().contains(body));
    let mut ann = scene.resume(player);
    ann.read();
    assert_eq!((ann.player, ann.possession()), (player, Some(body)));
    assert_eq!(ann.own_place(), Some([15.0, 0.0]));
    assert!(scene.agrees_with(&ann));
    let joins = scene.room.game().calls.iter().filter(|call| matches!(call, Call::Join(_) | Call::Leave(..))).count();
    assert_eq!(joins, 1, "the game does not notice");
    ann.push(2, &[1.0]);
    scene.play(2, &mut [&mut ann]);
    assert_eq!(ann.own_place(), Some([16.0, 0.0]));
    scene.play(3 * RESUME_TICKS, &mut [&mut ann]);
    assert_eq!(scene.room.players(), 1, "a resumed player does not time out");
}

#[test]
fn a_player_that_does_not_resume_leaves_as_timed_out() {
    let mut scene = Scene::new(patient());
    let mut ann = scene.join("ann");
    ann.read();
    let (player, body) = (ann.player, ann.possession().unwrap());
    drop(ann);
    scene.ticks(RESUME_TICKS);
    assert!(scene.room.world().contains(body));
    scene.tick();
    assert_eq!(scene.room.game().calls.last(), Some(&Call::Leave(player, CloseReason::TimedOut)));
    assert!(!scene.room.world().contains(body));
    let late = scene.handle.resume(player, DeliveryOrder::Ordered).unwrap();
    scene.tick();
    assert_eq!(late.admission().unwrap().as_ref().unwrap_err().code, ErrorCode::ResumeRefused);
}

#[test]
fn a_second_connection_of_a_player_replaces_the_first() {
    let mut scene = Scene::new(patient());
    let mut old = scene.join("ann");
    scene.play(2, &mut [&mut old]);
    let mut new = scene.resume(old.player);
    assert_eq!(old.closed(), Some(CloseReason::Replaced));
    new.read();
    assert_eq!(new.possession(), old.possession());
    assert_eq!(new.closed(), None);
    // Messages of the old connection are ignored.
    old.push(1, &[50.0]);
    drop(old);
    scene.play(RESUME_TICKS + 2, &mut [&mut new]);
    assert_eq!(new.own_place(), Some([10.0, 0.0]));
    assert_eq!(scene.room.players(), 1);
}

#[test]
fn a_resume_of_an_unknown_player_is_rejected() {
    let mut scene = Scene::new(patient());
    let ann = scene.join("ann");
    for unknown in [PlayerId(0), PlayerId(2), PlayerId(u32::MAX)] {
        let endpoint = scene.handle.resume(unknown, DeliveryOrder::Ordered).unwrap();
        scene.tick();
        assert_eq!(endpoint.admission().unwrap().as_ref().unwrap_err().code, ErrorCode::ResumeRefused);
    }
    assert_eq!(ann.closed(), None);
    assert_eq!(scene.room.players(), 1);
}

#[test]
fn a_resume_of_a_kicked_player_is_rejected() {
    let mut scene = Scene::new(patient());
    let ann = scene.join("ann");
    let player = ann.player;
    scene.next(move |room| room.kick(player));
    scene.tick();
    let endpoint = scene.handle.resume(player, DeliveryOrder::Ordered).unwrap();
    scene.tick();
    assert_eq!(endpoint.admission().unwrap().as_ref().unwrap_err().code, ErrorCode::ResumeRefused);
    assert_eq!(ann.closed(), Some(CloseReason::Kicked));
}

#[test]
fn a_player_without_connection_still_counts_and_is_still_visible() {
    let mut scene = Scene::new(RoomSettings { players_max: 2, ..patient() });
    let mut ann = scene.join("ann");
    let mut ben = scene.join("ben");
    scene.play(1, &mut [&mut ann, &mut ben]);
    let body = ann.possession().unwrap();
    drop(ann);
    scene.play(2, &mut [&mut ben]);
    assert!(ben.mirror.contains(body));
    assert_eq!(scene.room.players(), 2);
}

#[test]
fn a_leave_does_not_wait_for_a_resume() {
    let mut scene = Scene::new(patient());
    let ann = scene.join("ann");
    ann.send(ClientMessage::Leave);
    scene.tick();
    assert_eq!(ann.closed(), Some(CloseReason::Left));
    assert_eq!(scene.room.players(), 0);
}

#[test]
fn a_leave_is_handled_although_the_connection_is_dropped_right_after_it() {
    let mut scene = Scene::new(patient());
    let ann = scene.join("ann");
    let player = ann.player;
    ann.send(ClientMessage::Leave);
    drop(ann);
    scene.ticks(2);
    assert_eq!(scene.room.game().calls.last(), Some(&Call::Leave(player, CloseReason::Left)));
    assert_eq!(scene.room.players(), 0);
}

#[test]
fn inputs_of_a_resume_by_a_new_program_are_applied_and_acknowledged() {
    let mut scene = Scene::new(patient());
    let mut ann = scene.join("ann");
    ann.read();
    // A quarter of an hour of playing.
    for seq in (5_000..=45_000).step_by(5_000) {
        ann.push(seq, &[0.0]);
        scene.play(1, &mut [&mut ann]);
    }
    assert_eq!(ann.mirror.input_ack(), InputSeq(45_000));
    let player = ann.player;
    drop(ann);
    scene.tick();
    // A reloaded page does not know the earlier numbers and counts from 1.
    let mut ann = scene.resume(player);
    ann.push(1, &[5.0]);
    scene.play(2, &mut [&mut ann]);
    assert_eq!(ann.own_place(), Some([15.0, 0.0]));
    assert_eq!(ann.mirror.input_ack(), InputSeq(1));
}
