//! The connection driver over reliable UDP.

use super::support::{STEP_TIMEOUT, TestClient, TestListener, settings};
use crate::driver::echo::{BURST, Served, Server};
use aether_net::ConnectionSettings;
use aether_rudp::{Channel, CloseCause};
use aether_wire::CloseReason;
use std::time::Duration;
use tokio::time::timeout;

fn connections() -> ConnectionSettings {
    let second = Duration::from_secs(1);
    ConnectionSettings { handshake: second, write_stall: second, ..ConnectionSettings::default() }
}

async fn connect(server: &Server, listener: &mut TestListener, is_open: bool) -> (Served, TestClient) {
    let (session, client) = listener.pair().await;
    (server.serve(session.transport, is_open), client)
}

fn text(message: &str) -> (Channel, Vec<u8>) {
    (Channel::ReliableOrdered, message.as_bytes().to_vec())
}

fn closed(reason: CloseReason) -> (CloseCause, (Channel, Vec<u8>)) {
    (CloseCause::Peer(reason.number() as u16), text(&format!("end {}", reason.name())))
}

async fn end(client: &mut TestClient) -> (CloseCause, (Channel, Vec<u8>)) {
    let (cause, mut messages) = client.closed().await;
    (cause, messages.pop().expect("the last message says why"))
}

#[tokio::test]
async fn answers_are_immediate_or_delayed_and_the_server_can_push() {
    let (server, mut listener) = (Server::new(connections()), TestListener::start(&settings()));
    let (served, mut client) = connect(&server, &mut listener, true).await;
    let long = format!("now {}", "x".repeat(10_000));
    client.send(Channel::ReliableOrdered, b"later a");
    client.send(Channel::ReliableOrdered, long.as_bytes());
    assert_eq!(client.receive().await, text(&long));
    assert_eq!(client.receive().await, text("later a"));
    served.push.send(b"pushed".to_vec()).expect("the connection is open");
    assert_eq!(client.receive().await, text("pushed"));
    client.send(Channel::ReliableOrdered, b"leave");
    assert_eq!(end(&mut client).await, closed(CloseReason::Left));
}

#[tokio::test]
async fn a_peer_without_a_login_in_time_is_closed() {
    let (server, mut listener) = (Server::new(connections()), TestListener::start(&settings()));
    let (_served, mut client) = connect(&server, &mut listener, false).await;
    assert_eq!(end(&mut client).await, closed(CloseReason::Unauthenticated));
}

#[tokio::test]
async fn a_flood_is_dropped_and_closes_the_connection() {
    let (server, mut listener) = (Server::new(connections()), TestListener::start(&settings()));
    let (served, mut client) = connect(&server, &mut listener, true).await;
    for _ in 0..300 {
        client.send(Channel::ReliableOrdered, b"now x");
    }
    assert_eq!(end(&mut client).await, closed(CloseReason::Flooded));
    let handled = served.handled();
    assert!((BURST as usize..250).contains(&handled), "{handled} were handled");
}

#[tokio::test]
async fn a_peer_that_acknowledges_nothing_is_closed_as_too_slow() {
    let (server, mut listener) = (Server::new(connections()), TestListener::start(&settings()));
    let (served, mut client) = connect(&server, &mut listener, true).await;
    client.send(Channel::ReliableOrdered, b"flood");
    client.delivered().await;
    // From here on the client is silent: its window fills, and nothing leaves the backlog.
    timeout(STEP_TIMEOUT, served.task).await.expect("the stall is detected").expect("the task does not panic");
    assert!(server.has_closed("too_slow"));
}
