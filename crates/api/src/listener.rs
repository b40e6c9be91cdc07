//! Serves a router on a socket, with deadlines and limits for slow peers.

use crate::peer::{PeerAddress, TrustedProxies};
use crate::routing::ApiError;
use crate::unread::{self, ClientShare, ConnectionProgress, StallWatch};
use aether_limits::NetworkShares;
use aether_metrics::Counter;
use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::HOST;
use http::{HeaderValue, Request, StatusCode, Version};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;
use tracing::{debug, warn};

/// Unsent bytes per connection after which the system reports the socket as full. A larger buffer would only make state
/// packets older when they are sent.
const UNSENT_BYTES_MAX: u32 = 16_384;
/// Upper bound of all headers of a request, in bytes. Larger requests get 431.
const HEADER_BYTES_MAX: usize = 16_384;
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
    /// TLS acceptor; none for plain HTTP.
    pub tls: Option<TlsAcceptor>,
}

/// Accepts connections until the task is dropped.
pub async fn serve(listener: TcpListener, router: Router, settings: ListenerSettings) {
    let (connections, clients) = (NetworkShares::default(), NetworkShares::default());
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
        set_socket_options(&stream);
        let clients = is_proxy.then(|| clients.clone());
        let (router, settings) = (router.clone(), settings.clone());
        tokio::spawn(async move {
            let requests = Requests { address, clients, router };
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

fn set_socket_options(stream: &TcpStream) {
    let socket = socket2::SockRef::from(stream);
    // The connection works without either option, so failures are ignored.
    let _ = socket.set_tcp_nodelay(true);
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_notsent_lowat(UNSENT_BYTES_MAX);
}

/// Requests of one connection.
struct Requests {
    address: SocketAddr,
    /// Concurrent requests by client, if the connection is that of a trusted proxy.
    clients: Option<NetworkShares>,
    router: Router,
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

async fn serve_stream<S>(stream: S, requests: Requests, settings: &ListenerSettings)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let address = requests.address;
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
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(settings.header_time_max)
        .max_buf_size(HEADER_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(settings.header_time_max))
        .max_header_list_size(HEADER_BYTES_MAX as u32)
        .max_concurrent_streams(Some(64));
    let mut connection = pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
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
