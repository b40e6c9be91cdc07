//! WebSocket transport.

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

/// Largest read: several ticks of a busy room.
const READ_BYTES: usize = 65_536;

/// Client side of a WebSocket.
pub(crate) struct WebSocketTransport {
    stream: Stream,
    decoder: Decoder,
    opcode: Opcode,
    /// Bytes that the operating system has not accepted yet.
    out: Vec<u8>,
    random: Random,
    /// Frames that arrived together with the handshake response.
    early: Vec<u8>,
}

impl WebSocketTransport {
    /// Performs the WebSocket handshake on a stream.
    pub(crate) async fn open(
        mut stream: Stream,
        host: &str,
        path: &str,
        encoding: Encoding,
    ) -> Result<Self, ConnectionError> {
        // Masks protect proxies from web pages; here they need not be unpredictable.
        let mut random = Random::new(u64::from(local_port(&stream)?) << 32 | u64::from(std::process::id()));
        let key = client_key((u128::from(random.bits()) << 64 | u128::from(random.bits())).to_ne_bytes());
        stream.write_all(&client_request(host, path, &key, Some(encoding.subprotocol()))).await?;
        stream.flush().await?;
        let mut early = Vec::new();
        let response = loop {
            if let Some(response) = parse_response(&early, &key, &[encoding.subprotocol()])? {
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
        let opcode = if encoding.is_text() { Opcode::Text } else { Opcode::Binary };
        Ok(Self { stream, decoder, opcode, out: Vec::new(), random, early })
    }

    fn queue_as(&mut self, opcode: Opcode, payload: &[u8]) {
        let mask = (self.random.bits() as u32).to_ne_bytes();
        client_frame(&mut self.out, opcode, mask, payload);
    }

    /// Writes all queued bytes.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        while !self.out.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, &self.out))?;
            self.out.drain(..written);
        }
        Pin::new(&mut self.stream).poll_flush(context).map_err(Into::into)
    }

    /// Reads available bytes. Returns true if a message was passed on.
    fn poll_read(&mut self, context: &mut Context<'_>, take: TakeMessage<'_>) -> Poll<Result<bool, ConnectionError>> {
        // One buffer per thread, so that an idle connection holds none.
        thread_local! {
            static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES]);
        }
        BUFFER.with_borrow_mut(|buffer| {
            let mut read = ReadBuf::new(buffer);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut read))?;
            let length = read.filled().len();
            Poll::Ready(match length {
                0 => Err(ConnectionError::closed()),
                _ => self.decode(&mut buffer[..length], take),
            })
        })
    }

    fn decode(&mut self, bytes: &mut [u8], take: TakeMessage<'_>) -> Result<bool, ConnectionError> {
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
            if self.decode(&mut early, take)? {
                return Ok(());
            }
        }
        poll_fn(|context| {
            loop {
                // Inside the loop, because reading a ping queues a pong.
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
        // No waker needed: the next receive or flush continues sending.
        match self.poll_send(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(sent) => sent,
            Poll::Pending => Ok(()),
        }
    }

    fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    async fn flush(&mut self) -> Result<(), ConnectionError> {
        poll_fn(|context| self.poll_send(context)).await
    }

    async fn close(mut self) {
        self.queue_as(Opcode::Close, &close_payload(1000, ""));
        // Fails if the peer is already gone.
        let _ = self.flush().await;
        let _ = self.stream.shutdown().await;
    }
}
