//! Sending half of a connection.

use std::net::SocketAddr;
use std::time::Duration;

use super::{Closing, Connection, Stage};
use crate::frame::Frame;
use crate::limits::{CLOSE_INTERVAL, CLOSE_LINGER_MAX, CLOSE_REPEATS, DATAGRAM_BYTES_MAX, PACKETS_MAX};
use crate::packet::{FLAG_ACK, FLAG_ACK_NOW, write_header};
use crate::seal::TAG_BYTES;
use crate::state::CloseCause;

/// Code of a close because the key has sealed as many packets as is safe.
const CODE_EXHAUSTED: u16 = 0xFFFE;

/// Packets at the end of a key's life that only inform the peer of the close.
const PACKETS_RESERVED: u64 = 16;

/// Content of the next packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    /// Messages, as many as fit, or else a ping.
    Content,
    /// Acknowledgement and answers to path challenges.
    Control,
    Close(u16),
}

impl Connection {
    /// Writes the next datagram to the end of `out` and returns its destination. `None` if nothing is due: window and
    /// pacing included.
    pub fn poll_transmit(&mut self, now: Duration, out: &mut Vec<u8>) -> Option<SocketAddr> {
        self.now = now;
        self.handle_time(now);
        if matches!(self.stage, Stage::Closed(_)) || !self.recovery.is_number_clear() {
            return None;
        }
        if let Some(path) = &mut self.path
            && let Some(nonce) = path.challenge(now)
        {
            let to = path.address;
            self.write_packet(now, out, |_, out, _| Frame::PathChallenge(nonce).write(out));
            return Some(to);
        }
        match self.due(now)? {
            Due::Content => self.write_packet(now, out, Connection::write_content),
            Due::Control => self.write_packet(now, out, Connection::write_control),
            Due::Close(code) => {
                self.write_packet(now, out, |_, out, _| Frame::Close(code).write(out));
                self.count_close(now);
            }
        }
        Some(self.peer)
    }

    /// Time at which `poll_transmit` may have something to send or to notice.
    pub fn next_timeout(&self) -> Option<Duration> {
        let mut next = self.received_at + self.settings.idle;
        let mut at = |moment: Option<Duration>| next = moment.map_or(next, |moment| moment.min(next));
        match &self.stage {
            Stage::Closed(_) => return None,
            Stage::Closing(closing) if self.is_flushed(closing, self.now) => {
                at(Some(closing.next));
                return Some(next);
            }
            Stage::Closing(closing) => at(closing.linger_until.or(Some(self.now))),
            Stage::Open => at(Some(self.sent_at + self.settings.keep_alive)),
        }
        at(self.receipts.due());
        at(self.recovery.deadline());
        at(self.path.as_ref().and_then(|path| path.next_challenge()));
        if self.has_content() {
            at(self.recovery.ready_at());
        }
        if self.path_response.is_some() || self.is_ping_due || self.recovery.is_probe_due() {
            at(Some(self.now));
        }
        Some(next)
    }

    /// Sets the number of the next packet of both directions, to test the end of a key's life.
    #[doc(hidden)]
    pub fn skip_to_number(&mut self, number: u64) {
        self.recovery.skip_to_number(number);
        self.receipts.window.insert(number - 1);
    }

    fn handle_time(&mut self, now: Duration) {
        if matches!(self.stage, Stage::Closed(_)) {
            return;
        }
        if now.saturating_sub(self.received_at) >= self.settings.idle {
            return self.end(CloseCause::TimedOut);
        }
        self.recovery.handle_time(now, &mut self.outboxes);
        match &mut self.stage {
            Stage::Open if self.recovery.ring.next() + PACKETS_RESERVED >= PACKETS_MAX => {
                self.begin_close(CODE_EXHAUSTED, CloseCause::Exhausted, Some(now));
            }
            Stage::Open if now.saturating_sub(self.sent_at) >= self.settings.keep_alive => {
                self.is_ping_due = true;
                self.release();
            }
            Stage::Closing(closing) => {
                closing.linger_until.get_or_insert(now + CLOSE_LINGER_MAX);
                if closing.sent >= CLOSE_REPEATS {
                    let cause = closing.cause;
                    self.end(cause);
                }
            }
            Stage::Open | Stage::Closed(_) => {}
        }
    }

    fn due(&self, now: Duration) -> Option<Due> {
        if let Stage::Closing(closing) = &self.stage
            && self.is_flushed(closing, now)
        {
            return (closing.next <= now).then_some(Due::Close(closing.code));
        }
        let is_ready = self.recovery.ready_at().is_some_and(|ready_at| ready_at <= now);
        if self.recovery.is_probe_due() || is_ready && self.has_content() || self.is_ping_due {
            return Some(Due::Content);
        }
        let is_ack_due = self.receipts.due().is_some_and(|due| due <= now);
        (is_ack_due || self.path_response.is_some()).then_some(Due::Control)
    }

    /// Writes a packet: header, acknowledgement, the frames that `write` adds, seal.
    fn write_packet(
        &mut self,
        now: Duration,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Connection, &mut Vec<u8>, usize),
    ) {
        let start = out.len();
        let number = self.recovery.ring.next();
        out.reserve(DATAGRAM_BYTES_MAX);
        write_header(out, self.side.sends(), 0, self.id, number);
        let payload_at = out.len();
        let reported = self.receipts.write(now, out);
        if reported.is_some() {
            out[start] |= FLAG_ACK;
        }
        let frames_at = out.len();
        write(self, out, start + DATAGRAM_BYTES_MAX - TAG_BYTES);
        let bytes = out.len() - start + TAG_BYTES;
        let has_content = out.get(frames_at).is_some_and(|first| Frame::is_acknowledged_kind(*first));
        let asked = has_content.then(|| self.recovery.asks_for_ack(bytes));
        if asked == Some(true) {
            out[start] |= FLAG_ACK_NOW;
        }
        self.sealing.seal(number, out, start, payload_at);
        self.recovery.sent(now, bytes, reported, asked);
        self.sent_at = now;
        self.counters.packets_out += 1;
        self.counters.bytes_out += bytes as u64;
    }

    /// Writes messages, as many as fit, or else a ping.
    fn write_content(&mut self, out: &mut Vec<u8>, end: usize) {
        let start = out.len();
        if self.is_unreliable_first {
            self.unreliable.fill(out, end);
        }
        self.counters.resends += self.outboxes.fill(out, end, &mut self.recovery.ring);
        self.unreliable.fill(out, end);
        self.is_unreliable_first = !self.is_unreliable_first;
        if out.len() == start {
            Frame::Ping.write(out);
        }
        self.is_ping_due = false;
        if out.len() + Frame::PATH_RESPONSE_BYTES <= end {
            self.write_control(out, end);
        }
    }

    /// Writes the answer to a path challenge.
    fn write_control(&mut self, out: &mut Vec<u8>, _: usize) {
        if let Some(nonce) = self.path_response.take() {
            Frame::PathResponse(nonce).write(out);
        }
    }

    /// Counts a packet with the close.
    fn count_close(&mut self, now: Duration) {
        if let Stage::Closing(closing) = &mut self.stage {
            closing.sent += 1;
            closing.next = now + CLOSE_INTERVAL;
            if closing.sent >= CLOSE_REPEATS {
                let cause = closing.cause;
                self.end(cause);
            }
        }
    }

    fn has_content(&self) -> bool {
        self.outboxes.has_segment() || !self.unreliable.is_empty()
    }

    /// Returns true if a close waits for nothing any more.
    fn is_flushed(&self, closing: &Closing, now: Duration) -> bool {
        self.outboxes.is_empty() || closing.linger_until.is_some_and(|until| until <= now)
    }
}
