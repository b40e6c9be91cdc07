//! Handshake, with good and bad input.

use std::time::Duration;

use aether_rudp::ConnectionState;

use crate::support::Pair;

#[test]
fn a_client_with_a_token_connects() {
    let mut pair = Pair::new();
    pair.run(Duration::from_millis(50));
    assert_eq!(pair.client.state(), ConnectionState::Open);
    assert_eq!(pair.client.connection().unwrap().id(), pair.server.id());
}
