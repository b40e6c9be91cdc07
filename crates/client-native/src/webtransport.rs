//! WebTransport transport: one bidirectional stream for reliable messages, each prefixed with its length, and datagrams
//! for unreliable ones.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use aether_framing::websocket::codec::ProtocolError;
use aether_wire::limits::JSON_SERVER_MESSAGE_BYTES_MAX;
use aether_wire::{DeliveryPath, Encoding, WebTransportInfo};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use wtransport::config::{DnsLookupFuture, DnsResolver, QuicTransportConfig};
use wtransport::endpoint::endpoint_side;
use wtransport::error::{ConnectionError as QuicError, SendDatagramError, StreamWriteError};
use wtransport::tls::Sha256Digest;
use wtransport::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, VarInt};

use crate::address::ServerAddress;
use crate::connector::Connector;
use crate::error::ConnectionError;
use crate::transport::{ClientTransport, TakeMessage, TransportKind};

/// Largest length prefix in bytes: 28 bits, more than any message needs.
const LENGTH_BYTES_MAX: usize = 4;

/// Longest wait for the peer's close or its confirmation.
const END_TIME_MAX: Duration = Duration::from_secs(1);

/// Unidirectional streams that a server may open: those of HTTP/3 (control and two of QPACK), and one spare.
const UNIDIRECTIONAL_STREAMS_MAX: u32 = 4;
/// A server opens no bidirectional streams.
const BIDIRECTIONAL_STREAMS_MAX: u32 = 0;
/// Receive window of a stream: the longest message.
const STREAM_WINDOW_BYTES: u32 = JSON_SERVER_MESSAGE_BYTES_MAX as u32;
/// Receive window of the connection. Larger than a stream's, so that an unread stream cannot block the others.
const CONNECTION_WINDOW_BYTES: u32 = 2 * STREAM_WINDOW_BYTES;
/// Receive buffer for datagrams: some hundred state packets. Beyond it the oldest are dropped.
const DATAGRAMS_IN_BYTES: usize = 262_144;

/// WebTransport address of a server, and the socket that all connections to it share.
pub(crate) struct WebTransportTarget {
    url: String,
    endpoint: Endpoint<endpoint_side::Client>,
}

impl WebTransportTarget {
    /// Requests the server's WebTransport address and certificate hash. Without a hash the certificate must be trusted.
    pub(crate) async fn find(connector: &Connector) -> Result<Self, ConnectionError> {
        let info = connector.server_info().await?.web_transport;
        let info = info.ok_or(ConnectionError::NotOffered(TransportKind::WebTransport))?;
        let address = ServerAddress::of_url(&info.url)?;
        let resolved = connector.resolve(&address).await?;
        let resolved = resolved.first().copied().ok_or(ConnectionError::NotOffered(TransportKind::WebTransport))?;
        let endpoint = Endpoint::client(config(connector, &info, resolved)?)?;
        Ok(Self { url: info.url, endpoint })
    }

    /// Waits until all connections are closed and their close frames sent.
    pub(crate) async fn wait_idle(&self) {
        self.endpoint.wait_idle().await;
    }
}

fn config(
    connector: &Connector,
    info: &WebTransportInfo,
    resolved: SocketAddr,
) -> Result<ClientConfig, ConnectionError> {
    let builder = ClientConfig::builder().with_bind_address(local_address(resolved));
    let builder = match &info.certificate_hash {
        Some(hash) => {
            let bytes = BASE64.decode(hash).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
            let bytes = bytes.ok_or_else(|| failed("the certificate hash is malformed"))?;
            builder.with_server_certificate_hashes([Sha256Digest::new(bytes)])
        }
        None => builder.with_custom_tls(connector.trusted().quic_config()),
    };
    let mut config = builder.dns_resolver(Resolved(resolved)).build();
    config.quic_config_mut().transport_config(Arc::new(transport_config()));
    Ok(config)
}

/// Limits for what a server may send.
fn transport_config() -> QuicTransportConfig {
    let mut config = QuicTransportConfig::default();
    config
        .max_concurrent_bidi_streams(BIDIRECTIONAL_STREAMS_MAX.into())
        .max_concurrent_uni_streams(UNIDIRECTIONAL_STREAMS_MAX.into())
        .stream_receive_window(STREAM_WINDOW_BYTES.into())
        .receive_window(CONNECTION_WINDOW_BYTES.into())
        .datagram_receive_buffer_size(Some(DATAGRAMS_IN_BYTES));
    config
}

/// Local address with any port. For a loopback server the socket is not reachable from outside.
pub(crate) fn local_address(server: SocketAddr) -> SocketAddr {
    match (server.is_ipv6(), server.ip().is_loopback()) {
        (false, true) => (Ipv4Addr::LOCALHOST, 0).into(),
        (false, false) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        (true, true) => (Ipv6Addr::LOCALHOST, 0).into(),
        (true, false) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

/// Resolver that returns an address that was resolved and checked before; a second lookup might differ.
#[derive(Debug)]
struct Resolved(SocketAddr);

impl DnsResolver for Resolved {
    fn resolve(&self, _host: &str) -> Pin<Box<dyn DnsLookupFuture>> {
        let address = self.0;
        Box::pin(async move { Ok(Some(address)) })
    }
}

/// Client side of a WebTransport session.
pub(crate) struct WebTransportTransport {
    connection: Connection,
    send: SendStream,
    receive: RecvStream,
    /// Bytes that the stream has not accepted yet.
    out: Vec<u8>,
    /// Received part of the stream's next message.
    partial: Vec<u8>,
    /// True if no new datagrams will arrive and nothing can be sent.
    is_closed: bool,
}

impl WebTransportTransport {
    pub(crate) async fn open(target: &WebTransportTarget, encoding: Encoding) -> Result<Self, ConnectionError> {
        let mut url = target.url.clone();
        if encoding != Encoding::Protobuf {
            url.push_str("?encoding=");
            url.push_str(encoding.name());
        }
        let connection = target.endpoint.connect(url).await.map_err(failed)?;
        let (send, receive) = connection.open_bi().await?.await.map_err(failed)?;
        Ok(Self { connection, send, receive, out: Vec::new(), partial: Vec::new(), is_closed: false })
    }

    /// Returns the error that ended the connection, after the stream has ended.
    async fn ended(&self) -> ConnectionError {
        match tokio::time::timeout(END_TIME_MAX, self.connection.closed()).await {
            Ok(error) => error.into(),
            Err(_) => ConnectionError::closed(),
        }
    }
}

impl ClientTransport for WebTransportTransport {
    async fn receive(&mut self, take: TakeMessage<'_>) -> Result<(), ConnectionError> {
        loop {
            tokio::select! {
                datagram = self.connection.receive_datagram(), if !self.is_closed => match datagram {
                    Ok(datagram) => {
                        take(&datagram.payload());
                        return Ok(());
                    }
                    // Bytes that arrived on the stream before the close can still be read.
                    Err(_) => self.is_closed = true,
                },
                chunk = self.receive.quic_stream_mut().read_chunk(usize::MAX, true) => {
                    let Ok(Some(chunk)) = chunk else {
                        return Err(self.ended().await);
                    };
                    self.partial.extend_from_slice(&chunk.bytes);
                    if take_messages(&mut self.partial, take)? {
                        return Ok(());
                    }
                }
                written = self.send.write(&self.out), if !self.out.is_empty() && !self.is_closed => match written {
                    Ok(written) => drop(self.out.drain(..written)),
                    Err(StreamWriteError::NotConnected) => self.is_closed = true,
                    Err(error) => return Err(error.into()),
                },
            }
        }
    }

    fn queue(&mut self, path: DeliveryPath, frame: &[u8]) -> Result<(), ConnectionError> {
        match path {
            DeliveryPath::Unreliable => match self.connection.send_datagram(frame) {
                Err(SendDatagramError::NotConnected) => Err(ConnectionError::closed()),
                // A datagram that does not fit is dropped.
                _ => Ok(()),
            },
            DeliveryPath::Reliable => {
                write_length(&mut self.out, frame.len());
                self.out.extend_from_slice(frame);
                Ok(())
            }
        }
    }

    fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    async fn flush(&mut self) -> Result<(), ConnectionError> {
        while !self.out.is_empty() {
            let written = self.send.write(&self.out).await?;
            self.out.drain(..written);
        }
        Ok(())
    }

    async fn close(mut self) {
        // The end of the stream follows all its bytes, while the close of the connection may overtake them. Fails if
        // the peer is already gone.
        if self.flush().await.is_ok() {
            let _ = tokio::time::timeout(END_TIME_MAX, self.send.finish()).await;
        }
        self.connection.close(VarInt::from_u32(0), b"");
    }
}

/// Appends a length prefix: seven bits per byte, the lowest first.
fn write_length(out: &mut Vec<u8>, mut length: usize) {
    while length > 0x7F {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

/// Reads a length prefix and its size in bytes. `None` if it is incomplete.
fn read_length(bytes: &[u8]) -> Result<Option<(usize, usize)>, ConnectionError> {
    let mut length = 0;
    for (index, byte) in bytes.iter().take(LENGTH_BYTES_MAX).enumerate() {
        length |= usize::from(byte & 0x7F) << (7 * index);
        if byte & 0x80 == 0 {
            let fits = length <= JSON_SERVER_MESSAGE_BYTES_MAX;
            return if fits { Ok(Some((length, index + 1))) } else { Err(too_long()) };
        }
    }
    if bytes.len() < LENGTH_BYTES_MAX { Ok(None) } else { Err(too_long()) }
}

/// Removes the complete messages at the start of the bytes and passes them to `take`.
fn take_messages(bytes: &mut Vec<u8>, take: TakeMessage<'_>) -> Result<bool, ConnectionError> {
    let mut start = 0;
    while let Some((length, prefix)) = read_length(&bytes[start..])?
        && let Some(message) = bytes.get(start + prefix..start + prefix + length)
    {
        take(message);
        start += prefix + length;
    }
    if start == bytes.len() {
        // An idle connection holds no buffer.
        *bytes = Vec::new();
    } else {
        bytes.drain(..start);
    }
    Ok(start > 0)
}

fn too_long() -> ConnectionError {
    ConnectionError::Protocol(ProtocolError { code: 1009, reason: "a message is too large" })
}

fn failed(error: impl ToString) -> ConnectionError {
    ConnectionError::WebTransport(error.to_string())
}

impl From<QuicError> for ConnectionError {
    fn from(error: QuicError) -> Self {
        match error {
            QuicError::ApplicationClosed(closed) => Self::Closed {
                code: u32::try_from(closed.code().into_inner()).ok(),
                reason: String::from_utf8_lossy(closed.reason()).into_owned(),
            },
            QuicError::TimedOut => Self::TimedOut,
            QuicError::ConnectionClosed(_) | QuicError::LocallyClosed => Self::closed(),
            other => failed(other),
        }
    }
}

impl From<StreamWriteError> for ConnectionError {
    fn from(error: StreamWriteError) -> Self {
        match error {
            StreamWriteError::NotConnected | StreamWriteError::Closed => Self::closed(),
            other => failed(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_in_chunks_of_any_size() {
        let messages = [vec![], vec![1; 127], vec![2; 128], vec![3; 20_000]];
        let mut bytes = Vec::new();
        for message in &messages {
            write_length(&mut bytes, message.len());
            bytes.extend_from_slice(message);
        }
        for chunk_bytes in [1, 7, 1_000, bytes.len()] {
            let mut partial = Vec::new();
            let mut taken = Vec::new();
            for chunk in bytes.chunks(chunk_bytes) {
                partial.extend_from_slice(chunk);
                take_messages(&mut partial, &mut |message| taken.push(message.to_vec())).expect("valid messages");
            }
            assert!(taken == messages);
            assert_eq!(partial.capacity(), 0);
        }
    }

    #[test]
    fn a_length_beyond_the_limit_is_rejected() {
        for bytes in [&[0x81, 0x80, 0x40][..], &[0xFF, 0xFF, 0xFF, 0xFF]] {
            assert!(read_length(bytes).is_err(), "{bytes:x?}");
        }
        assert!(matches!(read_length(&[0x80, 0x80, 0x40]), Ok(Some((JSON_SERVER_MESSAGE_BYTES_MAX, 3)))));
    }
}
