//! Others move evenly, however unevenly their states arrive.

use aether_client::Interpolate;
use aether_replication::DeliveryOrder;
use aether_testkit::Conditions;
use aether_testkit_client::{Drawn, Scene, network, networks, serpentine};
use std::time::Duration;

/// The most that another ship moves from frame to frame, in units. By itself it flies a little more than one.
const JUMP_MAX: f32 = 4.0;

/// Watches another ship for a while: the largest way between two frames, how often it stood still, and the client's delay.
fn watch(latency_ms: u64, loss: f32, interpolation: bool) -> (f32, u32, Duration) {
    let mut scene = Scene::new(latency_ms + 21);
    let watcher = scene.join(DeliveryOrder::Unordered, network(latency_ms, loss));
    let other = scene.join(DeliveryOrder::Unordered, Conditions::PERFECT);
    scene.pilots[other].steering = serpentine;
    scene.pilots[watcher].client.settings_mut().interpolation = interpolation;
    scene.run(Duration::from_secs(5));
    let (mut largest, mut still) = (0.0_f32, 0);
    let mut before: Option<Drawn> = None;
    for _ in 0..20_000 {
        let frames = scene.pilots[watcher].frames;
        scene.step();
        if scene.pilots[watcher].frames > frames {
            let (_, shown) = scene.pilots[watcher].client.remote_entities().next().expect("the other ship is in view");
            let way = before.as_ref().map(|before| before.distance(&shown));
            largest = largest.max(way.unwrap_or(0.0));
            still += u32::from(way == Some(0.0));
            before = Some(shown);
        }
    }
    (largest, still, scene.pilots[watcher].client.stats().delay)
}

#[test]
fn no_way_between_two_frames_is_longer_than_a_bound() {
    for (latency_ms, loss) in networks() {
        let (largest, still, delay) = watch(latency_ms, loss, true);
        println!("{latency_ms} ms, {loss} lost: largest {largest}, still for {still} frames, delay {delay:?}");
        assert!(largest <= JUMP_MAX, "{latency_ms} ms, {loss} lost: jumped by {largest}");
        assert!(still <= 12, "{latency_ms} ms, {loss} lost: stood still for {still} frames of 1200");
        assert!((50..=300).contains(&delay.as_millis()), "{delay:?}");
    }
}

#[test]
fn without_interpolation_it_jumps() {
    let (largest, still, _) = watch(50, 0.05, false);
    assert!(largest > JUMP_MAX, "{largest}");
    assert!(still > 600, "{still}: it moves only when a snapshot comes");
}

#[test]
fn the_delay_begins_at_110_ms_and_follows_the_network() {
    let delays_over = |conditions| {
        let mut scene = Scene::new(2);
        scene.run(Duration::from_secs(1));
        let pilot = scene.join(DeliveryOrder::Unordered, conditions);
        scene.run(Duration::from_millis(700));
        let first = scene.pilots[pilot].client.stats().delay;
        scene.run(Duration::from_secs(14));
        (first, scene.pilots[pilot].client.stats().delay)
    };
    let (first, good) = delays_over(Conditions::PERFECT);
    assert!((105..=115).contains(&first.as_millis()), "{first:?}");
    assert!((50..=80).contains(&good.as_millis()), "{good:?}");
    let (_, bad) = delays_over(Conditions { jitter: Duration::from_millis(150), ..network(50, 0.2) });
    assert!((150..=500).contains(&bad.as_millis()), "{bad:?}");
}
