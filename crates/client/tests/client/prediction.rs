//! Predicted states equal the server's states.

use aether_bits::Replicate;
use aether_client::ClientStats;
use aether_replication::DeliveryOrder;
use aether_testkit_client::engine::RoomSettings;
use aether_testkit_client::{FlightGame, Scene, network, networks, settings};
use std::time::Duration;

/// Flies for a while and compares every predicted state with the server's.
fn fly(mut scene: Scene<FlightGame>, delivery_order: DeliveryOrder, (latency_ms, loss): (u64, f32)) -> ClientStats {
    let pilot = scene.join(delivery_order, network(latency_ms, loss));
    scene.run(Duration::from_secs(15));
    let network = format!("{delivery_order:?}, {latency_ms} ms, {loss} lost");
    let stats = scene.pilots[pilot].client.stats();
    assert_eq!(scene.room.totals().inputs_dropped, 0, "{network}: the server dropped inputs");
    let mut compared = 0;
    for (seq, predicted) in &scene.pilots[pilot].predicted {
        if let Some(flown) = scene.flown(pilot, *seq) {
            assert!(
                predicted.same(flown),
                "{network}: after input {seq:?} the server has {flown:?}, predicted {predicted:?}"
            );
            compared += 1;
        }
    }
    assert!(compared > 350, "{network}: {compared} states compared");
    assert_eq!(stats.corrections, 0, "{network}: corrections without interference");
    assert_eq!((stats.displayed_error, stats.faults), (0.0, 0), "{network}");
    stats
}

#[test]
fn without_interference_there_are_no_corrections() {
    for seed in 1..=4 {
        for network in networks() {
            fly(Scene::new(seed), DeliveryOrder::Unordered, network);
        }
    }
}

#[test]
fn there_are_no_corrections_with_ordered_delivery() {
    for latency_ms in [0, 50, 100, 200, 300] {
        fly(Scene::new(latency_ms), DeliveryOrder::Ordered, (latency_ms, 0.0));
    }
}

#[test]
fn there_are_no_corrections_at_other_rates() {
    // A burst is counted in inputs: with short ticks, the default of four does not cover a stall of the network.
    for (tick_hz, snapshot_hz, inputs_burst) in [(30, 10, 4), (60, 60, 4), (128, 32, 12)] {
        for network in [(0, 0.0), (50, 0.05), (100, 0.2)] {
            let settings = RoomSettings { tick_hz, snapshot_hz, inputs_burst, ..settings() };
            fly(Scene::of(FlightGame::default(), settings, 3), DeliveryOrder::Unordered, network);
        }
    }
}

#[test]
fn there_are_no_corrections_when_packets_of_a_snapshot_are_lost() {
    for network in [(0, 0.0), (50, 0.05), (100, 0.2), (300, 0.2)] {
        let flight = FlightGame { crowd: 1_200, ..FlightGame::default() };
        let stats = fly(Scene::of(flight, settings(), 5), DeliveryOrder::Unordered, network);
        assert!(stats.packets > 400, "{} packets, expected several per snapshot", stats.packets);
    }
}

#[test]
fn the_client_runs_ahead_by_the_latency() {
    for (latency_ms, loss) in networks() {
        let mut scene = Scene::new(7);
        let pilot = scene.join(DeliveryOrder::Unordered, network(latency_ms, loss));
        scene.run(Duration::from_secs(15));
        let stats = scene.pilots[pilot].client.stats();
        let ahead = f64::from(scene.pilots[pilot].client.tick().0) - f64::from(scene.room.now().0);
        let latency_ticks = latency_ms as f64 / 25.0;
        assert!(
            (latency_ticks - 1.0..=latency_ticks + 6.0).contains(&ahead),
            "{latency_ms} ms: {ahead} ticks ahead, {stats:?}"
        );
        let round_trip = stats.round_trip.expect("pongs arrived").as_millis() as u64;
        assert!((2 * latency_ms..=2 * latency_ms + 100).contains(&round_trip), "{round_trip} ms");
    }
}

#[test]
fn with_prediction_the_own_ship_reacts_at_once_and_without_it_a_round_trip_later() {
    let reaction_time = |prediction: bool| {
        let mut scene = Scene::new(3);
        let pilot = scene.join(DeliveryOrder::Unordered, network(100, 0.0));
        scene.pilots[pilot].client.settings_mut().prediction = prediction;
        scene.pilots[pilot].steering = |_| Default::default();
        scene.run(Duration::from_secs(4));
        let before = scene.pilots[pilot].client.own_state().expect("a ship").0.position;
        scene.pilots[pilot].steering = aether_testkit_client::serpentine;
        let began = scene.now;
        while scene.pilots[pilot].client.own_state().expect("a ship").0.position == before {
            scene.step();
        }
        scene.now - began
    };
    let (with, without) = (reaction_time(true), reaction_time(false));
    assert!(with < Duration::from_millis(70), "{with:?}");
    assert!(without > Duration::from_millis(200), "{without:?}");
}
