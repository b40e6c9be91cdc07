//! Corrections by the server are applied without a visible jump.

use aether_client::Interpolate;
use aether_replication::DeliveryOrder;
use aether_testkit_client::{PUSH, SINK, Scene, network, networks};
use std::time::Duration;

/// Error below which it is invisible, in units.
const VISIBLE_MIN: f32 = 0.1;
/// Largest number of frames until then: three quarters of a second.
const FRAMES_MAX: u32 = 45;
/// Largest movement of a ship per frame during a correction. Its own speed is up to two units per frame.
const JUMP_MAX: f32 = 6.0;

#[test]
fn the_visible_error_after_a_push_soon_disappears() {
    for (latency_ms, loss) in networks() {
        let mut scene = Scene::new(latency_ms + 11);
        let pilot = scene.join(DeliveryOrder::Unordered, network(latency_ms, loss));
        scene.run(Duration::from_secs(6));
        assert_eq!(scene.pilots[pilot].client.stats().corrections, 0);
        scene.signal(PUSH);
        while scene.pilots[pilot].client.stats().corrections == 0 {
            scene.step();
        }
        let client = &scene.pilots[pilot].client;
        let (corrected_at, mut before) = (scene.pilots[pilot].frames, client.own_state().expect("a ship"));
        assert!(client.stats().correction_size > 10.0, "the push moves by more than 14 units");
        assert!(client.stats().displayed_error > 10.0, "the correction is not visible yet");
        let mut largest = 0.0_f32;
        while scene.pilots[pilot].client.stats().displayed_error > VISIBLE_MIN {
            let frames = scene.pilots[pilot].frames;
            scene.step();
            if scene.pilots[pilot].frames > frames {
                let shown = scene.pilots[pilot].client.own_state().expect("a ship");
                largest = largest.max(before.distance(&shown));
                before = shown;
            }
            let frames = scene.pilots[pilot].frames - corrected_at;
            assert!(frames <= FRAMES_MAX, "{latency_ms} ms, {loss} lost: still off after {frames} frames");
        }
        assert!(largest <= JUMP_MAX, "{latency_ms} ms, {loss} lost: jumped by {largest}");
        let stats = scene.pilots[pilot].client.stats();
        println!(
            "{latency_ms} ms, {loss} lost: {} frames, largest {largest}, {} corrections",
            scene.pilots[pilot].frames - corrected_at,
            stats.corrections
        );
        scene.run(Duration::from_secs(3));
        assert_eq!(scene.pilots[pilot].client.stats().corrections, 1, "one push is one correction");
    }
}

#[test]
fn without_reconciliation_the_error_stays() {
    let mut scene = Scene::new(5);
    let pilot = scene.join(DeliveryOrder::Unordered, network(50, 0.0));
    scene.pilots[pilot].client.settings_mut().reconciliation = false;
    scene.run(Duration::from_secs(4));
    scene.signal(PUSH);
    scene.run(Duration::from_secs(2));
    let is_off = |scene: &Scene<_>| {
        let (seq, predicted) = scene.pilots[pilot].predicted.iter().rev().nth(40).expect("predicted states").clone();
        scene.flown(pilot, seq).is_some_and(|flown| flown.position.distance(&predicted.position) > 10.0)
    };
    assert!(is_off(&scene));
    assert_eq!(scene.pilots[pilot].client.stats().corrections, 0);
    scene.pilots[pilot].client.settings_mut().reconciliation = true;
    scene.run(Duration::from_secs(3));
    assert!(!is_off(&scene));
    assert_eq!(scene.pilots[pilot].client.stats().corrections, 1);
}

#[test]
fn a_correction_beyond_the_snap_distance_is_not_smoothed() {
    let mut scene = Scene::new(5);
    let pilot = scene.join(DeliveryOrder::Unordered, network(50, 0.0));
    scene.pilots[pilot].client.settings_mut().snap_distance = 5.0;
    scene.run(Duration::from_secs(4));
    scene.signal(PUSH);
    while scene.pilots[pilot].client.stats().corrections == 0 {
        scene.step();
    }
    assert_eq!(scene.pilots[pilot].client.stats().displayed_error, 0.0);
}

#[test]
fn a_removed_ship_is_neither_predicted_nor_displayed() {
    for delivery_order in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
        let mut scene = Scene::new(6);
        let pilot = scene.join(delivery_order, network(50, 0.0));
        let other = scene.join(delivery_order, network(50, 0.0));
        scene.run(Duration::from_secs(3));
        assert!(
            scene.pilots[pilot].client.own_state().is_some()
                && scene.pilots[pilot].client.remote_entities().count() == 1
        );
        scene.signal(SINK);
        scene.run(Duration::from_secs(1));
        for pilot in [pilot, other] {
            let client = &scene.pilots[pilot].client;
            assert!(client.own_state().is_none() && client.predicted_state().is_none(), "{delivery_order:?}");
            assert_eq!((client.remote_entities().count(), client.stats().corrections), (0, 0), "{delivery_order:?}");
        }
    }
}
