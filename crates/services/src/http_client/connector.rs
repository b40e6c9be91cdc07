//! Connection setup: resolves the host, checks each address, and connects only to a checked address.

use super::HttpClientError;
use super::network::{Network, is_public};
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;
use tower::Service;
use tracing::warn;

/// Time limit for one connect attempt, so that there is time left for the next address.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(3);
/// Maximum number of addresses of a host that are tried.
const ADDRESSES_MAX: usize = 4;

/// Connects to addresses that may be reached.
#[derive(Clone)]
pub(super) struct Connector {
    allowed: Arc<[Network]>,
    tls: Arc<ClientConfig>,
}

/// Connection as hyper uses it: plain on the left, with TLS on the right.
pub(super) struct Stream(TokioIo<Either<TcpStream, Box<TlsStream<TcpStream>>>>);

impl Connector {
    pub fn new(allowed: Vec<Network>, authorities: &[CertificateDer<'static>]) -> Connector {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            warn!("no certificate authorities found on this system; https requests will fail: install ca-certificates");
        }
        roots.add_parsable_certificates(authorities.iter().cloned());
        // The crypto provider is explicit, so that another one in the same program has no effect here.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring supports the default TLS versions of rustls")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Connector { allowed: allowed.into(), tls: Arc::new(tls) }
    }

    async fn connect(self, uri: Uri) -> Result<Stream, HttpClientError> {
        let is_https = uri.scheme_str() == Some("https");
        let host = uri.host().ok_or(HttpClientError::Invalid("the URL must name a host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = uri.port_u16().unwrap_or(if is_https { 443 } else { 80 });
        let stream = self.connect_tcp(&host, port).await?;
        // Requests are written whole, so delaying packets gains nothing.
        let _ = stream.set_nodelay(true);
        if !is_https {
            return Ok(Stream(TokioIo::new(Either::Left(stream))));
        }
        let name = ServerName::try_from(host).map_err(|_| HttpClientError::Invalid("the host name is invalid"))?;
        let stream = TlsConnector::from(self.tls).connect(name, stream).await.map_err(unreachable)?;
        Ok(Stream(TokioIo::new(Either::Right(Box::new(stream)))))
    }

    async fn connect_tcp(&self, host: &str, port: u16) -> Result<TcpStream, HttpClientError> {
        let addresses: Vec<SocketAddr> = match host.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => lookup_host((host, port)).await.map_err(unreachable)?.collect(),
        };
        let mut outcome = Err(HttpClientError::Unreachable("the host name has no addresses".to_owned()));
        if !addresses.is_empty() {
            outcome = Err(HttpClientError::Forbidden);
        }
        for address in addresses.into_iter().filter(|address| self.may_reach(address.ip())).take(ADDRESSES_MAX) {
            outcome = match tokio::time::timeout(CONNECT_TIME_MAX, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => Err(unreachable(error)),
                Err(_) => Err(HttpClientError::TimedOut),
            };
        }
        outcome
    }

    fn may_reach(&self, address: IpAddr) -> bool {
        is_public(address) || self.allowed.iter().any(|network| network.contains(address))
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = HttpClientError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, HttpClientError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpClientError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect(uri))
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(cx, buffer)
    }
}

impl Write for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(cx)
    }
}

fn unreachable(error: io::Error) -> HttpClientError {
    HttpClientError::Unreachable(error.to_string())
}
