//! The sandbox over the worst supported network.

use crate::support::controls;
use aether::prelude::*;
use aether_sandbox_server::{Sandbox, settings};

#[test]
fn all_clients_converge_within_three_seconds_after_a_storm() {
    let settings = RoomSettings { snapshot_hz: 40, rings: Vec::new(), ..settings() };
    let room = Room::builder(Sandbox::default(), settings).seed(6).build().expect("the settings are valid");
    let mut harness = Harness::new(room, 7);
    let clients: Vec<_> = (0..12)
        .map(|number| {
            let order = if number % 3 == 0 { DeliveryOrder::Ordered } else { DeliveryOrder::Unordered };
            harness.join(&format!("pilot {number}"), order, Conditions::STORM)
        })
        .collect();
    harness.stress(clients[0], 300, true);
    harness.stress(clients[1], 200, true);
    for tick in 0..400 {
        for (number, client) in clients.iter().enumerate() {
            harness.set_input(*client, Some(&controls(tick, number as u32)));
        }
        harness.tick(1);
    }
    assert!(clients.iter().any(|client| !harness.has_converged(*client)), "the storm must cause divergence first");
    harness.heal();
    harness.tick(120);
    for _ in 0..40 {
        harness.tick(1);
        for client in &clients {
            assert!(
                harness.has_converged(*client),
                "{} at tick {}",
                harness.client(*client).name(),
                harness.room().now()
            );
        }
    }
    for client in &clients[..2] {
        let acks = &harness.client(*client).received().acks;
        assert_eq!(acks.len(), 1, "the command was answered once");
        assert_eq!((acks[0].seq, &acks[0].error), (CommandSeq(1), &None));
    }
}
