//! Drives a connection: reads, writes and watches the time, whatever the transport and the protocol.

use super::GOODBYE;
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

/// Interval at which a connection checks its session, its silence and its backlog.
const SECOND: Duration = Duration::from_secs(1);

/// Reads in one turn, so that a peer that sends without end does not keep its thread from the others.
const READS_PER_TURN: usize = 4;

/// Writes in one turn, for the same reason.
const WRITES_PER_TURN: usize = 4;

/// Bytes of answers that may wait for a peer.
const BACKLOG_BYTES_MAX: usize = 65_536;

/// One connection.
///
/// The timer is the deadline of the opening until the protocol is open, and then fires each second.
pub(super) struct Driver<'a, T, P> {
    connections: &'a Connections,
    transport: &'a mut T,
    protocol: P,
    meter: RateMeter<'a>,
    /// End of the transport, while the protocol still works on what came before.
    ended: Option<TransportEnded>,
    /// Time since which the peer takes nothing although something waits.
    stalled_since: Option<Duration>,
    told_of_stop: bool,
}

impl<'a, T: Transport, P: Protocol> Driver<'a, T, P> {
    pub fn new(connections: &'a Connections, transport: &'a mut T, protocol: P) -> Driver<'a, T, P> {
        transport.set_message_bytes_max(protocol.message_bytes_max());
        let meter = RateMeter::new(&connections.counters, protocol.rates(), connections.now());
        Driver { connections, transport, protocol, meter, ended: None, stalled_since: None, told_of_stop: false }
    }

    /// Reads, works, watches the time and writes, as far as that goes without waiting.
    pub fn turn(&mut self, mut timer: Pin<&mut Sleep>, cx: &mut Context<'_>) -> Poll<ConnectionEnd> {
        self.open(timer.as_mut());
        // A transport wakes the task for what comes after it was read to its end, and not for what was left in it.
        let mut has_unread = true;
        if self.can_read()
            && let Poll::Ready(end) = self.receive(cx, &mut has_unread)
        {
            return Poll::Ready(end);
        }
        self.protocol.poll_work(cx, &mut self.meter);
        self.open(timer.as_mut());
        self.check_time(timer, cx);
        if let Poll::Ready(end) = self.send(cx) {
            return Poll::Ready(end);
        }
        if let Some(end) = self.meter.take_end() {
            return Poll::Ready(end);
        }
        if has_unread && self.can_read() {
            // It has its turn after the others.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Has the protocol say its last words. The protocol is over, and gives back what it holds.
    pub fn finish(mut self, mut end: ConnectionEnd) -> ConnectionEnd {
        let mut out = OutgoingMessages::new(&self.connections.counters, self.transport);
        self.protocol.handle_end(&mut end, &mut out);
        end
    }

    /// Starts the rates and the seconds of a peer that the protocol has let in.
    fn open(&mut self, timer: Pin<&mut Sleep>) {
        if self.meter.is_open() || !self.protocol.is_open() {
            return;
        }
        self.meter.open(self.protocol.rates(), self.connections.now());
        self.transport.set_message_bytes_max(self.protocol.message_bytes_max());
        self.stalled_since = None;
        timer.reset(Instant::now() + SECOND);
    }

    /// Returns false for a busy protocol, and for a peer that does not take its answers: the link itself pushes back.
    fn can_read(&self) -> bool {
        self.protocol.can_receive() && self.transport.backlog_bytes() < BACKLOG_BYTES_MAX
    }

    fn receive(&mut self, cx: &mut Context<'_>, has_unread: &mut bool) -> Poll<ConnectionEnd> {
        for _ in 0..READS_PER_TURN {
            if let Some(ended) = self.ended {
                return Poll::Ready(self.meter.take_end().unwrap_or_else(|| ended.into()));
            }
            let now = self.connections.now();
            let (protocol, meter) = (&mut self.protocol, &mut self.meter);
            let counters = &self.connections.counters;
            let received = self.transport.poll_receive(cx, &mut |path, received| {
                if meter.has_end() {
                    return;
                }
                meter.note_received(now);
                match received {
                    ReceiveOutcome::Probe => meter.count_probe(),
                    ReceiveOutcome::Message(bytes) => {
                        counters.bytes_in.add(bytes.len() as u64);
                        if !handle(protocol, path, bytes, meter) {
                            counters.decode_errors.inc();
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
            // What came before an end is worked on before the end counts.
            if !self.protocol.can_receive() {
                return Poll::Pending;
            }
        }
        Poll::Pending
    }

    /// Writes what is queued, and takes more only when the link is free: a slow peer gets the newest state, and never a
    /// queue of old ones.
    fn send(&mut self, cx: &mut Context<'_>) -> Poll<ConnectionEnd> {
        let counters = &self.connections.counters;
        let answered = self.protocol.answer(&mut OutgoingMessages::new(counters, self.transport));
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
                counters.answer_dispatch.observe(took.as_secs_f64());
            }
            if !self.protocol.has_output() {
                return Poll::Pending;
            }
            if let Some(end) = self.protocol.fill(&mut OutgoingMessages::new(counters, self.transport)) {
                return Poll::Ready(end);
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Notes that the peer takes no more for now. It is slow only if nothing moves for long.
    fn stall(&mut self, moved: bool) -> Poll<ConnectionEnd> {
        let now = self.connections.now();
        let since = if moved { now } else { self.stalled_since.unwrap_or(now) };
        self.stalled_since = Some(since);
        // The protocol may have closed meanwhile; what it said last has a moment to get out.
        match self.protocol.closing() {
            Some(closing) if now.saturating_sub(since) > GOODBYE => Poll::Ready(ConnectionEnd::Told(closing.clone())),
            _ => Poll::Pending,
        }
    }

    fn check_time(&mut self, mut timer: Pin<&mut Sleep>, cx: &mut Context<'_>) {
        while timer.as_mut().poll(cx).is_ready() {
            timer.as_mut().reset(Instant::now() + SECOND);
            if !self.meter.is_open() {
                let late = self.protocol.handle_deadline();
                self.meter.end(ConnectionEnd::Told(late));
                continue;
            }
            let now = self.connections.now();
            let was_heard = self.meter.pass_second(now);
            self.protocol.handle_second(was_heard, &mut self.meter);
            self.check_silence(now);
            let write_stall = self.connections.settings.write_stall;
            if self.stalled_since.is_some_and(|since| now.saturating_sub(since) > write_stall) {
                self.meter.close(CloseReason::TooSlow);
            }
            self.tell_of_stop();
        }
    }

    fn check_silence(&mut self, now: Duration) {
        let idle = self.connections.settings.idle;
        let silence = self.meter.silence(now);
        if self.transport.notices_silence() {
            // It ends the link by itself.
        } else if silence > idle {
            self.meter.close(CloseReason::TimedOut);
        } else if silence > idle / 2 {
            self.transport.queue_probe();
        }
    }

    /// Announces, once, that the server is about to stop.
    fn tell_of_stop(&mut self) {
        let Some(deadline_ms) = self.connections.stopping().filter(|_| !self.told_of_stop) else { return };
        self.told_of_stop = true;
        self.protocol.handle_stop(deadline_ms, &mut OutgoingMessages::new(&self.connections.counters, self.transport));
    }
}

/// Handles one message; false if it cannot be read.
fn handle<P: Protocol>(protocol: &mut P, path: DeliveryPath, bytes: &[u8], meter: &mut RateMeter<'_>) -> bool {
    match protocol.decode(bytes) {
        Ok(message) => {
            // Before the peer is in, strikes and the deadline bound what it sends.
            if !meter.is_open() || meter.admits(protocol.class(&message)) {
                protocol.handle_message(path, message, meter);
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
