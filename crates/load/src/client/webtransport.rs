//! A connection over WebTransport: one stream both ways for what must arrive, each message
//! after its length, and datagrams for what must be quick.

use std::net::Ipv6Addr;
use std::time::Duration;

use aether_net::Encoding;
use aether_net::websocket::codec::ProtocolError;
use aether_wire::limits::JSON_SERVER_MESSAGE_BYTES_MAX;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use wtransport::endpoint::endpoint_side;
use wtransport::error::{ConnectionError, SendDatagramError, StreamWriteError};
use wtransport::tls::Sha256Digest;
use wtransport::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, VarInt};

use super::{ClientError, Path};
use crate::address::Address;
use crate::http::server_info;

/// Bytes of a message's length on the stream at most: 28 bits, more than any message has.
const LENGTH_BYTES_MAX: usize = 4;

/// How long an end waits for the other one to say or confirm how it ended.
const END_DEADLINE: Duration = Duration::from_secs(1);

/// A server's WebTransport, and the socket that all connections to it share.
pub(super) struct Target {
    url: String,
    endpoint: Endpoint<endpoint_side::Client>,
}

impl Target {
    /// Asks the server where its WebTransport is and which certificate it shows. Without a hash
    /// the certificate has to be one that this machine trusts.
    pub(super) async fn find(address: &Address, allow_remote: bool) -> Result<Self, ClientError> {
        let info = server_info(address).await?.web_transport.ok_or(ClientError::NoWebTransport)?;
        let host = Address::of_url(&info.url, "https")?;
        if !allow_remote {
            host.require_loopback().await?;
        }
        let local = match host.resolve().await?.iter().all(|address| address.ip().is_loopback()) {
            true if host.authority().starts_with('[') => {
                ClientConfig::builder().with_bind_address((Ipv6Addr::LOCALHOST, 0).into())
            }
            true => ClientConfig::builder().with_bind_address(([127, 0, 0, 1], 0).into()),
            false => ClientConfig::builder().with_bind_default(),
        };
        let config = match &info.certificate_hash {
            Some(hash) => {
                let bytes = BASE64.decode(hash).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
                let bytes = bytes.ok_or_else(|| failed("the certificate's hash is malformed"))?;
                local.with_server_certificate_hashes([Sha256Digest::new(bytes)]).build()
            }
            None => local.with_native_certs().build(),
        };
        Ok(Self { url: info.url, endpoint: Endpoint::client(config)? })
    }
}

/// The client's end of a WebTransport session.
pub struct WebTransportLink {
    connection: Connection,
    send: SendStream,
    receive: RecvStream,
    /// What the stream has not taken yet.
    pub(super) out: Vec<u8>,
    /// What came of the stream's next message.
    partial: Vec<u8>,
    /// Whether nothing new will come.
    is_closed: bool,
}

impl WebTransportLink {
    pub(super) async fn open(target: &Target, encoding: Encoding) -> Result<Self, ClientError> {
        let mut url = target.url.clone();
        if encoding == Encoding::Json {
            url.push_str("?encoding=json");
        }
        let connection = target.endpoint.connect(url).await.map_err(failed)?;
        let (send, receive) = connection.open_bi().await?.await.map_err(failed)?;
        Ok(Self { connection, send, receive, out: Vec::new(), partial: Vec::new(), is_closed: false })
    }

    pub(super) async fn receive(&mut self, take: &mut (dyn FnMut(&[u8]) + Send)) -> Result<(), ClientError> {
        loop {
            tokio::select! {
                datagram = self.connection.receive_datagram(), if !self.is_closed => match datagram {
                    Ok(datagram) => {
                        take(&datagram.payload());
                        return Ok(());
                    }
                    // What came on the stream before the end can still be read, and is heard first.
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

    /// How the connection ended, now that the stream has.
    async fn ended(&self) -> ClientError {
        match tokio::time::timeout(END_DEADLINE, self.connection.closed()).await {
            Ok(error) => error.into(),
            Err(_) => ClientError::Closed { code: None, reason: String::new() },
        }
    }

    pub(super) fn queue(&mut self, path: Path, frame: &[u8]) -> Result<(), ClientError> {
        match path {
            Path::Unreliable => match self.connection.send_datagram(frame) {
                Err(SendDatagramError::NotConnected) => Err(ClientError::Closed { code: None, reason: String::new() }),
                // A datagram that does not fit is lost, as datagrams are.
                _ => Ok(()),
            },
            Path::Reliable => {
                write_length(&mut self.out, frame.len());
                self.out.extend_from_slice(frame);
                Ok(())
            }
        }
    }

    pub(super) async fn flush(&mut self) -> Result<(), ClientError> {
        while !self.out.is_empty() {
            let written = self.send.write(&self.out).await?;
            self.out.drain(..written);
        }
        Ok(())
    }

    pub(super) async fn close(mut self) {
        // A peer that is gone already need not be told. The end of the stream comes after
        // everything in it, unlike that of the connection.
        if self.flush().await.is_ok() {
            let _ = tokio::time::timeout(END_DEADLINE, self.send.finish()).await;
        }
        self.connection.close(VarInt::from_u32(0), b"");
    }
}

/// Appends a length as the stream has it: seven bits a byte, the lowest first.
fn write_length(out: &mut Vec<u8>, mut length: usize) {
    while length > 0x7F {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

/// The length at the start of the bytes and how many bytes it takes; nothing if it is cut off.
fn read_length(bytes: &[u8]) -> Result<Option<(usize, usize)>, ClientError> {
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

/// Hands out the whole messages at the start of the bytes and removes them.
fn take_messages(bytes: &mut Vec<u8>, take: &mut (dyn FnMut(&[u8]) + Send)) -> Result<bool, ClientError> {
    let mut start = 0;
    while let Some((length, prefix)) = read_length(&bytes[start..])?
        && let Some(message) = bytes.get(start + prefix..start + prefix + length)
    {
        take(message);
        start += prefix + length;
    }
    if start == bytes.len() {
        // An idle connection holds nothing.
        *bytes = Vec::new();
    } else {
        bytes.drain(..start);
    }
    Ok(start > 0)
}

fn too_long() -> ClientError {
    ClientError::Protocol(ProtocolError { code: 1009, reason: "a message is too large" })
}

fn failed(error: impl ToString) -> ClientError {
    ClientError::WebTransport(error.to_string())
}

impl From<ConnectionError> for ClientError {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::ApplicationClosed(closed) => Self::Closed {
                code: u32::try_from(closed.code().into_inner()).ok(),
                reason: String::from_utf8_lossy(closed.reason()).into_owned(),
            },
            ConnectionError::TimedOut => Self::TimedOut,
            ConnectionError::ConnectionClosed(_) | ConnectionError::LocallyClosed => {
                Self::Closed { code: None, reason: String::new() }
            }
            other => failed(other),
        }
    }
}

impl From<StreamWriteError> for ClientError {
    fn from(error: StreamWriteError) -> Self {
        match error {
            StreamWriteError::NotConnected | StreamWriteError::Closed => {
                Self::Closed { code: None, reason: String::new() }
            }
            other => failed(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_stream_are_found_however_they_are_cut() {
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
                take_messages(&mut partial, &mut |message| taken.push(message.to_vec())).expect("it is well-formed");
            }
            assert!(taken == messages);
            assert_eq!(partial.capacity(), 0);
        }
    }

    #[test]
    fn a_length_beyond_every_message_is_refused() {
        for bytes in [&[0x81, 0x80, 0x40][..], &[0xFF, 0xFF, 0xFF, 0xFF]] {
            assert!(read_length(bytes).is_err(), "{bytes:x?}");
        }
        assert!(matches!(read_length(&[0x80, 0x80, 0x40]), Ok(Some((JSON_SERVER_MESSAGE_BYTES_MAX, 3)))));
    }
}
