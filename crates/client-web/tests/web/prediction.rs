//! Rules that see rows predict as exactly as rules that see types.

use crate::support::{Sandbox, Scene};
use aether_replication::DeliveryOrder;
use aether_testkit_client::{PUSH, network, networks, zigzag};
use std::time::Duration;

#[test]
fn a_game_that_is_known_by_its_schema_is_predicted_without_a_correction() {
    for (latency_ms, loss) in networks() {
        // A stream that has to send much again hands over so many inputs at once that the room drops some.
        let links = if loss > 0.0 {
            &[DeliveryOrder::Unordered][..]
        } else {
            &[DeliveryOrder::Unordered, DeliveryOrder::Ordered]
        };
        for &link in links {
            let mut scene = Scene::new(Some(Sandbox), link, network(latency_ms, loss), latency_ms + 7);
            scene.run(Duration::from_secs(6), zigzag);
            let stats = scene.core.client.stats();
            assert!(stats.packets > 40, "{latency_ms} ms, {loss} lost, {link:?}: {stats:?}");
            assert_eq!(stats.corrections, 0, "{latency_ms} ms, {loss} lost, {link:?}: {stats:?}");
            let known = scene.predicted.iter().filter_map(|(seq, ship)| Some((ship, scene.flown(*seq)?)));
            let compared = known.inspect(|(predicted, flown)| assert_eq!(predicted, flown)).count();
            assert!(compared > 100, "{compared} inputs were compared at {latency_ms} ms, {loss} lost");
        }
    }
}

#[test]
fn what_others_do_is_put_right_and_fades() {
    let mut scene = Scene::new(Some(Sandbox), DeliveryOrder::Unordered, network(100, 0.0), 5);
    scene.run(Duration::from_secs(3), zigzag);
    scene.signal(PUSH);
    scene.run(Duration::from_secs(3), zigzag);
    let stats = scene.core.client.stats();
    assert!(stats.corrections > 0 && stats.correction_size > 0.0, "{stats:?}");
    assert!(stats.displayed_error < 0.1, "{stats:?}");
}

#[test]
fn without_rules_nothing_is_predicted_and_the_own_entity_is_drawn_all_the_same() {
    let mut scene = Scene::new(None, DeliveryOrder::Unordered, network(50, 0.0), 9);
    scene.run(Duration::from_secs(3), zigzag);
    assert!(scene.core.client.predicted_state().is_none());
    let own = scene.core.client.own_entity().expect("it has a ship").to_bits() as f64;
    assert!(scene.drawn(0, 7).iter().any(|(entity, _)| *entity == own));
}
