//! WebTransport transport.

use super::http3::{self, CriticalStreams};
use super::metrics::DatagramCounters;
use crate::buffers;
use crate::transport::{CloseNotice, MessageSink, ReceiveOutcome, Transport, TransportEnded};
use aether_framing::Framing;
use aether_framing::http3::close_session_frame;
use aether_framing::stream::{self, Decoder};
use aether_framing::websocket::codec::violation_code;
use aether_replication::DeliveryOrder;
use aether_wire::limits::HELLO_BYTES_MAX;
use aether_wire::{DeliveryPath, Encoding};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, unfold};
use futures_util::{FutureExt, StreamExt};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use wtransport::proto::datagram::Datagram;
use wtransport::proto::error::ErrorCode;
use wtransport::proto::ids::{QStreamId, SessionId};
use wtransport::quinn::{Connection, ConnectionError, RecvStream, SendStream, WriteError};

/// First close code of framing errors: the code is this plus the WebSocket close code of the error. Lower codes are the
/// numbers of [`aether_wire::CloseReason`].
pub const CODE_VIOLATION_FIRST: u32 = 0x1000;

/// Most datagrams per turn, so that a flood of them does not block the stream.
const DATAGRAMS_PER_TURN_MAX: usize = 16;

/// Pause between the arrival of the last message and the end of the session. A browser discards unread messages when
/// the session ends; a page that reads the last message closes by itself.
const CLOSE_GRACE: Duration = Duration::from_millis(100);

/// A WebTransport session with one client.
pub struct WebTransport {
    connection: Connection,
    session: SessionId,
    encoding: Encoding,
    dropped: DatagramCounters,
    datagrams: BoxStream<'static, Result<Bytes, ConnectionError>>,
    messages: MessageStream,
    decoder: Decoder,
    /// Resolves when the client ends the session; none after it has resolved.
    session_end: Option<BoxFuture<'static, TransportEnded>>,
    /// End of the session, set after all earlier input was handled.
    ended: Option<TransportEnded>,
    /// Bytes to be written. While empty, the buffer is in the thread's pool.
    out: Vec<u8>,
    /// Number of bytes of `out` that are written.
    written: usize,
    /// Server's side of the CONNECT stream; none once the close has taken it.
    connect: Option<SendStream>,
    close_message: Vec<u8>,
    closing: Option<BoxFuture<'static, ()>>,
}

/// Stream of reliable messages.
enum MessageStream {
    /// The client has not opened it yet.
    Awaited(BoxFuture<'static, Result<(SendStream, RecvStream), TransportEnded>>),
    Open(SendStream, RecvStream),
    /// It was never opened, or is being closed.
    Gone(TransportEnded),
}

impl WebTransport {
    pub(super) fn new(
        connection: Connection,
        session: SessionId,
        connect: (SendStream, RecvStream),
        critical: CriticalStreams,
        encoding: Encoding,
        dropped: DatagramCounters,
    ) -> WebTransport {
        // One allocation serves all datagrams.
        let datagrams = unfold(connection.clone(), async |connection| {
            let datagram = connection.read_datagram().await;
            Some((datagram, connection))
        });
        WebTransport {
            session,
            encoding,
            dropped,
            datagrams: datagrams.boxed(),
            messages: MessageStream::Awaited(http3::message_stream(connection.clone(), session).boxed()),
            decoder: Decoder::new(HELLO_BYTES_MAX),
            session_end: Some(http3::wait_for_end(connection.clone(), connect.1, critical).boxed()),
            ended: None,
            out: Vec::new(),
            written: 0,
            connect: Some(connect.0),
            close_message: close_session_frame(0, ""),
            closing: None,
            connection,
        }
    }

    /// Largest message that currently fits a datagram, in bytes.
    #[must_use]
    pub fn datagram_bytes_max(&self) -> usize {
        let header = Datagram::header_size(self.stream_quarter());
        self.connection.max_datagram_size().unwrap_or(0).saturating_sub(header)
    }

    fn out(&mut self) -> &mut Vec<u8> {
        if self.out.capacity() == 0 {
            self.out = buffers::take();
        }
        &mut self.out
    }

    fn stream_quarter(&self) -> QStreamId {
        QStreamId::from_session_id(self.session)
    }

    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportEnded>> {
        if let MessageStream::Awaited(opening) = &mut self.messages {
            self.messages = match ready!(opening.poll_unpin(cx)) {
                Ok((send, receive)) => MessageStream::Open(send, receive),
                Err(ended) => MessageStream::Gone(ended),
            };
        }
        match self.messages {
            MessageStream::Gone(ended) => Poll::Ready(Err(ended)),
            _ => Poll::Ready(Ok(())),
        }
    }

    /// Reads datagrams. Ready if there were any.
    fn poll_datagrams(&mut self, cx: &mut Context<'_>, take: MessageSink<'_>) -> Poll<Result<(), TransportEnded>> {
        for turn in 0..DATAGRAMS_PER_TURN_MAX {
            match self.datagrams.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(bytes))) => self.handle_datagram(&bytes, take),
                Poll::Ready(Some(Err(error))) if turn == 0 => return Poll::Ready(Err(http3::ended(&error))),
                Poll::Pending if turn == 0 => return Poll::Pending,
                _ => break,
            }
        }
        Poll::Ready(Ok(()))
    }

    fn handle_datagram(&self, bytes: &[u8], take: MessageSink<'_>) {
        let dropped = &self.dropped;
        match Datagram::read(bytes) {
            // Before the stream is open, the client cannot have sent a hello.
            _ if !matches!(self.messages, MessageStream::Open(..)) => dropped.too_early.inc(),
            Ok(datagram) if datagram.qstream_id() == self.stream_quarter() => {
                if datagram.payload().len() > self.decoder.message_bytes_max() {
                    dropped.too_long.inc();
                } else {
                    take(DeliveryPath::Unreliable, ReceiveOutcome::Message(datagram.payload()));
                }
            }
            _ => dropped.out_of_place.inc(),
        }
    }

    /// Reads messages of the stream. Ready if there was input.
    fn poll_messages(&mut self, cx: &mut Context<'_>, take: MessageSink<'_>) -> Poll<Result<(), TransportEnded>> {
        ready!(self.poll_open(cx))?;
        let MessageStream::Open(_, receive) = &mut self.messages else {
            return Poll::Ready(Err(TransportEnded::Closed));
        };
        buffers::with_read_buffer(buffers::READ_BYTES, |buffer| {
            let bytes = ready!(receive.poll_read(cx, buffer)).map_err(|error| http3::stream_ended(&error))?;
            if bytes == 0 {
                return Poll::Ready(Err(TransportEnded::Closed));
            }
            let mut take = |message: &[u8]| take(DeliveryPath::Reliable, ReceiveOutcome::Message(message));
            Poll::Ready(self.decoder.feed(&buffer[..bytes], &mut take).map_err(TransportEnded::Violation))
        })
    }

    fn poll_session_end(&mut self, cx: &mut Context<'_>) -> Poll<TransportEnded> {
        if let Some(session_end) = &mut self.session_end {
            self.ended = Some(ready!(session_end.poll_unpin(cx)));
            self.session_end = None;
        }
        self.ended.map_or(Poll::Pending, Poll::Ready)
    }

    fn send_datagram(&mut self, message: &[u8]) {
        let datagram = Datagram::new(self.stream_quarter(), message);
        let mut bytes = vec![0; datagram.write_size()];
        let fits = datagram.write(&mut bytes).is_ok();
        // If the buffer is full, the oldest datagram is dropped: old state is worth less than new.
        if !fits || self.connection.send_datagram(bytes.into()).is_err() {
            self.dropped.not_sent.inc();
        }
    }
}

impl Transport for WebTransport {
    fn order(&self) -> DeliveryOrder {
        match self.encoding {
            Encoding::Protobuf => DeliveryOrder::Unordered,
            // Their state may be larger than a datagram, so it is sent on the stream.
            Encoding::Json | Encoding::Own(_) => DeliveryOrder::Ordered,
        }
    }

    fn encoding(&self) -> Encoding {
        self.encoding
    }

    fn name(&self) -> &'static str {
        "webtransport"
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>, take: MessageSink<'_>) -> Poll<Result<(), TransportEnded>> {
        if let Some(ended) = self.ended {
            return Poll::Ready(Err(ended));
        }
        let datagrams = self.poll_datagrams(cx, take);
        let messages = self.poll_messages(cx, take);
        if let Poll::Ready(Err(ended @ TransportEnded::Violation(_))) = messages {
            self.ended = Some(ended);
            return Poll::Ready(Err(ended));
        }
        // Input before the end is handled before the end is reported.
        if matches!(datagrams, Poll::Ready(Ok(()))) || matches!(messages, Poll::Ready(Ok(()))) {
            return Poll::Ready(Ok(()));
        }
        let ended = match (messages, datagrams, self.poll_session_end(cx)) {
            (Poll::Ready(Err(ended)), ..) | (_, Poll::Ready(Err(ended)), _) | (.., Poll::Ready(ended)) => ended,
            _ => return Poll::Pending,
        };
        self.ended = Some(ended);
        Poll::Ready(Err(ended))
    }

    fn queue(&mut self, path: DeliveryPath, message: &[u8]) {
        match path {
            DeliveryPath::Unreliable => self.send_datagram(message),
            DeliveryPath::Reliable => stream::append(self.out(), message),
        }
    }

    fn shared_framing(&self) -> Option<Framing> {
        matches!(self.encoding, Encoding::Protobuf).then_some(Framing::Stream)
    }

    fn queue_framed(&mut self, frames: &[u8]) {
        self.out().extend_from_slice(frames);
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportEnded>> {
        if self.out.is_empty() {
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_open(cx))?;
        let MessageStream::Open(send, _) = &mut self.messages else { return Poll::Ready(Err(TransportEnded::Closed)) };
        while self.written < self.out.len() {
            match ready!(Pin::new(&mut *send).poll_write(cx, &self.out[self.written..])) {
                Ok(bytes) => self.written += bytes,
                Err(WriteError::ConnectionLost(error)) => return Poll::Ready(Err(http3::ended(&error))),
                Err(_) => return Poll::Ready(Err(TransportEnded::Closed)),
            }
        }
        self.written = 0;
        buffers::give(std::mem::take(&mut self.out));
        Poll::Ready(Ok(()))
    }

    fn backlog_bytes(&self) -> usize {
        self.out.len() - self.written
    }

    fn set_message_bytes_max(&mut self, bytes: usize) {
        self.decoder.set_message_bytes_max(bytes);
    }

    /// QUIC sends keep-alive probes and has its own idle timeout.
    fn detects_silence(&self) -> bool {
        true
    }

    fn queue_probe(&mut self) {}

    fn queue_close(&mut self, notice: &CloseNotice<'_>) {
        self.close_message = match notice {
            CloseNotice::Closing(closing) => close_session_frame(closing.reason.number(), &closing.text),
            CloseNotice::Violation(violation) => {
                close_session_frame(CODE_VIOLATION_FIRST + u32::from(violation_code(*violation)), violation.text())
            }
        };
        if matches!(self.messages, MessageStream::Awaited(_)) {
            // There is no stream to send queued messages on.
            self.out.clear();
        }
    }

    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Poll::Ready(TransportEnded::Closed | TransportEnded::Lost) = self.poll_session_end(cx) {
            return Poll::Ready(());
        }
        if let Some(connect) = self.connect.take() {
            let messages = match std::mem::replace(&mut self.messages, MessageStream::Gone(TransportEnded::Closed)) {
                MessageStream::Open(send, receive) => Some((send, receive)),
                MessageStream::Awaited(_) | MessageStream::Gone(_) => None,
            };
            let close_message = std::mem::take(&mut self.close_message);
            self.closing = Some(close(self.connection.clone(), messages, connect, close_message).boxed());
        }
        if let Some(closing) = &mut self.closing {
            ready!(closing.poll_unpin(cx));
            self.closing = None;
        }
        Poll::Ready(())
    }
}

impl Drop for WebTransport {
    fn drop(&mut self) {
        self.connection.close(http3::close_code(ErrorCode::NoError), b"");
        buffers::give(std::mem::take(&mut self.out));
    }
}

/// Ends the message stream, then the session, and waits for the client to close the connection.
async fn close(
    connection: Connection,
    messages: Option<(SendStream, RecvStream)>,
    mut connect: SendStream,
    close_message: Vec<u8>,
) {
    // Further input stays unread: a stop frame could reach the client before the last message.
    let mut _unread = None;
    if let Some((mut send, receive)) = messages {
        _unread = Some(receive);
        // Streams are independent, so the close message must wait until the last message has arrived.
        if send.finish().is_ok() {
            let _ = send.stopped().await;
        }
        if tokio::time::timeout(CLOSE_GRACE, connection.closed()).await.is_ok() {
            return;
        }
    }
    if connect.write_all(&close_message).await.is_ok() && connect.finish().is_ok() {
        connection.closed().await;
    }
}
