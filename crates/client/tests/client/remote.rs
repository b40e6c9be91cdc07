//! Remote entities move evenly, however unevenly their states arrive.

use aether_client::Interpolate;
use aether_replication::DeliveryOrder;
use aether_testkit::Conditions;
use aether_testkit_client::{DrawnShip, Scene, network, networks, serpentine};
use std::time::Duration;

/// Largest movement of a remote ship per frame, in units. Its own speed is slightly more than one.
const JUMP_MAX: f32 = 4.0;

/// Observes a remote ship for a while. Returns the largest movement per frame, the number of frames without movement,
/// and the interpolation delay.
fn observe(latency_ms: u64, loss: f32, interpolation: bool) -> (f32, u32, Duration) {
    let mut scene = Scene::new(latency_ms + 21);
    let observer = scene.join(DeliveryOrder::Unordered, network(latency_ms, loss));
    let other = scene.join(DeliveryOrder::Unordered, Conditions::PERFECT);
    scene.pilots[other].steering = serpentine;
    scene.pilots[observer].client.settings_mut().interpolation = interpolation;
    scene.run(Duration::from_secs(5));
    let (mut largest, mut still) = (0.0_f32, 0);
    let mut before: Option<DrawnShip> = None;
    for _ in 0..20_000 {
        let frames = scene.pilots[observer].frames;
        scene.step();
        if scene.pilots[observer].frames > frames {
            let (_, shown) = scene.pilots[observer].client.remote_entities().next().expect("the other ship is visible");
            let distance = before.as_ref().map(|before| before.distance(&shown));
            largest = largest.max(distance.unwrap_or(0.0));
            still += u32::from(distance == Some(0.0));
            before = Some(shown);
        }
    }
    (largest, still, scene.pilots[observer].client.stats().delay)
}

#[test]
fn movement_per_frame_is_bounded() {
    for (latency_ms, loss) in networks() {
        let (largest, still, delay) = observe(latency_ms, loss, true);
        println!("{latency_ms} ms, {loss} lost: largest {largest}, still for {still} frames, delay {delay:?}");
        assert!(largest <= JUMP_MAX, "{latency_ms} ms, {loss} lost: jumped by {largest}");
        assert!(still <= 12, "{latency_ms} ms, {loss} lost: stood still for {still} frames of 1200");
        assert!((50..=300).contains(&delay.as_millis()), "{delay:?}");
    }
}

#[test]
fn without_interpolation_remote_ships_jump() {
    let (largest, still, _) = observe(50, 0.05, false);
    assert!(largest > JUMP_MAX, "{largest}");
    assert!(still > 600, "{still}: it moves only with snapshots");
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
