//! Serves a router on a socket, with deadlines and limits for slow peers.

use crate::peer::PeerAddress;
use aether_limits::{KeyedShares, network_of};
use axum::Router;
use axum::body::Body;
use http::header::HOST;
use http::{HeaderValue, Request, Version};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
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
    /// Most HTTP connections of one address.
    pub per_address_max: u32,
    /// TLS acceptor; none for plain HTTP.
    pub tls: Option<TlsAcceptor>,
}

/// Accepts connections until the task is dropped.
pub async fn serve(listener: TcpListener, router: Router, settings: ListenerSettings) {
    let shares = KeyedShares::default();
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
        let network = network_of(address.ip());
        let share = shares.take(network, settings.per_address_max, settings.connections_max);
        let Some(share) = share else { continue };
        set_socket_options(&stream);
        let (router, settings) = (router.clone(), settings.clone());
        tokio::spawn(async move {
            match &settings.tls {
                None => serve_stream(stream, address, router, &settings).await,
                Some(tls) => match timeout(settings.header_time_max, tls.accept(stream)).await {
                    Ok(Ok(stream)) => serve_stream(stream, address, router, &settings).await,
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

async fn serve_stream<S>(stream: S, address: SocketAddr, router: Router, settings: &ListenerSettings)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let has_begun = Arc::new(Notify::new());
    let first_request = Arc::clone(&has_begun);
    let service = service_fn(move |mut request: Request<Incoming>| {
        has_begun.notify_one();
        let is_http10 = request.version() == Version::HTTP_10;
        request.extensions_mut().insert(PeerAddress { socket: address, is_http10 });
        // HTTP/2 names the host only in the URI.
        let host = request.uri().authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok());
        if let (Some(host), false) = (host, request.headers().contains_key(HOST)) {
            request.headers_mut().insert(HOST, host);
        }
        router.clone().oneshot(request.map(Body::new))
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
    // The builder's own deadline starts with the first bytes; a silent peer needs a deadline too.
    let result = tokio::select! {
        result = connection.as_mut() => result,
        begun = timeout(settings.header_time_max, first_request.notified()) => match begun {
            Ok(()) => match timeout(LIFETIME_MAX, connection).await {
                Ok(result) => result,
                Err(_) => return debug!(%address, "connection reached its lifetime"),
            },
            Err(_) => return debug!(%address, "no request in time"),
        },
    };
    if let Err(error) = result {
        debug!(%address, %error, "connection failed");
    }
}
