//! A router behind a socket, with deadlines and limits on everything a peer can drag out.

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

/// Unsent bytes that the system holds for a connection before it says that it is full. State is written when there is room,
/// so what is beyond would only be old when it leaves.
const UNSENT_BYTES_MAX: u32 = 16_384;
/// Headers of a request in all. Beyond, the answer is 431.
const HEADER_BYTES_MAX: usize = 16_384;
/// Headers of a request.
const HEADERS_MAX: usize = 64;
/// How long a connection may last that does not become a realtime one; those end this by their upgrade. Whoever idles longer
/// connects anew.
const LIFETIME_MAX: Duration = Duration::from_secs(120);
/// After a failure to accept, such as too many open files, the listener waits so long.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How a listener treats its peers.
#[derive(Clone)]
pub struct ListenerSettings {
    /// From the first byte to the end of a request's headers, and for the TLS handshake.
    pub header_time_max: Duration,
    /// Connections that are no realtime ones.
    pub connections_max: u32,
    /// The same of one address.
    pub per_address_max: u32,
    /// For TLS.
    pub tls: Option<TlsAcceptor>,
}

/// Accepts connections until the task is dropped.
pub async fn serve(listener: TcpListener, router: Router, settings: ListenerSettings) {
    let places = KeyedShares::default();
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Beyond the limit a connection is closed at once: waiting would fill the system's queue for everyone.
        let network = network_of(address.ip());
        let place = places.take(network, settings.per_address_max, settings.connections_max);
        let Some(place) = place else { continue };
        prepare(&stream);
        let (router, settings) = (router.clone(), settings.clone());
        tokio::spawn(async move {
            match &settings.tls {
                None => serve_stream(stream, address, router, &settings).await,
                Some(tls) => match timeout(settings.header_time_max, tls.accept(stream)).await {
                    Ok(Ok(stream)) => serve_stream(stream, address, router, &settings).await,
                    Ok(Err(error)) => debug!(%address, %error, "no TLS"),
                    Err(_) => debug!(%address, "TLS took too long"),
                },
            }
            drop(place);
        });
    }
}

fn prepare(stream: &TcpStream) {
    let socket = socket2::SockRef::from(stream);
    // Neither is needed for the connection to work, so a system that cannot is no reason to refuse it.
    let _ = socket.set_tcp_nodelay(true);
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_notsent_lowat(UNSENT_BYTES_MAX);
}

async fn serve_stream<S>(stream: S, address: SocketAddr, router: Router, settings: &ListenerSettings)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let begun = Arc::new(Notify::new());
    let first_request = Arc::clone(&begun);
    let service = service_fn(move |mut request: Request<Incoming>| {
        begun.notify_one();
        let is_old = request.version() == Version::HTTP_10;
        request.extensions_mut().insert(PeerAddress { socket: address, is_old });
        // HTTP/2 names the host in the address alone.
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
    // The builder's own deadline begins with the first bytes; a peer that says nothing has to have one too.
    let result = tokio::select! {
        result = connection.as_mut() => result,
        begun = timeout(settings.header_time_max, first_request.notified()) => match begun {
            Ok(()) => match timeout(LIFETIME_MAX, connection).await {
                Ok(result) => result,
                Err(_) => return debug!(%address, "a connection lasted too long"),
            },
            Err(_) => return debug!(%address, "no request came in time"),
        },
    };
    if let Err(error) = result {
        debug!(%address, %error, "a connection broke");
    }
}
