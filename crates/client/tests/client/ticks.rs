//! Game whose server steps once per tick with the last input, instead of once per input. The result then depends on the
//! arrival time of inputs, which the client cannot predict: there are corrections, but small and invisible ones.

use aether_client::Interpolate;
use aether_replication::DeliveryOrder;
use aether_testkit_client::server::Sandbox;
use aether_testkit_client::{Scene, network, networks, settings};
use std::time::Duration;

/// Largest correction of a ship, in units. Its speed is up to three units per tick.
const CORRECTION_MAX: f32 = 12.0;
/// Largest movement of the own ship per frame, in units. Its own speed is up to two.
const JUMP_MAX: f32 = 4.0;

#[test]
fn a_server_that_steps_per_tick_causes_small_invisible_corrections() {
    for (latency_ms, loss) in networks() {
        let mut scene = Scene::of(Sandbox::default(), settings(), latency_ms + 31);
        let pilot = scene.join(DeliveryOrder::Unordered, network(latency_ms, loss));
        scene.run(Duration::from_secs(3));
        let mut before = scene.pilots[pilot].client.own_state().expect("a ship");
        let mut largest = 0.0_f32;
        for _ in 0..12_000 {
            let frames = scene.pilots[pilot].frames;
            scene.step();
            if scene.pilots[pilot].frames > frames {
                let shown = scene.pilots[pilot].client.own_state().expect("a ship");
                largest = largest.max(before.distance(&shown));
                before = shown;
            }
        }
        let stats = scene.pilots[pilot].client.stats();
        println!(
            "{latency_ms} ms, {loss} lost: {} corrections of {} packets, by up to {}; largest movement {largest}",
            stats.corrections, stats.packets, stats.correction_size_max
        );
        assert!(stats.correction_size_max <= CORRECTION_MAX, "{latency_ms} ms, {loss} lost: {stats:?}");
        assert!(largest <= JUMP_MAX, "{latency_ms} ms, {loss} lost: jumped by {largest}");
    }
}
