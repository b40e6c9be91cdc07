//! TCP connection to a server, with TLS for `https` addresses.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

use crate::address::{ServerAddress, ServerAddressError};
use crate::error::ConnectionError;

/// Connection over TCP: plain on the left, with TLS on the right.
pub(crate) type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// Connects to the first address that answers, and verifies the server's certificate.
pub(crate) async fn open(
    address: &ServerAddress,
    resolved: &[SocketAddr],
    tls: impl FnOnce() -> Arc<ClientConfig>,
) -> Result<Stream, ConnectionError> {
    let stream = TcpStream::connect(resolved).await?;
    stream.set_nodelay(true)?;
    if !address.is_secure() {
        return Ok(Either::Left(stream));
    }
    let name = ServerName::try_from(address.host().to_owned())
        .map_err(|_| ServerAddressError::Malformed(address.authority().to_owned()))?;
    Ok(Either::Right(Box::new(TlsConnector::from(tls()).connect(name, stream).await?)))
}

/// Returns the local port.
pub(crate) fn local_port(stream: &Stream) -> io::Result<u16> {
    let stream = match stream {
        Either::Left(stream) => stream,
        Either::Right(stream) => stream.get_ref().0,
    };
    Ok(stream.local_addr()?.port())
}
