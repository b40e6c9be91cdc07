//! The HTTP request and answer that turn a connection into a WebSocket.

use std::fmt::{self, Display, Formatter};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::header::{self, AsHeaderName};
use http::{HeaderMap, Method, StatusCode};
use sha1::{Digest, Sha1};

/// Bytes of a server's answer at most, before its messages begin. Servers send a few hundred.
pub const RESPONSE_BYTES_MAX: usize = 8_192;

/// Bytes of the key that a client makes up.
pub const KEY_BYTES: usize = 16;

/// The value of `Sec-WebSocket-Extensions` in an answer that accepts compression.
pub const DEFLATE_ACCEPTED: &str = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";

/// The version of the WebSocket protocol, the only one there is. An answer with status 426
/// carries it as `Sec-WebSocket-Version`.
pub const WEBSOCKET_VERSION: &str = "13";

/// A request to upgrade that can be granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// The first of the client's subprotocols that is known, if it named one. It belongs into
    /// the answer's `Sec-WebSocket-Protocol`.
    pub subprotocol: Option<&'static str>,
    /// The answer's `Sec-WebSocket-Accept`.
    pub accept: String,
    /// True if the client offers compression in a way that can be accepted, by answering with
    /// [`DEFLATE_ACCEPTED`].
    pub deflate: bool,
}

/// Reason why an upgrade is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeError {
    /// The status to answer with.
    pub status: StatusCode,
    /// A sentence for whoever wrote the client.
    pub sentence: &'static str,
}

impl Display for HandshakeError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.status.as_u16(), self.sentence)
    }
}

impl std::error::Error for HandshakeError {}

impl Upgrade {
    /// Reads the request of a client at an address where these subprotocols are spoken.
    pub fn from_request(method: &Method, headers: &HeaderMap, known: &[&'static str]) -> Result<Self, HandshakeError> {
        if method != Method::GET {
            return Err(refused(StatusCode::METHOD_NOT_ALLOWED, "A WebSocket begins with GET."));
        }
        if !has_token(headers, header::UPGRADE, "websocket") || !has_token(headers, header::CONNECTION, "upgrade") {
            return Err(refused(StatusCode::UPGRADE_REQUIRED, "This address speaks WebSocket: ask for an upgrade."));
        }
        if headers.get(header::SEC_WEBSOCKET_VERSION).is_none_or(|version| version != WEBSOCKET_VERSION) {
            return Err(refused(StatusCode::UPGRADE_REQUIRED, "The WebSocket version has to be 13."));
        }
        let key = headers.get(header::SEC_WEBSOCKET_KEY).and_then(|key| key.to_str().ok()).filter(|key| is_key(key));
        let Some(key) = key else {
            return Err(refused(StatusCode::BAD_REQUEST, "Sec-WebSocket-Key has to be 16 bytes in base64."));
        };
        Ok(Self {
            subprotocol: elements(headers, header::SEC_WEBSOCKET_PROTOCOL).find_map(|name| find(known, name)),
            accept: accept_key(key),
            deflate: elements(headers, header::SEC_WEBSOCKET_EXTENSIONS).any(is_acceptable_deflate),
        })
    }
}

/// The answer to a client's key, which shows that the server understood the request.
pub fn accept_key(key: &str) -> String {
    const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    BASE64.encode(Sha1::new().chain_update(key).chain_update(GUID).finalize())
}

/// A client's key from random bytes.
pub fn client_key(random: [u8; KEY_BYTES]) -> String {
    BASE64.encode(random)
}

/// The request of a client, without compression. `host` and `path` are the caller's own words:
/// they must not contain line breaks.
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

/// A server's answer that opens the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Bytes of the answer; the first frame begins after them.
    pub consumed: usize,
    /// The subprotocol that the server chose.
    pub subprotocol: Option<&'static str>,
}

/// Reason why an answer does not open a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseError {
    /// It does not end within [`RESPONSE_BYTES_MAX`].
    TooLong,
    /// It is not HTTP/1.1.
    Malformed,
    /// The server answered with another status than 101.
    Refused(u16),
    /// The server did not say that it speaks WebSocket from here on.
    NotUpgraded,
    /// The server's proof does not match the key.
    WrongAccept,
    /// The server chose a subprotocol or an extension that nobody offered.
    NotOffered,
}

impl ResponseError {
    /// A name for counting.
    pub fn label(self) -> &'static str {
        match self {
            Self::TooLong => "response_too_long",
            Self::Malformed => "response_malformed",
            Self::Refused(_) => "refused",
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
            Self::Refused(status) => write!(formatter, "the server answered with status {status}"),
            Self::NotUpgraded => formatter.write_str("the server did not upgrade the connection"),
            Self::WrongAccept => formatter.write_str("the server's Sec-WebSocket-Accept is wrong"),
            Self::NotOffered => formatter.write_str("the server chose what was not offered"),
        }
    }
}

impl std::error::Error for ResponseError {}

/// Reads a server's answer from the first bytes of the connection: `None` as long as they are
/// too few. The server may choose one of the subprotocols that are known.
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
        return Err(ResponseError::Refused(status));
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

/// The headers of an answer that matter.
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

fn refused(status: StatusCode, sentence: &'static str) -> HandshakeError {
    HandshakeError { status, sentence }
}

fn find(known: &[&'static str], name: &str) -> Option<&'static str> {
    known.iter().copied().find(|known| *known == name)
}

fn is_key(key: &str) -> bool {
    // The length is checked first, so that nothing long is ever decoded.
    key.len() == 24 && BASE64.decode(key).is_ok_and(|bytes| bytes.len() == KEY_BYTES)
}

fn has_token(headers: &HeaderMap, name: impl AsHeaderName, token: &str) -> bool {
    elements(headers, name).any(|element| element.eq_ignore_ascii_case(token))
}

/// The elements of a header that is a list, however many lines it is spread over.
fn elements(headers: &HeaderMap, name: impl AsHeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|element| !element.is_empty())
}

/// Returns true if this offer of an extension is compression with demands that can be met. Those on the
/// server's window cannot: its engine always uses the largest.
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
