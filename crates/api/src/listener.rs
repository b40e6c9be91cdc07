//! Serves a router on a socket, with deadlines and limits for slow peers.

use crate::peer::{PeerAddress, TrustedProxies};
use crate::routing::ApiError;
use crate::unread::{self, AnswerBody, ClientShare, ConnectionProgress, StallWatch};
use aether_limits::NetworkShares;
use aether_metrics::Counter;
use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::HOST;
use http::{HeaderValue, Request, StatusCode, Version};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;
use tracing::{debug, warn};

/// Most headers of a request.
const HEADERS_MAX: usize = 64;
/// Longest time of an HTTP connection. Realtime connections are not limited by it: the upgrade ends the HTTP
/// connection.
const LIFETIME_MAX: Duration = Duration::from_secs(120);
/// Pause after a failed accept, such as for too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Settings of a listener.
#[derive(Clone)]
pub struct ListenerSettings {
    /// Longest time from the first byte to the end of a request's headers, and of the TLS handshake.
    pub header_time_max: Duration,
    /// Most HTTP connections. Realtime connections do not count.
    pub connections_max: u32,
    /// Most HTTP connections of one network, and most concurrent requests of one network behind a trusted proxy.
    pub per_address_max: u32,
    /// Proxies whose connections carry the requests of many clients, so that the clients are counted instead.
    pub proxies: Arc<TrustedProxies>,
    /// A connection whose answers make no progress for this long is closed.
    pub write_stall: Duration,
    /// Counts connections closed for that reason.
    pub stalled: Counter,
    /// TLS acceptor; none for plain HTTP. It offers HTTP/2 only if `http2` is set.
    pub tls: Option<TlsAcceptor>,
    /// Upper bound of all headers of a request, in bytes. Larger requests get 431. At least 8,192.
    pub header_bytes_max: usize,
    /// HTTP/2; none for HTTP/1.1 only.
    pub http2: Option<Http2Settings>,
    /// Buffers of the sockets.
    pub tcp: TcpSettings,
}

/// Settings of HTTP/2 connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http2Settings {
    /// Most concurrent requests of a connection.
    pub streams_max: u32,
    /// Most bytes of a request's body that the client may send before the server reads them.
    pub stream_window_bytes: u32,
    /// Most bytes of all bodies of a connection, likewise.
    pub connection_window_bytes: u32,
    /// Time between two pings.
    pub ping_interval: Duration,
    /// Time in which a ping is answered; then the connection is closed.
    pub ping_time_max: Duration,
}

impl Default for Http2Settings {
    fn default() -> Self {
        Http2Settings {
            streams_max: 64,
            stream_window_bytes: 1 << 20,
            connection_window_bytes: 1 << 20,
            ping_interval: Duration::from_secs(10),
            ping_time_max: Duration::from_secs(20),
        }
    }
}

/// Buffers that the system keeps for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSettings {
    /// Unsent bytes after which the system reports the socket as full (Linux only). A larger buffer makes state packets
    /// older when they are sent.
    pub unsent_bytes_max: u32,
    /// Send buffer, in bytes; none leaves its size to the system.
    pub send_buffer_bytes: Option<u32>,
    /// Receive buffer, in bytes; none leaves its size to the system.
    pub receive_buffer_bytes: Option<u32>,
}

impl Default for TcpSettings {
    fn default() -> Self {
        TcpSettings { unsent_bytes_max: 16_384, send_buffer_bytes: None, receive_buffer_bytes: None }
    }
}

impl TcpSettings {
    /// Sets the buffers of connections that a listener accepts. The window that a peer learns with its first packet
    /// follows from the receive buffer, so it is too late after the accept.
    fn apply_to_listener(&self, listener: &TcpListener) {
        let socket = socket2::SockRef::from(listener);
        let send = self.send_buffer_bytes.map(|bytes| socket.set_send_buffer_size(bytes as usize));
        let receive = self.receive_buffer_bytes.map(|bytes| socket.set_recv_buffer_size(bytes as usize));
        for error in [send, receive].into_iter().flatten().filter_map(Result::err) {
            warn!(%error, "socket buffers not set; the system's defaults are used");
        }
    }

    fn apply(&self, stream: &TcpStream) {
        let socket = socket2::SockRef::from(stream);
        // The connection works without either option, so failures are ignored.
        let _ = socket.set_tcp_nodelay(true);
        #[cfg(target_os = "linux")]
        let _ = socket.set_tcp_notsent_lowat(self.unsent_bytes_max);
    }
}

/// Accepts connections until the future is dropped. Then its connections end after the requests that run; idle ones end at
/// once, and upgraded ones are not affected. The buffers of the sockets are set at once and not when the future
/// is first polled: connections may wait already.
pub fn serve(
    listener: TcpListener,
    router: Router,
    settings: ListenerSettings,
) -> impl Future<Output = ()> + Send + 'static {
    settings.tcp.apply_to_listener(&listener);
    accept(listener, router, settings)
}

async fn accept(listener: TcpListener, router: Router, settings: ListenerSettings) {
    let (connections, clients) = (NetworkShares::default(), NetworkShares::default());
    // Dropped with this future, which the connections notice.
    let (_accepting, stopped) = watch::channel(());
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                warn!(%error, "accept failed");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Beyond the limit a connection is closed at once: waiting would fill the system's queue for all peers.
        let is_proxy = settings.proxies.contains(address.ip());
        let per_address_max = if is_proxy { u32::MAX } else { settings.per_address_max };
        let share = connections.take(address.ip(), per_address_max, settings.connections_max);
        let Some(share) = share else { continue };
        settings.tcp.apply(&stream);
        let clients = is_proxy.then(|| clients.clone());
        let (router, settings, stopped) = (router.clone(), settings.clone(), stopped.clone());
        tokio::spawn(async move {
            let requests = Requests { address, clients, router, stopped };
            match &settings.tls {
                None => serve_stream(stream, requests, &settings).await,
                Some(tls) => match timeout(settings.header_time_max, tls.accept(stream)).await {
                    Ok(Ok(stream)) => serve_stream(stream, requests, &settings).await,
                    Ok(Err(error)) => debug!(%address, %error, "TLS handshake failed"),
                    Err(_) => debug!(%address, "TLS handshake timed out"),
                },
            }
            drop(share);
        });
    }
}

/// Requests of one connection.
struct Requests {
    address: SocketAddr,
    /// Concurrent requests by client, if the connection is that of a trusted proxy.
    clients: Option<NetworkShares>,
    router: Router,
    /// Its sender is dropped when the listener stops.
    stopped: watch::Receiver<()>,
}

impl Requests {
    /// Answers a request. It counts against its client until the answer is written.
    async fn answer(&self, mut request: Request<Incoming>, settings: &ListenerSettings) -> Response {
        let is_http10 = request.version() == Version::HTTP_10;
        request.extensions_mut().insert(PeerAddress { socket: self.address, is_http10 });
        // HTTP/2 names the host only in the URI.
        let host = request.uri().authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok());
        if let (Some(host), false) = (host, request.headers().contains_key(HOST)) {
            request.headers_mut().insert(HOST, host);
        }
        if has_ambiguous_host(&request) {
            let sentence = "The request names more than one host. Send one Host header.";
            return ApiError::new(StatusCode::BAD_REQUEST, "bad_host", sentence).into_response();
        }
        let share = match &self.clients {
            None => None,
            Some(clients) => {
                let client = settings.proxies.peer(self.address.ip(), request.headers()).address;
                match clients.take(client, settings.per_address_max, u32::MAX) {
                    Some(share) => Some(ClientShare(Arc::new(share))),
                    None => return too_many_requests(),
                }
            }
        };
        let answered = self.router.clone().oneshot(request.map(Body::new)).await;
        let mut response = answered.unwrap_or_else(|never| match never {});
        if let Some(share) = share {
            response.extensions_mut().insert(share);
        }
        response
    }
}

/// Returns true if a request has several `Host` headers, or one that differs from the host in its URI. Programs on the way
/// may have read another one.
fn has_ambiguous_host(request: &Request<Incoming>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let first = hosts.next();
    let in_uri = request.uri().authority().map(|authority| authority.as_str().as_bytes());
    let differs = first.zip(in_uri).is_some_and(|(host, in_uri)| !host.as_bytes().eq_ignore_ascii_case(in_uri));
    hosts.next().is_some() || differs
}

fn too_many_requests() -> Response {
    let sentence = "Too many requests of your network are open. Finish them, and try again in a moment.";
    ApiError::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", sentence).into_response()
}

/// Serves the requests of a connection until it ends.
type ConnectionFuture = Pin<Box<dyn Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send>>;

fn serve_connection<S, H>(
    stream: S,
    service: H,
    settings: &ListenerSettings,
    stopped: watch::Receiver<()>,
) -> ConnectionFuture
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Service<Request<Incoming>, Response = http::Response<AnswerBody>, Error = Infallible> + Send + 'static,
    H::Future: Send + 'static,
{
    let stream = TokioIo::new(stream);
    let (header_time_max, header_bytes_max) = (settings.header_time_max, settings.header_bytes_max);
    let Some(http2) = settings.http2 else {
        // The builder for both versions cannot serve one version with upgrades.
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(header_time_max)
            .max_buf_size(header_bytes_max)
            .max_headers(HEADERS_MAX);
        let connection = builder.serve_connection(stream, service).with_upgrades();
        return Box::pin(async move {
            let ended = until_stopped(connection, |connection| connection.graceful_shutdown(), stopped).await;
            ended.map_err(Box::<dyn Error + Send + Sync>::from)
        });
    };
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(header_time_max)
        .max_buf_size(header_bytes_max)
        .max_headers(HEADERS_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(http2.ping_interval))
        .keep_alive_timeout(http2.ping_time_max)
        .initial_stream_window_size(http2.stream_window_bytes)
        .initial_connection_window_size(http2.connection_window_bytes)
        .max_header_list_size(u32::try_from(header_bytes_max).unwrap_or(u32::MAX))
        .max_concurrent_streams(Some(http2.streams_max));
    Box::pin(async move {
        let connection = builder.serve_connection_with_upgrades(stream, service);
        until_stopped(connection, |connection| connection.graceful_shutdown(), stopped).await
    })
}

/// Runs a connection to its end. When the listener stops, `finish` lets it end after the requests that run.
async fn until_stopped<C: Future>(
    connection: C,
    finish: impl FnOnce(Pin<&mut C>),
    mut stopped: watch::Receiver<()>,
) -> C::Output {
    let mut connection = pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => ended,
        _ = stopped.changed() => {
            finish(connection.as_mut());
            connection.await
        }
    }
}

async fn serve_stream<S>(stream: S, requests: Requests, settings: &ListenerSettings)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (address, stopped) = (requests.address, requests.stopped.clone());
    let has_begun = Arc::new(Notify::new());
    let first_request = Arc::clone(&has_begun);
    let progress = Arc::<ConnectionProgress>::default();
    let shared = Arc::new((requests, settings.clone(), Arc::clone(&progress)));
    let service = service_fn(move |request: Request<Incoming>| {
        has_begun.notify_one();
        let shared = Arc::clone(&shared);
        async move {
            let (requests, settings, progress) = &*shared;
            let response = requests.answer(request, settings).await;
            Ok::<_, Infallible>(unread::watch(response, progress))
        }
    });
    let mut connection = serve_connection(stream, service, settings, stopped);
    let mut watch = StallWatch::new(progress, settings.write_stall);
    // The connection first: a stall is judged after the connection could take what the socket accepts.
    let mut connection = pin!(poll_fn(move |context| match connection.as_mut().poll(context) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending => watch.poll_stalled(context).map(|()| None),
    }));
    // The builder's own deadline starts with the first bytes; a silent peer needs a deadline too.
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        begun = timeout(settings.header_time_max, first_request.notified()) => match begun {
            Ok(()) => match timeout(LIFETIME_MAX, connection).await {
                Ok(ended) => ended,
                Err(_) => return debug!(%address, "connection reached its lifetime"),
            },
            Err(_) => return debug!(%address, "no request in time"),
        },
    };
    match ended {
        None => {
            settings.stalled.inc();
            debug!(%address, "answers not read in time");
        }
        Some(Err(error)) => debug!(%address, %error, "connection failed"),
        Some(Ok(())) => {}
    }
}
