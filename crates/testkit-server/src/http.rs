//! Plain HTTP requests, well-formed or not.

use crate::DEADLINE;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// An answer to a request.
#[derive(Clone, Debug)]
pub struct HttpAnswer {
    /// Status; 0 if the server closed without an answer.
    pub status: u16,
    /// Everything from the status line to the empty line, in lower case.
    pub head: String,
    /// Body as text.
    pub body: String,
}

impl HttpAnswer {
    /// Parses the body as JSON.
    ///
    /// # Panics
    /// Panics if it is not JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {:?}", self.body))
    }
}

/// Sends a request with these headers and reads the answer to its end.
pub(crate) async fn send(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)]) -> HttpAnswer {
    let host = address.to_string();
    let mut request = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: 0\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        request += &format!("host: {host}\r\n");
    }
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    request += "\r\n";
    let mut stream = TcpStream::connect(address).await.expect("the server listens");
    stream.write_all(request.as_bytes()).await.expect("the server reads");
    read(stream).await
}

/// Reads an answer until the server closes.
pub(crate) async fn read(mut stream: TcpStream) -> HttpAnswer {
    let mut bytes = Vec::new();
    let end = timeout(DEADLINE, stream.read_to_end(&mut bytes)).await;
    // A server that closes while the client still sends causes a reset after the answer.
    let _ = end.expect("the server closes in time");
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> HttpAnswer {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let head = head.to_ascii_lowercase();
    let body = if head.contains("transfer-encoding: chunked") { unchunk(body) } else { body.to_owned() };
    HttpAnswer { status, head, body }
}

fn unchunk(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = body.split_once("\r\n")
        && let Ok(length) = usize::from_str_radix(length, 16)
        && length > 0
        && rest.len() >= length
    {
        whole += &rest[..length];
        body = rest[length..].trim_start_matches("\r\n");
    }
    whole
}
