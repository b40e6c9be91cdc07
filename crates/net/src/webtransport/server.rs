//! WebTransport server: accepts sessions on a UDP socket.

use super::http3::{self, HandshakeFailure, PendingSession};
use super::metrics::WebTransportMetrics;
use super::session::WebTransport;
use crate::certificate::{CertificateError, Certificates};
use aether_limits::{NetworkShare, NetworkShares};
use aether_metrics::{Counter, Registry};
use aether_wire::{Destination, Encodings};
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, Id, JoinSet};
use wtransport::proto::error::ErrorCode;
use wtransport::proto::session::SessionResponse;
use wtransport::quinn::{
    Connection, Endpoint, EndpointConfig, IdleTimeout, Incoming, ServerConfig, TokioRuntime, TransportConfig, VarInt,
};

/// Bidirectional streams of a client: the CONNECT stream and the message stream.
const BIDIRECTIONAL_STREAMS_MAX: u32 = 2;
/// Unidirectional streams of a client, as HTTP/3 requires: control and header compression.
const UNIDIRECTIONAL_STREAMS_MAX: u32 = 3;
/// Receive window of a stream, in bytes: the longest message.
const STREAM_WINDOW_BYTES: u32 = 65_536;
/// Receive window of a connection, in bytes. It is larger, so that an unread stream cannot block the message stream.
const CONNECTION_WINDOW_BYTES: u32 = 131_072;
/// Most unacknowledged bytes. Beyond it, messages wait in the connection's backlog, which is limited.
const SEND_WINDOW_BYTES: u64 = 262_144;
/// Buffer of received datagrams, in bytes. If it is full, the oldest are dropped, since inputs are repeated.
const DATAGRAMS_IN_BYTES: usize = 65_536;
/// Buffer of outgoing datagrams, in bytes: the largest snapshot, and little more, because waiting state gets stale.
const DATAGRAMS_OUT_BYTES: usize = 65_536;
/// Most connection attempts before they are accepted. Accepting takes microseconds, so only a flood reaches it.
const INCOMING_MAX: usize = 1_024;
/// Buffer of a connection attempt, and of all attempts together, in bytes.
const INCOMING_BYTES: u64 = 16_384;
const INCOMING_BYTES_TOTAL: u64 = 4_194_304;
/// Requested socket buffers, in bytes, for the bursts of ticks. The system may grant less.
const SOCKET_BUFFER_BYTES: usize = 4_194_304;
/// Most sessions that wait to be accepted. Further ones still count as handshakes.
const READY_MAX: usize = 64;
/// Longest time to close all connections when the server stops.
const STOP_DEADLINE: Duration = Duration::from_secs(1);

/// Settings of a WebTransport server.
#[derive(Clone, Debug)]
pub struct WebTransportSettings {
    /// Longest time from a client's first packet to its session.
    pub handshake: Duration,
    /// Idle timeout. Three keep-alive probes are sent before it ends.
    pub idle: Duration,
    /// Most concurrent handshakes. Beyond it, connections are rejected.
    pub handshakes_max: usize,
    /// Most concurrent handshakes of one address.
    pub handshakes_per_address_max: usize,
    /// Concurrent handshakes from which clients must validate their address first. It costs them a round trip and the
    /// server nothing.
    pub handshakes_unverified_max: usize,
    /// Encodings that a path may name.
    pub encodings: Encodings,
}

impl Default for WebTransportSettings {
    fn default() -> Self {
        WebTransportSettings {
            handshake: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            handshakes_max: 1_024,
            handshakes_per_address_max: 512,
            handshakes_unverified_max: 128,
            encodings: Encodings::default(),
        }
    }
}

/// Accepts WebTransport sessions on a UDP socket.
pub struct WebTransportServer {
    endpoint: Endpoint,
    sessions: mpsc::Receiver<WebTransportSession>,
    acceptor: AbortHandle,
}

/// A session after its handshake.
pub struct WebTransportSession {
    /// Transport of the session.
    pub transport: WebTransport,
    /// Address of the client.
    pub peer: SocketAddr,
    /// Code of the room that the path named, if any.
    pub room_code: Option<String>,
    /// Origin of the page that opened the session; programs send none.
    pub origin: Option<String>,
    /// Host name and port that the client used for this server.
    pub authority: String,
}

/// Reason why a server cannot start.
#[derive(Debug)]
pub enum BindError {
    /// The socket cannot be bound.
    Socket(io::Error),
    /// The certificate cannot be used for QUIC.
    Certificate(CertificateError),
    /// The idle timeout is too long for QUIC.
    Idle,
}

impl WebTransportServer {
    /// Binds a server to an address. Must be called in a tokio runtime.
    pub fn bind(
        address: SocketAddr,
        certificates: &Certificates,
        settings: WebTransportSettings,
        registry: &Registry,
    ) -> Result<WebTransportServer, BindError> {
        let config = server_config(certificates, &settings)?;
        let socket = socket(address).map_err(BindError::Socket)?;
        let runtime = Arc::new(TokioRuntime);
        let endpoint =
            Endpoint::new(EndpointConfig::default(), Some(config), socket, runtime).map_err(BindError::Socket)?;
        let (ready, sessions) = mpsc::channel(READY_MAX);
        let acceptor = SessionAcceptor {
            ready,
            encodings: Arc::new(settings.encodings.clone()),
            settings,
            metrics: WebTransportMetrics::new(registry),
            handshakes: JoinSet::new(),
            by_task: HashMap::new(),
            shares: NetworkShares::default(),
        };
        let acceptor = tokio::spawn(acceptor.run(endpoint.clone())).abort_handle();
        Ok(WebTransportServer { endpoint, sessions, acceptor })
    }

    /// Address of the server, with the port that the system chose if it was 0.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    /// Accepts the next session; none after [`stop`](Self::stop).
    pub async fn accept(&mut self) -> Option<WebTransportSession> {
        self.sessions.recv().await
    }

    /// Stops accepting sessions. Open sessions continue.
    pub fn stop(&mut self) {
        self.endpoint.set_server_config(None);
        self.acceptor.abort();
        self.sessions.close();
    }

    /// Closes all sessions and waits, for a limited time, until the clients are notified.
    pub async fn close(mut self) {
        self.stop();
        self.endpoint.close(http3::close_code(ErrorCode::NoError), b"");
        // A lost client does not answer and must not delay the end of the program.
        let _ = tokio::time::timeout(STOP_DEADLINE, self.endpoint.wait_idle()).await;
    }
}

impl Drop for WebTransportServer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindError::Socket(error) => write!(f, "the UDP socket cannot be bound: {error}"),
            BindError::Certificate(error) => error.fmt(f),
            BindError::Idle => f.write_str("the idle timeout is too long for QUIC; use a shorter one"),
        }
    }
}

impl std::error::Error for BindError {}

/// Accepts connections and runs each handshake in its own task, so that a slow client does not delay others.
struct SessionAcceptor {
    ready: mpsc::Sender<WebTransportSession>,
    settings: WebTransportSettings,
    encodings: Arc<Encodings>,
    metrics: WebTransportMetrics,
    handshakes: JoinSet<()>,
    by_task: HashMap<Id, NetworkShare>,
    shares: NetworkShares,
}

impl SessionAcceptor {
    async fn run(mut self, endpoint: Endpoint) {
        loop {
            tokio::select! {
                incoming = endpoint.accept() => match incoming {
                    Some(incoming) => self.admit(incoming),
                    None => return,
                },
                Some(done) = self.handshakes.join_next_with_id() => {
                    let id = match &done {
                        Ok((id, ())) => *id,
                        Err(error) => error.id(),
                    };
                    self.by_task.remove(&id);
                }
            }
        }
    }

    fn admit(&mut self, incoming: Incoming) {
        let limit = |limit: usize| u32::try_from(limit).unwrap_or(u32::MAX);
        let (per_network_max, total_max) =
            (limit(self.settings.handshakes_per_address_max), limit(self.settings.handshakes_max));
        let share = self.shares.take(incoming.remote_address().ip(), per_network_max, total_max);
        let running = self.handshakes.len();
        let Some(share) = share else {
            self.metrics.handshakes.refused.inc();
            incoming.refuse();
            return;
        };
        if running >= self.settings.handshakes_unverified_max && incoming.may_retry() {
            self.metrics.handshakes.retried.inc();
            // Fails only after an earlier retry; then the attempt is dropped.
            let _ = incoming.retry();
        } else {
            let handshake = handshake(incoming, self.ready.clone(), Arc::clone(&self.encodings), self.metrics.clone());
            let timed = with_deadline(handshake, self.settings.handshake, self.metrics.handshakes.too_slow.clone());
            let task = self.handshakes.spawn(timed);
            self.by_task.insert(task.id(), share);
        }
    }
}

async fn with_deadline(handshake: impl Future<Output = ()>, deadline: Duration, too_slow: Counter) {
    if tokio::time::timeout(deadline, handshake).await.is_err() {
        too_slow.inc();
    }
}

/// Runs the handshake of a connection, up to its session.
async fn handshake(
    incoming: Incoming,
    ready: mpsc::Sender<WebTransportSession>,
    encodings: Arc<Encodings>,
    metrics: WebTransportMetrics,
) {
    let Ok(connection) = incoming.await else {
        metrics.handshakes.lost.inc();
        return;
    };
    // The connection is closed on every failure from here, including the deadline.
    let guard = CloseOnDrop(Some(connection.clone()));
    match session(&connection, &encodings, &metrics).await {
        Ok(Some(session)) => {
            if ready.send(session).await.is_ok() {
                metrics.handshakes.done.inc();
                guard.keep_open();
            }
        }
        Ok(None) => metrics.handshakes.bad_path.inc(),
        Err(HandshakeFailure::Lost) => metrics.handshakes.lost.inc(),
        Err(HandshakeFailure::Protocol(error)) => {
            metrics.handshakes.bad_protocol.inc();
            connection.close(http3::close_code(error), b"");
        }
    }
}

/// Creates the session that a client requests; none if its path or the encoding in it is unknown.
async fn session(
    connection: &Connection,
    encodings: &Encodings,
    metrics: &WebTransportMetrics,
) -> Result<Option<WebTransportSession>, HandshakeFailure> {
    let PendingSession { request, session, mut connect, critical } = http3::receive_request(connection).await?;
    if connection.max_datagram_size().is_none() {
        // The protocol needs datagrams.
        return Err(HandshakeFailure::Protocol(ErrorCode::Settings));
    }
    let Some(Destination { room_code, encoding }) = Destination::of(request.path(), encodings) else {
        http3::answer(&mut connect.0, &SessionResponse::not_found()).await?;
        if connect.0.finish().is_ok() {
            // The answer must arrive before the connection is closed.
            let _ = connect.0.stopped().await;
        }
        return Ok(None);
    };
    http3::answer(&mut connect.0, &SessionResponse::ok()).await?;
    let peer = connection.remote_address();
    let transport =
        WebTransport::new(connection.clone(), session, connect, critical, encoding, metrics.datagrams.clone());
    Ok(Some(WebTransportSession {
        transport,
        peer: SocketAddr::new(peer.ip().to_canonical(), peer.port()),
        room_code,
        origin: request.origin().map(str::to_owned),
        authority: request.authority().to_owned(),
    }))
}

struct CloseOnDrop(Option<Connection>);

impl CloseOnDrop {
    fn keep_open(mut self) {
        self.0 = None;
    }
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.close(http3::close_code(ErrorCode::NoError), b"");
        }
    }
}

fn server_config(certificates: &Certificates, settings: &WebTransportSettings) -> Result<ServerConfig, BindError> {
    let crypto = certificates.quic_config().map_err(BindError::Certificate)?;
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(BIDIRECTIONAL_STREAMS_MAX.into())
        .max_concurrent_uni_streams(UNIDIRECTIONAL_STREAMS_MAX.into())
        .stream_receive_window(STREAM_WINDOW_BYTES.into())
        .receive_window(VarInt::from_u32(CONNECTION_WINDOW_BYTES))
        .send_window(SEND_WINDOW_BYTES)
        .datagram_receive_buffer_size(Some(DATAGRAMS_IN_BYTES))
        .datagram_send_buffer_size(DATAGRAMS_OUT_BYTES)
        .max_idle_timeout(Some(IdleTimeout::try_from(settings.idle).map_err(|_| BindError::Idle)?))
        .keep_alive_interval(Some(settings.idle / 4));
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config
        .transport_config(Arc::new(transport))
        .max_incoming(INCOMING_MAX)
        .incoming_buffer_size(INCOMING_BYTES)
        .incoming_buffer_size_total(INCOMING_BYTES_TOTAL);
    Ok(config)
}

fn socket(address: SocketAddr) -> io::Result<std::net::UdpSocket> {
    let socket = std::net::UdpSocket::bind(address)?;
    let buffers = socket2::SockRef::from(&socket);
    // Smaller buffers only cause more loss in bursts, so failures are ignored.
    let _ = buffers.set_recv_buffer_size(SOCKET_BUFFER_BYTES);
    let _ = buffers.set_send_buffer_size(SOCKET_BUFFER_BYTES);
    Ok(socket)
}
