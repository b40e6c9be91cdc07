//! A connection over WebSocket.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use aether_bits::Random;
use aether_framing::websocket::codec::{Decoder, Incoming, Opcode, Role, client_frame, close_payload};
use aether_framing::websocket::handshake::{ResponseError, client_key, client_request, parse_response};
use aether_wire::limits::JSON_SERVER_MESSAGE_BYTES_MAX;
use aether_wire::{DeliveryPath, Encoding};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

use crate::error::ConnectionError;
use crate::stream::{Stream, local_port};
use crate::transport::{ClientTransport, TakeMessage};

/// Bytes of one read at most: several ticks of a busy room.
const READ_BYTES: usize = 65_536;

/// The client's end of a WebSocket.
pub(crate) struct WebSocketTransport {
    stream: Stream,
    decoder: Decoder,
    opcode: Opcode,
    /// What the system has not taken yet.
    out: Vec<u8>,
    random: Random,
    /// Frames that came right behind the server's answer.
    early: Vec<u8>,
}

impl WebSocketTransport {
    /// Asks the server at the other end to speak WebSocket from here on.
    pub(crate) async fn open(
        mut stream: Stream,
        host: &str,
        path: &str,
        encoding: Encoding,
    ) -> Result<Self, ConnectionError> {
        // Masks keep proxies from being fooled by web pages; here nothing hangs on their being secret.
        let mut random = Random::new(u64::from(local_port(&stream)?) << 32 | u64::from(std::process::id()));
        let key = client_key((u128::from(random.bits()) << 64 | u128::from(random.bits())).to_ne_bytes());
        stream.write_all(&client_request(host, path, &key, Some(encoding.subprotocol()))).await?;
        stream.flush().await?;
        let mut early = Vec::new();
        let response = loop {
            if let Some(response) = parse_response(&early, &key, &Encoding::SUBPROTOCOLS)? {
                break response;
            }
            if stream.read_buf(&mut early).await? == 0 {
                return Err(ConnectionError::closed());
            }
        };
        if response.subprotocol != Some(encoding.subprotocol()) {
            return Err(ResponseError::NotOffered.into());
        }
        let early = early.split_off(response.consumed);
        let decoder = Decoder::new(Role::Client, JSON_SERVER_MESSAGE_BYTES_MAX);
        let opcode = match encoding {
            Encoding::Protobuf => Opcode::Binary,
            Encoding::Json => Opcode::Text,
        };
        Ok(Self { stream, decoder, opcode, out: Vec::new(), random, early })
    }

    fn queue_as(&mut self, opcode: Opcode, payload: &[u8]) {
        let mask = (self.random.bits() as u32).to_ne_bytes();
        client_frame(&mut self.out, opcode, mask, payload);
    }

    /// Writes what waits, until all of it has left.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        while !self.out.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, &self.out))?;
            self.out.drain(..written);
        }
        Pin::new(&mut self.stream).poll_flush(context).map_err(Into::into)
    }

    /// Reads what is there; whether a message was handed out.
    fn poll_read(&mut self, context: &mut Context<'_>, take: TakeMessage<'_>) -> Poll<Result<bool, ConnectionError>> {
        // One buffer for all connections of a thread, so that a quiet one holds nothing.
        thread_local! {
            static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES]);
        }
        BUFFER.with_borrow_mut(|buffer| {
            let mut read = ReadBuf::new(buffer);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut read))?;
            let length = read.filled().len();
            Poll::Ready(match length {
                0 => Err(ConnectionError::closed()),
                _ => self.take_in(&mut buffer[..length], take),
            })
        })
    }

    fn take_in(&mut self, bytes: &mut [u8], take: TakeMessage<'_>) -> Result<bool, ConnectionError> {
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
                    closed = Some(ConnectionError::Closed { code: code.map(u32::from), reason: reason.to_owned() });
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

impl ClientTransport for WebSocketTransport {
    async fn receive(&mut self, take: TakeMessage<'_>) -> Result<(), ConnectionError> {
        if !self.early.is_empty() {
            let mut early = std::mem::take(&mut self.early);
            if self.take_in(&mut early, take)? {
                return Ok(());
            }
        }
        poll_fn(|context| {
            loop {
                // Within the loop, because reading a ping leaves a pong to be written.
                if let Poll::Ready(sent) = self.poll_send(context) {
                    sent?;
                }
                if ready!(self.poll_read(context, take))? {
                    return Poll::Ready(Ok(()));
                }
            }
        })
        .await
    }

    fn queue(&mut self, _path: DeliveryPath, frame: &[u8]) -> Result<(), ConnectionError> {
        self.queue_as(self.opcode, frame);
        // Nobody is to be woken: whoever receives or flushes next looks again.
        match self.poll_send(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(sent) => sent,
            Poll::Pending => Ok(()),
        }
    }

    fn waiting(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    async fn flush(&mut self) -> Result<(), ConnectionError> {
        poll_fn(|context| self.poll_send(context)).await
    }

    async fn close(mut self) {
        self.queue_as(Opcode::Close, &close_payload(1000, ""));
        // A peer that is gone already need not be told.
        let _ = self.flush().await;
        let _ = self.stream.shutdown().await;
    }
}
