//! A client of the services socket that shows every message and the close frame.

use crate::raw::send_upgrade;
use crate::{DEADLINE, HttpAnswer, TestServer, masked};
use aether_framing::websocket::codec::{Decoder, Incoming, Opcode, Role};
use aether_framing::websocket::handshake::{client_key, client_request};
use aether_wire::limits::JSON_SERVER_MESSAGE_BYTES_MAX;
use serde_json::Value;
use std::collections::VecDeque;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// Something that the server sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketInput {
    /// Text frame.
    Text(String),
    /// Binary frame.
    Binary(Vec<u8>),
    /// Close frame with its code and reason.
    Close(Option<u16>, String),
    /// Ping of the transport.
    Ping,
}

/// A client of the services socket.
pub struct ServicesSocket {
    /// TCP connection.
    pub stream: TcpStream,
    decoder: Decoder,
    inputs: VecDeque<SocketInput>,
    cid: u32,
}

impl ServicesSocket {
    /// Opens a socket in the JSON format with a token.
    ///
    /// # Panics
    /// Panics if the server rejects it.
    pub async fn connect(server: SocketAddr, token: &str) -> ServicesSocket {
        let opened = ServicesSocket::open(server, &format!("?token={token}&status=false"), "").await;
        opened.unwrap_or_else(|answer| panic!("rejected: {} {}", answer.status, answer.body))
    }

    /// Opens a socket with a query, and headers that are whole lines. Returns the answer if the server rejects it.
    ///
    /// # Panics
    /// Panics if the server does not answer.
    pub async fn open(server: SocketAddr, query: &str, headers: &str) -> Result<ServicesSocket, HttpAnswer> {
        let stream = TcpStream::connect(server).await.expect("the server listens");
        ServicesSocket::upgrade(stream, server, query, headers).await
    }

    /// Opens a socket with a small receive buffer.
    ///
    /// # Panics
    /// Panics if the server rejects it.
    pub async fn connect_slow(server: SocketAddr, token: &str, buffer_bytes: u32) -> ServicesSocket {
        let socket = TcpSocket::new_v4().expect("the system has sockets");
        socket.set_recv_buffer_size(buffer_bytes).expect("buffers can be small");
        let stream = socket.connect(server).await.expect("the server listens");
        let opened = ServicesSocket::upgrade(stream, server, &format!("?token={token}"), "").await;
        opened.unwrap_or_else(|answer| panic!("rejected: {} {}", answer.status, answer.body))
    }

    async fn upgrade(
        mut stream: TcpStream,
        server: SocketAddr,
        query: &str,
        headers: &str,
    ) -> Result<ServicesSocket, HttpAnswer> {
        let request = client_request(&server.to_string(), &format!("/ws{query}"), &client_key([7; 16]), None);
        let (head, mut early) = send_upgrade(&mut stream, request, headers).await;
        if !head.starts_with("http/1.1 101") {
            let _ = timeout(std::time::Duration::from_millis(200), stream.read_buf(&mut early)).await;
            let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
            let body = String::from_utf8_lossy(&early).into_owned();
            return Err(HttpAnswer { status, head, body });
        }
        let decoder = Decoder::new(Role::Client, JSON_SERVER_MESSAGE_BYTES_MAX);
        let mut socket = ServicesSocket { stream, decoder, inputs: VecDeque::new(), cid: 0 };
        socket.feed(&mut early);
        Ok(socket)
    }

    fn feed(&mut self, bytes: &mut [u8]) {
        let inputs = &mut self.inputs;
        let fed = self.decoder.feed(bytes, &mut |incoming| {
            inputs.push_back(match incoming {
                Incoming::Text(text) => SocketInput::Text(text.to_owned()),
                Incoming::Binary(bytes) => SocketInput::Binary(bytes.to_vec()),
                Incoming::Close { code, reason } => SocketInput::Close(code, reason.to_owned()),
                Incoming::Ping(_) | Incoming::Pong(_) => SocketInput::Ping,
            });
        });
        fed.expect("the server follows the protocol");
    }

    /// Sends bytes. It is not an error if the server has closed the connection.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        let _ = timeout(DEADLINE, self.stream.write_all(bytes)).await.expect("the server reads or closes");
    }

    /// Sends a text frame.
    pub async fn send_text(&mut self, text: &str) {
        self.send_bytes(&masked(Opcode::Text, text.as_bytes())).await;
    }

    /// Sends a binary frame.
    pub async fn send_binary(&mut self, bytes: &[u8]) {
        self.send_bytes(&masked(Opcode::Binary, bytes)).await;
    }

    /// Sends a message.
    pub async fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string()).await;
    }

    /// Returns the next input; none if the connection ended.
    ///
    /// # Panics
    /// Panics if nothing arrives in time.
    pub async fn input(&mut self) -> Option<SocketInput> {
        loop {
            if let Some(input) = self.inputs.pop_front() {
                return Some(input);
            }
            let mut bytes = Vec::new();
            let read = timeout(DEADLINE, self.stream.read_buf(&mut bytes)).await.expect("the server sends in time");
            if read.unwrap_or(0) == 0 {
                return None;
            }
            self.feed(&mut bytes);
        }
    }

    /// Returns the next message.
    ///
    /// # Panics
    /// Panics if the connection ends, or the message is not JSON.
    pub async fn next(&mut self) -> Value {
        loop {
            match self.input().await {
                Some(SocketInput::Text(text)) => {
                    return serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
                }
                Some(SocketInput::Ping) => {}
                other => panic!("{other:?} instead of a message"),
            }
        }
    }

    /// Sends a request with the next `cid`, and returns the answer without the `cid`. Messages before it are kept.
    ///
    /// # Panics
    /// Panics if there is no answer.
    pub async fn request(&mut self, mut message: Value) -> Value {
        self.cid += 1;
        let cid = self.cid.to_string();
        message["cid"] = cid.clone().into();
        self.send(&message).await;
        let mut before = Vec::new();
        let mut answer = loop {
            let message = self.next().await;
            if message["cid"] == cid.as_str() {
                break message;
            }
            before.push(SocketInput::Text(message.to_string()));
        };
        for input in before.into_iter().rev() {
            self.inputs.push_front(input);
        }
        answer.as_object_mut().expect("an envelope is an object").remove("cid");
        answer
    }

    /// Reads to the close frame. Returns its code and reason, and the messages before it.
    pub async fn closed(&mut self) -> (Option<u16>, String, Vec<Value>) {
        let mut messages = Vec::new();
        while let Some(input) = self.input().await {
            match input {
                SocketInput::Close(code, reason) => return (code, reason, messages),
                SocketInput::Text(text) => messages.push(serde_json::from_str(&text).expect("messages are JSON")),
                SocketInput::Binary(_) | SocketInput::Ping => {}
            }
        }
        (None, String::new(), messages)
    }
}

impl TestServer {
    /// Opens a services socket of a user.
    pub async fn socket(&self, token: &str) -> ServicesSocket {
        ServicesSocket::connect(self.http, token).await
    }
}
