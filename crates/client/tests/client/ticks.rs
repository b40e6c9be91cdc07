//! A game whose server steps once a tick with the last input, instead of once for each input. What follows from an input
//! then depends on when it arrived, which nobody can predict: the client is corrected, but by little and not visibly.

use aether_client::Interpolate;
use aether_replication::DeliveryOrder;
use aether_testkit_client::server::Sandbox;
use aether_testkit_client::{Scene, network, networks, settings};
use std::time::Duration;

/// What a correction may move a ship by, in units. It flies up to three in a tick.
const CORRECTION_MAX: f32 = 12.0;
/// The most that the own ship moves from frame to frame, in units. By itself it flies up to two.
const JUMP_MAX: f32 = 4.0;

#[test]
fn a_server_that_steps_by_ticks_leads_to_small_corrections_that_are_not_seen_as_jumps() {
    for (latency_ms, loss) in networks() {
        let mut scene = Scene::of(Sandbox::default(), settings(), latency_ms + 31);
        let pilot = scene.join(DeliveryOrder::Unordered, network(latency_ms, loss));
        scene.run(Duration::from_secs(3));
        let mut before = scene.pilots[pilot].client.own_state().expect("it has a ship");
        let mut largest = 0.0_f32;
        for _ in 0..12_000 {
            let frames = scene.pilots[pilot].frames;
            scene.step();
            if scene.pilots[pilot].frames > frames {
                let shown = scene.pilots[pilot].client.own_state().expect("it has a ship");
                largest = largest.max(before.distance(&shown));
                before = shown;
            }
        }
        let stats = scene.pilots[pilot].client.stats();
        println!(
            "{latency_ms} ms, {loss} lost: {} corrections of {} packets, by up to {}; largest way {largest}",
            stats.corrections, stats.packets, stats.correction_size_max
        );
        assert!(stats.correction_size_max <= CORRECTION_MAX, "{latency_ms} ms, {loss} lost: {stats:?}");
        assert!(largest <= JUMP_MAX, "{latency_ms} ms, {loss} lost: jumped by {largest}");
    }
}
