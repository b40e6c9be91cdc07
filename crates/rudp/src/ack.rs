//! Acknowledgements: when one is due, and its bytes.
//!
//! ```text
//!  newest 2   delay 1 (128 µs each)   length 1   bitmap: bit i of byte j is packet newest - 1 - (8 j + i)
//! ```
//!
//! The bitmap ends where the peer knows the rest: a packet of ours that it acknowledged has told it so. A packet that the
//! bitmap does not reach is unknown, not missing.

use std::time::Duration;

use crate::bytes::Reader;
use crate::limits::{ACK_DELAY_MAX, PACKETS_PER_ACK_MAX};
use crate::packet::ACK_BITMAP_BYTES_MAX;
use crate::replay_window::ReplayWindow;

/// Unit of the delay on the wire.
const DELAY_UNIT: Duration = Duration::from_micros(128);

/// Acknowledgement in a received packet.
pub(crate) struct Ack<'a> {
    /// Low 16 bits of the newest number that the peer received.
    pub newest: u16,
    /// Time between its arrival and this acknowledgement.
    pub delay: Duration,
    pub bitmap: &'a [u8],
}

impl<'a> Ack<'a> {
    pub(crate) fn read(reader: &mut Reader<'a>) -> Option<Ack<'a>> {
        let newest = reader.u16()?;
        let delay = DELAY_UNIT * u32::from(reader.u8()?);
        let length = usize::from(reader.u8()?);
        if length > ACK_BITMAP_BYTES_MAX {
            return None;
        }
        Some(Ack { newest, delay, bitmap: reader.take(length)? })
    }

    /// Distances of the acknowledged packets to the newest, ascending, without the newest itself.
    pub(crate) fn distances(&self) -> impl Iterator<Item = u64> {
        let words = self.bitmap.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        words.enumerate().flat_map(|(index, word)| Ones(word).map(move |bit| 64 * index as u64 + bit + 1))
    }
}

/// Positions of the ones of a word, ascending.
struct Ones(u64);

impl Iterator for Ones {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let position = (self.0 != 0).then(|| u64::from(self.0.trailing_zeros()))?;
        self.0 &= self.0 - 1;
        Some(position)
    }
}

/// Received packets, and the acknowledgement that is due for them.
#[derive(Default)]
pub(crate) struct Receipts {
    pub window: ReplayWindow,
    newest_at: Duration,
    /// First packet of which the peer may not know that it was received.
    report_from: u64,
    /// First own packet that reported the last packet out of order. Acknowledgements of earlier ones are too old.
    reported_since: u64,
    /// Packets with content since the last acknowledgement.
    unreported: u32,
    due: Option<Duration>,
}

/// Received packet, as far as acknowledgements depend on it.
#[derive(Clone, Copy)]
pub(crate) struct Receipt {
    pub number: u64,
    /// Number of the next own packet.
    pub next_own: u64,
    pub has_content: bool,
    pub wants_ack: bool,
}

impl Receipts {
    /// Records a packet.
    pub(crate) fn insert(&mut self, now: Duration, receipt: Receipt) {
        let expected = self.window.expected();
        let has_gap = receipt.number != expected;
        if receipt.number >= expected {
            self.newest_at = now;
        } else {
            self.report_from = self.report_from.min(receipt.number);
            self.reported_since = receipt.next_own;
        }
        self.window.insert(receipt.number);
        if !receipt.has_content {
            return;
        }
        self.unreported += 1;
        // A gap is reported at once, so that the sender learns of the loss within a round trip.
        let wait = if has_gap || receipt.wants_ack || self.unreported >= PACKETS_PER_ACK_MAX {
            Duration::ZERO
        } else {
            ACK_DELAY_MAX
        };
        self.due = Some(self.due.map_or(now + wait, |due| due.min(now + wait)));
    }

    /// Moment at which an acknowledgement is due.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Writes the acknowledgement to the end of `out` and returns the newest number that it reports.
    pub(crate) fn write(&mut self, now: Duration, out: &mut Vec<u8>) -> Option<u64> {
        let newest = self.window.newest()?;
        let delay = now.saturating_sub(self.newest_at).as_micros() / DELAY_UNIT.as_micros();
        let length = self.bitmap_bytes(newest);
        out.extend_from_slice(&(newest as u16).to_be_bytes());
        out.extend_from_slice(&[delay.min(255) as u8, length as u8]);
        let end = out.len() + length;
        let mut last = newest;
        while out.len() < end {
            // The bitmap begins before the newest, so there is a packet before it as long as bytes are left.
            let bits = last.checked_sub(1).map_or(0, |last| self.window.bits_before(last));
            out.extend_from_slice(&bits.to_le_bytes());
            last = last.saturating_sub(64);
        }
        out.truncate(end);
        self.unreported = 0;
        self.due = None;
        Some(newest)
    }

    /// Own packet `number`, which reported `newest`, has arrived.
    pub(crate) fn reported(&mut self, number: u64, newest: u64) {
        if number >= self.reported_since {
            self.report_from = self.report_from.max(newest + 1);
        }
    }

    fn bitmap_bytes(&self, newest: u64) -> usize {
        (newest.saturating_sub(self.report_from) as usize).div_ceil(8).min(ACK_BITMAP_BYTES_MAX)
    }
}
