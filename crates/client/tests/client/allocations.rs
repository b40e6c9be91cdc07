//! Allocations per frame.

use aether_replication::DeliveryOrder;
use aether_testkit_client::{Scene, network, serpentine};
use std::time::Duration;

#[test]
fn frames_allocate_nothing_once_buffers_have_grown() {
    let mut scene = Scene::new(1);
    let pilot = scene.join(DeliveryOrder::Ordered, network(20, 0.0));
    for _ in 0..5 {
        let other = scene.join(DeliveryOrder::Ordered, network(20, 0.0));
        scene.pilots[other].steering = serpentine;
    }
    scene.run(Duration::from_secs(10));
    let (mut now, client) = (scene.now, &mut scene.pilots[pilot].client);
    let (mut drawn, mut sent) = (0, 0);
    let info = allocation_counter::measure(|| {
        for _ in 0..120 {
            now += Duration::from_millis(16);
            client.set_input(serpentine(0));
            sent += client.advance(now).count();
            drawn += client.remote_entities().count() + usize::from(client.own_state().is_some());
        }
    });
    assert_eq!(drawn, 120 * 6);
    assert!(sent > 60, "{sent} messages");
    assert_eq!(info.count_total, 0, "{info:?}");
}
