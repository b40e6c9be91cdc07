//! Driver of a connection: reads, writes and checks deadlines, for any transport and protocol.

use super::CLOSE_TIMEOUT;
use super::end::ConnectionEnd;
use super::meter::RateMeter;
use super::outgoing::OutgoingMessages;
use crate::connections::Connections;
use crate::protocol::Protocol;
use crate::transport::{ReceiveOutcome, Transport, TransportEnded};
use aether_wire::{CloseReason, DeliveryPath};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// Interval of the checks of session, idle timeout and write stall.
const SECOND: Duration = Duration::from_secs(1);

/// Most reads per turn, so that a peer that sends continuously does not starve other connections.
const READS_PER_TURN: usize = 4;

/// Most writes per turn, for the same reason.
const WRITES_PER_TURN: usize = 4;

/// Driver of one connection.
///
/// The timer is the deadline of the handshake until the protocol is open, and then fires each second.
pub(super) struct Driver<'a, T, P> {
    connections: &'a Connections,
    transport: &'a mut T,
    protocol: P,
    meter: RateMeter<'a>,
    /// End of the transport, while the protocol still handles earlier messages.
    ended: Option<TransportEnded>,
    /// Time since which the peer has taken no data while output is waiting.
    stalled_since: Option<Duration>,
    stop_announced: bool,
    /// Number of the last announced drain.
    drain_announced: u32,
}

impl<'a, T: Transport, P: Protocol> Driver<'a, T, P> {
    pub fn new(connections: &'a Connections, transport: &'a mut T, protocol: P) -> Driver<'a, T, P> {
        transport.set_message_bytes_max(protocol.message_bytes_max());
        let meter = RateMeter::new(&connections.metrics, protocol.rates(), connections.now());
        Driver {
            connections,
            transport,
            protocol,
            meter,
            ended: None,
            stalled_since: None,
            stop_announced: false,
            drain_announced: 0,
        }
    }

    /// Reads, works, checks deadlines and writes, without waiting.
    pub fn turn(&mut self, mut timer: Pin<&mut Sleep>, cx: &mut Context<'_>) -> Poll<ConnectionEnd> {
        self.open_if_ready(timer.as_mut());
        // A transport wakes the task for new input only after it returned pending, not for input that was left unread.
        let mut has_unread = true;
        if self.can_read()
            && let Poll::Ready(end) = self.receive(cx, &mut has_unread)
        {
            return Poll::Ready(end);
        }
        self.protocol.poll_work(cx, &mut self.meter);
        self.open_if_ready(timer.as_mut());
        self.check_time(timer, cx);
        if let Poll::Ready(end) = self.send(cx) {
            return Poll::Ready(end);
        }
        if let Some(end) = self.meter.take_end() {
            return Poll::Ready(end);
        }
        if has_unread && self.can_read() {
            // Other tasks run before the next turn.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Lets the protocol write its last messages, and drops it with its resources.
    pub fn finish(mut self, mut end: ConnectionEnd) -> ConnectionEnd {
        let mut out = OutgoingMessages::new(&self.connections.metrics, self.transport);
        self.protocol.handle_end(&mut end, &mut out);
        end
    }

    /// Starts rates and the one-second timer once the handshake is done.
    fn open_if_ready(&mut self, timer: Pin<&mut Sleep>) {
        if self.meter.is_open() || !self.protocol.is_open() {
            return;
        }
        self.meter.open(self.protocol.rates(), self.connections.now());
        self.transport.set_message_bytes_max(self.protocol.message_bytes_max());
        self.stalled_since = None;
        timer.reset(Instant::now() + SECOND);
    }

    /// Returns false for a busy protocol, and for a peer that does not read its answers: the transport holds it back.
    fn can_read(&self) -> bool {
        let backlog_bytes_max = self.connections.settings.write_buffer_bytes;
        self.protocol.can_receive() && self.transport.backlog_bytes() < backlog_bytes_max
    }

    fn receive(&mut self, cx: &mut Context<'_>, has_unread: &mut bool) -> Poll<ConnectionEnd> {
        for _ in 0..READS_PER_TURN {
            if let Some(ended) = self.ended {
                return Poll::Ready(self.meter.take_end().unwrap_or_else(|| ended.into()));
            }
            let (protocol, meter, connections) = (&mut self.protocol, &mut self.meter, self.connections);
            let metrics = &connections.metrics;
            // Read once, and only if there is input: most turns end with a read that finds none.
            let mut now = None;
            let received = self.transport.poll_receive(cx, &mut |path, received| {
                if meter.has_end() {
                    return;
                }
                meter.note_received(*now.get_or_insert_with(|| connections.now()));
                match received {
                    ReceiveOutcome::Probe => meter.count_probe(),
                    ReceiveOutcome::Message(bytes) => {
                        metrics.bytes_in.add(bytes.len() as u64);
                        if !handle(protocol, path, bytes, meter) {
                            metrics.decode_errors.inc();
                        }
                    }
                }
            });
            match received {
                Poll::Pending => {
                    *has_unread = false;
                    return Poll::Pending;
                }
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(ended)) => self.ended = Some(ended),
            }
            // Messages before the end are handled before the end counts.
            if !self.protocol.can_receive() {
                return Poll::Pending;
            }
        }
        Poll::Pending
    }

    /// Flushes queued output, and takes more only when all of it is written: a slow peer gets the newest state, never a
    /// queue of old states.
    fn send(&mut self, cx: &mut Context<'_>) -> Poll<ConnectionEnd> {
        let metrics = &self.connections.metrics;
        let answered = self.protocol.answer(&mut OutgoingMessages::new(metrics, self.transport));
        let mut answered_at = answered.then(|| self.connections.now());
        for _ in 0..WRITES_PER_TURN {
            let backlog = self.transport.backlog_bytes();
            match self.transport.poll_flush(cx) {
                Poll::Ready(Ok(())) => self.stalled_since = None,
                Poll::Ready(Err(ended)) => return Poll::Ready(ended.into()),
                Poll::Pending => return self.stall(self.transport.backlog_bytes() < backlog),
            }
            if let Some(answered_at) = answered_at.take() {
                let took = self.connections.now().saturating_sub(answered_at);
                metrics.answer_dispatch.observe(took.as_secs_f64());
            }
            if !self.protocol.has_output() {
                return Poll::Pending;
            }
            if let Some(end) = self.protocol.fill(&mut OutgoingMessages::new(metrics, self.transport)) {
                return Poll::Ready(end);
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Notes that the peer takes no more data. `progressed` is true if it has taken some.
    fn stall(&mut self, progressed: bool) -> Poll<ConnectionEnd> {
        let now = self.connections.now();
        let since = if progressed { now } else { self.stalled_since.unwrap_or(now) };
        self.stalled_since = Some(since);
        // If the protocol has closed, its last messages have a limited time to be written.
        match self.protocol.closing() {
            Some(closing) if now.saturating_sub(since) > CLOSE_TIMEOUT => {
                Poll::Ready(ConnectionEnd::Closing(closing.clone()))
            }
            _ => Poll::Pending,
        }
    }

    fn check_time(&mut self, mut timer: Pin<&mut Sleep>, cx: &mut Context<'_>) {
        while timer.as_mut().poll(cx).is_ready() {
            timer.as_mut().reset(Instant::now() + SECOND);
            if !self.meter.is_open() {
                let closing = self.protocol.handle_deadline();
                self.meter.end(ConnectionEnd::Closing(closing));
                continue;
            }
            let now = self.connections.now();
            let is_active = self.meter.pass_second(now);
            self.protocol.handle_second(is_active, &mut self.meter);
            self.check_silence(now);
            let write_stall = self.connections.settings.write_stall;
            if self.stalled_since.is_some_and(|since| now.saturating_sub(since) > write_stall) {
                self.meter.close(CloseReason::TooSlow);
            }
            self.announce_stop();
            self.announce_drain();
        }
    }

    fn check_silence(&mut self, now: Duration) {
        let idle = self.connections.settings.idle;
        let ping = self.connections.settings.ping.unwrap_or(idle / 2);
        let silence = self.meter.silence(now);
        if self.transport.detects_silence() {
            // The transport has its own idle timeout.
        } else if silence > idle {
            self.meter.close(CloseReason::TimedOut);
        } else if silence > ping {
            self.transport.queue_probe();
        }
    }

    /// Announces once that the server drains.
    fn announce_drain(&mut self) {
        let number = self.connections.drain();
        if number != 0 && number != self.drain_announced {
            self.drain_announced = number;
            self.protocol.handle_drain(&mut OutgoingMessages::new(&self.connections.metrics, self.transport));
        }
    }

    /// Announces once that the server is about to stop.
    fn announce_stop(&mut self) {
        let Some(deadline_ms) = self.connections.stopping().filter(|_| !self.stop_announced) else { return };
        self.stop_announced = true;
        self.protocol.handle_stop(deadline_ms, &mut OutgoingMessages::new(&self.connections.metrics, self.transport));
    }
}

/// Handles one message. Returns false if it cannot be decoded.
fn handle<P: Protocol>(protocol: &mut P, path: DeliveryPath, bytes: &[u8], meter: &mut RateMeter<'_>) -> bool {
    match protocol.decode(bytes) {
        Ok(message) => {
            // During the handshake, strikes and the deadline limit the peer instead of rates.
            if !meter.is_open() || meter.admits(protocol.class(&message)) {
                protocol.handle_message(path, message, meter);
            } else {
                protocol.handle_excess(message);
            }
            true
        }
        Err(error) => {
            protocol.handle_unreadable(error, meter);
            meter.strike_unreadable();
            false
        }
    }
}
