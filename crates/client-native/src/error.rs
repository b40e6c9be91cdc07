//! What can go wrong with a connection.

use std::fmt::{self, Display, Formatter};

use aether_framing::websocket::codec::ProtocolError;
use aether_framing::websocket::handshake::ResponseError;
use aether_wire::{DecodeError, EncodeError};

use crate::address::ServerAddressError;
use crate::http::HttpError;
use crate::transport::TransportKind;

/// Why a connection could not be made, or ended.
#[derive(Debug)]
pub enum ConnectionError {
    /// The address cannot be used.
    Address(ServerAddressError),
    /// The server did not answer a request as it should.
    Http(HttpError),
    /// The server does not offer this transport.
    NotOffered(TransportKind),
    /// The system refused or reported something.
    Connection(std::io::ErrorKind),
    /// Nobody who is believed vouches for the server.
    Untrusted(String),
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
    /// Nothing is heard from the server any more.
    Silent,
    /// There is no access token to come in with.
    NoToken(String),
    /// The game wants the connection to be made anew.
    GivenUp,
    /// The server ended the connection.
    Closed {
        /// Its code, if it gave one.
        code: Option<u32>,
        /// Its reason, often empty.
        reason: String,
    },
}

impl ConnectionError {
    /// The server closed without saying why.
    pub(crate) fn closed() -> Self {
        Self::Closed { code: None, reason: String::new() }
    }

    /// A name for counting.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Address(_) => "address".into(),
            Self::Http(error) => error.label(),
            Self::NotOffered(transport) => format!("no {}", transport.name()),
            Self::Connection(kind) => kind.to_string(),
            Self::Untrusted(_) => "untrusted certificate".into(),
            Self::Refused(ResponseError::Refused(status)) => format!("status {status}"),
            Self::Refused(error) => error.label().into(),
            Self::WebTransport(_) => "webtransport failed".into(),
            Self::TimedOut => "timed out".into(),
            Self::Protocol(_) => "server broke the protocol".into(),
            Self::Decode(_) => "unreadable message".into(),
            Self::Encode(_) => "unwritable message".into(),
            Self::Stuck => "server does not read".into(),
            Self::Silent => "server is silent".into(),
            Self::NoToken(_) => "no token".into(),
            Self::GivenUp => "given up".into(),
            Self::Closed { code: Some(code), .. } => format!("closed {code}"),
            Self::Closed { code: None, .. } => "closed without a word".into(),
        }
    }
}

impl Display for ConnectionError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => error.fmt(formatter),
            Self::Http(error) => error.fmt(formatter),
            Self::NotOffered(transport) => write!(formatter, "the server has no {}", transport.name()),
            Self::Connection(kind) => write!(formatter, "the connection failed: {kind}"),
            Self::Untrusted(text) => write!(
                formatter,
                "nobody who is believed vouches for the server ({text}); if it is your own, add its certificate to \
                 the trusted ones"
            ),
            Self::Refused(error) => error.fmt(formatter),
            Self::WebTransport(text) => write!(formatter, "WebTransport failed: {text}"),
            Self::TimedOut => formatter.write_str("the server did not open the connection in time"),
            Self::Protocol(error) => error.fmt(formatter),
            Self::Decode(error) => write!(formatter, "a message cannot be read: {error}"),
            Self::Encode(error) => write!(formatter, "a message cannot be written: {error}"),
            Self::Stuck => formatter.write_str("the server does not read what is sent to it"),
            Self::Silent => formatter.write_str("nothing is heard from the server any more"),
            Self::NoToken(text) => write!(formatter, "there is no access token to come in with: {text}"),
            Self::GivenUp => formatter.write_str("the connection is made anew, as was asked for"),
            Self::Closed { code: Some(code), reason } => write!(formatter, "the server closed: {code} {reason}"),
            Self::Closed { code: None, .. } => formatter.write_str("the server closed without a word"),
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
            Some(rustls::Error::InvalidCertificate(why)) => Self::Untrusted(why.to_string()),
            _ => Self::Connection(error.kind()),
        }
    }
}
