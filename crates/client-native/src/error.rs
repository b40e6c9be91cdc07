//! Errors of connections.

use std::fmt::{self, Display, Formatter};

use aether_framing::websocket::codec::ProtocolError;
use aether_framing::websocket::handshake::ResponseError;
use aether_wire::{DecodeError, EncodeError};

use crate::address::ServerAddressError;
use crate::http::HttpError;
use crate::transport::TransportKind;

/// Reason why a connection could not be opened, or ended.
#[derive(Debug)]
pub enum ConnectionError {
    /// The address cannot be used.
    Address(ServerAddressError),
    /// An HTTP request to the server failed.
    Http(HttpError),
    /// The server does not offer this transport.
    NotOffered(TransportKind),
    /// The operating system reported an error.
    Connection(std::io::ErrorKind),
    /// The server's certificate is not trusted.
    Untrusted(String),
    /// The server rejected the WebSocket handshake.
    Refused(ResponseError),
    /// The server did not open a WebTransport session.
    WebTransport(String),
    /// The server did not answer in time.
    TimedOut,
    /// The server violated the WebSocket protocol or the framing of the stream.
    Protocol(ProtocolError),
    /// The server sent a message that cannot be decoded.
    Decode(DecodeError),
    /// A message cannot be encoded.
    Encode(EncodeError),
    /// The send queue is full, because the server does not read.
    Stuck,
    /// The server has been silent for too long.
    Silent,
    /// The token source returned no access token.
    NoToken(String),
    /// The server rejected the token before the hello.
    TokenRejected,
    /// The game requested a reconnect.
    ReconnectRequested,
    /// The server closed the connection.
    Closed {
        /// Close code, if the server sent one.
        code: Option<u32>,
        /// Reason, often empty.
        reason: String,
    },
}

impl ConnectionError {
    /// Close by the server without code and reason.
    pub(crate) fn closed() -> Self {
        Self::Closed { code: None, reason: String::new() }
    }

    /// Short label, for counting errors by kind.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Address(_) => "address".into(),
            Self::Http(error) => error.label(),
            Self::NotOffered(transport) => format!("no {}", transport.name()),
            Self::Connection(kind) => kind.to_string(),
            Self::Untrusted(_) => "untrusted certificate".into(),
            Self::Refused(ResponseError::Status(status)) => format!("status {status}"),
            Self::Refused(error) => error.label().into(),
            Self::WebTransport(_) => "webtransport failed".into(),
            Self::TimedOut => "timed out".into(),
            Self::Protocol(_) => "protocol violation".into(),
            Self::Decode(_) => "message not decodable".into(),
            Self::Encode(_) => "message not encodable".into(),
            Self::Stuck => "server does not read".into(),
            Self::Silent => "server is silent".into(),
            Self::NoToken(_) => "no token".into(),
            Self::TokenRejected => "token rejected".into(),
            Self::ReconnectRequested => "reconnect requested".into(),
            Self::Closed { code: Some(code), .. } => format!("closed {code}"),
            Self::Closed { code: None, .. } => "closed without a reason".into(),
        }
    }
}

impl Display for ConnectionError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => error.fmt(formatter),
            Self::Http(error) => error.fmt(formatter),
            Self::NotOffered(transport) => write!(formatter, "the server does not offer {}", transport.name()),
            Self::Connection(kind) => write!(formatter, "the connection failed: {kind}"),
            Self::Untrusted(text) => write!(
                formatter,
                "the server's certificate is not trusted ({text}); for a server of your own, add it to the trust \
                 store"
            ),
            Self::Refused(error) => error.fmt(formatter),
            Self::WebTransport(text) => write!(formatter, "WebTransport failed: {text}"),
            Self::TimedOut => formatter.write_str("the server did not answer in time"),
            Self::Protocol(error) => error.fmt(formatter),
            Self::Decode(error) => write!(formatter, "a message from the server cannot be decoded: {error}"),
            Self::Encode(error) => write!(formatter, "a message cannot be encoded: {error}"),
            Self::Stuck => formatter.write_str("the send queue is full: the server does not read"),
            Self::Silent => formatter.write_str("the server has stopped sending"),
            Self::NoToken(text) => write!(formatter, "no access token: {text}"),
            Self::TokenRejected => formatter.write_str("the server rejected the token; sign in again"),
            Self::ReconnectRequested => formatter.write_str("reconnecting on request"),
            Self::Closed { code: Some(code), reason } => {
                write!(formatter, "the server closed the connection: {code} {reason}")
            }
            Self::Closed { code: None, .. } => formatter.write_str("the server closed the connection without a reason"),
        }
    }
}

impl std::error::Error for ConnectionError {}

macro_rules! from {
    ($($error:ty => $variant:ident,)*) => {$(
        impl From<$error> for ConnectionError {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        }
    )*};
}

from! {
    ServerAddressError => Address,
    HttpError => Http,
    ResponseError => Refused,
    ProtocolError => Protocol,
    DecodeError => Decode,
    EncodeError => Encode,
}

impl From<std::io::Error> for ConnectionError {
    fn from(error: std::io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(rustls::Error::InvalidCertificate(reason)) => Self::Untrusted(reason.to_string()),
            _ => Self::Connection(error.kind()),
        }
    }
}
