//! HTTP/2: its settings, its pings, and servers without it.

use aether_server::config::Config;
use aether_testkit_server::{DEADLINE, PROTOBUF, TestServer, TransportKind};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// Bytes that begin a connection of a client that knows that the server speaks HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Types and flags of frames.
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const ACK: u8 = 1;
const END_STREAM_AND_HEADERS: u8 = 5;

#[derive(Debug)]
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

/// Client that sends frames as they are.
struct RawHttp2<S> {
    stream: S,
}

impl<S: AsyncRead + AsyncWrite + Unpin> RawHttp2<S> {
    /// Sends the preface and empty settings.
    async fn begin(mut stream: S) -> RawHttp2<S> {
        stream.write_all(PREFACE).await.expect("the server reads");
        let mut client = RawHttp2 { stream };
        client.send(SETTINGS, 0, 0, &[]).await;
        client
    }

    async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend_from_slice(payload);
        // A server that has closed is noticed by the next read.
        let _ = self.stream.write_all(&frame).await;
    }

    /// Requests `/livez`. The headers are entries of the static table, and literals.
    async fn request(&mut self, stream: u32) {
        const GET: u8 = 0x82;
        const HTTP: u8 = 0x86;
        let mut headers = vec![GET, HTTP, 0x04, 6];
        headers.extend(b"/livez");
        headers.extend([0x01, 9]);
        headers.extend(b"localhost");
        self.send(HEADERS, END_STREAM_AND_HEADERS, stream, &headers).await;
    }

    /// Returns the next frame; none at the end of the connection.
    async fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        timeout(DEADLINE, self.stream.read_exact(&mut head)).await.expect("the server sends in time").ok()?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        timeout(DEADLINE, self.stream.read_exact(&mut payload)).await.expect("the server sends in time").ok()?;
        Some(Frame { kind, flags, stream: u32::from_be_bytes(stream), payload })
    }

    /// Waits for a frame of a type that is no acknowledgement.
    async fn wait(&mut self, kind: u8) -> Frame {
        loop {
            let frame = self.next().await.expect("the connection is open");
            if frame.kind == kind && (frame.flags & ACK == 0 || kind == HEADERS) {
                return frame;
            }
        }
    }

    /// Requests `/livez` and checks that the answer has the status 200, an entry of the static table.
    async fn assert_answers(&mut self, stream: u32) {
        const STATUS_200: u8 = 0x88;
        self.request(stream).await;
        let answer = self.wait(HEADERS).await;
        assert_eq!((answer.stream, answer.payload.first()), (stream, Some(&STATUS_200)), "{answer:?}");
    }
}

async fn connect(server: &TestServer) -> TcpStream {
    TcpStream::connect(server.http).await.expect("the server listens")
}

/// Settings of a frame, by their number.
fn settings(frame: &Frame) -> BTreeMap<u16, u32> {
    let number = |setting: &[u8]| {
        let [a, b, value @ ..] = setting else { panic!("{frame:?}") };
        (u16::from_be_bytes([*a, *b]), u32::from_be_bytes(value.try_into().expect("six bytes each")))
    };
    frame.payload.chunks(6).map(number).collect()
}

/// Settings that a server announces, and the window of the connection.
async fn announced(change: impl FnOnce(&mut Config)) -> (BTreeMap<u16, u32>, u32) {
    let server = TestServer::start(change).await;
    let mut client = RawHttp2::begin(connect(&server).await).await;
    let settings = settings(&client.wait(SETTINGS).await);
    let update = client.wait(WINDOW_UPDATE).await;
    assert_eq!(update.stream, 0, "the window of the connection: {update:?}");
    let increment = u32::from_be_bytes(update.payload.as_slice().try_into().expect("four bytes"));
    client.assert_answers(1).await;
    server.stop().await;
    (settings, 65_535 + increment)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_http2_client_gets_the_configured_settings() {
    const STREAMS: u16 = 3;
    const STREAM_WINDOW: u16 = 4;
    const HEADER_LIST: u16 = 6;
    let (settings, window) = announced(|_| {}).await;
    let found = [STREAMS, STREAM_WINDOW, HEADER_LIST].map(|number| settings[&number]);
    assert_eq!((found, window), ([64, 1_048_576, 16_384], 1_048_576));
    let (settings, window) = announced(|config| {
        config.http.http2_streams_max = 7;
        config.http.http2_stream_window_bytes = 32_768;
        config.http.http2_connection_window_bytes = 100_000;
        config.http.header_bytes_max = 20_000;
    })
    .await;
    let found = [STREAMS, STREAM_WINDOW, HEADER_LIST].map(|number| settings[&number]);
    assert_eq!((found, window), ([7, 32_768, 20_000], 100_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_http2_client_that_answers_no_ping_is_closed() {
    let server = TestServer::start(|config| {
        config.http.http2_ping_seconds = 1;
        config.http.http2_ping_timeout_seconds = 1;
    })
    .await;
    let began = Instant::now();
    let mut client = RawHttp2::begin(connect(&server).await).await;
    client.assert_answers(1).await;
    for _ in 0..3 {
        let ping = client.wait(PING).await;
        client.send(PING, ACK, 0, &ping.payload).await;
    }
    client.assert_answers(3).await;
    while client.next().await.is_some() {}
    // By default there is a ping each ten seconds, and twenty seconds for the answer.
    let took = began.elapsed();
    assert!((Duration::from_secs(4)..Duration::from_secs(20)).contains(&took), "{took:?}");
    server.stop().await;
}

/// Sends a request with headers of about this size over HTTP/1.1. Returns the status.
async fn status_with_headers(server: &TestServer, bytes: usize) -> u16 {
    let value = "x".repeat(bytes / 10);
    let names: Vec<String> = (0..10).map(|number| format!("x-long-{number}")).collect();
    let headers: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), value.as_str())).collect();
    server.request(server.http, "GET", "/livez", &headers).await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_of_a_request_have_the_configured_maximum() {
    for (header_bytes_max, accepted, refused) in
        [(16_384, 14_000, 20_000), (32_768, 30_000, 40_000), (8_192, 6_000, 10_000)]
    {
        let server = TestServer::start(|config| config.http.header_bytes_max = header_bytes_max).await;
        assert_eq!(status_with_headers(&server, accepted).await, 200, "{header_bytes_max}");
        assert_eq!(status_with_headers(&server, refused).await, 431, "{header_bytes_max}");
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_http2_speaks_only_http1_over_plain_tcp() {
    let server = TestServer::start(|config| config.http.http2 = false).await;
    let mut stream = connect(&server).await;
    stream.write_all(PREFACE).await.expect("the server reads");
    stream.write_all(&[0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]).await.expect("the server reads");
    let answer = TestServer::read_answer(stream).await;
    // A server with HTTP/2 would begin with its settings, and not close.
    assert!(matches!(answer.status, 0 | 400..=505), "{answer:?}");
    assert!(answer.head.is_empty() || answer.head.starts_with("http/1.1 "), "{answer:?}");
    assert_eq!(server.get("/livez").await.status, 200);
    let mut player = server.join(TransportKind::WebSocket, PROTOBUF, &server.hello("sandbox")).await;
    player.possession().await;
    server.stop().await;
}

/// A self-signed certificate in a temporary folder, and its DER form.
struct Certificate {
    folder: PathBuf,
    der: Vec<u8>,
}

impl Certificate {
    fn new() -> Certificate {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("it can be created");
        let folder = std::env::temp_dir().join(format!("aether-tls-{}", uuid::Uuid::new_v4().simple()));
        std::fs::create_dir_all(&folder).expect("the folder can be created");
        std::fs::write(folder.join("chain.pem"), made.cert.pem()).expect("the file can be written");
        std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).expect("the file can be written");
        Certificate { folder, der: made.cert.der().to_vec() }
    }

    async fn serve(&self, http2: bool) -> TestServer {
        TestServer::start(|config| {
            config.http.tls_certificate = Some(self.folder.join("chain.pem"));
            config.http.tls_key = Some(self.folder.join("key.pem"));
            config.http.http2 = http2;
        })
        .await
    }

    /// Connects as a client that prefers HTTP/2.
    async fn connect(&self, server: &TestServer) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone().into()).expect("the certificate is valid");
        let provider = Arc::new(crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.expect("the versions are supported").with_root_certificates(roots);
        let mut config = config.with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let name = ServerName::try_from("localhost").expect("it is a name");
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, connect(server).await).await.expect("the handshake succeeds")
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_is_chosen_over_tls_only_if_it_is_enabled() {
    let certificate = Certificate::new();
    let server = certificate.serve(true).await;
    let stream = certificate.connect(&server).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    RawHttp2::begin(stream).await.assert_answers(1).await;
    server.stop().await;

    let server = certificate.serve(false).await;
    let mut stream = certificate.connect(&server).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.expect("it reads");
    let mut answer = String::new();
    // The server may close without a TLS notice.
    let _ = timeout(DEADLINE, stream.read_to_string(&mut answer)).await.expect("the server closes in time");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    server.stop().await;
}
