//! Recovery of losses: acknowledgements, losses by gap and by time, probes, and the limits of sending.

use std::time::Duration;

use crate::ack::{Ack, Receipts};
use crate::channels::Outboxes;
use crate::congestion::Congestion;
use crate::limits::{DATAGRAM_BYTES_MAX, NUMBER_SPAN_MAX};
use crate::pacer::Pacer;
use crate::packet::expand_number;
use crate::round_trip::RoundTrip;
use crate::sent_ring::{Fate, SentRing};

/// Distance to a later packet that has arrived at which a packet is lost (RFC 9002).
const REORDERING_MIN: u64 = 3;

/// Largest distance, reached when packets turn out to be late instead of lost.
const REORDERING_MAX: u64 = 64;

/// Probes without an answer before the window is reduced to its minimum.
const STALLED_PROBES: u32 = 3;

/// Longest wait between probes, unless the round trip is longer. A healed path is found within this time.
const PROBE_WAIT_MAX: Duration = Duration::from_millis(500);

/// Packets that were sent, and what became of them.
pub(crate) struct Recovery {
    pub ring: SentRing,
    pub round_trip: RoundTrip,
    pub congestion: Congestion,
    pacer: Pacer,
    /// Bytes of the packets under way.
    under_way: usize,
    newest_acknowledged: Option<u64>,
    /// Moment at which the next packet is lost by time.
    loss_at: Option<Duration>,
    /// Moment of the last packet with content.
    content_at: Duration,
    /// Probes since the last acknowledgement.
    probes: u32,
    is_probe_due: bool,
    reordering: u64,
    /// Bytes sent since the last packet that asked for an acknowledgement at once.
    unasked_bytes: usize,
    pub packets_lost: u64,
    pub content_packets: u64,
}

impl Recovery {
    pub(crate) fn new() -> Recovery {
        Recovery {
            ring: SentRing::default(),
            round_trip: RoundTrip::default(),
            congestion: Congestion::new(),
            pacer: Pacer::default(),
            under_way: 0,
            newest_acknowledged: None,
            loss_at: None,
            content_at: Duration::ZERO,
            probes: 0,
            is_probe_due: false,
            reordering: REORDERING_MIN,
            unasked_bytes: 0,
            packets_lost: 0,
            content_packets: 0,
        }
    }

    pub(crate) fn under_way(&self) -> usize {
        self.under_way
    }

    /// Moment from which a packet with content may leave, `None` while the window is full.
    pub(crate) fn ready_at(&self) -> Option<Duration> {
        let has_room = self.under_way < self.congestion.window() && self.ring.has_room();
        has_room.then(|| self.pacer.ready_at())
    }

    /// Returns true if a probe is due, which neither window nor pacing hold back.
    pub(crate) fn is_probe_due(&self) -> bool {
        self.is_probe_due && self.ring.has_slot()
    }

    /// Returns true if the peer can tell the next packet number by its low 16 bits.
    pub(crate) fn is_number_clear(&self) -> bool {
        let known = self.newest_acknowledged.map_or(0, |newest| newest + 1);
        self.ring.has_slot() && self.ring.next().saturating_sub(known) < NUMBER_SPAN_MAX
    }

    /// Moment at which `handle_time` has something to do.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        if self.under_way == 0 || self.is_probe_due {
            return self.loss_at;
        }
        let probe_at = self.content_at + self.probe_wait();
        Some(self.loss_at.map_or(probe_at, |loss_at| loss_at.min(probe_at)))
    }

    /// Returns true if a packet of this length should ask for an acknowledgement at once: four times per window.
    pub(crate) fn asks_for_ack(&self, bytes: usize) -> bool {
        self.is_probe_due || self.unasked_bytes + bytes >= self.congestion.window() / 4
    }

    /// Records a packet that was sent.
    pub(crate) fn sent(&mut self, now: Duration, bytes: usize, reported: Option<u64>, asked: Option<bool>) {
        let Some(has_asked) = asked else {
            self.ring.push(now, bytes, reported, Fate::Empty);
            return;
        };
        self.ring.push(now, bytes, reported, Fate::UnderWay);
        self.under_way += bytes;
        self.content_at = now;
        self.content_packets += 1;
        self.is_probe_due = false;
        self.unasked_bytes = if has_asked { 0 } else { self.unasked_bytes + bytes };
        if let Some(smoothed) = self.round_trip.smoothed() {
            let gain = if self.congestion.is_slow_start() { 200 } else { 125 };
            let rate = self.congestion.window() as u128 * gain * 10_000 / smoothed.as_micros().max(1);
            self.pacer.sent(now, bytes, rate as u64);
        }
    }

    /// Handles an acknowledgement. One for packets that were never sent is ignored.
    pub(crate) fn handle_ack(
        &mut self,
        now: Duration,
        ack: &Ack<'_>,
        receipts: &mut Receipts,
        outboxes: &mut Outboxes,
    ) {
        let next = self.ring.next();
        let Some(newest) = expand_number(next, ack.newest).filter(|newest| *newest < next) else { return };
        let is_limited = self.under_way + 3 * DATAGRAM_BYTES_MAX >= self.congestion.window()
            || self.congestion.is_slow_start() && 2 * self.under_way >= self.congestion.window();
        let sent_at = self.ring.get(newest).filter(|packet| packet.fate == Fate::UnderWay).map(|packet| packet.sent_at);
        let mut has_arrived = self.acknowledged(newest, is_limited, receipts, outboxes);
        for distance in ack.distances() {
            let Some(number) = newest.checked_sub(distance) else { break };
            has_arrived |= self.acknowledged(number, is_limited, receipts, outboxes);
        }
        self.newest_acknowledged = self.newest_acknowledged.max(Some(newest));
        if let Some(sent_at) = sent_at {
            let sample = self.round_trip.update(now.saturating_sub(sent_at), ack.delay);
            self.congestion.sampled(sample, newest, next);
        }
        if has_arrived {
            self.probes = 0;
            self.is_probe_due = false;
            self.detect_losses(now, outboxes);
        }
        self.ring.retire();
    }

    /// Declares packets lost whose time has come, and decides to probe.
    pub(crate) fn handle_time(&mut self, now: Duration, outboxes: &mut Outboxes) {
        if self.loss_at.is_some_and(|loss_at| loss_at <= now) {
            self.detect_losses(now, outboxes);
            self.ring.retire();
        }
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        self.probes += 1;
        self.is_probe_due = true;
        if self.probes == STALLED_PROBES {
            self.congestion.stalled();
        }
        // The probe repeats the content of the oldest packet: if that was lost, it is repaired a round trip earlier.
        if let Some(packet) = self.ring.get(self.ring.oldest()) {
            self.ring.segments(packet).for_each(|segment| outboxes.lost(segment));
        }
    }

    /// Forgets the figures of a path that is no longer used.
    pub(crate) fn path_changed(&mut self) {
        self.round_trip = RoundTrip::default();
        self.congestion = Congestion::new();
        self.pacer = Pacer::default();
        self.probes = 0;
    }

    /// Sets the number of the next packet.
    pub(crate) fn skip_to_number(&mut self, number: u64) {
        self.ring.skip_to(number);
        self.newest_acknowledged = number.checked_sub(1);
        self.under_way = 0;
    }

    /// Wait for an acknowledgement until the next probe.
    fn probe_wait(&self) -> Duration {
        let delay = self.round_trip.probe_delay();
        (delay * (1 << self.probes.min(8))).min(delay.max(PROBE_WAIT_MAX))
    }

    /// Handles the arrival of one packet. Returns true if that is news.
    fn acknowledged(
        &mut self,
        number: u64,
        is_limited: bool,
        receipts: &mut Receipts,
        outboxes: &mut Outboxes,
    ) -> bool {
        let Some(packet) = self.ring.get(number) else { return false };
        let packet = *packet;
        match packet.fate {
            Fate::Acknowledged => return false,
            Fate::Empty => {}
            Fate::UnderWay => {
                self.under_way -= usize::from(packet.bytes);
                self.ring.segments(&packet).for_each(|segment| outboxes.acknowledged(segment));
                self.congestion.acknowledged(number, packet.bytes.into(), is_limited);
            }
            // It was late, not lost: the path reorders more than was assumed.
            Fate::Lost => {
                let distance = self.newest_acknowledged.unwrap_or(number).saturating_sub(number);
                self.reordering = self.reordering.max(distance + 1).min(REORDERING_MAX);
            }
        }
        if let Some(reported) = packet.reported {
            receipts.reported(number, reported);
        }
        self.ring.set_fate(number, Fate::Acknowledged);
        packet.fate == Fate::UnderWay
    }

    /// Declares packets lost that are too far or too long behind the newest that has arrived.
    fn detect_losses(&mut self, now: Duration, outboxes: &mut Outboxes) {
        self.loss_at = None;
        let Some(newest) = self.newest_acknowledged else { return };
        let delay = self.round_trip.loss_delay();
        for number in self.ring.oldest()..newest {
            let Some(&packet) = self.ring.get(number).filter(|packet| packet.fate == Fate::UnderWay) else { continue };
            let lost_at = packet.sent_at + delay;
            if newest - number < self.reordering && now < lost_at {
                self.loss_at = Some(self.loss_at.map_or(lost_at, |loss_at| loss_at.min(lost_at)));
                continue;
            }
            self.under_way -= usize::from(packet.bytes);
            self.packets_lost += 1;
            self.ring.segments(&packet).for_each(|segment| outboxes.lost(segment));
            self.ring.set_fate(number, Fate::Lost);
            self.congestion.lost(number, self.ring.next());
        }
    }
}
