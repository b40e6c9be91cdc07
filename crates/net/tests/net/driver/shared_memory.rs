//! Tests through shared memory: game and driver in one process, over a real region.

use super::echo::{MESSAGE_BYTES_MAX, Served, Server};
use aether_metrics::Registry;
use aether_net::ConnectionSettings;
use aether_net::memory::{MemoryClient, pair};
use aether_net::shared_memory::{
    DriverClient, DriverOffer, RING_BYTES_MIN, SharedMemoryClient, SharedMemoryDriver, SharedMemoryServer,
    SharedMemorySettings,
};
use aether_net::websocket::WebSocket;
use aether_replication::DeliveryOrder;
use aether_rings::RingEndpoint;
use aether_wire::{CloseReason, Encoding, Encodings, RoomSelector, ServerMessage};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

/// Longest wait, far beyond what a loaded machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Game process of the echo protocol.
struct Game {
    path: PathBuf,
    shared_memory: SharedMemoryServer,
    echo: Server,
    registry: Registry,
}

impl Game {
    fn start() -> Game {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("aether-net-{}-{number}.sock", std::process::id()));
        Game::start_on(path)
    }

    fn start_on(path: PathBuf) -> Game {
        let registry = Registry::new();
        let settings = SharedMemorySettings {
            path: path.clone(),
            ring_bytes: RING_BYTES_MIN,
            greeting: Arc::new(|| b"key".to_vec()),
            encodings: Encodings::default(),
        };
        let shared_memory = SharedMemoryServer::bind(settings, &registry).expect("the socket can be created");
        let echo = Server::new(ConnectionSettings { write_stall: Duration::from_secs(1), ..Default::default() });
        Game { path, shared_memory, echo, registry }
    }

    async fn attach(&self) -> SharedMemoryDriver {
        let path = self.path.clone();
        let (driver, greeting) = tokio::task::spawn_blocking(move || SharedMemoryDriver::attach(&path))
            .await
            .expect("the task ends")
            .expect("the game listens");
        assert_eq!(greeting, b"key");
        driver
    }

    /// Attaches a driver that writes frames of its own.
    async fn attach_raw(&self) -> RingEndpoint {
        let path = self.path.clone();
        let attached = tokio::task::spawn_blocking(move || aether_rings::attach(&path)).await.expect("the task ends");
        attached.expect("the game listens").endpoint
    }

    async fn accept(&mut self) -> SharedMemoryClient {
        timeout(PATIENCE, self.shared_memory.accept()).await.expect("a client arrives").expect("the game runs")
    }

    async fn serve_next(&mut self) -> Served {
        let client = self.accept().await;
        self.echo.serve(client.transport, true)
    }

    /// Waits for a line of the metrics.
    async fn wait_for_metric(&self, line: &str) {
        let wait = async {
            while !self.registry.render().contains(line) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("{line} in\n{}", self.registry.render()));
    }
}

fn client_at(address: IpAddr) -> DriverClient {
    DriverClient { address, is_local: true, room: None, account: None }
}

/// Connects a client in memory to a driver.
fn connect(driver: &SharedMemoryDriver) -> MemoryClient {
    let (transport, client) = pair(DeliveryOrder::Ordered, Encoding::Json);
    tokio::spawn(driver.serve(transport, client_at(Ipv4Addr::LOCALHOST.into())));
    client
}

async fn send(client: &MemoryClient, text: &str) {
    client.send_bytes(text.as_bytes().to_vec()).await;
}

async fn receive(client: &mut MemoryClient) -> Option<Vec<u8>> {
    timeout(PATIENCE, client.next_bytes()).await.expect("the server sends a message or closes")
}

async fn assert_echo(client: &mut MemoryClient, text: &str) {
    send(client, text).await;
    assert_eq!(receive(client).await.as_deref(), Some(text.as_bytes()));
}

async fn ended(served: Served) {
    timeout(PATIENCE, served.task).await.expect("the connection ends").expect("the task does not panic");
}

#[tokio::test]
async fn a_client_keeps_the_properties_of_its_transport() {
    let mut game = Game::start();
    let driver = game.attach().await;
    let (transport, _client) = pair(DeliveryOrder::Unordered, Encoding::Protobuf);
    let client = DriverClient {
        address: "203.0.113.7".parse().unwrap(),
        is_local: false,
        room: Some(RoomSelector::Code("F4MDHS".to_owned())),
        account: Some("ada".to_owned()),
    };
    tokio::spawn(driver.serve(transport, client));
    let client = game.accept().await;
    assert_eq!(client.address, "203.0.113.7".parse::<IpAddr>().unwrap());
    assert!(!client.is_local);
    assert_eq!(client.room, Some(RoomSelector::Code("F4MDHS".to_owned())));
    assert_eq!(client.account.as_deref(), Some("ada"));
    use aether_net::Transport as _;
    assert_eq!(client.transport.order(), DeliveryOrder::Unordered);
    assert!(matches!(client.transport.encoding(), Encoding::Protobuf));
    assert_eq!(client.transport.name(), "memory");
    assert!(!client.transport.detects_silence());
}

#[tokio::test]
async fn messages_of_any_length_pass_both_ways() {
    let mut game = Game::start();
    let driver = game.attach().await;
    let mut client = connect(&driver);
    let served = game.serve_next().await;
    for bytes in [1, 8_192, 8_193, MESSAGE_BYTES_MAX - 4] {
        assert_echo(&mut client, &format!("now {}", "x".repeat(bytes))).await;
    }
    // Longer than a window: it is sent in parts, as the window opens.
    let long = vec![b'y'; 1_000_000];
    served.push.send(long.clone()).unwrap();
    assert!(receive(&mut client).await.is_some_and(|received| received == long));
}

#[tokio::test]
async fn the_game_closes_a_client_after_its_last_messages() {
    let mut game = Game::start();
    let driver = game.attach().await;
    let mut client = connect(&driver);
    let served = game.serve_next().await;
    send(&client, "leave").await;
    assert_eq!(receive(&mut client).await.as_deref(), Some(b"end left".as_slice()));
    assert_eq!(receive(&mut client).await, None);
    ended(served).await;
    assert!(game.echo.has_closed("left"));
    assert_eq!(game.echo.connections.count(), 0);
}

#[tokio::test]
async fn a_message_beyond_the_limit_is_a_violation() {
    let mut game = Game::start();
    let driver = game.attach().await;
    let client = connect(&driver);
    let served = game.serve_next().await;
    send(&client, &"x".repeat(MESSAGE_BYTES_MAX + 1)).await;
    ended(served).await;
    assert!(game.echo.has_closed("protocol_violation"));
}

#[tokio::test]
async fn a_client_that_goes_away_is_gone_in_the_game() {
    let mut game = Game::start();
    let driver = game.attach().await;
    let client = connect(&driver);
    let served = game.serve_next().await;
    drop(client);
    ended(served).await;
    assert!(game.echo.has_closed("gone"));
}

#[tokio::test]
async fn clients_of_a_driver_that_ends_are_gone_and_a_new_driver_takes_over() {
    let mut game = Game::start();
    let driver = game.attach().await;
    let _client = connect(&driver);
    let served = game.serve_next().await;
    game.wait_for_metric("aether_shared_memory_drivers 1\n").await;
    drop(driver);
    ended(served).await;
    game.wait_for_metric("aether_shared_memory_drivers 0\n").await;
    game.wait_for_metric("aether_shared_memory_drivers_ended_total{reason=\"gone\"} 1\n").await;
    let driver = game.attach().await;
    let mut client = connect(&driver);
    let _served = game.serve_next().await;
    assert_echo(&mut client, "now again").await;
}

#[tokio::test]
async fn a_game_that_ends_lets_the_clients_resume() {
    let mut game = Game::start();
    let driver = game.attach().await;
    let mut client = connect(&driver);
    let _served = game.serve_next().await;
    assert_echo(&mut client, "now here").await;
    drop(game);
    timeout(PATIENCE, driver.ended()).await.expect("the driver notices");
    let last = receive(&mut client).await.expect("a closing notice");
    let Ok(ServerMessage::Closing(closing)) = Encoding::Json.decode_server(&last) else { panic!("{last:?}") };
    assert_eq!((closing.reason, closing.may_resume), (CloseReason::Shutdown, true));
    assert_eq!(receive(&mut client).await, None);
    // A client that comes too late is closed in the same way.
    let mut late = connect(&driver);
    while receive(&mut late).await.is_some() {}
}

#[tokio::test]
async fn a_client_that_does_not_read_is_closed_and_slows_nobody() {
    let mut game = Game::start();
    let driver = game.attach().await;
    // Its stream takes few bytes, and nobody reads them.
    let (mut stalled, stream) = tokio::io::duplex(1_024);
    let transport = WebSocket::new(stream, Encoding::Protobuf, false);
    tokio::spawn(driver.serve(transport, client_at(Ipv4Addr::LOCALHOST.into())));
    let slow = game.serve_next().await;
    let mut client = connect(&driver);
    let _served = game.serve_next().await;
    // A masked binary frame with `flood`, masked with zeros.
    stalled.write_all(b"\x82\x85\0\0\0\0flood").await.unwrap();
    for number in 0..8 {
        assert_echo(&mut client, &format!("now {number}")).await;
    }
    ended(slow).await;
    assert!(game.echo.has_closed("too_slow"));
    assert_echo(&mut client, "now still here").await;
}

#[tokio::test]
async fn the_offer_of_the_newest_driver_counts_while_it_runs() {
    let game = Game::start();
    let mut offer = game.shared_memory.offer();
    let (first, second) = (game.attach().await, game.attach().await);
    let mut expect = async |port: Option<u16>| {
        let has_port = |offer: &Option<DriverOffer>| offer.as_ref().map(|offer| offer.udp.port()) == port;
        timeout(PATIENCE, offer.wait_for(has_port)).await.expect("the offer changes").expect("the game runs").clone()
    };
    first.offer(Some(([127, 0, 0, 1], 1).into())).await;
    expect(Some(1)).await;
    second.offer(Some(([127, 0, 0, 1], 2).into())).await;
    let offered = expect(Some(2)).await.expect("there is an offer");
    assert_eq!(*offered.greeting, *b"key");
    drop(first);
    game.wait_for_metric("aether_shared_memory_drivers 1\n").await;
    expect(Some(2)).await;
    drop(second);
    expect(None).await;
}

/// Header of a frame, as in the table of `frame.rs`.
fn header(kind: u8, value: u32, connection: u64) -> Vec<u8> {
    [&[kind, 0, 0, 0][..], &value.to_ne_bytes(), &connection.to_ne_bytes()].concat()
}

fn open_frame(connection: u64) -> Vec<u8> {
    let body = r#"{"address":"127.0.0.1","is_local":true,"transport":"udp","encoding":"json","is_ordered":true,
        "detects_silence":false,"room":null,"account":null}"#;
    [header(1, 0, connection), body.as_bytes().to_vec()].concat()
}

#[tokio::test]
async fn wrong_frames_end_their_driver_and_nobody_else() {
    let mut game = Game::start();
    let driver = game.attach().await;
    let mut client = connect(&driver);
    let _served = game.serve_next().await;
    let unknown_encoding = String::from_utf8_lossy(&open_frame(1)[16..]).replace("json", "morse");
    let cases: [Vec<Vec<u8>>; 6] = [
        vec![vec![]],
        vec![vec![2; 15]],
        vec![header(9, 0, 1)],
        vec![[header(1, 0, 1), b"{".to_vec()].concat()],
        vec![[header(1, 0, 1), unknown_encoding.into_bytes()].concat()],
        // The same connection twice.
        vec![open_frame(7), open_frame(7)],
    ];
    for (number, frames) in cases.into_iter().enumerate() {
        let mut raw = game.attach_raw().await;
        frames.iter().for_each(|frame| raw.sender.try_send(&[frame]).unwrap());
        game.wait_for_metric(&format!("drivers_ended_total{{reason=\"frame\"}} {}\n", number + 1)).await;
        assert!(raw.sender.bell().is_gone());
    }
    assert_echo(&mut client, "now unharmed").await;
}

#[tokio::test]
async fn a_driver_that_ignores_the_window_is_ended() {
    let mut game = Game::start();
    let mut raw = game.attach_raw().await;
    raw.sender.try_send(&[&open_frame(1)]).unwrap();
    // Accepted and never read.
    let client = game.accept().await;
    let message = [header(2, 0, 1), vec![0; 4_096]].concat();
    while !raw.sender.bell().is_gone() {
        let _ = raw.sender.try_send(&[&message]);
    }
    game.wait_for_metric("drivers_ended_total{reason=\"window\"} 1\n").await;
    drop(client);
}

#[tokio::test]
async fn frames_for_connections_that_do_not_exist_are_ignored() {
    let mut game = Game::start();
    let mut raw = game.attach_raw().await;
    for kind in 2..=7 {
        raw.sender.try_send(&[&header(kind, u32::MAX, 99)]).unwrap();
    }
    raw.sender.try_send(&[&open_frame(1)]).unwrap();
    // Credit for more than was sent, and frames that only a game sends.
    for kind in 4..=6 {
        raw.sender.try_send(&[&header(kind, u32::MAX, 1)]).unwrap();
    }
    let served = game.serve_next().await;
    raw.sender.try_send(&[&header(7, 0, 1)]).unwrap();
    ended(served).await;
    assert!(!raw.sender.bell().is_gone());
}
