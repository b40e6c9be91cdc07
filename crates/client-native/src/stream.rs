//! A TCP connection to a server, with TLS where the address says so.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::address::{Address, AddressError};
use crate::error::ConnectionError;

/// What is written to and read from.
pub(crate) enum Stream {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Connects to the first of these addresses that answers, and checks that it is the server by its certificate.
    pub(crate) async fn open(
        address: &Address,
        resolved: &[SocketAddr],
        tls: impl FnOnce() -> Arc<ClientConfig>,
    ) -> Result<Self, ConnectionError> {
        let stream = TcpStream::connect(resolved).await?;
        stream.set_nodelay(true)?;
        if !address.is_secure() {
            return Ok(Self::Plain(stream));
        }
        let name = ServerName::try_from(address.host().to_owned())
            .map_err(|_| AddressError::Malformed(address.authority().to_owned()))?;
        Ok(Self::Secure(Box::new(TlsConnector::from(tls()).connect(name, stream).await?)))
    }

    /// The port of this side.
    pub(crate) fn local_port(&self) -> io::Result<u16> {
        let stream = match self {
            Self::Plain(stream) => stream,
            Self::Secure(stream) => stream.get_ref().0,
        };
        Ok(stream.local_addr()?.port())
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Secure(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Secure(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Secure(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Secure(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
