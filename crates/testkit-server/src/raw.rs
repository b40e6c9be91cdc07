//! A raw WebSocket: the test decides every byte that is sent.

use crate::{DEADLINE, Encoding, TestServer};
use aether_framing::websocket::codec::{Decoder, Incoming, Opcode, Role, client_frame};
use aether_framing::websocket::handshake::{client_key, client_request};
use aether_wire::limits::JSON_SERVER_MESSAGE_BYTES_MAX;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// A WebSocket after its upgrade.
pub struct RawSocket {
    /// TCP connection.
    pub stream: TcpStream,
    decoder: Decoder,
    /// Bytes that arrived with the server's answer.
    early: Vec<u8>,
}

/// Returns a masked frame, as clients send them.
#[must_use]
pub fn masked(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    client_frame(&mut frame, opcode, [1, 2, 3, 4], payload);
    frame
}

/// Sends the request of an upgrade, with further headers as whole lines. Returns the head of the answer in lower case, and
/// the bytes after it.
pub(crate) async fn send_upgrade(stream: &mut TcpStream, request: Vec<u8>, headers: &str) -> (String, Vec<u8>) {
    let mut request = String::from_utf8(request).expect("requests are text");
    request.insert_str(request.len() - 2, headers);
    stream.write_all(request.as_bytes()).await.expect("the server reads");
    let mut head = Vec::new();
    let end = loop {
        if let Some(end) = head.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        let read = timeout(DEADLINE, stream.read_buf(&mut head)).await.expect("the server answers");
        assert!(read.expect("the server answers") > 0, "the server closed instead of answering");
    };
    let early = head.split_off(end);
    (String::from_utf8_lossy(&head).to_ascii_lowercase(), early)
}

impl RawSocket {
    /// Opens a WebSocket with an encoding. `headers` are whole lines, each with its line break.
    ///
    /// # Panics
    /// Panics if the server does not upgrade.
    pub async fn open(server: &TestServer, encoding: Encoding, headers: &str) -> RawSocket {
        let stream = TcpStream::connect(server.http).await.expect("the server listens");
        RawSocket::upgrade(stream, server, encoding, headers).await
    }

    /// Opens a WebSocket with a small receive buffer.
    ///
    /// # Panics
    /// Panics if the server does not upgrade.
    pub async fn open_slow(server: &TestServer, encoding: Encoding, buffer_bytes: u32) -> RawSocket {
        let socket = TcpSocket::new_v4().expect("the system has sockets");
        socket.set_recv_buffer_size(buffer_bytes).expect("buffers can be small");
        let stream = socket.connect(server.http).await.expect("the server listens");
        RawSocket::upgrade(stream, server, encoding, "").await
    }

    async fn upgrade(mut stream: TcpStream, server: &TestServer, encoding: Encoding, headers: &str) -> RawSocket {
        let request =
            client_request(&server.http.to_string(), "/rt", &client_key([7; 16]), Some(encoding.subprotocol()));
        let (head, early) = send_upgrade(&mut stream, request, headers).await;
        assert!(head.starts_with("http/1.1 101"), "{head}");
        let compressed = head.contains("permessage-deflate");
        let decoder = Decoder::new(Role::Client, JSON_SERVER_MESSAGE_BYTES_MAX).compressed(compressed);
        RawSocket { stream, decoder, early }
    }

    /// Sends bytes. It is not an error if the server has closed the connection.
    pub async fn send(&mut self, bytes: &[u8]) {
        let _ =
            timeout(DEADLINE, self.stream.write_all(bytes)).await.expect("the server reads or closes the connection");
    }

    /// Reads frames until `seen` returns true for one.
    ///
    /// # Panics
    /// Panics if there is no such frame in time or the connection ends first.
    pub async fn read_until(&mut self, what: &str, mut seen: impl FnMut(&Incoming<'_>) -> bool) {
        let mut bytes = std::mem::take(&mut self.early);
        let mut is_seen = false;
        loop {
            let fed = self.decoder.feed(&mut bytes, &mut |incoming| is_seen |= seen(&incoming));
            fed.expect("the server follows the protocol");
            if is_seen {
                return;
            }
            bytes.clear();
            let read = timeout(DEADLINE, self.stream.read_buf(&mut bytes)).await;
            let read = read.unwrap_or_else(|_| panic!("{what} did not arrive in time"));
            assert!(read.unwrap_or(0) > 0, "the connection ended before {what}");
        }
    }

    /// Reads to the end of the connection. Returns the code of the close frame, if there was one.
    pub async fn close_code(&mut self) -> Option<u16> {
        let mut code = None;
        let mut bytes = std::mem::take(&mut self.early);
        loop {
            let fed = self.decoder.feed(&mut bytes, &mut |incoming| {
                if let Incoming::Close { code: given, .. } = incoming {
                    code = given;
                }
            });
            fed.expect("the server follows the protocol");
            if code.is_some() {
                return code;
            }
            bytes.clear();
            let read = timeout(DEADLINE, self.stream.read_buf(&mut bytes)).await.expect("the server closes in time");
            if read.unwrap_or(0) == 0 {
                return code;
            }
        }
    }
}
