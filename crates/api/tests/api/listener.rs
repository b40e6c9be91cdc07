//! Connections whose clients stop reading are closed; those of slow clients, and of clients of a busy server, are not.

use aether_api::listener::{self, Http2Settings, ListenerSettings, TcpSettings};
use aether_metrics::{Counter, Registry};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::get;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// Time after which a connection that takes nothing is closed.
const STALL: Duration = Duration::from_millis(400);
/// Time in which everything has to happen. It is long, because a busy machine is slow.
const DEADLINE: Duration = Duration::from_secs(30);
const ANSWER_BYTES: usize = 1 << 18;
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// Serves an answer at `/`, and at `/late` one that the server takes long to produce. Returns the address and the number of
/// connections that were closed because they stalled.
async fn serve() -> (SocketAddr, Counter) {
    let (address, stalled, _) = serve_until_aborted().await;
    (address, stalled)
}

/// Starts a listener. It stops when its task is aborted.
async fn serve_until_aborted() -> (SocketAddr, Counter, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let answer = Bytes::from(vec![b'x'; ANSWER_BYTES]);
    let late = async || {
        let (producer, body) = tokio::io::duplex(1_024);
        tokio::spawn(async move {
            let mut producer = producer;
            for part in [&b"first "[..], b"second"] {
                producer.write_all(part).await.expect("the client reads");
                sleep(3 * STALL).await;
            }
        });
        Body::new(StreamedBody(body))
    };
    let router = Router::new().route("/", get(async move || answer)).route("/late", get(late));
    let stalled = Registry::new().counter("stalled", "", &[]);
    let settings = ListenerSettings {
        header_time_max: DEADLINE,
        connections_max: 16,
        per_address_max: 16,
        proxies: Arc::default(),
        write_stall: STALL,
        stalled: stalled.clone(),
        tls: None,
        header_bytes_max: 16_384,
        http2: Some(Http2Settings::default()),
        tcp: TcpSettings::default(),
    };
    let accepting = tokio::spawn(listener::serve(listener, router, settings));
    (address, stalled, accepting)
}

/// A body whose length is not known.
struct StreamedBody(tokio::io::DuplexStream);

impl hyper::body::Body for StreamedBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<std::io::Result<hyper::body::Frame<Bytes>>>> {
        let mut bytes = [0; 64];
        let mut buffer = tokio::io::ReadBuf::new(&mut bytes);
        let stream = std::pin::Pin::new(&mut self.0);
        std::task::ready!(tokio::io::AsyncRead::poll_read(stream, context, &mut buffer))?;
        let read = Bytes::copy_from_slice(buffer.filled());
        std::task::Poll::Ready((!read.is_empty()).then(|| Ok(hyper::body::Frame::data(read))))
    }
}

/// Connects with a small receive buffer, so that the system takes little of an answer.
async fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("the system has sockets");
    socket.set_recv_buffer_size(4_096).expect("buffers can be small");
    socket.connect(address).await.expect("the server listens")
}

#[tokio::test]
async fn a_client_is_not_closed_because_the_server_was_busy() {
    let (address, stalled) = serve().await;
    let stream = connect(address).await.into_std().expect("it is a socket");
    // A slow client in a thread of its own: it is never the client who stands still.
    let reader = std::thread::spawn(move || {
        let mut stream = stream;
        stream.set_nonblocking(false).expect("sockets can block");
        stream.write_all(REQUEST).expect("the server reads");
        let (mut part, mut read) = ([0; 65_536], 0);
        loop {
            match stream.read(&mut part) {
                Ok(0) | Err(_) => return read,
                Ok(bytes) => read += bytes,
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let mut pauses = 0;
    while !reader.is_finished() {
        // The test has one thread, so the listener stands still too.
        std::thread::sleep(2 * STALL);
        pauses += 1;
        sleep(Duration::from_millis(10)).await;
    }
    let read = reader.join().expect("the client does not panic");
    assert!(read > ANSWER_BYTES, "the client read {read} bytes, and was closed after {pauses} pauses of the server");
    assert!(pauses > 2, "the server was busy while the client read");
    assert_eq!(stalled.value(), 0);
}

#[tokio::test]
async fn an_answer_that_the_server_takes_long_to_produce_is_not_a_stall() {
    let (address, stalled) = serve().await;
    let mut stream = connect(address).await;
    let mut answer = String::new();
    let request = String::from_utf8_lossy(REQUEST).replacen("/ ", "/late ", 1);
    stream.write_all(request.as_bytes()).await.expect("the server reads");
    timeout(DEADLINE, stream.read_to_string(&mut answer)).await.expect("in time").expect("the server writes text");
    assert!(answer.contains("first ") && answer.contains("second"), "{answer}");
    assert_eq!(stalled.value(), 0);
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_closed() {
    let (address, stalled) = serve().await;
    let mut stream = connect(address).await;
    let began = Instant::now();
    stream.write_all(REQUEST).await.expect("the server reads");
    let closed = async {
        while stalled.value() == 0 {
            sleep(STALL / 10).await;
        }
    };
    timeout(DEADLINE, closed).await.expect("the server closes it");
    assert!(began.elapsed() >= STALL, "{:?}", began.elapsed());
    let mut answer = Vec::new();
    let _ = timeout(DEADLINE, stream.read_to_end(&mut answer)).await.expect("the connection ends");
    assert!(answer.len() < ANSWER_BYTES, "the client got {} bytes", answer.len());
}

#[tokio::test]
async fn a_client_with_an_http2_window_of_0_is_closed_although_it_sends_pings() {
    let (address, stalled) = serve().await;
    let mut stream = connect(address).await;
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        [&[0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream], payload].concat()
    };
    // Setting 4, the window of a new stream, is 0. The request has `GET`, `http` and `/` from the table of HPACK.
    let (settings, end) = (frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]), 0x1 | 0x4);
    let request = frame(1, end, 1, &[0x82, 0x86, 0x84, 0x41, 1, b'a']);
    let start = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &settings, &request].concat();
    stream.write_all(&start).await.expect("the server reads");
    let (mut reader, mut writer) = stream.into_split();
    let pings = async {
        while writer.write_all(&frame(6, 0, 0, &[7; 8])).await.is_ok() {
            sleep(STALL / 20).await;
        }
    };
    let mut read = Vec::new();
    let both = async { tokio::join!(pings, reader.read_to_end(&mut read)) };
    let _ = timeout(DEADLINE, both).await.expect("the server closes it");
    assert_eq!(stalled.value(), 1);
    let pongs = read.windows(5).filter(|header| *header == [0, 0, 8, 6, 1]).count();
    assert!(pongs >= 3, "the server answered {pongs} pings before it closed the connection");
}

#[tokio::test]
async fn a_stopped_listener_ends_idle_connections_and_finishes_requests() {
    let (address, _, accepting) = serve_until_aborted().await;
    let [mut idle, mut silent, mut late] = [connect(address).await, connect(address).await, connect(address).await];
    let keep_alive = String::from_utf8_lossy(REQUEST).replace("connection: close\r\n", "");
    idle.write_all(keep_alive.as_bytes()).await.expect("the server reads");
    let mut answer = vec![0; ANSWER_BYTES];
    timeout(DEADLINE, idle.read_exact(&mut answer)).await.expect("in time").expect("the server answers");
    late.write_all(keep_alive.replacen("/ ", "/late ", 1).as_bytes()).await.expect("the server reads");
    let mut begun = [0; 1];
    timeout(DEADLINE, late.read_exact(&mut begun)).await.expect("in time").expect("the answer has begun");
    accepting.abort();
    let mut rest = Vec::new();
    for stream in [&mut idle, &mut silent] {
        rest.clear();
        let _ = timeout(DEADLINE, stream.read_to_end(&mut rest)).await.expect("the connection ends");
    }
    rest.clear();
    timeout(DEADLINE, late.read_to_end(&mut rest)).await.expect("in time").expect("the server writes");
    assert!(String::from_utf8_lossy(&rest).contains("second"), "the request was finished");
}
