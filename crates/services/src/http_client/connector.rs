//! How a connection comes about: the name is looked up, each address is checked, and the one that is reached was checked.

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

/// How long one address may take to accept, so that there is time left for the next.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(3);
/// Addresses of a name that are tried.
const ADDRESSES_MAX: usize = 4;

/// Makes connections, to addresses that may be reached.
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
            warn!(
                "the system has no certificates of authorities; https to the outside will fail: install ca-certificates"
            );
        }
        roots.add_parsable_certificates(authorities.iter().cloned());
        // The provider is named, so that another one in the same program does not change what is used here.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring speaks the versions that rustls has by default")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Connector { allowed: allowed.into(), tls: Arc::new(tls) }
    }

    async fn connect(self, uri: Uri) -> Result<Stream, HttpClientError> {
        let sealed = uri.scheme_str() == Some("https");
        let host = uri.host().ok_or(HttpClientError::Invalid("the address has to name a host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = uri.port_u16().unwrap_or(if sealed { 443 } else { 80 });
        let stream = self.reach(&host, port).await?;
        // Requests are written whole, so nothing is gained by waiting for more.
        let _ = stream.set_nodelay(true);
        if !sealed {
            return Ok(Stream(TokioIo::new(Either::Left(stream))));
        }
        let name = ServerName::try_from(host).map_err(|_| HttpClientError::Invalid("the host's name is not valid"))?;
        let stream = TlsConnector::from(self.tls).connect(name, stream).await.map_err(unreachable)?;
        Ok(Stream(TokioIo::new(Either::Right(Box::new(stream)))))
    }

    async fn reach(&self, host: &str, port: u16) -> Result<TcpStream, HttpClientError> {
        let addresses: Vec<SocketAddr> = match host.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => lookup_host((host, port)).await.map_err(unreachable)?.collect(),
        };
        let mut outcome = Err(HttpClientError::Unreachable("the name leads nowhere".to_owned()));
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
