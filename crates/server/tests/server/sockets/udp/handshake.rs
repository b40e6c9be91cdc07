//! Handshakes that the server must ignore: each is counted, and another client plays on.

use super::support::{DROPPED, HANDSHAKES, UdpClient, UdpPlayer, connect_token};
use aether_rudp::{ConnectToken, ConnectionState};
use aether_testkit_server::{TestServer, until};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::Instant;

/// A server with a player that must not notice anything.
struct Observed {
    server: TestServer,
    player: UdpPlayer,
    accepted: f64,
}

impl Observed {
    async fn start() -> Observed {
        let server = TestServer::start(|_| {}).await;
        let player = UdpPlayer::join(&server, &server.hello("sandbox")).await;
        Observed { accepted: accepted(&server), server, player }
    }

    /// A connect token of a new account.
    async fn token(&self) -> (SocketAddr, ConnectToken) {
        connect_token(&self.server, self.server.hello("sandbox").token.as_ref().expect("a hello has a token")).await
    }

    /// Waits for the counter, and checks that nothing was opened and that the player plays on.
    async fn refused(mut self, reason: &str, at_least: f64) {
        self.server.until_metric(DROPPED, &[("reason", reason)], at_least).await;
        assert_eq!(accepted(&self.server), self.accepted, "a connection was opened");
        self.player.client.ping().await;
        assert_eq!(self.server.connections(), 1);
        self.server.stop().await;
    }
}

fn accepted(server: &TestServer) -> f64 {
    server.metric(HANDSHAKES, &[("result", "accepted")])
}

/// Runs a client that must not get in, until the server has counted it.
async fn run_until_dropped(client: &mut UdpClient, server: &TestServer, reason: &str) {
    client.run_until(reason, |_| server.metric(DROPPED, &[("reason", reason)]) > 0.0).await;
    assert_eq!(client.client.state(), ConnectionState::Connecting);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_its_padding_gets_no_answer() {
    let observed = Observed::start().await;
    let (address, token) = observed.token().await;
    let mut client = UdpClient::start((address, &token)).await;
    let request = client.due().remove(0);
    let mut sent = 0.0;
    for length in [request.len() - 1, request.len() / 2, 100, 20] {
        client.send_raw(&request[..length]).await;
        sent += 1.0;
    }
    let refused = || ["not_padded", "too_short"].map(|reason| observed.server.metric(DROPPED, &[("reason", reason)]));
    until("the counters", || refused().iter().sum::<f64>() >= sent).await;
    let mut answer = [0; 2_048];
    assert!(client.socket.try_recv_from(&mut answer).is_err(), "there is no answer");
    // The whole request gets one, and it is shorter.
    client.send_raw(&request).await;
    let (length, _) = client.socket.recv_from(&mut answer).await.expect("an answer arrives");
    assert!(length < request.len(), "{length} bytes for {}", request.len());
    let reason = if refused()[0] > 0.0 { "not_padded" } else { "too_short" };
    observed.refused(reason, 1.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_many_sources_open_nothing() {
    let observed = Observed::start().await;
    let (address, token) = observed.token().await;
    let request = UdpClient::start((address, &token)).await.due().remove(0);
    let answered = observed.server.metric(HANDSHAKES, &[("result", "answered")]);
    for source in 1..=200_u8 {
        // Every address of 127.0.0.0/8 is one of this machine.
        let socket = UdpSocket::bind(SocketAddr::from(([127, 7, 0, source], 0))).await.expect("loopback is local");
        for _ in 0..10 {
            socket.send_to(&request, address).await.expect("the system sends");
        }
        tokio::task::yield_now().await;
    }
    // Whatever the system did not drop was answered without a connection.
    observed.server.until_metric(HANDSHAKES, &[("result", "answered")], answered + 200.0).await;
    assert_eq!(observed.server.connections(), 1);
    let stray = UdpClient::start((address, &token)).await;
    stray.send_raw(&[]).await;
    stray.send_raw(&[1]).await;
    observed.refused("too_short", 1.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn altered_tokens_are_ignored() {
    let observed = Observed::start().await;
    let (address, token) = observed.token().await;
    let mut bytes = token.to_bytes();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let mut client = UdpClient::start((address, &ConnectToken::from_bytes(&bytes).expect("the length is right"))).await;
    run_until_dropped(&mut client, &observed.server, "bad_token").await;
    observed.refused("bad_token", 1.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_another_server_are_ignored() {
    let observed = Observed::start().await;
    let other = TestServer::start(|_| {}).await;
    let (_, token) = connect_token(&other, other.hello("sandbox").token.as_ref().expect("a hello has a token")).await;
    let address = observed.server.running().udp.expect("UDP is enabled");
    let mut client = UdpClient::start((address, &token)).await;
    run_until_dropped(&mut client, &observed.server, "bad_token").await;
    observed.refused("bad_token", 1.0).await;
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_tokens_are_ignored() {
    let server = TestServer::start(|config| config.udp.token_seconds = 0).await;
    let (address, token) =
        connect_token(&server, server.hello("sandbox").token.as_ref().expect("a hello has a token")).await;
    // The token has expired when the next second begins.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let mut client = UdpClient::start((address, &token)).await;
    run_until_dropped(&mut client, &server, "expired_token").await;
    assert_eq!(accepted(&server), 0.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_used_token_opens_no_second_connection() {
    let mut observed = Observed::start().await;
    let hello = observed.server.hello("sandbox");
    let (address, token) = connect_token(&observed.server, hello.token.as_ref().expect("a hello has a token")).await;
    let mut first = UdpClient::start((address, &token)).await;
    first.hello(&hello).await.expect("the token is new");
    first.client.close(0);
    first.run_until("the close", |client| matches!(client.state(), ConnectionState::Closed(_))).await;
    observed.accepted = accepted(&observed.server);
    until("the first connection to end", || observed.server.connections() == 1).await;
    let mut second = UdpClient::start((address, &token)).await;
    run_until_dropped(&mut second, &observed.server, "used_token").await;
    observed.refused("used_token", 1.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_from_another_address_is_ignored() {
    let observed = Observed::start().await;
    let (address, token) = observed.token().await;
    let mut client = UdpClient::start((address, &token)).await;
    for request in client.due() {
        client.send_raw(&request).await;
    }
    // The challenge has arrived; the response to it goes out from another socket.
    let mut challenge = [0; 2_048];
    let (length, from) = client.socket.recv_from(&mut challenge).await.expect("the challenge arrives");
    client.client.handle(Duration::ZERO, from, &mut challenge[..length], &mut |_, _| {}).expect("it is a challenge");
    let thief = UdpSocket::bind("127.0.0.1:0").await.expect("a port is free");
    let end = Instant::now() + Duration::from_secs(5);
    let mut responses = client.due();
    while responses.is_empty() && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(5)).await;
        responses = client.due();
    }
    for response in responses {
        thief.send_to(&response, address).await.expect("the system sends");
    }
    observed.refused("bad_cookie", 1.0).await;
}
