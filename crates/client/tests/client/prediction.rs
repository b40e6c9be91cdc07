//! What a client predicts is what the server comes to.

use aether_bits::Replicate;
use aether_client::ClientStats;
use aether_replication::DeliveryOrder;
use aether_testkit_client::engine::RoomSettings;
use aether_testkit_client::{Flight, Scene, network, networks, settings};
use std::time::Duration;

/// Flies for a while, and holds every prediction against what the server made of the same input.
fn fly(mut scene: Scene<Flight>, link: DeliveryOrder, (latency_ms, loss): (u64, f32)) -> ClientStats {
    let pilot = scene.join(link, network(latency_ms, loss));
    scene.run(Duration::from_secs(15));
    let network = format!("{link:?}, {latency_ms} ms, {loss} lost");
    let stats = scene.pilots[pilot].client.stats();
    assert_eq!(scene.room.totals().inputs_dropped, 0, "{network}: the server took every input");
    let mut compared = 0;
    for (seq, predicted) in &scene.pilots[pilot].predicted {
        if let Some(flown) = scene.flown(pilot, *seq) {
            assert!(predicted.same(flown), "{network}: input {seq:?} led to {flown:?}, and not to {predicted:?}");
            compared += 1;
        }
    }
    assert!(compared > 350, "{network}: {compared} compared");
    assert_eq!(stats.corrections, 0, "{network}: nothing interfered, so nothing is corrected");
    assert_eq!((stats.displayed_error, stats.faults), (0.0, 0), "{network}");
    stats
}

#[test]
fn without_interference_nothing_is_ever_corrected() {
    for seed in 1..=4 {
        for network in networks() {
            fly(Scene::new(seed), DeliveryOrder::Unordered, network);
        }
    }
}

#[test]
fn on_an_ordered_link_neither() {
    for latency_ms in [0, 50, 100, 200, 300] {
        fly(Scene::new(latency_ms), DeliveryOrder::Ordered, (latency_ms, 0.0));
    }
}

#[test]
fn nor_at_other_rates() {
    // A burst is counted in inputs: where ticks are short, the usual four do not last for as long as a network may stall.
    for (tick_hz, snapshot_hz, inputs_burst) in [(30, 10, 4), (60, 60, 4), (128, 32, 12)] {
        for network in [(0, 0.0), (50, 0.05), (100, 0.2)] {
            let settings = RoomSettings { tick_hz, snapshot_hz, inputs_burst, ..settings() };
            fly(Scene::of(Flight::default(), settings, 3), DeliveryOrder::Unordered, network);
        }
    }
}

#[test]
fn nor_where_a_snapshot_takes_several_packets_of_which_some_are_lost() {
    for network in [(0, 0.0), (50, 0.05), (100, 0.2), (300, 0.2)] {
        let flight = Flight { crowd: 1_200, ..Flight::default() };
        let stats = fly(Scene::of(flight, settings(), 5), DeliveryOrder::Unordered, network);
        assert!(stats.packets > 400, "{} packets are several for each snapshot", stats.packets);
    }
}

#[test]
fn the_client_runs_as_far_ahead_as_the_way_takes() {
    for (latency_ms, loss) in networks() {
        let mut scene = Scene::new(7);
        let pilot = scene.join(DeliveryOrder::Unordered, network(latency_ms, loss));
        scene.run(Duration::from_secs(15));
        let stats = scene.pilots[pilot].client.stats();
        let ahead = f64::from(scene.pilots[pilot].client.tick().0) - f64::from(scene.room.now().0);
        let way = latency_ms as f64 / 25.0;
        assert!((way - 1.0..=way + 6.0).contains(&ahead), "{latency_ms} ms: {ahead} ticks ahead, {stats:?}");
        let round_trip = stats.round_trip.expect("pongs came").as_millis() as u64;
        assert!((2 * latency_ms..=2 * latency_ms + 100).contains(&round_trip), "{round_trip} ms");
    }
}

#[test]
fn with_prediction_the_own_ship_answers_at_once_and_without_it_a_round_trip_later() {
    let answer_after = |prediction: bool| {
        let mut scene = Scene::new(3);
        let pilot = scene.join(DeliveryOrder::Unordered, network(100, 0.0));
        scene.pilots[pilot].client.settings_mut().prediction = prediction;
        scene.pilots[pilot].steering = |_| Default::default();
        scene.run(Duration::from_secs(4));
        let before = scene.pilots[pilot].client.own_state().expect("it has a ship").0.position;
        scene.pilots[pilot].steering = aether_testkit_client::serpentine;
        let began = scene.now;
        while scene.pilots[pilot].client.own_state().expect("it has a ship").0.position == before {
            scene.step();
        }
        scene.now - began
    };
    let (with, without) = (answer_after(true), answer_after(false));
    assert!(with < Duration::from_millis(70), "{with:?}");
    assert!(without > Duration::from_millis(200), "{without:?}");
}
