//! Rules on rows predict as exactly as rules on types.

use crate::support::{Sandbox, Scene};
use aether_replication::DeliveryOrder;
use aether_testkit_client::{PUSH, network, networks, zigzag};
use std::time::Duration;

#[test]
fn a_game_with_a_schema_only_is_predicted_without_corrections() {
    for (latency_ms, loss) in networks() {
        // A stream with many retransmissions delivers so many inputs at once that the room drops some.
        let orders = if loss > 0.0 {
            &[DeliveryOrder::Unordered][..]
        } else {
            &[DeliveryOrder::Unordered, DeliveryOrder::Ordered]
        };
        for &delivery_order in orders {
            let mut scene = Scene::new(Some(Sandbox), delivery_order, network(latency_ms, loss), latency_ms + 7);
            scene.run(Duration::from_secs(6), zigzag);
            let stats = scene.core.client.stats();
            assert!(stats.packets > 40, "{latency_ms} ms, {loss} lost, {delivery_order:?}: {stats:?}");
            assert_eq!(stats.corrections, 0, "{latency_ms} ms, {loss} lost, {delivery_order:?}: {stats:?}");
            let known = scene.predicted.iter().filter_map(|(seq, ship)| Some((ship, scene.flown(*seq)?)));
            let compared = known.inspect(|(predicted, flown)| assert_eq!(predicted, flown)).count();
            assert!(compared > 100, "{compared} inputs were compared at {latency_ms} ms, {loss} lost");
        }
    }
}

#[test]
fn effects_of_others_are_corrected_and_smoothed() {
    let mut scene = Scene::new(Some(Sandbox), DeliveryOrder::Unordered, network(100, 0.0), 5);
    scene.run(Duration::from_secs(3), zigzag);
    scene.signal(PUSH);
    scene.run(Duration::from_secs(3), zigzag);
    let stats = scene.core.client.stats();
    assert!(stats.corrections > 0 && stats.correction_size > 0.0, "{stats:?}");
    assert!(stats.displayed_error < 0.1, "{stats:?}");
}

#[test]
fn without_rules_the_own_entity_is_drawn_without_prediction() {
    let mut scene = Scene::new(None, DeliveryOrder::Unordered, network(50, 0.0), 9);
    scene.run(Duration::from_secs(3), zigzag);
    assert!(scene.core.client.predicted_state().is_none());
    let own = scene.core.client.own_entity().expect("a ship").to_bits() as f64;
    assert!(scene.drawn(0, 7).iter().any(|(entity, _)| *entity == own));
}
