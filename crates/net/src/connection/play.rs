//! The time between welcome and goodbye.

use super::handshake::Entered;
use super::inbound::{Inbound, Inside};
use super::outbound::Outbound;
use super::{End, GOODBYE, write};
use crate::gateway::Gateway;
use crate::lobby::{Entrance, Place};
use crate::readable::Readable;
use crate::transport::Transport;
use aether_engine::closing;
use aether_wire::{CloseReason, Closing, Encoding, ServerMessage};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// How often a connection looks at its session, its silence and its backlog.
const SECOND: Duration = Duration::from_secs(1);
/// Reads in one turn, so that a client that sends without end does not keep its thread from the others.
const READS_PER_TURN: usize = 4;

/// Writes in one turn, for the same reason.
const WRITES_PER_TURN: usize = 4;

/// Bytes of answers that may wait for a client.
const BACKLOG_BYTES_MAX: usize = 65_536;

/// Carries messages both ways until one side ends it.
pub(super) async fn play(gateway: &Gateway, transport: &mut impl Transport, entered: Entered) -> End {
    let Entered { entrance, hello_at, .. } = entered;
    let encoding = transport.encoding();
    let readable = match (&entrance.place, encoding) {
        (Place::Room { room, .. }, Encoding::Json) => {
            Some(Box::new(Readable::new(room.schema(), room.settings().seconds_per_tick())))
        }
        _ => None,
    };
    let mut session = Session {
        gateway,
        inbound: Inbound::new(gateway, encoding, &entrance),
        outbound: Outbound::new(hello_at),
        entrance,
        readable,
        stalled_since: None,
        told_of_stop: false,
    };
    let mut second = pin!(sleep(SECOND));
    poll_fn(|cx| session.turn(transport, second.as_mut(), cx)).await
}

struct Session<'a> {
    gateway: &'a Gateway,
    entrance: Entrance,
    inbound: Inbound<'a>,
    outbound: Outbound,
    /// For a client that speaks in words.
    readable: Option<Box<Readable>>,
    /// Since when the client takes nothing although something waits.
    stalled_since: Option<Duration>,
    told_of_stop: bool,
}

impl Session<'_> {
    /// Does what can be done now: reads, answers, writes, and looks at the time.
    fn turn(&mut self, transport: &mut impl Transport, second: Pin<&mut Sleep>, cx: &mut Context<'_>) -> Poll<End> {
        match &self.entrance.place {
            Place::Room { link, .. } => link.wake_by(cx.waker()),
            Place::Relay(seat) => seat.wake_by(cx.waker()),
        }
        // Whoever does not take the answers is not asked for more questions: the link itself pushes back.
        if transport.backlog_bytes() < BACKLOG_BYTES_MAX
            && let Poll::Ready(end) = self.receive(transport, cx)
        {
            return Poll::Ready(end);
        }
        self.look_at_the_time(transport, second, cx);
        if let Poll::Ready(end) = self.send(transport, cx) {
            return Poll::Ready(end);
        }
        match self.inbound.end.take() {
            Some(end) => Poll::Ready(end),
            None => Poll::Pending,
        }
    }

    fn receive(&mut self, transport: &mut impl Transport, cx: &mut Context<'_>) -> Poll<End> {
        for _ in 0..READS_PER_TURN {
            let now = self.gateway.now();
            let inbound = &mut self.inbound;
            let inside = Inside { entrance: &self.entrance, readable: self.readable.as_deref() };
            let received = transport.poll_receive(cx, &mut |_, received| inbound.receive(now, received, &inside));
            match received {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(ended)) => return Poll::Ready(self.inbound.end.take().unwrap_or_else(|| ended.into())),
            }
        }
        // There may be more; it has its turn after the others.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Writes what is queued, and takes more only when the link is free: a slow client gets the newest state, and never a
    /// queue of old ones.
    fn send(&mut self, transport: &mut impl Transport, cx: &mut Context<'_>) -> Poll<End> {
        let mut answered_at = (!self.inbound.answers.is_empty()).then(|| self.gateway.now());
        for (path, answer) in self.inbound.answers.drain(..) {
            write(&self.gateway.counters, transport, path, &answer);
        }
        for _ in 0..WRITES_PER_TURN {
            let backlog = transport.backlog_bytes();
            match transport.poll_flush(cx) {
                Poll::Ready(Ok(())) => self.stalled_since = None,
                Poll::Ready(Err(ended)) => return Poll::Ready(ended.into()),
                Poll::Pending => return self.stall(transport.backlog_bytes() < backlog),
            }
            if let Some(answered_at) = answered_at.take() {
                let took = self.gateway.now().saturating_sub(answered_at);
                self.gateway.counters.pong_dispatch.observe(took.as_secs_f64());
            }
            if !Outbound::has_news(&self.entrance.place) {
                return Poll::Pending;
            }
            let readable = self.readable.as_deref_mut();
            if let Some(end) = self.outbound.fill(self.gateway, transport, &self.entrance.place, readable) {
                return Poll::Ready(end);
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// The client takes no more for now. It is slow only if nothing moves for long.
    fn stall(&mut self, moved: bool) -> Poll<End> {
        let now = self.gateway.now();
        let since = if moved { now } else { self.stalled_since.unwrap_or(now) };
        self.stalled_since = Some(since);
        // The room may have closed meanwhile; what it said last has a moment to get out.
        match self.outbound.closing(&self.entrance.place) {
            Some(closing) if now.saturating_sub(since) > GOODBYE => Poll::Ready(End::Told(closing)),
            _ => Poll::Pending,
        }
    }

    fn look_at_the_time(&mut self, transport: &mut impl Transport, mut second: Pin<&mut Sleep>, cx: &mut Context<'_>) {
        while second.as_mut().poll(cx).is_ready() {
            second.as_mut().reset(Instant::now() + SECOND);
            let now = self.gateway.now();
            self.inbound.each_second(now, &self.entrance);
            let settings = &self.gateway.settings;
            let silent = now.saturating_sub(self.inbound.heard_at);
            if transport.notices_silence() {
                // It ends the link by itself.
            } else if silent > settings.idle {
                self.inbound.end.get_or_insert_with(|| End::told(CloseReason::TimedOut));
            } else if silent > settings.idle / 2 {
                transport.queue_probe();
            }
            if self.stalled_since.is_some_and(|since| now.saturating_sub(since) > settings.write_stall) {
                self.inbound.end.get_or_insert_with(|| End::told(CloseReason::TooSlow));
            }
            self.tell_of_stop(transport);
        }
    }

    /// Once, when the server is about to stop.
    fn tell_of_stop(&mut self, transport: &mut impl Transport) {
        let Some(deadline_ms) = self.gateway.stopping().filter(|_| !self.told_of_stop) else { return };
        self.told_of_stop = true;
        let notice = Closing { deadline_ms, ..closing(CloseReason::Shutdown) };
        write(&self.gateway.counters, transport, crate::Path::Reliable, &ServerMessage::Closing(notice));
    }
}
