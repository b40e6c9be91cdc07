//! Receiving half of a connection.

use std::net::SocketAddr;
use std::time::Duration;

use super::{Connection, Stage};
use crate::ack::{Ack, Receipt};
use crate::bytes::Reader;
use crate::channel::Channel;
use crate::channels::{Inboxes, Violation};
use crate::drop_reason::DropReason;
use crate::frame::Frame;
use crate::limits::{DATAGRAM_BYTES_MAX, FORGERIES_MAX};
use crate::packet::{FLAG_ACK, FLAG_ACK_NOW, Kind, NUMBER_BYTES, Side, expand_number, header_bytes};
use crate::path::PathCandidate;
use crate::seal::TAG_BYTES;
use crate::state::CloseCause;

/// Code of a close because of an authentic packet that breaks a rule.
const CODE_VIOLATION: u16 = 0xFFFF;

/// Opened packet, without its payload.
#[derive(Clone, Copy)]
struct Envelope {
    from: SocketAddr,
    number: u64,
    flags: u8,
}

impl Connection {
    /// Opens a datagram in place and passes every message to `take`.
    ///
    /// # Errors
    /// Returns the reason if the datagram was dropped.
    pub fn handle(
        &mut self,
        now: Duration,
        from: SocketAddr,
        datagram: &mut [u8],
        take: &mut dyn FnMut(Channel, &[u8]),
    ) -> Result<(), DropReason> {
        if matches!(self.stage, Stage::Closed(_)) {
            return Err(DropReason::Closed);
        }
        self.now = now;
        let (flags, number) = self.read_header(from, datagram)?;
        let payload_at = header_bytes(self.side.receives());
        let bytes = datagram.len();
        let Some(payload) = self.opening.open(number, datagram, payload_at) else {
            self.count_forgery();
            return Err(DropReason::BadSeal);
        };
        self.counters.packets_in += 1;
        self.counters.bytes_in += bytes as u64;
        self.handle_payload(now, Envelope { from, number, flags }, payload, take)
    }

    /// Handles a payload as if it had come in an authentic packet, for fuzzing of what is behind the seal.
    #[doc(hidden)]
    pub fn handle_opened(
        &mut self,
        now: Duration,
        flags: u8,
        payload: &[u8],
        take: &mut dyn FnMut(Channel, &[u8]),
    ) -> Result<(), DropReason> {
        if matches!(self.stage, Stage::Closed(_)) {
            return Err(DropReason::Closed);
        }
        self.now = now;
        let envelope = Envelope { from: self.peer, number: self.receipts.window.expected(), flags };
        self.handle_payload(now, envelope, payload, take)
    }

    /// Returns flags and number of a packet that may be new.
    fn read_header(&self, from: SocketAddr, datagram: &[u8]) -> Result<(u8, u64), DropReason> {
        if self.side == Side::Client && from != self.peer {
            return Err(DropReason::OtherAddress);
        }
        let kind = self.side.receives();
        let number_at = header_bytes(kind) - NUMBER_BYTES;
        let first = *datagram.first().ok_or(DropReason::TooShort)?;
        if Kind::of(first) != Some(kind) {
            return Err(DropReason::Unknown);
        }
        if datagram.len() < header_bytes(kind) + TAG_BYTES {
            return Err(DropReason::TooShort);
        }
        if datagram.len() > DATAGRAM_BYTES_MAX {
            return Err(DropReason::TooLong);
        }
        let low = Reader(&datagram[number_at..]).u16().ok_or(DropReason::TooShort)?;
        let number = expand_number(self.receipts.window.expected(), low).ok_or(DropReason::Replayed)?;
        if !self.receipts.window.is_new(number) {
            return Err(DropReason::Replayed);
        }
        Ok((first & 0x0F, number))
    }

    fn handle_payload(
        &mut self,
        now: Duration,
        envelope: Envelope,
        payload: &[u8],
        take: &mut dyn FnMut(Channel, &[u8]),
    ) -> Result<(), DropReason> {
        self.received_at = now;
        self.follow_address(now, envelope);
        let outcome = self.handle_content(now, envelope, payload, take);
        let receipt = Receipt {
            number: envelope.number,
            next_own: self.recovery.ring.next(),
            has_content: outcome.unwrap_or(false),
            wants_ack: envelope.flags & FLAG_ACK_NOW != 0,
        };
        self.receipts.insert(now, receipt);
        if outcome.is_err() && !matches!(self.stage, Stage::Closed(_)) {
            self.inboxes = Inboxes::default();
            self.begin_close(CODE_VIOLATION, CloseCause::Violation, Some(now));
        }
        outcome.map(|_| ()).map_err(|Violation| DropReason::Malformed)
    }

    /// Handles acknowledgement and frames. Returns true if the peer waits for an acknowledgement.
    fn handle_content(
        &mut self,
        now: Duration,
        envelope: Envelope,
        payload: &[u8],
        take: &mut dyn FnMut(Channel, &[u8]),
    ) -> Result<bool, Violation> {
        let mut reader = Reader(payload);
        if envelope.flags & FLAG_ACK != 0 {
            let ack = Ack::read(&mut reader).ok_or(Violation)?;
            self.recovery.handle_ack(now, &ack, &mut self.receipts, &mut self.outboxes);
        }
        let mut has_content = false;
        while !reader.is_empty() {
            let frame = Frame::read(&mut reader).ok_or(Violation)?;
            has_content |= frame.is_acknowledged();
            self.handle_frame(envelope, frame, take)?;
            if matches!(self.stage, Stage::Closed(_)) {
                break;
            }
        }
        Ok(has_content)
    }

    fn handle_frame(
        &mut self,
        envelope: Envelope,
        frame: Frame<'_>,
        take: &mut dyn FnMut(Channel, &[u8]),
    ) -> Result<(), Violation> {
        let is_open = matches!(self.stage, Stage::Open);
        match frame {
            Frame::Unreliable(message) if is_open => take(Channel::Unreliable, message),
            Frame::Sequenced(message) if is_open && self.inboxes.sequenced.accepts(envelope.number) => {
                take(Channel::Sequenced, message);
            }
            Frame::Reliable(lane, piece) if is_open => self.inboxes.handle(lane, piece, take)?,
            // Nobody takes messages after a close by this endpoint.
            Frame::Unreliable(_) | Frame::Sequenced(_) | Frame::Reliable(..) | Frame::Ping => {}
            Frame::PathChallenge(nonce) => self.path_response = Some(nonce),
            Frame::PathResponse(nonce) => self.prove_address(envelope.from, &nonce),
            Frame::Close(code) => self.end(CloseCause::Peer(code)),
        }
        Ok(())
    }

    /// Begins to challenge an address from which the newest packet comes. Only clients change their address.
    fn follow_address(&mut self, now: Duration, envelope: Envelope) {
        let is_newest = envelope.number >= self.receipts.window.expected();
        if self.side == Side::Client || !is_newest {
            return;
        }
        match &mut self.path {
            path if envelope.from == self.peer => *path = None,
            Some(path) if path.address == envelope.from => path.renew(),
            path => *path = PathCandidate::new(now, envelope.from).map(Box::new),
        }
    }

    fn prove_address(&mut self, from: SocketAddr, response: &[u8; 8]) {
        if self.path.as_ref().is_some_and(|path| path.is_proven(from, response)) {
            self.path = None;
            self.peer = from;
            self.recovery.path_changed();
        }
    }

    fn count_forgery(&mut self) {
        self.counters.forgeries += 1;
        if self.counters.forgeries >= FORGERIES_MAX {
            self.end(CloseCause::Exhausted);
        }
    }
}
