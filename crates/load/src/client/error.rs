//! What can go wrong on a connection.

use std::fmt::{self, Display, Formatter};

use aether_net::websocket::codec::ProtocolError;
use aether_net::websocket::handshake::ResponseError;
use aether_wire::{DecodeError, EncodeError};

use crate::address::AddressError;
use crate::http::HttpError;

/// Why a connection could not be made, or ended.
#[derive(Debug)]
pub enum ClientError {
    /// The address cannot be used.
    Address(AddressError),
    /// The server did not say where WebTransport is.
    Http(HttpError),
    /// The server has no WebTransport.
    NoWebTransport,
    /// The system refused or reported something.
    Connection(std::io::ErrorKind),
    /// The server did not open a WebSocket.
    Refused(ResponseError),
    /// The server did not open a WebTransport session.
    WebTransport(String),
    /// Nothing happened in time.
    TimedOut,
    /// The server broke the WebSocket protocol or the framing of the stream.
    Protocol(ProtocolError),
    /// The server sent a message that cannot be read.
    Decode(DecodeError),
    /// A message cannot be written.
    Encode(EncodeError),
    /// The server does not read what is sent to it.
    Stuck,
    /// The server ended the connection.
    Closed {
        /// Its code, if it gave one.
        code: Option<u32>,
        /// Its reason, often empty.
        reason: String,
    },
}

impl ClientError {
    /// A name for counting.
    pub fn label(&self) -> String {
        match self {
            Self::Address(_) => "address".into(),
            Self::Http(error) => error.label(),
            Self::NoWebTransport => "no webtransport".into(),
            Self::Connection(kind) => kind.to_string(),
            Self::Refused(ResponseError::Refused(status)) => format!("status {status}"),
            Self::Refused(error) => error.label().into(),
            Self::WebTransport(_) => "webtransport failed".into(),
            Self::TimedOut => "timed out".into(),
            Self::Protocol(_) => "server broke the protocol".into(),
            Self::Decode(_) => "unreadable message".into(),
            Self::Encode(_) => "unwritable message".into(),
            Self::Stuck => "server does not read".into(),
            Self::Closed { code: Some(code), .. } => format!("closed {code}"),
            Self::Closed { code: None, .. } => "closed without a word".into(),
        }
    }
}

impl Display for ClientError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => error.fmt(formatter),
            Self::Http(error) => error.fmt(formatter),
            Self::NoWebTransport => formatter.write_str("the server has no WebTransport"),
            Self::Connection(kind) => write!(formatter, "the connection failed: {kind}"),
            Self::Refused(error) => error.fmt(formatter),
            Self::WebTransport(text) => write!(formatter, "WebTransport failed: {text}"),
            Self::TimedOut => formatter.write_str("the server did not open the connection in time"),
            Self::Protocol(error) => error.fmt(formatter),
            Self::Decode(error) => write!(formatter, "a message cannot be read: {error}"),
            Self::Encode(error) => write!(formatter, "a message cannot be written: {error}"),
            Self::Stuck => formatter.write_str("the server does not read what is sent to it"),
            Self::Closed { code: Some(code), reason } => write!(formatter, "the server closed: {code} {reason}"),
            Self::Closed { code: None, .. } => formatter.write_str("the server closed without a word"),
        }
    }
}

impl std::error::Error for ClientError {}

macro_rules! from {
    ($($error:ty => $variant:ident,)*) => {$(
        impl From<$error> for ClientError {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        }
    )*};
}

from! {
    AddressError => Address,
    HttpError => Http,
    ResponseError => Refused,
    ProtocolError => Protocol,
    DecodeError => Decode,
    EncodeError => Encode,
}

impl From<std::io::Error> for ClientError {
    fn from(error: std::io::Error) -> Self {
        Self::Connection(error.kind())
    }
}
