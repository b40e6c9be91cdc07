//! Clients that ask for large answers and do not read them.

use crate::support::{ServerSetup, metric, until_metric};
use aether_testkit_server::{ApiClient, Process};
use aether_testkit_store::databases;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};

/// Stored objects, and the bytes of each: 64 MiB, as much as a user of a public server may store.
const OBJECTS: usize = 268;
const OBJECT_BYTES: usize = 250_000;
/// Objects that one request can name.
const REQUESTED: usize = 128;
/// Objects that one answer can have.
const FITTING: usize = 16;
/// Connections over HTTP/1, and streams of the connection over HTTP/2.
const CONNECTIONS: usize = 40;
const STREAMS: u32 = 64;
/// Exports that are not read.
const EXPORTS: usize = 20;
/// Bound of the memory of the server beyond that before the requests. Of each of the two accounts, unread answers have 16
/// MiB, and running calls four times 8 MiB. For each of the 16 threads of PostgreSQL the allocator keeps the rows of a
/// read, 4 MiB. Pages of the database file that are mapped do not count: the system has them once, and takes them back
/// when it needs memory.
const GROWTH_BYTES_MAX: u64 = (2 * (16 + 4 * 8) + 16 * 4) * 1_048_576;

/// Returns a line of the status of a process, in bytes.
fn status_bytes(id: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1_024
}

/// Watches the memory of a server.
struct MemoryWatch {
    id: u32,
    before: u64,
    most: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<()>,
}

impl MemoryWatch {
    fn start(server: &Process) -> MemoryWatch {
        let id = server.child.id().expect("the server runs");
        let (before, most) = (status_bytes(id, "RssAnon:"), Arc::new(AtomicU64::new(0)));
        let seen = Arc::clone(&most);
        let task = tokio::spawn(async move {
            loop {
                seen.fetch_max(status_bytes(id, "RssAnon:"), Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        });
        MemoryWatch { id, before, most, task }
    }

    /// Fails if the memory grew too much.
    fn end(self, name: &str) {
        self.task.abort();
        let growth = self.most.load(Ordering::Relaxed).saturating_sub(self.before);
        let peak = status_bytes(self.id, "VmHWM:");
        println!("{name}: grew by {growth} bytes from {}; peak with mapped files {peak}", self.before);
        assert!(growth > 0 && growth < GROWTH_BYTES_MAX, "{name}: memory grew by {growth} bytes");
    }
}

/// Signs in a user and stores a number of objects.
async fn hoarder(address: SocketAddr, objects: usize) -> ApiClient {
    let mut client = ApiClient::new_user(address).await;
    let value = json!({ "text": "x".repeat(OBJECT_BYTES) }).to_string();
    for number in 0..objects {
        let object = json!({ "collection": "hoard", "key": format!("{number:03}"), "value": value });
        let written = client.put("/v2/storage", &json!({ "objects": [object] })).await.expect("the server answers");
        assert_eq!(written.status, 200, "{}", written.body);
    }
    client
}

fn ids(client: &ApiClient, count: usize) -> Value {
    let id = |number| json!({ "collection": "hoard", "key": format!("{number:03}"), "user_id": client.user });
    json!({ "object_ids": (0..count).map(id).collect::<Vec<_>>() })
}

/// Connects with a small receive buffer, so that the system takes little of an answer.
async fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("the system has sockets");
    socket.set_recv_buffer_size(4_096).expect("buffers can be small");
    socket.connect(address).await.expect("the server listens")
}

async fn ask_http1(server: &Process, client: &ApiClient, count: usize) -> TcpStream {
    let (body, token, host) = (ids(client, count).to_string(), &client.token, server.http);
    let mut stream = connect(server.http).await;
    let request = format!(
        "POST /v2/storage HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.expect("the server reads");
    stream
}

/// Returns a frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("frames are short").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Returns a header as HPACK writes it without its table or Huffman codes.
fn literal(name: &str, value: &str) -> Vec<u8> {
    // Seven bits, and if they are full the rest follows in groups of seven.
    let length = |text: &str| match text.len() {
        short @ ..127 => vec![short as u8],
        long if long - 127 < 128 => vec![127, (long - 127) as u8],
        long => vec![127, (long - 127) as u8 | 128, ((long - 127) >> 7) as u8],
    };
    [vec![0], length(name), name.as_bytes().to_vec(), length(value), value.as_bytes().to_vec()].concat()
}

/// Asks over one connection with a window of 0.
async fn ask_http2(server: &Process, client: &ApiClient, count: usize) -> TcpStream {
    const SETTINGS: u8 = 4;
    const HEADERS: u8 = 1;
    const DATA: u8 = 0;
    let mut stream = connect(server.http).await;
    // Setting 4 is the window of a new stream.
    let mut bytes = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0])].concat();
    let body = ids(client, count).to_string();
    for number in 0..STREAMS {
        let headers = [
            literal(":method", "POST"),
            literal(":scheme", "http"),
            literal(":path", "/v2/storage"),
            literal(":authority", &server.http.to_string()),
            literal("authorization", &format!("Bearer {}", client.token)),
        ];
        // END_HEADERS, then END_STREAM.
        bytes.extend(frame(HEADERS, 4, 2 * number + 1, &headers.concat()));
        bytes.extend(frame(DATA, 1, 2 * number + 1, body.as_bytes()));
    }
    stream.write_all(&bytes).await.expect("the server reads");
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_answers_take_bounded_memory_and_are_closed() {
    for database in databases() {
        let setup = ServerSetup::new(&database, &["connections.write_stall_seconds=2"]);
        let server = setup.serve().await;
        let client = hoarder(server.http, REQUESTED).await;
        let mut other = hoarder(server.http, FITTING).await;
        let memory = MemoryWatch::start(&server);
        for count in [REQUESTED, FITTING] {
            let mut held = Vec::new();
            for _ in 0..CONNECTIONS {
                held.push(ask_http1(&server, &client, count).await);
            }
            held.push(ask_http2(&server, &client, count).await);
            // Others read what they have stored.
            let request = ids(&other, FITTING);
            let answer = other.post("/v2/storage", &request).await.expect("the server answers");
            assert_eq!(answer.status, 200, "{}: {}", database.name, answer.body);
            assert_eq!(answer.json()["objects"].as_array().map(Vec::len), Some(FITTING));
            if count == FITTING {
                until_metric(&server, "aether_http_stalled_total", 0.0).await;
            }
            drop(held);
        }
        memory.end(database.name);
        assert!(metric(&server, "aether_answers_refused_total").await > 0.0, "{}", database.name);
        server.kill().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_exports_take_bounded_memory_and_are_closed() {
    for database in databases() {
        let setup = ServerSetup::new(&database, &["connections.write_stall_seconds=2"]);
        let server = setup.serve().await;
        let mut client = hoarder(server.http, OBJECTS).await;
        let memory = MemoryWatch::start(&server);
        let mut held = Vec::new();
        for _ in 0..EXPORTS {
            let (token, host, mut stream) = (&client.token, server.http, connect(server.http).await);
            let request =
                format!("GET /v2/account/export HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\r\n");
            stream.write_all(request.as_bytes()).await.expect("the server reads");
            held.push(stream);
        }
        until_metric(&server, "aether_http_stalled_total", 15.0).await;
        drop(held);
        // One that is read is complete.
        let read = loop {
            let answer = client.get("/v2/account/export").await.expect("the server answers");
            if answer.status != 429 {
                break answer;
            }
        };
        assert_eq!(read.status, 200, "{}", database.name);
        let objects = &read.json()["document"]["storage_objects"];
        assert_eq!(objects.as_array().map(Vec::len), Some(OBJECTS), "{}", database.name);
        memory.end(database.name);
        server.kill().await;
    }
}
