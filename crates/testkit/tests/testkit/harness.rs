//! Clients of a harness, scene by scene.

use aether_engine::{Room, RoomSettings};
use aether_replication::DeliveryOrder;
use aether_testkit::games::{Drift, Steering};
use aether_testkit::{ClientNumber, Conditions, Harness};
use aether_wire::{CloseReason, ErrorCode};

fn harness(settings: RoomSettings) -> Harness<Drift> {
    let room = Room::builder(Drift::default(), settings).seed(11).build().expect("the settings are valid");
    Harness::new(room, 12)
}

/// No rings and a large budget: every change is in the next snapshot, so clients also agree with a moving world.
fn prompt() -> RoomSettings {
    RoomSettings { snapshot_hz: 40, rings: Vec::new(), resume_ticks: 40, ..RoomSettings::default() }
}

fn has_converged(harness: &Harness<Drift>, clients: &[ClientNumber]) -> bool {
    clients.iter().all(|client| harness.has_converged(*client))
}

#[test]
fn on_a_perfect_network_everyone_agrees_on_every_tick() {
    let mut harness = harness(prompt());
    let clients: Vec<_> = [DeliveryOrder::Ordered, DeliveryOrder::Unordered]
        .into_iter()
        .map(|order| harness.join(&format!("{order:?}"), order, Conditions::PERFECT))
        .collect();
    harness.tick(1);
    for _ in 0..200 {
        harness.tick(1);
        assert!(has_converged(&harness, &clients), "at tick {}", harness.room().now());
    }
}

#[test]
fn a_storm_delays_and_three_calm_seconds_mend_it() {
    let mut harness = harness(prompt());
    let clients: Vec<_> =
        (0..8).map(|n| harness.join(&format!("sailor {n}"), DeliveryOrder::Unordered, Conditions::STORM)).collect();
    harness.tick(300);
    assert!(!has_converged(&harness, &clients), "the storm had no effect");
    let lost: u64 = clients.iter().map(|client| harness.client(*client).traffic().lost).sum();
    assert!(lost > 1_000, "only {lost} packets were lost");
    harness.heal();
    harness.tick(120);
    assert!(has_converged(&harness, &clients));
}

#[test]
fn inputs_survive_two_lost_messages_in_a_row() {
    let mut harness = harness(prompt());
    let ann = harness.join("ann", DeliveryOrder::Unordered, Conditions { loss: 0.2, ..Conditions::PERFECT });
    harness.tick(2);
    harness.set_input(ann, Some(&Steering { push: [1.0, 0.0] }));
    harness.tick(500);
    let sent = u64::from(harness.client(ann).last_input().0);
    let applied = harness.room().totals().inputs;
    // Three in a row are lost in one of 125 cases.
    assert!(applied * 100 >= sent * 97, "{applied} of {sent} inputs were applied");
    assert!(harness.room().totals().inputs_repeated > sent, "each input goes out three times");
}

#[test]
fn a_resumed_client_sees_the_same_world() {
    for order in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
        let mut harness = harness(prompt());
        let ann = harness.join("ann", order, Conditions::PERFECT);
        harness.tick(50);
        let player = harness.client(ann).player();
        let own = harness.client(ann).received().possessions.last().copied().expect("it was given a body");
        harness.disconnect(ann);
        harness.tick(20);
        harness.resume(ann);
        harness.tick(2);
        assert!(harness.has_converged(ann), "{order:?}");
        assert_eq!(harness.client(ann).player(), player);
        assert_eq!(harness.client(ann).received().possessions.last().map(|again| again.entity), Some(own.entity));
    }
}

#[test]
fn a_late_resume_is_rejected() {
    let mut harness = harness(prompt());
    let ann = harness.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    harness.tick(2);
    harness.disconnect(ann);
    harness.tick(60);
    harness.resume(ann);
    harness.tick(2);
    assert_eq!(harness.client(ann).rejection().map(|rejection| rejection.code), Some(ErrorCode::ResumeRefused));
    assert!(!harness.client(ann).is_joined());
    assert_eq!(harness.room().players(), 0);
}

#[test]
fn a_leave_closes_the_connection() {
    let mut harness = harness(RoomSettings::default());
    let ann = harness.join("ann", DeliveryOrder::Unordered, Conditions::PERFECT);
    harness.tick(5);
    harness.leave(ann);
    harness.tick(3);
    assert_eq!(harness.client(ann).closing().map(|closing| closing.reason), Some(CloseReason::Left));
    assert!(!harness.client(ann).is_connected());
    assert_eq!(harness.room().players(), 0);
}

#[test]
fn a_reader_that_never_reads_is_closed_and_the_others_do_not_notice() {
    let mut harness = harness(prompt());
    let deaf = harness.join("deaf", DeliveryOrder::Ordered, Conditions::PERFECT);
    let ann = harness.join("ann", DeliveryOrder::Unordered, Conditions::PERFECT);
    harness.tick(2);
    harness.set_stalled(deaf, true);
    for _ in 0..1_200 {
        harness.tick(1);
        assert!(harness.has_converged(ann));
    }
    harness.set_stalled(deaf, false);
    harness.tick(1);
    assert_eq!(harness.client(deaf).closing().map(|closing| closing.reason), Some(CloseReason::TooSlow));
    assert_eq!(harness.room().totals().too_slow, 1);
    assert_eq!(harness.room().players(), 1);
}

#[test]
fn a_stalled_reader_gets_the_newest_state_and_not_a_queue() {
    let mut harness = harness(prompt());
    let ann = harness.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    harness.tick(10);
    harness.set_stalled(ann, true);
    harness.tick(100);
    let before = harness.client(ann).received().packets;
    harness.set_stalled(ann, false);
    // First the snapshot that was queued when it stalled, then one with everything since.
    harness.tick(5);
    assert!(harness.has_converged(ann));
    let packets = harness.client(ann).received().packets - before;
    assert!(packets <= 8, "{packets} packets for 100 ticks of silence and 5 of state");
}

#[test]
fn clearing_the_world_lets_everyone_join_anew() {
    let mut harness = harness(prompt());
    let clients: Vec<_> =
        (0..4).map(|n| harness.join(&format!("sailor {n}"), DeliveryOrder::Unordered, Conditions::MOBILE)).collect();
    harness.tick(40);
    harness.clear(clients[0]);
    harness.tick(40);
    harness.heal();
    harness.tick(60);
    assert!(has_converged(&harness, &clients));
    for client in clients {
        let received = harness.client(client).received();
        assert_eq!((received.cleared.len(), received.possessions.len()), (1, 2));
    }
}

#[test]
fn inputs_are_no_longer_late_once_the_network_has_healed() {
    for conditions in [Conditions::BROADBAND, Conditions::MOBILE, Conditions::STORM] {
        for order in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
            let mut harness = harness(prompt());
            let ann = harness.join("ann", order, conditions);
            harness.tick(10);
            harness.set_input(ann, Some(&Steering { push: [0.5, 0.0] }));
            harness.tick(800);
            harness.heal();
            harness.tick(120);
            let client = harness.client(ann);
            // The newest one has only just been sent.
            let late = client.last_input().0 - 1 - client.mirror().input_ack().0;
            assert!(late <= harness.room().settings().inputs_burst, "{order:?}: inputs are {late} ticks late");
        }
    }
}

#[test]
fn a_resumed_client_steers_at_once() {
    for order in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
        let mut harness = harness(prompt());
        let ann = harness.join("ann", order, Conditions::PERFECT);
        harness.tick(2);
        harness.set_input(ann, Some(&Steering { push: [1.0, 0.0] }));
        harness.tick(100);
        harness.disconnect(ann);
        harness.tick(20);
        let before = harness.room().totals().inputs;
        harness.resume(ann);
        harness.tick(40);
        let applied = harness.room().totals().inputs - before;
        assert!(applied >= 38, "{order:?}: only {applied} inputs of 40 ticks were applied");
        let late = harness.client(ann).last_input().0 - harness.client(ann).mirror().input_ack().0;
        assert!(late <= 2, "{order:?}: {late} inputs are not acknowledged");
    }
}
