//! A WebTransport session as a transport.

use super::counters::DatagramCounters;
use super::http3::{self, CriticalStreams};
use crate::buffers;
use crate::transport::{CloseNotice, MessageSink, ReceiveOutcome, Transport, TransportEnded};
use aether_framing::Framing;
use aether_framing::http3::goodbye;
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

/// The code of a session that was closed because of a violation is this plus the WebSocket close code
/// of the violation. The codes below
/// are the numbers of [`aether_wire::CloseReason`].
pub const CODE_VIOLATION_FIRST: u32 = 0x1000;

/// Datagrams that are taken in at a time, so that a flood of them cannot keep the stream waiting.
const DATAGRAMS_PER_TURN_MAX: usize = 16;

/// How long the end of the session waits after the last message has arrived. A browser throws away what its page has not
/// read when the session ends; a page that reads the last message closes by itself.
const GOODBYE_GRACE: Duration = Duration::from_millis(100);

/// A WebTransport session with one client.
pub struct WebTransport {
    connection: Connection,
    session: SessionId,
    encoding: Encoding,
    dropped: DatagramCounters,
    datagrams: BoxStream<'static, Result<Bytes, ConnectionError>>,
    messages: Messages,
    decoder: Decoder,
    /// Resolves when the client ends the session; none after it did.
    watch: Option<BoxFuture<'static, TransportEnded>>,
    /// How it ended, once everything that came before has been heard.
    ended: Option<TransportEnded>,
    /// What waits to be written; it belongs to the thread's pool while there is nothing.
    out: Vec<u8>,
    /// How much of it was written.
    written: usize,
    /// Our side of the stream on which the session was asked for; none after the goodbye took it.
    connect: Option<SendStream>,
    goodbye: Vec<u8>,
    closing: Option<BoxFuture<'static, ()>>,
}

/// The stream of all messages that must arrive.
enum Messages {
    /// The client has not opened it yet.
    Awaited(BoxFuture<'static, Result<(SendStream, RecvStream), TransportEnded>>),
    Open(SendStream, RecvStream),
    /// It never came to be, or it is being closed.
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
        // It borrows the connection anew for each datagram within one allocation for all.
        let datagrams = unfold(connection.clone(), async |connection| {
            let datagram = connection.read_datagram().await;
            Some((datagram, connection))
        });
        WebTransport {
            session,
            encoding,
            dropped,
            datagrams: datagrams.boxed(),
            messages: Messages::Awaited(http3::message_stream(connection.clone(), session).boxed()),
            decoder: Decoder::new(HELLO_BYTES_MAX),
            watch: Some(http3::watch(connection.clone(), connect.1, critical).boxed()),
            ended: None,
            out: Vec::new(),
            written: 0,
            connect: Some(connect.0),
            goodbye: goodbye(0, ""),
            closing: None,
            connection,
        }
    }

    /// Bytes of the longest message that now fits a datagram.
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
        if let Messages::Awaited(opening) = &mut self.messages {
            self.messages = match ready!(opening.poll_unpin(cx)) {
                Ok((send, receive)) => Messages::Open(send, receive),
                Err(ended) => Messages::Gone(ended),
            };
        }
        match self.messages {
            Messages::Gone(ended) => Poll::Ready(Err(ended)),
            _ => Poll::Ready(Ok(())),
        }
    }

    /// Takes in datagrams; ready if any came.
    fn poll_datagrams(&mut self, cx: &mut Context<'_>, take: MessageSink<'_>) -> Poll<Result<(), TransportEnded>> {
        for turn in 0..DATAGRAMS_PER_TURN_MAX {
            match self.datagrams.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(bytes))) => self.take_datagram(&bytes, take),
                Poll::Ready(Some(Err(error))) if turn == 0 => return Poll::Ready(Err(http3::ended(&error))),
                Poll::Pending if turn == 0 => return Poll::Pending,
                _ => break,
            }
        }
        Poll::Ready(Ok(()))
    }

    fn take_datagram(&self, bytes: &[u8], take: MessageSink<'_>) {
        let dropped = &self.dropped;
        match Datagram::read(bytes) {
            // Before the stream is open the client cannot have said hello.
            _ if !matches!(self.messages, Messages::Open(..)) => dropped.too_early.inc(),
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

    /// Takes in what the stream brought; ready if anything came.
    fn poll_messages(&mut self, cx: &mut Context<'_>, take: MessageSink<'_>) -> Poll<Result<(), TransportEnded>> {
        ready!(self.poll_open(cx))?;
        let Messages::Open(_, receive) = &mut self.messages else { return Poll::Ready(Err(TransportEnded::Closed)) };
        buffers::with_read_buffer(|buffer| {
            let bytes = ready!(receive.poll_read(cx, buffer)).map_err(|error| http3::stream_ended(&error))?;
            if bytes == 0 {
                return Poll::Ready(Err(TransportEnded::Closed));
            }
            let mut take = |message: &[u8]| take(DeliveryPath::Reliable, ReceiveOutcome::Message(message));
            Poll::Ready(self.decoder.feed(&buffer[..bytes], &mut take).map_err(TransportEnded::Violation))
        })
    }

    fn poll_watch(&mut self, cx: &mut Context<'_>) -> Poll<TransportEnded> {
        if let Some(watch) = &mut self.watch {
            self.ended = Some(ready!(watch.poll_unpin(cx)));
            self.watch = None;
        }
        self.ended.map_or(Poll::Pending, Poll::Ready)
    }

    fn send_datagram(&mut self, message: &[u8]) {
        let datagram = Datagram::new(self.stream_quarter(), message);
        let mut bytes = vec![0; datagram.write_size()];
        let fits = datagram.write(&mut bytes).is_ok();
        // When its buffer is full, the oldest datagram makes room: old state is worth less than new.
        if !fits || self.connection.send_datagram(bytes.into()).is_err() {
            self.dropped.not_sent.inc();
        }
    }
}

impl Transport for WebTransport {
    fn link(&self) -> DeliveryOrder {
        match self.encoding {
            Encoding::Protobuf => DeliveryOrder::Unordered,
            Encoding::Json => DeliveryOrder::Ordered,
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
        // What came before the end is heard before the end is told.
        if matches!(datagrams, Poll::Ready(Ok(()))) || matches!(messages, Poll::Ready(Ok(()))) {
            return Poll::Ready(Ok(()));
        }
        let ended = match (messages, datagrams, self.poll_watch(cx)) {
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
        (self.encoding == Encoding::Protobuf).then_some(Framing::Stream)
    }

    fn queue_framed(&mut self, frames: &[u8]) {
        self.out().extend_from_slice(frames);
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportEnded>> {
        if self.out.is_empty() {
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_open(cx))?;
        let Messages::Open(send, _) = &mut self.messages else { return Poll::Ready(Err(TransportEnded::Closed)) };
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

    /// QUIC asks by itself when the link is quiet, and ends it when nothing comes back.
    fn notices_silence(&self) -> bool {
        true
    }

    fn queue_probe(&mut self) {}

    fn queue_close(&mut self, end: &CloseNotice<'_>) {
        self.goodbye = match end {
            CloseNotice::Closing(closing) => goodbye(closing.reason.number(), &closing.text),
            CloseNotice::Violation(violation) => {
                goodbye(CODE_VIOLATION_FIRST + u32::from(violation_code(*violation)), violation.text())
            }
        };
        if matches!(self.messages, Messages::Awaited(_)) {
            // There is no stream on which the client could be told anything else.
            self.out.clear();
        }
    }

    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Poll::Ready(TransportEnded::Closed | TransportEnded::Lost) = self.poll_watch(cx) {
            return Poll::Ready(());
        }
        if let Some(connect) = self.connect.take() {
            let messages = match std::mem::replace(&mut self.messages, Messages::Gone(TransportEnded::Closed)) {
                Messages::Open(send, receive) => Some((send, receive)),
                Messages::Awaited(_) | Messages::Gone(_) => None,
            };
            let goodbye = std::mem::take(&mut self.goodbye);
            self.closing = Some(close(self.connection.clone(), messages, connect, goodbye).boxed());
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

/// Ends the stream, then the session, and waits for the client to hang up.
async fn close(
    connection: Connection,
    messages: Option<(SendStream, RecvStream)>,
    mut connect: SendStream,
    goodbye: Vec<u8>,
) {
    // Whatever the client still sends stays unread; a stop could reach its program before the last message does.
    let mut _unread = None;
    if let Some((mut send, receive)) = messages {
        _unread = Some(receive);
        // Streams overtake each other, so the goodbye must not be sent before the last message is there.
        if send.finish().is_ok() {
            let _ = send.stopped().await;
        }
        if tokio::time::timeout(GOODBYE_GRACE, connection.closed()).await.is_ok() {
            return;
        }
    }
    if connect.write_all(&goodbye).await.is_ok() && connect.finish().is_ok() {
        connection.closed().await;
    }
}
