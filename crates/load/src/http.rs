//! The two requests that a bot makes before it plays.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use aether_wire::Token;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::address::Address;

/// Bytes of an answer at most. A server says less than a tenth of that about itself.
const ANSWER_BYTES_MAX: u64 = 65_536;

/// A server that does not answer in this time does not answer.
const ANSWER_DEADLINE: Duration = Duration::from_secs(10);

/// What `GET /api/server` tells.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    /// The server's version.
    #[serde(default)]
    pub version: String,
    /// Where WebTransport is, if it is.
    #[serde(default)]
    pub web_transport: Option<WebTransportInfo>,
}

/// Where WebTransport is.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebTransportInfo {
    /// The address to connect to.
    pub url: String,
    /// The SHA-256 of the certificate in base64, if no authority vouches for it.
    #[serde(default)]
    pub certificate_hash: Option<String>,
}

/// Asks a server what it is.
pub async fn server_info(address: &Address) -> Result<ServerInfo, HttpError> {
    request(address, "GET", "/api/server").await
}

/// Asks for the token of a new guest.
pub(crate) async fn guest_token(address: &Address) -> Result<Token, HttpError> {
    #[derive(Deserialize)]
    struct Guest {
        token: Token,
    }
    Ok(request::<Guest>(address, "POST", "/api/guest").await?.token)
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpError {
    /// The connection could not be made, or ended too soon.
    Connection(std::io::ErrorKind),
    /// There was no answer in time.
    TimedOut,
    /// The server refused.
    Status(u16),
    /// The answer cannot be understood.
    Malformed,
}

impl HttpError {
    /// A name for counting.
    pub fn label(&self) -> String {
        match self {
            Self::Connection(kind) => format!("http {kind}"),
            Self::TimedOut => "http timed out".into(),
            Self::Status(status) => format!("http status {status}"),
            Self::Malformed => "http malformed".into(),
        }
    }
}

impl Display for HttpError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(kind) => write!(formatter, "the request failed: {kind}"),
            Self::TimedOut => formatter.write_str("the server did not answer in time"),
            Self::Status(status) => write!(formatter, "the server answered with status {status}"),
            Self::Malformed => formatter.write_str("the server's answer cannot be understood"),
        }
    }
}

impl std::error::Error for HttpError {}

impl From<std::io::Error> for HttpError {
    fn from(error: std::io::Error) -> Self {
        Self::Connection(error.kind())
    }
}

async fn request<T: DeserializeOwned>(address: &Address, method: &str, path: &str) -> Result<T, HttpError> {
    let answer = tokio::time::timeout(ANSWER_DEADLINE, exchange(address, method, path));
    let answer = answer.await.map_err(|_| HttpError::TimedOut)??;
    let (status, body) = parse(&answer).ok_or(HttpError::Malformed)?;
    if status != 200 {
        return Err(HttpError::Status(status));
    }
    serde_json::from_slice(body).map_err(|_| HttpError::Malformed)
}

async fn exchange(address: &Address, method: &str, path: &str) -> Result<Vec<u8>, HttpError> {
    let authority = address.authority();
    let mut stream = TcpStream::connect(authority).await?;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {authority}\r\nContent-Length: 0\r\nAccept: application/json\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await?;
    Ok(answer)
}

/// The status and the body of an answer after which the connection was closed.
fn parse(answer: &[u8]) -> Option<(u16, &[u8])> {
    const END: &[u8] = b"\r\n\r\n";
    let end = answer.windows(END.len()).position(|window| window == END)?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let mut body = &answer[end + END.len()..];
    for line in head.lines().skip(1) {
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") {
            body = body.get(..value.trim().parse().ok()?)?;
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            return None;
        }
    }
    Some((status, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_taken_apart() {
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), Some((200, &b"{}"[..])));
        assert_eq!(parse(b"HTTP/1.1 403 Forbidden\r\nX: y\r\n\r\n"), Some((403, &b""[..])));
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}"), None, "cut off");
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), None);
        assert_eq!(parse(b"nonsense\r\n\r\n"), None);
    }
}
