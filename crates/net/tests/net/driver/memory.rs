//! In memory and virtual time.

use super::echo::{BURST, MESSAGE_BYTES_MAX, Server, WORK, WORK_MAX};
use aether_net::ConnectionSettings;
use aether_net::memory::{MemoryClient, pair};
use aether_replication::DeliveryOrder;
use aether_wire::Encoding;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// Nothing here takes that long, in virtual time.
const PATIENCE: Duration = Duration::from_secs(600);

const SETTINGS: fn() -> ConnectionSettings = ConnectionSettings::default;

fn link() -> (aether_net::memory::MemoryTransport, MemoryClient) {
    pair(DeliveryOrder::Ordered, Encoding::Json)
}

async fn say(client: &MemoryClient, text: &str) {
    client.send_bytes(text.as_bytes().to_vec()).await;
}

async fn hear(client: &mut MemoryClient) -> Option<String> {
    let next = timeout(PATIENCE, client.next_bytes()).await.expect("the server says something");
    next.map(|bytes| String::from_utf8(bytes).expect("it is text"))
}

/// The next messages until the server closes.
async fn hear_all(client: &mut MemoryClient) -> Vec<String> {
    let mut heard = Vec::new();
    while let Some(message) = hear(client).await {
        heard.push(message);
    }
    heard
}

#[tokio::test(start_paused = true)]
async fn answers_come_at_once_or_later_and_others_can_push() {
    let server = Server::new(SETTINGS());
    let (transport, mut client) = link();
    let served = server.serve(transport, true);
    say(&client, "later a").await;
    say(&client, "now b").await;
    served.push.send(b"pushed".to_vec()).expect("the connection is open");
    let mut first = [hear(&mut client).await.unwrap(), hear(&mut client).await.unwrap()];
    first.sort();
    assert_eq!(first, ["now b", "pushed"]);
    let asked = Instant::now();
    assert_eq!(hear(&mut client).await.as_deref(), Some("later a"));
    assert!(asked.elapsed() >= WORK / 2, "it was computed meanwhile");
    say(&client, "leave").await;
    assert_eq!(hear_all(&mut client).await, ["end left"]);
    served.task.await.expect("it ended");
    assert!(server.has_closed("left"));
    assert_eq!(server.connections.count(), 0, "its share is given back");
}

#[tokio::test(start_paused = true)]
async fn a_protocol_that_is_busy_is_not_given_more() {
    let server = Server::new(SETTINGS());
    let (transport, mut client) = link();
    let served = server.serve(transport, true);
    for number in 0..2 * WORK_MAX {
        say(&client, &format!("later {number}")).await;
    }
    sleep(WORK / 2).await;
    assert_eq!(served.handled(), WORK_MAX);
    for _ in 0..2 * WORK_MAX {
        hear(&mut client).await.expect("each is answered");
    }
    assert_eq!(served.handled(), 2 * WORK_MAX);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_is_not_let_in_in_time_is_closed() {
    let server = Server::new(SETTINGS());
    let (transport, mut client) = link();
    server.serve(transport, false);
    let began = Instant::now();
    assert_eq!(hear_all(&mut client).await, ["end unauthenticated"]);
    assert!(began.elapsed() >= SETTINGS().handshake, "it had its time");

    let (transport, mut client) = link();
    server.serve(transport, false);
    say(&client, "login").await;
    sleep(SETTINGS().handshake * 2).await;
    say(&client, "now hello").await;
    assert_eq!(hear(&mut client).await.as_deref(), Some("now hello"), "whoever is in stays in");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_is_not_in_has_few_attempts_at_being_understood() {
    let server = Server::new(SETTINGS());
    let (transport, mut client) = link();
    server.serve(transport, false);
    let began = Instant::now();
    for _ in 0..5 {
        say(&client, "nonsense").await;
    }
    assert_eq!(hear_all(&mut client).await, ["end unauthenticated"]);
    assert!(began.elapsed() < SETTINGS().handshake);
}

#[tokio::test(start_paused = true)]
async fn a_silent_peer_is_closed_and_one_that_speaks_is_kept() {
    let server = Server::new(SETTINGS());
    let (transport, mut client) = link();
    server.serve(transport, true);
    let idle = SETTINGS().idle;
    for _ in 0..4 {
        sleep(idle * 3 / 4).await;
        say(&client, "now I am here").await;
        assert_eq!(hear(&mut client).await.as_deref(), Some("now I am here"));
    }
    let fell_silent = Instant::now();
    assert_eq!(hear_all(&mut client).await, ["end timed_out"]);
    assert!(fell_silent.elapsed() >= idle && fell_silent.elapsed() < idle + Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn messages_beyond_the_rate_are_dropped_and_then_their_sender() {
    let server = Server::new(SETTINGS());
    let (transport, mut client) = link();
    let served = server.serve(transport, true);
    for _ in 0..2 * BURST {
        say(&client, "now x").await;
    }
    sleep(Duration::from_millis(10)).await;
    assert_eq!(served.handled(), BURST as usize);
    assert!(server.registry.render().contains(&format!("aether_messages_dropped_total{{reason=\"rate\"}} {BURST}\n")));
    sleep(Duration::from_secs(1)).await;
    say(&client, "now y").await;
    sleep(Duration::from_millis(10)).await;
    assert_eq!(served.handled(), BURST as usize + 1, "the rate allows it again");
    for _ in 0..300 {
        say(&client, "now z").await;
    }
    let heard = hear_all(&mut client).await;
    assert_eq!(heard.last().map(String::as_str), Some("end flooded"));
    assert!(served.handled() <= 3 * BURST as usize);
}

#[tokio::test(start_paused = true)]
async fn the_stop_of_the_server_is_announced_once() {
    let server = Server::new(SETTINGS());
    let (transport, mut client) = link();
    let served = server.serve(transport, true);
    server.connections.announce_stop(Duration::from_secs(5));
    assert_eq!(hear(&mut client).await.as_deref(), Some("stop 5000"));
    sleep(Duration::from_secs(3)).await;
    say(&client, "now still here").await;
    assert_eq!(hear(&mut client).await.as_deref(), Some("now still here"));
    assert!(server.connections.permit([127, 0, 0, 1].into()).is_none(), "nobody else is let in");
    assert!(!served.task.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_is_closed_as_too_slow() {
    let server = Server::new(SETTINGS());
    let (transport, client) = link();
    let served = server.serve(transport, true);
    say(&client, "flood").await;
    let began = Instant::now();
    timeout(PATIENCE, served.task).await.expect("it is noticed").expect("it ends");
    assert!(server.has_closed("too_slow"));
    let waited = began.elapsed();
    assert!(waited >= SETTINGS().write_stall && waited < SETTINGS().write_stall * 2, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_take_its_answers_is_not_asked_for_more() {
    let hour = Duration::from_secs(3_600);
    let server = Server::new(ConnectionSettings { write_stall: hour, idle: hour, ..SETTINGS() });
    let (transport, mut client) = link();
    let served = server.serve(transport, true);
    let long = format!("now {}", "x".repeat(10_000));
    // The link holds 256 messages before it pushes back, and the driver 64 KiB; the rate allows 10 a second.
    for _ in 0..60 {
        for _ in 0..BURST {
            let _ = timeout(Duration::from_millis(1), say(&client, &long)).await;
        }
        sleep(Duration::from_secs(1)).await;
    }
    let handled = served.handled();
    assert!((256..=266).contains(&handled), "{handled} were handled");
    while timeout(Duration::from_secs(5), hear(&mut client)).await.is_ok_and(|heard| heard.is_some()) {}
    assert!(served.handled() > handled, "once answers are taken, it goes on");
}

#[tokio::test(start_paused = true)]
async fn a_message_may_be_as_long_as_the_protocol_says_and_no_longer() {
    let server = Server::new(SETTINGS());
    let (transport, mut client) = link();
    let served = server.serve(transport, true);
    let longest = format!("now {}", "x".repeat(MESSAGE_BYTES_MAX - 4));
    say(&client, &longest).await;
    assert_eq!(hear(&mut client).await, Some(longest.clone()));
    say(&client, &format!("{longest}x")).await;
    assert_eq!(hear(&mut client).await, None);
    served.task.await.expect("it ended");
    assert!(server.has_closed("protocol_violation"));
}
