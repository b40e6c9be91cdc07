//! WebSocket transport.

use crate::buffers;
use crate::transport::{CloseNotice, MessageSink, ReceiveOutcome, Transport, TransportEnded};
use aether_framing::websocket::codec::{self, Decoder, Incoming, Opcode, Role};
use aether_framing::{Framing, FramingError};
use aether_replication::DeliveryOrder;
use aether_wire::limits::HELLO_BYTES_MAX;
use aether_wire::{CloseReason, DeliveryPath, Encoding};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Close code of a connection that ended as intended.
const NORMAL_CLOSURE: u16 = 1_000;

/// Server side of a WebSocket over any byte stream, after the upgrade.
pub struct WebSocket<S> {
    stream: S,
    decoder: Decoder,
    encoding: Encoding,
    compressed: bool,
    /// True if reasons have no close codes of their own.
    closes_plainly: bool,
    read_buffer_bytes: usize,
    /// Bytes to be written. While empty, the buffer is in the thread's pool.
    out: Vec<u8>,
    /// Number of bytes of `out` that are written.
    written: usize,
    /// True after the peer's close frame.
    is_closed: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> WebSocket<S> {
    /// Creates a WebSocket after its upgrade.
    pub fn new(stream: S, encoding: Encoding, compressed: bool) -> Self {
        let decoder = Decoder::new(Role::Server, HELLO_BYTES_MAX).compressed(compressed);
        WebSocket {
            stream,
            decoder,
            encoding,
            compressed,
            closes_plainly: false,
            read_buffer_bytes: buffers::READ_BYTES,
            out: Vec::new(),
            written: 0,
            is_closed: false,
        }
    }

    /// Closes with code 1000 for every reason of the server; the text says more. For protocols without close codes of their
    /// own.
    #[must_use]
    pub fn closing_plainly(mut self) -> Self {
        self.closes_plainly = true;
        self
    }

    /// Sets the most bytes of a read. The connections of a thread share a buffer of this size.
    #[must_use]
    pub fn read_buffer_bytes(mut self, bytes: usize) -> Self {
        self.read_buffer_bytes = bytes;
        self
    }

    fn out(&mut self) -> &mut Vec<u8> {
        if self.out.capacity() == 0 {
            self.out = buffers::take();
        }
        &mut self.out
    }

    /// Decodes input.
    fn decode(&mut self, bytes: &mut [u8], take: MessageSink<'_>) -> Result<(), TransportEnded> {
        let is_text = self.encoding.is_text();
        let mut answers = Vec::new();
        let mut violation = None;
        let mut has_close = false;
        let result = self.decoder.feed(bytes, &mut |incoming| match (incoming, is_text) {
            (Incoming::Binary(message), false) => take(DeliveryPath::Reliable, ReceiveOutcome::Message(message)),
            (Incoming::Text(message), true) => {
                take(DeliveryPath::Reliable, ReceiveOutcome::Message(message.as_bytes()))
            }
            (Incoming::Binary(_) | Incoming::Text(_), _) => {
                violation.get_or_insert(FramingError::WrongKind("the subprotocol uses the other type of message"));
            }
            (Incoming::Ping(payload), _) => {
                // Only the last ping is answered, so a flood of pings does not become a flood of pongs.
                answers.clear();
                codec::frame_bytes(&mut answers, Opcode::Pong, payload);
                take(DeliveryPath::Reliable, ReceiveOutcome::Probe);
            }
            (Incoming::Pong(_), _) => take(DeliveryPath::Reliable, ReceiveOutcome::Probe),
            (Incoming::Close { code, .. }, _) => {
                has_close = true;
                let payload = code.map(|code| codec::close_payload(code, "")).unwrap_or_default();
                codec::frame_bytes(&mut answers, Opcode::Close, &payload);
            }
        });
        if !answers.is_empty() {
            self.out().extend_from_slice(&answers);
        }
        self.is_closed |= has_close;
        if let Err(error) = result {
            return Err(TransportEnded::Violation(error.into()));
        }
        match violation {
            Some(violation) => Err(TransportEnded::Violation(violation)),
            None if self.is_closed => Err(TransportEnded::Closed),
            None => Ok(()),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Transport for WebSocket<S> {
    fn order(&self) -> DeliveryOrder {
        DeliveryOrder::Ordered
    }

    fn encoding(&self) -> Encoding {
        self.encoding
    }

    fn name(&self) -> &'static str {
        "websocket"
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>, take: MessageSink<'_>) -> Poll<Result<(), TransportEnded>> {
        buffers::with_read_buffer(self.read_buffer_bytes, |buffer| {
            let mut read = ReadBuf::new(buffer);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut read)).map_err(|_| TransportEnded::Lost)?;
            match read.filled_mut() {
                [] => Poll::Ready(Err(TransportEnded::Closed)),
                bytes => Poll::Ready(self.decode(bytes, take)),
            }
        })
    }

    fn queue(&mut self, _path: DeliveryPath, message: &[u8]) {
        let opcode = if self.encoding.is_text() { Opcode::Text } else { Opcode::Binary };
        match self.compressed {
            true => codec::compressed_frame(self.out(), opcode, message),
            false => codec::frame_bytes(self.out(), opcode, message),
        }
    }

    fn shared_framing(&self) -> Option<Framing> {
        (matches!(self.encoding, Encoding::Protobuf) && !self.compressed).then_some(Framing::WebSocketBinary)
    }

    fn queue_framed(&mut self, frames: &[u8]) {
        self.out().extend_from_slice(frames);
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportEnded>> {
        while self.written < self.out.len() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.out[self.written..]));
            match written {
                Ok(0) | Err(_) => return Poll::Ready(Err(TransportEnded::Lost)),
                Ok(bytes) => self.written += bytes,
            }
        }
        if self.written > 0 {
            self.written = 0;
            buffers::give(std::mem::take(&mut self.out));
        }
        // A stream with its own buffer, such as TLS, may still hold data.
        Pin::new(&mut self.stream).poll_flush(cx).map_err(|_: io::Error| TransportEnded::Lost)
    }

    fn backlog_bytes(&self) -> usize {
        self.out.len() - self.written
    }

    fn set_message_bytes_max(&mut self, bytes: usize) {
        self.decoder.set_message_bytes_max(bytes);
    }

    fn queue_probe(&mut self) {
        codec::frame_bytes(self.out(), Opcode::Ping, &[]);
    }

    fn queue_close(&mut self, notice: &CloseNotice<'_>) {
        let payload = match notice {
            CloseNotice::Closing(closing) if self.closes_plainly => codec::close_payload(NORMAL_CLOSURE, &closing.text),
            CloseNotice::Closing(closing) => codec::close_payload(close_code(closing.reason), &closing.text),
            CloseNotice::Violation(violation) => {
                codec::close_payload(codec::violation_code(*violation), violation.text())
            }
        };
        codec::frame_bytes(self.out(), Opcode::Close, &payload);
    }

    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.is_closed {
            // Further messages are discarded.
            loop {
                match ready!(self.poll_receive(cx, &mut |_, _| {})) {
                    Ok(()) => {}
                    // After a framing error the rest cannot be decoded; wait for the end of the stream.
                    Err(TransportEnded::Violation(_)) => return self.poll_drained(cx),
                    Err(_) => break,
                }
            }
        }
        Pin::new(&mut self.stream).poll_shutdown(cx).map(|_| ())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> WebSocket<S> {
    /// Discards input until the stream ends.
    fn poll_drained(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let bytes = buffers::with_read_buffer(self.read_buffer_bytes, |buffer| {
                let mut read = ReadBuf::new(buffer);
                Pin::new(&mut self.stream).poll_read(cx, &mut read).map(|done| done.map(|()| read.filled().len()))
            });
            match ready!(bytes) {
                Ok(0) | Err(_) => return Poll::Ready(()),
                Ok(_) => {}
            }
        }
    }
}

/// Returns the close code of a reason: 4000 plus the reason's number, or 1000 for a player who left.
fn close_code(reason: CloseReason) -> u16 {
    match reason {
        CloseReason::Left => NORMAL_CLOSURE,
        reason => 4_000 + reason.number() as u16,
    }
}

impl<S> Drop for WebSocket<S> {
    fn drop(&mut self) {
        buffers::give(std::mem::take(&mut self.out));
    }
}
