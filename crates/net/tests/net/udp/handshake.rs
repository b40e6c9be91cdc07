//! Handshakes: bad ones are dropped and counted, and nothing is stored for them.

use super::support::{STEP_TIMEOUT, TestClient, TestListener, flush, receive, settings};
use aether_limits::RateLimit;
use aether_net::Transport as _;
use aether_rudp::{Channel, ConnectionState};
use aether_wire::DeliveryPath;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::timeout;

#[tokio::test]
async fn two_sockets_share_an_address_and_serve_many_clients() {
    let mut shared = settings();
    shared.sockets = 2;
    let mut server = TestListener::start(&shared);
    let mut open = Vec::new();
    for _ in 0..16 {
        open.push(server.pair().await);
    }
    assert_eq!(server.metric("aether_udp_handshakes_total", "accepted"), 16.0);
}

#[tokio::test]
async fn a_client_whose_address_changes_is_served_whichever_socket_its_packets_reach() {
    let mut shared = settings();
    shared.sockets = 4;
    let mut server = TestListener::start(&shared);
    let (mut session, mut client) = server.pair().await;
    for number in 0..8 {
        // The system chooses a socket of the server by the client's port.
        client.socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        client.send(Channel::ReliableOrdered, &[number]);
        client.delivered().await;
        assert_eq!(receive(&mut session.transport).await.unwrap(), [(DeliveryPath::Reliable, vec![number])]);
        session.transport.queue(DeliveryPath::Reliable, &[number, number]);
        flush(&mut session.transport).await;
        assert_eq!(client.receive().await, (Channel::ReliableOrdered, vec![number, number]));
    }
}

#[tokio::test]
async fn requests_of_a_network_beyond_the_rate_are_dropped() {
    let mut limited = settings();
    limited.requests = Some(RateLimit { per_second: 1, burst: 3 });
    let server = TestListener::start(&limited);
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for _ in 0..10 {
        socket.send_to(&[0; 1_200], server.address).await.unwrap();
    }
    let limited = async {
        while server.metric("aether_udp_handshakes_total", "limited") < 7.0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(STEP_TIMEOUT, limited).await.expect("seven requests are beyond the rate");
}

#[tokio::test]
async fn a_token_of_another_key_opens_nothing() {
    let server = TestListener::start(&settings());
    let other = TestListener::start(&settings());
    let mut client = TestClient::start(server.address, &other.token("ann")).await;
    while server.metric("aether_udp_datagrams_dropped_total", "bad_token") == 0.0 {
        client.run_for(Duration::from_millis(20)).await;
    }
    assert_eq!(client.client.state(), ConnectionState::Connecting);
    assert_eq!(server.metric("aether_udp_handshakes_total", "accepted"), 0.0);
}

#[tokio::test]
async fn a_stopped_listener_accepts_nobody_and_open_connections_continue() {
    let mut server = TestListener::start(&settings());
    let (_session, mut client) = server.pair().await;
    server.listener.stop();
    let token = server.token("ben");
    let mut late = TestClient::start(server.address, &token).await;
    while server.metric("aether_udp_handshakes_total", "refused") == 0.0 {
        late.run_for(Duration::from_millis(20)).await;
    }
    assert!(server.listener.accept().await.is_none());
    client.run_for(Duration::from_millis(50)).await;
    assert_eq!(client.client.state(), ConnectionState::Open);
}
