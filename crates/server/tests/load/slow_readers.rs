//! Clients that do not read, and their effect on others.

use crate::{ALONE, p99};
use aether_framing::websocket::codec::Opcode;
use aether_server::tokens::Role;
use aether_testkit_server::{
    DEADLINE, JSON, PROTOBUF, RawSocket, TRANSPORTS, TestPlayer, TestServer, TransportKind, masked,
};
use aether_wire::{
    ClientMessage, ClientTime, CommandSeq, GameBody, GameMessage, Ping, PlaygroundStress, ServerMessage, Tick,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Receive buffer of a slow client.
const SLOW_BUFFER_BYTES: u32 = 4_096;

/// Maximum growth of memory by a few clients that do not read.
const MEMORY_BYTES_MAX: u64 = 64 << 20;

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4_096
}

fn say(number: u32, bytes: usize) -> ClientMessage {
    let mut payload = vec![0; bytes];
    payload[..4].copy_from_slice(&number.to_le_bytes());
    ClientMessage::Game(GameMessage { seq: CommandSeq(0), body: GameBody::Packed { code: 1, payload } })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_reads_is_bounded_and_then_closed() {
    let _alone = ALONE.lock().await;
    let server = TestServer::start(|config| {
        config.connections.write_stall_seconds = 1;
        config.connections.message_bytes_max = 65_536;
        // The speaker sends as fast as the reader takes it, which is more than a member may by default.
        config.room_mut("relay").fan_out_bytes_per_second = Some(1_000_000_000);
    })
    .await;
    for (number, transport) in TRANSPORTS.into_iter().enumerate() {
        let stalled = server.join(transport, PROTOBUF, &server.hello("relay")).await;
        let mut reader = server.join(transport, PROTOBUF, &server.hello("relay")).await;
        let mut speaker = server.join(transport, PROTOBUF, &server.hello("relay")).await;
        let before = resident_bytes();
        let (mut said, mut heard) = (0_u32, 0_u32);
        let mut pace = tokio::time::interval(Duration::from_millis(10));
        let began = Instant::now();
        while closed(&server) < number as f64 + 1.0 {
            assert!(began.elapsed() < DEADLINE, "the client that does not read is closed");
            pace.tick().await;
            speaker.send(say(said, 30_000)).await;
            said += 1;
            while heard < said {
                let next = reader
                    .wait("what was said", |message| match message {
                        ServerMessage::Event(event) => match event.body {
                            GameBody::Packed { code: 1, payload } => Some(payload[..4].to_vec()),
                            _ => None,
                        },
                        _ => None,
                    })
                    .await;
                assert_eq!(next, heard.to_le_bytes(), "the other client gets all messages in order");
                heard += 1;
            }
        }
        let grown = resident_bytes().saturating_sub(before);
        println!("{}: closed after {:?}, {} bytes more", transport.name(), began.elapsed(), grown);
        assert!(grown < MEMORY_BYTES_MAX, "{grown} bytes more");
        drop(stalled);
    }
    server.stop().await;
}

/// Lets all players ping while `on` returns true. Returns the round-trip times.
async fn measure(players: &mut [TestPlayer], on: impl Fn(Duration) -> bool + Sync) -> Vec<Duration> {
    let began = Instant::now();
    let on = &on;
    let mut tasks = Vec::new();
    for (number, player) in players.iter_mut().enumerate() {
        tasks.push(async move {
            let mut trips = Vec::new();
            let mut pace = tokio::time::interval(Duration::from_millis(50));
            // Spreads the pings of different players.
            player.read_for(Duration::from_millis(number as u64 % 50)).await;
            while on(began.elapsed()) {
                let sent = Instant::now();
                let ping = Ping { client_time: ClientTime(trips.len() as u64 + 1), tick: Tick(1) };
                player.send(ClientMessage::Ping(ping)).await;
                player.wait("a pong", |message| matches!(message, ServerMessage::Pong(_)).then_some(())).await;
                trips.push(sent.elapsed());
                // Reads everything until the next ping, so that no message is queued before the pong.
                while timeout_at(&mut pace, player).await {}
            }
            trips
        });
    }
    futures(tasks).await.into_iter().flatten().collect()
}

/// Reads one message. Returns false when the next ping is due.
async fn timeout_at(pace: &mut tokio::time::Interval, player: &mut TestPlayer) -> bool {
    tokio::select! {
        _ = pace.tick() => false,
        message = player.next() => {
            message.expect("the connection is open");
            true
        }
    }
}

/// Runs futures of one type together.
async fn futures<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        let mut pending = false;
        for (future, output) in &mut futures {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *output = Some(value),
                    std::task::Poll::Pending => pending = true,
                }
            }
        }
        if pending { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
    futures.into_iter().filter_map(|(_, output)| output).collect()
}

async fn slow_socket(server: &TestServer) -> RawSocket {
    // JSON messages are longer, so a client that does not read falls behind sooner.
    let mut socket = RawSocket::open_slow(server, JSON, SLOW_BUFFER_BYTES).await;
    let mut hello = Vec::new();
    ClientMessage::Hello(server.hello("sandbox")).encode_json(&mut hello).expect("the message can be encoded");
    socket.send(&masked(Opcode::Text, &hello)).await;
    socket
}

/// Reads until `stop` is notified.
async fn read_until(socket: &mut RawSocket, stop: &tokio::sync::Notify) {
    tokio::select! {
        () = stop.notified() => {}
        code = socket.close_code() => panic!("closed while reading: {code:?}"),
    }
}

/// A server with a full room, and the p99 of its readers' pings in each round.
struct Crowd {
    server: TestServer,
    players: Vec<TestPlayer>,
    p99s: Vec<Duration>,
}

impl Crowd {
    /// Starts a server with many readers and a world with much movement.
    async fn start(readers: usize) -> Crowd {
        let server = TestServer::start(|config| {
            config.connections.write_stall_seconds = 1;
            config.room_mut("sandbox").interest_radius = Some(400.0);
        })
        .await;
        let mut players = Vec::new();
        for number in 0..readers {
            let transport = if number % 4 == 0 { TransportKind::WebTransport } else { TransportKind::WebSocket };
            players.push(server.join(transport, PROTOBUF, &server.hello_as(Role::Developer, "sandbox")).await);
        }
        let stress = PlaygroundStress { seq: CommandSeq(1), count: 1_000, rotate: true };
        players[0].send(ClientMessage::PlaygroundStress(stress)).await;
        assert_eq!(players[0].answer(1).await, None);
        Crowd { server, players, p99s: Vec::new() }
    }

    fn record(&mut self, trips: Vec<Duration>) {
        self.p99s.push(p99(trips));
    }
}

/// Returns the number of clients that were closed because they did not read.
fn closed(server: &TestServer) -> f64 {
    server.metric("aether_connections_closed_total", &[("reason", "too_slow")])
}

/// Two equal crowds play at the same time on the same machine, so that its other load affects both. On one server all
/// clients read, on the other one in five does not.
#[tokio::test(flavor = "multi_thread")]
async fn a_fifth_of_the_clients_that_stops_reading_does_not_slow_the_others() {
    const READERS: usize = 20;
    const STALLED: usize = 5;
    const ROUNDS: usize = 5;
    const NOISE: Duration = Duration::from_millis(3);
    let _alone = ALONE.lock().await;
    let (mut control, mut beside) = (Crowd::start(READERS).await, Crowd::start(READERS).await);
    let before = resident_bytes();
    for round in 1..=ROUNDS {
        let stop = std::sync::Arc::new(tokio::sync::Notify::new());
        let mut reading = Vec::new();
        let mut stalled = Vec::new();
        for _ in 0..STALLED {
            let (mut socket, stop) = (slow_socket(&control.server).await, std::sync::Arc::clone(&stop));
            reading.push(tokio::spawn(async move {
                read_until(&mut socket, &stop).await;
            }));
            stalled.push(slow_socket(&beside.server).await);
        }
        let (server, over) = (&beside.server, AtomicBool::new(false));
        let on = |elapsed| elapsed < Duration::from_millis(1_500) || !over.load(Ordering::Relaxed);
        let watch = async {
            // Rendering all metrics takes time, so one task does it, and seldom.
            let (all, began) = ((round * STALLED) as f64, Instant::now());
            while closed(server) < all {
                assert!(began.elapsed() < DEADLINE, "only {} of {all} stalled clients were closed", closed(server));
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            over.store(true, Ordering::Relaxed);
        };
        let (alone, together, ()) =
            tokio::join!(measure(&mut control.players, on), measure(&mut beside.players, on), watch);
        control.record(alone);
        beside.record(together);
        stop.notify_waiters();
        for task in reading {
            timeout(DEADLINE, task).await.expect("the reader stops").expect("the reader does not panic");
        }
    }
    // Other load of the machine affects some rounds of one crowd; stalled clients affect every round.
    let least = |p99s: &[Duration]| p99s.iter().min().copied().expect("there are rounds");
    let (alone, together) = (least(&control.p99s), least(&beside.p99s));
    let grown = resident_bytes().saturating_sub(before);
    println!("p99 without stalled clients {alone:?}, by round {:?}", control.p99s);
    println!("p99 with {STALLED} of {} stalled {together:?}, by round {:?}", READERS + STALLED, beside.p99s);
    println!("{grown} bytes more");
    assert!(together <= alone.mul_f64(1.2) + NOISE, "{together:?} instead of {alone:?}");
    assert!(grown < MEMORY_BYTES_MAX, "{grown} bytes more");
    assert_eq!(closed(&beside.server), (ROUNDS * STALLED) as f64, "no other client was closed");
    assert_eq!(closed(&control.server), 0.0, "no client was closed");
    control.server.stop().await;
    beside.server.stop().await;
}
