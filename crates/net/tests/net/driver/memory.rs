//! Tests in memory and virtual time.

use super::echo::{BURST, MESSAGE_BYTES_MAX, Server, WORK, WORK_MAX};
use aether_net::ConnectionSettings;
use aether_net::memory::{MemoryClient, pair};
use aether_replication::DeliveryOrder;
use aether_wire::Encoding;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// Timeout of each step, in virtual time.
const STEP_TIMEOUT: Duration = Duration::from_secs(600);

const SETTINGS: fn() -> ConnectionSettings = ConnectionSettings::default;

fn connection() -> (aether_net::memory::MemoryTransport, MemoryClient) {
    pair(DeliveryOrder::Ordered, Encoding::Json)
}

async fn send(client: &MemoryClient, text: &str) {
    client.send_bytes(text.as_bytes().to_vec()).await;
}

async fn receive(client: &mut MemoryClient) -> Option<String> {
    let next = timeout(STEP_TIMEOUT, client.next_bytes()).await.expect("the server sends a message");
    next.map(|bytes| String::from_utf8(bytes).expect("the message is text"))
}

/// Returns all messages until the server closes.
async fn receive_all(client: &mut MemoryClient) -> Vec<String> {
    let mut received = Vec::new();
    while let Some(message) = receive(client).await {
        received.push(message);
    }
    received
}

#[tokio::test(start_paused = true)]
async fn answers_are_immediate_or_delayed_and_the_server_can_push() {
    let server = Server::new(SETTINGS());
    let (transport, mut client) = connection();
    let served = server.serve(transport, true);
    send(&client, "later a").await;
    send(&client, "now b").await;
    served.push.send(b"pushed".to_vec()).expect("the connection is open");
    let mut first = [receive(&mut client).await.unwrap(), receive(&mut client).await.unwrap()];
    first.sort();
    assert_eq!(first, ["now b", "pushed"]);
    let asked = Instant::now();
    assert_eq!(receive(&mut client).await.as_deref(), Some("later a"));
    assert!(asked.elapsed() >= WORK / 2, "it was delayed");
    send(&client, "leave").await;
    assert_eq!(receive_all(&mut client).await, ["end left"]);
    served.task.await.expect("the task does not panic");
    assert!(server.has_closed("left"));
    assert_eq!(server.connections.count(), 0, "its permit is returned");
}

#[tokio::test(start_paused = true)]
async fn a_busy_protocol_gets_no_more_messages() {
    let server = Server::new(SETTINGS());
    let (transport, mut client) = connection();
    let served = server.serve(transport, true);
    for number in 0..2 * WORK_MAX {
        send(&client, &format!("later {number}")).await;
    }
    sleep(WORK / 2).await;
    assert_eq!(served.handled(), WORK_MAX);
    for _ in 0..2 * WORK_MAX {
        receive(&mut client).await.expect("each is answered");
    }
    assert_eq!(served.handled(), 2 * WORK_MAX);
}

#[tokio::test(start_paused = true)]
async fn a_peer_without_a_login_in_time_is_closed() {
    let server = Server::new(SETTINGS());
    let (transport, mut client) = connection();
    server.serve(transport, false);
    let began = Instant::now();
    assert_eq!(receive_all(&mut client).await, ["end unauthenticated"]);
    assert!(began.elapsed() >= SETTINGS().handshake, "it is closed at the deadline");

    let (transport, mut client) = connection();
    server.serve(transport, false);
    send(&client, "login").await;
    sleep(SETTINGS().handshake * 2).await;
    send(&client, "now hello").await;
    assert_eq!(receive(&mut client).await.as_deref(), Some("now hello"), "an open connection stays open");
}

#[tokio::test(start_paused = true)]
async fn few_unreadable_messages_are_allowed_before_the_login() {
    let server = Server::new(SETTINGS());
    let (transport, mut client) = connection();
    server.serve(transport, false);
    let began = Instant::now();
    for _ in 0..5 {
        send(&client, "nonsense").await;
    }
    assert_eq!(receive_all(&mut client).await, ["end unauthenticated"]);
    assert!(began.elapsed() < SETTINGS().handshake);
}

#[tokio::test(start_paused = true)]
async fn only_a_silent_peer_is_closed() {
    let server = Server::new(SETTINGS());
    let (transport, mut client) = connection();
    server.serve(transport, true);
    let idle = SETTINGS().idle;
    for _ in 0..4 {
        sleep(idle * 3 / 4).await;
        send(&client, "now I am here").await;
        assert_eq!(receive(&mut client).await.as_deref(), Some("now I am here"));
    }
    let fell_silent = Instant::now();
    assert_eq!(receive_all(&mut client).await, ["end timed_out"]);
    assert!(fell_silent.elapsed() >= idle && fell_silent.elapsed() < idle + Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn messages_beyond_the_rate_are_dropped_and_a_flood_closes_the_connection() {
    let server = Server::new(SETTINGS());
    let (transport, mut client) = connection();
    let served = server.serve(transport, true);
    for _ in 0..2 * BURST {
        send(&client, "now x").await;
    }
    sleep(Duration::from_millis(10)).await;
    assert_eq!(served.handled(), BURST as usize);
    assert!(server.registry.render().contains(&format!("aether_messages_dropped_total{{reason=\"rate\"}} {BURST}\n")));
    sleep(Duration::from_secs(1)).await;
    send(&client, "now y").await;
    sleep(Duration::from_millis(10)).await;
    assert_eq!(served.handled(), BURST as usize + 1, "the rate allows it again");
    for _ in 0..300 {
        send(&client, "now z").await;
    }
    let received = receive_all(&mut client).await;
    assert_eq!(received.last().map(String::as_str), Some("end flooded"));
    assert!(served.handled() <= 3 * BURST as usize);
}

#[tokio::test(start_paused = true)]
async fn the_stop_of_the_server_is_announced_once() {
    let server = Server::new(SETTINGS());
    let (transport, mut client) = connection();
    let served = server.serve(transport, true);
    server.connections.announce_stop(Duration::from_secs(5));
    assert_eq!(receive(&mut client).await.as_deref(), Some("stop 5000"));
    sleep(Duration::from_secs(3)).await;
    send(&client, "now still here").await;
    assert_eq!(receive(&mut client).await.as_deref(), Some("now still here"));
    assert!(server.connections.permit([127, 0, 0, 1].into()).is_none(), "new connections are rejected");
    assert!(!served.task.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_is_closed_as_too_slow() {
    let server = Server::new(SETTINGS());
    let (transport, client) = connection();
    let served = server.serve(transport, true);
    send(&client, "flood").await;
    let began = Instant::now();
    timeout(STEP_TIMEOUT, served.task).await.expect("the stall is detected").expect("the task does not panic");
    assert!(server.has_closed("too_slow"));
    let waited = began.elapsed();
    assert!(waited >= SETTINGS().write_stall && waited < SETTINGS().write_stall * 2, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_its_answers_is_not_read_from() {
    let hour = Duration::from_secs(3_600);
    let server = Server::new(ConnectionSettings { write_stall: hour, idle: hour, ..SETTINGS() });
    let (transport, mut client) = connection();
    let served = server.serve(transport, true);
    let long = format!("now {}", "x".repeat(10_000));
    // The transport queues 256 messages before it blocks, and the driver 64 KiB; the rate allows 10 per second.
    for _ in 0..60 {
        for _ in 0..BURST {
            let _ = timeout(Duration::from_millis(1), send(&client, &long)).await;
        }
        sleep(Duration::from_secs(1)).await;
    }
    let handled = served.handled();
    assert!((256..=266).contains(&handled), "{handled} were handled");
    while timeout(Duration::from_secs(5), receive(&mut client)).await.is_ok_and(|received| received.is_some()) {}
    assert!(served.handled() > handled, "reading resumes after answers are taken");
}

#[tokio::test(start_paused = true)]
async fn the_length_of_a_message_is_limited_by_the_protocol() {
    let server = Server::new(SETTINGS());
    let (transport, mut client) = connection();
    let served = server.serve(transport, true);
    let longest = format!("now {}", "x".repeat(MESSAGE_BYTES_MAX - 4));
    send(&client, &longest).await;
    assert_eq!(receive(&mut client).await, Some(longest.clone()));
    send(&client, &format!("{longest}x")).await;
    assert_eq!(receive(&mut client).await, None);
    served.task.await.expect("the task does not panic");
    assert!(server.has_closed("protocol_violation"));
}
