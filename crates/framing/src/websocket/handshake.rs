//! WebSocket handshake: HTTP request and answer.

use std::fmt::{self, Display, Formatter};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::header::{self, AsHeaderName};
use http::{HeaderMap, Method, StatusCode};
use sha1::{Digest, Sha1};

/// Upper bound of the answer of a server, in bytes. Servers send a few hundred.
pub const RESPONSE_BYTES_MAX: usize = 8_192;

/// Bytes of the random key of a client.
pub const KEY_BYTES: usize = 16;

/// Value of `Sec-WebSocket-Extensions` in an answer that accepts compression.
pub const DEFLATE_ACCEPTED: &str = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";

/// Version of the WebSocket protocol. An answer with status 426 has it in `Sec-WebSocket-Version`.
pub const WEBSOCKET_VERSION: &str = "13";

/// Valid request for an upgrade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// First known subprotocol of the client, if any: the value of `Sec-WebSocket-Protocol` in the answer.
    pub subprotocol: Option<&'static str>,
    /// Value of `Sec-WebSocket-Accept` in the answer.
    pub accept: String,
    /// True if the client offers acceptable compression. The answer accepts it by [`DEFLATE_ACCEPTED`].
    pub deflate: bool,
}

/// Error of an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeError {
    /// Status of the answer.
    pub status: StatusCode,
    /// Sentence for the developer of the client.
    pub sentence: &'static str,
}

impl Display for HandshakeError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.status.as_u16(), self.sentence)
    }
}

impl std::error::Error for HandshakeError {}

impl Upgrade {
    /// Parses the request of a client. `known` are the supported subprotocols.
    pub fn from_request(method: &Method, headers: &HeaderMap, known: &[&'static str]) -> Result<Self, HandshakeError> {
        if method != Method::GET {
            return Err(handshake_error(StatusCode::METHOD_NOT_ALLOWED, "A WebSocket handshake must use GET."));
        }
        if !has_token(headers, header::UPGRADE, "websocket") || !has_token(headers, header::CONNECTION, "upgrade") {
            return Err(handshake_error(StatusCode::UPGRADE_REQUIRED, "This address requires a WebSocket upgrade."));
        }
        if headers.get(header::SEC_WEBSOCKET_VERSION).is_none_or(|version| version != WEBSOCKET_VERSION) {
            return Err(handshake_error(StatusCode::UPGRADE_REQUIRED, "The WebSocket version must be 13."));
        }
        let key = headers.get(header::SEC_WEBSOCKET_KEY).and_then(|key| key.to_str().ok()).filter(|key| is_key(key));
        let Some(key) = key else {
            return Err(handshake_error(StatusCode::BAD_REQUEST, "Sec-WebSocket-Key must be 16 bytes in base64."));
        };
        Ok(Self {
            subprotocol: elements(headers, header::SEC_WEBSOCKET_PROTOCOL).find_map(|name| find(known, name)),
            accept: accept_key(key),
            deflate: elements(headers, header::SEC_WEBSOCKET_EXTENSIONS).any(is_acceptable_deflate),
        })
    }
}

/// Returns the `Sec-WebSocket-Accept` for a key of a client.
pub fn accept_key(key: &str) -> String {
    const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    BASE64.encode(Sha1::new().chain_update(key).chain_update(GUID).finalize())
}

/// Returns the key of a client from random bytes.
pub fn client_key(random: [u8; KEY_BYTES]) -> String {
    BASE64.encode(random)
}

/// Returns the request of a client, without compression. `host` and `path` are not escaped: they must not contain line
/// breaks.
pub fn client_request(host: &str, path: &str, key: &str, subprotocol: Option<&str>) -> Vec<u8> {
    let mut request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: {WEBSOCKET_VERSION}\r\nSec-WebSocket-Key: {key}\r\n"
    );
    if let Some(subprotocol) = subprotocol {
        request.push_str("Sec-WebSocket-Protocol: ");
        request.push_str(subprotocol);
        request.push_str("\r\n");
    }
    request.push_str("\r\n");
    request.into_bytes()
}

/// Answer of a server that opens the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Bytes of the answer. The first frame follows.
    pub consumed: usize,
    /// Subprotocol that the server chose.
    pub subprotocol: Option<&'static str>,
}

/// Error in the answer of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseError {
    /// The answer is longer than [`RESPONSE_BYTES_MAX`].
    TooLong,
    /// The answer is not HTTP/1.1.
    Malformed,
    /// The status of the answer is not 101.
    Status(u16),
    /// The server did not upgrade the connection.
    NotUpgraded,
    /// `Sec-WebSocket-Accept` does not match the key.
    WrongAccept,
    /// The server chose a subprotocol or an extension that was not offered.
    NotOffered,
}

impl ResponseError {
    /// Label of the counter.
    pub fn label(self) -> &'static str {
        match self {
            Self::TooLong => "response_too_long",
            Self::Malformed => "response_malformed",
            Self::Status(_) => "refused",
            Self::NotUpgraded => "not_upgraded",
            Self::WrongAccept => "wrong_accept",
            Self::NotOffered => "not_offered",
        }
    }
}

impl Display for ResponseError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(formatter, "the answer is longer than {RESPONSE_BYTES_MAX} bytes"),
            Self::Malformed => formatter.write_str("the answer is not HTTP/1.1"),
            Self::Status(status) => write!(formatter, "the server answered with status {status}"),
            Self::NotUpgraded => formatter.write_str("the server did not upgrade the connection"),
            Self::WrongAccept => formatter.write_str("the server's Sec-WebSocket-Accept is wrong"),
            Self::NotOffered => formatter.write_str("the server chose a subprotocol or extension that was not offered"),
        }
    }
}

impl std::error::Error for ResponseError {}

/// Parses the answer of a server from the first bytes of the connection. Returns `None` while it is incomplete. The
/// server may choose one of the known subprotocols.
pub fn parse_response(bytes: &[u8], key: &str, known: &[&'static str]) -> Result<Option<Response>, ResponseError> {
    const END: &[u8] = b"\r\n\r\n";
    let seen = &bytes[..bytes.len().min(RESPONSE_BYTES_MAX)];
    let Some(end) = seen.windows(END.len()).position(|window| window == END) else {
        return if bytes.len() < RESPONSE_BYTES_MAX { Ok(None) } else { Err(ResponseError::TooLong) };
    };
    let head = std::str::from_utf8(&seen[..end]).map_err(|_| ResponseError::Malformed)?;
    let mut lines = head.split("\r\n");
    let status = status_of(lines.next().unwrap_or_default()).ok_or(ResponseError::Malformed)?;
    if status != StatusCode::SWITCHING_PROTOCOLS.as_u16() {
        return Err(ResponseError::Status(status));
    }
    let mut answer = Answer::default();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or(ResponseError::Malformed)?;
        answer.take(name, value.trim(), known)?;
    }
    if !answer.upgrades || !answer.connects {
        return Err(ResponseError::NotUpgraded);
    }
    if answer.accept.is_none_or(|accept| accept != accept_key(key)) {
        return Err(ResponseError::WrongAccept);
    }
    Ok(Some(Response { consumed: end + END.len(), subprotocol: answer.subprotocol }))
}

/// Relevant headers of an answer.
#[derive(Default)]
struct Answer<'a> {
    upgrades: bool,
    connects: bool,
    accept: Option<&'a str>,
    subprotocol: Option<&'static str>,
}

impl<'a> Answer<'a> {
    fn take(&mut self, name: &str, value: &'a str, known: &[&'static str]) -> Result<(), ResponseError> {
        let has = |token: &str| value.split(',').any(|element| element.trim().eq_ignore_ascii_case(token));
        match name.to_ascii_lowercase().as_str() {
            "upgrade" => self.upgrades |= has("websocket"),
            "connection" => self.connects |= has("upgrade"),
            "sec-websocket-accept" => self.accept = Some(value),
            "sec-websocket-extensions" if !value.is_empty() => return Err(ResponseError::NotOffered),
            "sec-websocket-protocol" => {
                self.subprotocol = Some(find(known, value).ok_or(ResponseError::NotOffered)?);
            }
            _ => {}
        }
        Ok(())
    }
}

fn status_of(line: &str) -> Option<u16> {
    let status = line.strip_prefix("HTTP/1.1 ")?.split(' ').next()?;
    (status.len() == 3).then(|| status.parse().ok()).flatten()
}

fn handshake_error(status: StatusCode, sentence: &'static str) -> HandshakeError {
    HandshakeError { status, sentence }
}

fn find(known: &[&'static str], name: &str) -> Option<&'static str> {
    known.iter().copied().find(|known| *known == name)
}

fn is_key(key: &str) -> bool {
    // The length is checked first, so that a long key is not decoded.
    key.len() == 24 && BASE64.decode(key).is_ok_and(|bytes| bytes.len() == KEY_BYTES)
}

fn has_token(headers: &HeaderMap, name: impl AsHeaderName, token: &str) -> bool {
    elements(headers, name).any(|element| element.eq_ignore_ascii_case(token))
}

/// Elements of a list header, which may have several lines.
fn elements(headers: &HeaderMap, name: impl AsHeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|element| !element.is_empty())
}

/// True if an offered extension is compression with acceptable parameters. The window of the server cannot be limited:
/// its engine always uses the largest.
fn is_acceptable_deflate(offer: &str) -> bool {
    let mut parts = offer.split(';').map(str::trim);
    parts.next() == Some("permessage-deflate")
        && parts.all(|parameter| {
            let (name, value) = match parameter.split_once('=') {
                Some((name, value)) => (name.trim_end(), Some(value.trim().trim_matches('"'))),
                None => (parameter, None),
            };
            match (name, value) {
                ("server_no_context_takeover" | "client_no_context_takeover" | "client_max_window_bits", None) => true,
                ("client_max_window_bits", Some(bits)) => bits.parse().is_ok_and(|bits| (8..=15).contains(&bits)),
                _ => false,
            }
        })
}
