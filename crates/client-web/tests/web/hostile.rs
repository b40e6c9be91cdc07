//! Hostile servers and broken rules.

use crate::support::{Sandbox, Scene};
use aether_client::JoinOptions;
use aether_client_web::{ClientCore, PredictionRules};
use aether_replication::DeliveryOrder;
use aether_testkit_client::{network, zigzag};
use std::time::Duration;

/// Rules that return an invalid state.
struct Broken;

impl PredictionRules for Broken {
    fn channel(&self) -> &str {
        "movement"
    }

    fn ignored(&self) -> &[String] {
        &[]
    }

    fn step(&self, state: &mut Vec<f64>, _input: &[f64], _seconds: f32) {
        state.truncate(1);
    }
}

#[test]
fn invalid_inputs_and_messages_are_rejected() {
    let mut scene = Scene::new(Some(Sandbox), DeliveryOrder::Ordered, network(0, 0.0), 1);
    assert!(!scene.core.set_input(&[1.0; 4]), "the schema is unknown");
    scene.run(Duration::from_secs(1), zigzag);
    assert!(scene.core.set_input(&[1.0; 4]));
    for row in [&[1.0; 3][..], &[1.0; 5], &[]] {
        assert!(!scene.core.set_input(row));
    }
    assert_eq!(scene.core.send_message(0, &[1.0]), None, "row too short");
    assert_eq!(scene.core.send_message(u16::MAX, &[1.0]), None, "unknown code");
    assert!(scene.core.send_message(0, &[1.0, 2.0, 3.0]).is_some());
}

#[test]
fn rules_that_return_an_invalid_state_cause_no_panic() {
    let mut core = ClientCore::new(Some(Broken), JoinOptions::default(), 1);
    core.client.connected(DeliveryOrder::Ordered, Duration::ZERO);
    // Without a room nothing is stepped, and random frames are ignored.
    for byte in 0..=255_u8 {
        core.receive(&[byte; 40], Duration::from_millis(u64::from(byte)));
        core.client.advance(Duration::from_millis(u64::from(byte))).for_each(drop);
    }
    let mut state = vec![1.0; 7];
    Broken.step(&mut state, &[], 0.1);
    aether_client_web::RowLayout::new(&<aether_testkit_client::rules::Ship as aether_bits::Replicate>::kind())
        .snap(&mut state);
    assert_eq!(state, [1.0], "an invalid row is left unchanged");
}
