//! HTTP requests that a client makes before it connects.

use std::fmt::{self, Display, Formatter};
use std::io::ErrorKind;
use std::time::Duration;

use aether_wire::{ServerInfo, Token, UdpGrant};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

use crate::connector::Connector;
use crate::error::ConnectionError;

/// Largest response. A server needs less than a tenth of it.
const ANSWER_BYTES_MAX: u64 = 65_536;

/// Longest wait for a response.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

impl Connector {
    /// Requests the public information of the server.
    pub async fn server_info(&self) -> Result<ServerInfo, ConnectionError> {
        self.request("GET", "/api/server", None).await
    }

    /// Requests an access token of a new guest. Fails if the server allows no guests.
    pub async fn guest_token(&self) -> Result<Token, ConnectionError> {
        #[derive(Deserialize)]
        struct Guest {
            token: Token,
        }
        Ok(self.request::<Guest>("POST", "/api/guest", None).await?.token)
    }

    /// Requests a connect token of reliable UDP, for the account of an access token or a resume token.
    pub(crate) async fn udp_grant(&self, token: &Token) -> Result<UdpGrant, ConnectionError> {
        self.request("POST", "/api/udp", Some(token)).await
    }

    async fn request<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        token: Option<&Token>,
    ) -> Result<T, ConnectionError> {
        let answer = tokio::time::timeout(ANSWER_TIME_MAX, self.exchange(method, path, token));
        let answer = answer.await.map_err(|_| HttpError::TimedOut)??;
        let (status, body) = parse(&answer).ok_or(HttpError::Malformed)?;
        if status != 200 {
            return Err(HttpError::Status(status).into());
        }
        Ok(serde_json::from_slice(body).map_err(|_| HttpError::Malformed)?)
    }

    async fn exchange(&self, method: &str, path: &str, token: Option<&Token>) -> Result<Vec<u8>, ConnectionError> {
        let authority = self.address().authority();
        let authorization = authorization(token)?;
        let mut stream = self.stream().await?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {authority}\r\nContent-Length: 0\r\nAccept: application/json\r\n\
             Connection: close\r\n{authorization}\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        stream.flush().await?;
        read_to_end(stream).await
    }
}

/// Returns the header line of a token. One with other characters than those of tokens is rejected here, as the server
/// would, so that it cannot add lines.
fn authorization(token: Option<&Token>) -> Result<String, ConnectionError> {
    let Some(token) = token.map(Token::reveal) else { return Ok(String::new()) };
    if !token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)) {
        return Err(ConnectionError::TokenRejected);
    }
    Ok(format!("Authorization: Bearer {token}\r\n"))
}

/// Reason why an HTTP request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpError {
    /// No response in time.
    TimedOut,
    /// The server answered with an error status.
    Status(u16),
    /// The response is malformed.
    Malformed,
}

impl HttpError {
    /// Short label, for counting errors by kind.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::TimedOut => "http timed out".into(),
            Self::Status(status) => format!("http status {status}"),
            Self::Malformed => "http malformed".into(),
        }
    }
}

impl Display for HttpError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => formatter.write_str("the server did not answer in time"),
            Self::Status(status) => write!(formatter, "the server answered with status {status}"),
            Self::Malformed => {
                formatter.write_str("the server's response is malformed; check that the address is an Aether server")
            }
        }
    }
}

impl std::error::Error for HttpError {}

/// Reads until the server closes. Over TLS some servers close without a close notify; the length in the response
/// detects truncation.
pub(crate) async fn read_to_end(stream: impl AsyncRead + Unpin) -> Result<Vec<u8>, ConnectionError> {
    let mut answer = Vec::new();
    match stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await {
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => Err(error.into()),
        _ => Ok(answer),
    }
}

/// Returns the status and the body of a response that ends with the connection.
pub(crate) fn parse(answer: &[u8]) -> Option<(u16, &[u8])> {
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
    fn responses_are_parsed() {
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), Some((200, &b"{}"[..])));
        assert_eq!(parse(b"HTTP/1.1 403 Forbidden\r\nX: y\r\n\r\n"), Some((403, &b""[..])));
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}"), None, "cut off");
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), None);
        assert_eq!(parse(b"nonsense\r\n\r\n"), None);
    }

    #[tokio::test]
    async fn an_endless_response_is_truncated() {
        let answer = read_to_end(tokio::io::repeat(b'x')).await.expect("a response");
        assert_eq!(answer.len() as u64, ANSWER_BYTES_MAX);
        assert_eq!(parse(&answer), None);
    }
}
