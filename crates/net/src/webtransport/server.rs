//! Where WebTransport sessions come in.

use super::counters::WebTransportMetrics;
use super::http3::{self, HandshakeFailure, PendingSession};
use super::session::WebTransport;
use crate::certificate::{CertificateError, Certificates};
use aether_metrics::{Counter, Registry};
use aether_wire::Destination;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, Id, JoinSet};
use wtransport::proto::error::ErrorCode;
use wtransport::proto::session::SessionResponse;
use wtransport::quinn::{
    Connection, Endpoint, EndpointConfig, IdleTimeout, Incoming, ServerConfig, TokioRuntime, TransportConfig, VarInt,
};

/// Bidirectional streams of a client: the one that asked for the session, and the one of its messages.
const BIDIRECTIONAL_STREAMS_MAX: u32 = 2;
/// Unidirectional streams of a client: those that HTTP/3 demands, for control and for the compression of headers.
const UNIDIRECTIONAL_STREAMS_MAX: u32 = 3;
/// Bytes that a client may send on a stream before we have read them: the longest message.
const STREAM_WINDOW_BYTES: u32 = 65_536;
/// The same for all its streams together, so that one that is not read cannot block the one that is.
const CONNECTION_WINDOW_BYTES: u32 = 131_072;
/// Bytes that are kept for a client that does not acknowledge them. Beyond it, messages wait in the connection's outbox,
/// where they are counted.
const SEND_WINDOW_BYTES: u64 = 262_144;
/// Bytes of datagrams that wait to be read. Beyond it the oldest are dropped, since inputs come again.
const DATAGRAMS_IN_BYTES: usize = 65_536;
/// Bytes of datagrams that wait to be sent: the largest snapshot, and hardly more, because state that waits becomes old.
const DATAGRAMS_OUT_BYTES: usize = 65_536;
/// Connections that nobody has looked at yet. A look takes microseconds, so that only a flood gets here.
const INCOMING_MAX: usize = 1_024;
/// Bytes that are kept of such a connection, and of all such together.
const INCOMING_BYTES: u64 = 16_384;
const INCOMING_BYTES_TOTAL: u64 = 4_194_304;
/// Bytes that the system should buffer for the socket, for the bursts in which ticks send. It gives what it allows.
const SOCKET_BUFFER_BYTES: usize = 4_194_304;
/// Sessions that are ready but not yet asked for. Until there is room, they count as handshakes.
const READY_MAX: usize = 64;
/// How long the end of all connections may take when the server stops.
const STOP_DEADLINE: Duration = Duration::from_secs(1);

/// What a WebTransport server allows.
#[derive(Clone, Debug)]
pub struct WebTransportSettings {
    /// From a client's first packet to its session.
    pub handshake: Duration,
    /// A client that is silent for so long is lost. It is asked for a sign of life three times meanwhile.
    pub idle: Duration,
    /// Handshakes at a time. Beyond it, newcomers are refused.
    pub handshakes_max: usize,
    /// Handshakes at a time of one address.
    pub handshakes_per_address_max: usize,
    /// From so many handshakes at a time, newcomers must first show that their address is their own, which costs them a
    /// round trip and us nothing.
    pub handshakes_unverified_max: usize,
}

impl Default for WebTransportSettings {
    fn default() -> Self {
        WebTransportSettings {
            handshake: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            handshakes_max: 1_024,
            handshakes_per_address_max: 512,
            handshakes_unverified_max: 128,
        }
    }
}

/// Accepts WebTransport sessions on a UDP socket.
pub struct WebTransportServer {
    endpoint: Endpoint,
    sessions: mpsc::Receiver<WebTransportSession>,
    door: AbortHandle,
}

/// A session whose handshake is done.
pub struct WebTransportSession {
    /// The transport.
    pub transport: WebTransport,
    /// Where the client is.
    pub peer: SocketAddr,
    /// The room that the path named, if it did.
    pub room_code: Option<String>,
    /// The site whose page opened the session; programs name none.
    pub origin: Option<String>,
    /// The name and port by which the client knows this server.
    pub authority: String,
}

/// Why a server could not start.
#[derive(Debug)]
pub enum BindError {
    /// The address cannot be used.
    Socket(io::Error),
    /// The certificate cannot be used for QUIC.
    Certificate(CertificateError),
    /// The time after which a silent client is lost is too long for QUIC.
    Idle,
}

impl WebTransportServer {
    /// Listens at an address. It needs a running tokio runtime.
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
        let door = HandshakePermits {
            ready,
            settings,
            counters: WebTransportMetrics::new(registry),
            handshakes: JoinSet::new(),
            by_task: HashMap::new(),
        };
        let door = tokio::spawn(door.run(endpoint.clone())).abort_handle();
        Ok(WebTransportServer { endpoint, sessions, door })
    }

    /// The address that is listened at, with the port that the system chose if it was to.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    /// The next session; none after [`stop`](Self::stop).
    pub async fn accept(&mut self) -> Option<WebTransportSession> {
        self.sessions.recv().await
    }

    /// Lets nobody in any more. Open sessions go on.
    pub fn stop(&mut self) {
        self.endpoint.set_server_config(None);
        self.door.abort();
        self.sessions.close();
    }

    /// Ends what is still open and waits a moment until every client has been told.
    pub async fn close(mut self) {
        self.stop();
        self.endpoint.close(http3::close_code(ErrorCode::NoError), b"");
        // A client that has vanished does not answer; the program's end does not wait for it.
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
            BindError::Socket(error) => write!(f, "the UDP socket cannot be opened: {error}"),
            BindError::Certificate(error) => error.fmt(f),
            BindError::Idle => f.write_str("the idle time is too long for QUIC"),
        }
    }
}

impl std::error::Error for BindError {}

/// Takes in connections and runs their handshakes, each in a task of its own, so that a slow one keeps nobody waiting.
struct HandshakePermits {
    ready: mpsc::Sender<WebTransportSession>,
    settings: WebTransportSettings,
    counters: WebTransportMetrics,
    handshakes: JoinSet<()>,
    by_task: HashMap<Id, IpAddr>,
}

impl HandshakePermits {
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
        let address = incoming.remote_address().ip().to_canonical();
        let running = self.handshakes.len();
        let of_address = self.by_task.values().filter(|other| **other == address).count();
        let full = running >= self.settings.handshakes_max || of_address >= self.settings.handshakes_per_address_max;
        if full {
            self.counters.handshakes.refused.inc();
            incoming.refuse();
        } else if running >= self.settings.handshakes_unverified_max && incoming.may_retry() {
            self.counters.handshakes.retried.inc();
            // It fails only if there was a retry already, and then it is dropped.
            let _ = incoming.retry();
        } else {
            let handshake = handshake(incoming, self.ready.clone(), self.counters.clone());
            let timed = timed(handshake, self.settings.handshake, self.counters.handshakes.too_slow.clone());
            let task = self.handshakes.spawn(timed);
            self.by_task.insert(task.id(), address);
        }
    }
}

async fn timed(handshake: impl Future<Output = ()>, deadline: Duration, too_slow: Counter) {
    if tokio::time::timeout(deadline, handshake).await.is_err() {
        too_slow.inc();
    }
}

/// From the first packet to a session, or to nothing.
async fn handshake(incoming: Incoming, ready: mpsc::Sender<WebTransportSession>, counters: WebTransportMetrics) {
    let Ok(connection) = incoming.await else {
        counters.handshakes.lost.inc();
        return;
    };
    // Whatever happens from here, also the end of its time, the client is told.
    let guard = CloseOnDrop(Some(connection.clone()));
    match session(&connection, &counters).await {
        Ok(Some(session)) => {
            if ready.send(session).await.is_ok() {
                counters.handshakes.done.inc();
                guard.keep_open();
            }
        }
        Ok(None) => counters.handshakes.bad_path.inc(),
        Err(HandshakeFailure::Lost) => counters.handshakes.lost.inc(),
        Err(HandshakeFailure::Protocol(error)) => {
            counters.handshakes.bad_protocol.inc();
            connection.close(http3::close_code(error), b"");
        }
    }
}

/// The session that a client asks for; none if it leads nowhere.
async fn session(
    connection: &Connection,
    counters: &WebTransportMetrics,
) -> Result<Option<WebTransportSession>, HandshakeFailure> {
    let PendingSession { request, session, mut connect, critical } = http3::asked(connection).await?;
    if connection.max_datagram_size().is_none() {
        // The other half of the protocol travels in datagrams.
        return Err(HandshakeFailure::Protocol(ErrorCode::Settings));
    }
    let Some(Destination { room_code, encoding }) = Destination::of(request.path()) else {
        http3::answer(&mut connect.0, &SessionResponse::not_found()).await?;
        if connect.0.finish().is_ok() {
            // The answer must arrive before the connection ends.
            let _ = connect.0.stopped().await;
        }
        return Ok(None);
    };
    http3::answer(&mut connect.0, &SessionResponse::ok()).await?;
    let peer = connection.remote_address();
    let transport =
        WebTransport::new(connection.clone(), session, connect, critical, encoding, counters.datagrams.clone());
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
    // Without larger buffers the server works too, only with more loss in bursts.
    let _ = buffers.set_recv_buffer_size(SOCKET_BUFFER_BYTES);
    let _ = buffers.set_send_buffer_size(SOCKET_BUFFER_BYTES);
    Ok(socket)
}
