//! A connection over WebSocket.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use aether_engine::Random;
use aether_net::Encoding;
use aether_net::websocket::codec::{Decoder, Incoming, Opcode, Role, client_frame, close_payload};
use aether_net::websocket::handshake::{ResponseError, client_key, client_request, parse_response};
use aether_wire::limits::JSON_SERVER_MESSAGE_BYTES_MAX;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

use super::ClientError;
use crate::address::Address;

/// Bytes of one read at most: several ticks of a busy room.
const READ_BYTES: usize = 65_536;

/// The client's end of a WebSocket.
pub struct WebSocketLink {
    stream: TcpStream,
    decoder: Decoder,
    /// What the system has not taken yet.
    pub(super) out: Vec<u8>,
    random: Random,
    /// Frames that came right behind the server's answer.
    early: Vec<u8>,
}

impl WebSocketLink {
    pub(super) async fn open(address: &Address, path: &str, encoding: Encoding) -> Result<Self, ClientError> {
        let mut stream = TcpStream::connect(address.authority()).await?;
        stream.set_nodelay(true)?;
        // Masks keep proxies from being fooled by web pages; here nothing hangs on their being secret.
        let port = stream.local_addr()?.port();
        let mut random = Random::new(u64::from(port) << 32 | u64::from(std::process::id()));
        let key = client_key((u128::from(random.bits()) << 64 | u128::from(random.bits())).to_ne_bytes());
        let request = client_request(address.authority(), path, &key, Some(encoding));
        stream.write_all(&request).await?;
        let mut early = Vec::new();
        let response = loop {
            if let Some(response) = parse_response(&early, &key)? {
                break response;
            }
            if stream.read_buf(&mut early).await? == 0 {
                return Err(ended());
            }
        };
        if response.subprotocol != Some(encoding) {
            return Err(ResponseError::NotOffered.into());
        }
        let early = early.split_off(response.consumed);
        let decoder = Decoder::new(Role::Client, JSON_SERVER_MESSAGE_BYTES_MAX);
        Ok(Self { stream, decoder, out: Vec::new(), random, early })
    }

    pub(super) async fn receive(&mut self, take: &mut (dyn FnMut(&[u8]) + Send)) -> Result<(), ClientError> {
        if !self.early.is_empty() {
            let mut early = std::mem::take(&mut self.early);
            if self.take_in(&mut early, take)? {
                return Ok(());
            }
        }
        poll_fn(|context| {
            loop {
                // Within the loop, because reading a ping leaves a pong to be written.
                while !self.out.is_empty()
                    && let Poll::Ready(written) = Pin::new(&mut self.stream).poll_write(context, &self.out)
                {
                    self.out.drain(..written?);
                }
                if ready!(self.poll_read(context, take))? {
                    return Poll::Ready(Ok(()));
                }
            }
        })
        .await
    }

    pub(super) fn queue(&mut self, encoding: Encoding, frame: &[u8]) -> Result<(), ClientError> {
        let opcode = match encoding {
            Encoding::Protobuf => Opcode::Binary,
            Encoding::Json => Opcode::Text,
        };
        self.queue_as(opcode, frame);
        self.write_some()
    }

    pub(super) async fn flush(&mut self) -> Result<(), ClientError> {
        while !self.out.is_empty() {
            self.stream.writable().await?;
            self.write_some()?;
        }
        Ok(())
    }

    pub(super) async fn close(mut self) {
        self.queue_as(Opcode::Close, &close_payload(1000, ""));
        // A peer that is gone already need not be told.
        let _ = self.flush().await;
        let _ = self.stream.shutdown().await;
    }

    fn queue_as(&mut self, opcode: Opcode, payload: &[u8]) {
        let mask = (self.random.bits() as u32).to_ne_bytes();
        client_frame(&mut self.out, opcode, mask, payload);
    }

    /// Writes what the system takes at once.
    fn write_some(&mut self) -> Result<(), ClientError> {
        match self.stream.try_write(&self.out) {
            Ok(written) => {
                self.out.drain(..written);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Reads what is there; whether a message was handed out.
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        take: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Poll<Result<bool, ClientError>> {
        // One buffer for all connections of a thread, so that a quiet one holds nothing.
        thread_local! {
            static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES]);
        }
        BUFFER.with_borrow_mut(|buffer| {
            let mut read = ReadBuf::new(buffer);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut read))?;
            let length = read.filled().len();
            Poll::Ready(if length == 0 { Err(ended()) } else { self.take_in(&mut buffer[..length], take) })
        })
    }

    fn take_in(&mut self, bytes: &mut [u8], take: &mut (dyn FnMut(&[u8]) + Send)) -> Result<bool, ClientError> {
        let mut messages = 0_usize;
        let mut pongs = Vec::new();
        let mut closed = None;
        self.decoder.feed(bytes, &mut |incoming| {
            match incoming {
                Incoming::Text(text) => take(text.as_bytes()),
                Incoming::Binary(payload) => take(payload),
                Incoming::Ping(payload) => return pongs.push(payload.to_vec()),
                Incoming::Pong(_) => return,
                Incoming::Close { code, reason } => {
                    closed = Some(ClientError::Closed { code: code.map(u32::from), reason: reason.to_owned() });
                    return;
                }
            }
            messages += 1;
        })?;
        for pong in pongs {
            self.queue_as(Opcode::Pong, &pong);
        }
        match closed {
            Some(closed) => Err(closed),
            None => Ok(messages > 0),
        }
    }
}

fn ended() -> ClientError {
    ClientError::Closed { code: None, reason: String::new() }
}
