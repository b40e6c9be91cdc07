//! TLS connections by rustls.

use crate::error::StoreError;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::{TlsConnector, client};

/// TLS settings: trusted authorities.
#[derive(Clone)]
pub(super) struct Tls(TlsConnector);

/// TLS connector for one server name.
pub(super) struct Connector(TlsConnector, ServerName<'static>);

/// A TLS stream.
pub(super) struct Encrypted<S>(client::TlsStream<S>);

impl Tls {
    /// Creates settings that trust the authorities of a file, or the public ones.
    pub fn new(root_file: Option<&str>) -> Result<Tls, StoreError> {
        let mut roots = RootCertStore::empty();
        match root_file {
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Some(path) => {
                let refused = |why: String| StoreError::Refused(format!("Cannot use sslrootcert {path}: {why}"));
                let read = CertificateDer::pem_file_iter(path).map_err(|error| refused(error.to_string()))?;
                for certificate in read {
                    let certificate = certificate.map_err(|error| refused(error.to_string()))?;
                    roots.add(certificate).map_err(|error| refused(error.to_string()))?;
                }
                if roots.is_empty() {
                    return Err(refused("it contains no certificate".to_owned()));
                }
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| StoreError::Refused(format!("Cannot set up TLS: {error}")))?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        Ok(Tls(TlsConnector::from(Arc::new(config))))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Encrypted<S>;
    type TlsConnect = Connector;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, name: &str) -> Result<Connector, InvalidDnsNameError> {
        Ok(Connector(self.0.clone(), ServerName::try_from(name.to_owned())?))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Connector {
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move { self.0.connect(self.1, stream).await.map(Encrypted).map_err(with_advice) })
    }
}

/// Adds advice for a certificate that is not trusted.
fn with_advice(error: io::Error) -> io::Error {
    let advice = "set sslrootcert to the file of the certificate authority, or sslmode=disable on a trusted network";
    io::Error::new(error.kind(), format!("{error}; {advice}"))
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
