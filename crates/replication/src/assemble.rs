//! Puts encoded ranges into packets.

use crate::Link;
use crate::deltas::Deltas;
use crate::flight::Cargo;
use crate::gather::{Due, Gathered};
use crate::packet::{self, ENTRIES_MAX, GAP_ORDER_MAX, Header, PREFIX_BITS_MAX, Part, Source};
use crate::view::{Frame, View};
use aether_bits::BitWriter;
use aether_wire::limits::STATE_PACKET_BYTES_MAX;
use aether_wire::{InputSeq, PacketSeq, Tick};

/// Where a view's packets go.
pub trait PacketSink {
    /// An empty buffer for the next packet, one that was used before if there is one.
    fn buffer(&mut self) -> Vec<u8>;

    /// Takes a finished packet.
    fn packet(&mut self, sequence: PacketSeq, bytes: Vec<u8>);
}

/// A snapshot with nothing in it is still sent after so many silent ones, so that the client's clock goes on.
const SILENT_SNAPSHOTS_MAX: u32 = 20;

impl View {
    /// Sends what is due, within the byte budget, and what left the view. `input_ack` is the client's last input that was
    /// applied.
    pub fn assemble(
        &mut self,
        frame: &Frame<'_>,
        deltas: &Deltas,
        gathered: &mut Gathered,
        input_ack: InputSeq,
        sink: &mut impl PacketSink,
    ) {
        self.choose(frame, gathered);
        let removals = self.departed.iter().any(|(_, sent)| *sent == Tick::ZERO);
        if gathered.due.is_empty() && !removals && input_ack == self.input_ack_sent {
            self.silent_snapshots = self.silent_snapshots.saturating_add(1);
            if self.silent_snapshots < SILENT_SNAPSHOTS_MAX {
                return;
            }
        }
        self.silent_snapshots = 0;
        self.input_ack_sent = input_ack;
        let Gathered { due, writer, uses, any_full, .. } = gathered;
        uses.resize(deltas.len(), 0);
        for due in due.iter() {
            uses[due.found.range as usize] += 1;
        }
        let present = [removals, *any_full, due.iter().any(|due| !due.found.full)];
        let snapshot = Snapshot { tick: frame.world.tick(), input_ack, gap_order: gap_order(due), present };
        let mut packets = Packets::new(self, snapshot, writer, sink);
        if removals {
            packets.removals();
        }
        if *any_full {
            packets.entities(Part::Full, due.iter().filter(|due| due.found.full), deltas);
            packets.entities(Part::Update, due.iter().filter(|due| !due.found.full), deltas);
        } else {
            packets.entities(Part::Update, due.iter(), deltas);
        }
        packets.finish(true);
        if self.link == Link::Ordered {
            self.received = frame.world.tick();
        }
    }
}

/// The order of the code in which these gaps are shortest, about: one below their mean width.
fn gap_order(due: &[Due]) -> u32 {
    let mut next = 0;
    let widths = due.iter().map(|due| {
        let gap = due.slot - next;
        next = due.slot + 1;
        (gap + 1).ilog2()
    });
    let sum: u32 = widths.sum();
    (sum / (due.len() as u32).max(1)).saturating_sub(1).min(GAP_ORDER_MAX)
}

/// What is the same for all packets of a snapshot.
#[derive(Clone, Copy)]
struct Snapshot {
    tick: Tick,
    input_ack: InputSeq,
    gap_order: u32,
    /// Which parts there are.
    present: [bool; 3],
}

/// The packet being written.
struct Packets<'a, S> {
    view: &'a mut View,
    sink: &'a mut S,
    writer: &'a mut BitWriter,
    snapshot: Snapshot,
    counts: [u32; 3],
    cargo: Cargo,
    next_slot: u32,
    source: Source,
}

impl<'a, S: PacketSink> Packets<'a, S> {
    fn new(view: &'a mut View, snapshot: Snapshot, writer: &'a mut BitWriter, sink: &'a mut S) -> Self {
        let cargo = view.flight.cargo(snapshot.tick);
        let (counts, next_slot, source) = ([0; 3], 0, Source::default());
        let mut packets = Packets { view, sink, writer, snapshot, counts, cargo, next_slot, source };
        packets.begin();
        packets
    }

    fn removals(&mut self) {
        let mut departed = std::mem::take(&mut self.view.departed);
        departed.sort_unstable();
        for (slot, sent) in departed.iter_mut().filter(|(_, sent)| *sent == Tick::ZERO) {
            *sent = self.snapshot.tick;
            self.make_room(Part::Removed, 0);
            let (code, bits) = packet::gap_code(*slot - self.next_slot, self.snapshot.gap_order);
            self.writer.write(code, bits);
            self.next_slot = *slot + 1;
            self.cargo.removals.push(*slot);
        }
        if self.view.link == Link::Ordered {
            departed.clear();
        }
        self.view.departed = departed;
    }

    fn entities<'d>(&mut self, part: Part, due: impl Iterator<Item = &'d Due>, deltas: &Deltas) {
        self.next_slot = 0;
        let Snapshot { tick, gap_order, .. } = self.snapshot;
        let ordered = self.view.link == Link::Ordered;
        let any_waiting = !self.view.waiting.is_empty();
        for due in due {
            self.make_room(part, due.found.bits);
            let (mut lead, mut lead_bits) = packet::gap_code(due.slot - self.next_slot, gap_order);
            self.next_slot = due.slot + 1;
            if part == Part::Update {
                let source = Source { age: tick.0 - due.base.0, spacing: u32::from(due.found.spacing) };
                if source == self.source {
                    lead_bits += 1;
                } else {
                    let (code, bits) = source.code();
                    lead |= code << lead_bits;
                    lead_bits += bits;
                    self.source = source;
                }
            }
            deltas.append(lead, lead_bits, due.found, self.writer);
            let at = due.at as usize;
            self.view.roster.sent[at] = tick;
            if ordered {
                self.view.roster.advance(at, tick);
            } else {
                self.cargo.states.push(due.slot);
            }
            if any_waiting {
                self.view.waiting.remove(due.slot);
            }
        }
    }

    /// Makes sure that an entry of so many bits fits, in a new packet if need be, and counts it.
    #[inline]
    fn make_room(&mut self, part: Part, bits: u16) {
        let end = self.writer.bits() + PREFIX_BITS_MAX as usize + usize::from(bits);
        if end > STATE_PACKET_BYTES_MAX * 8 || self.counts[part as usize] == ENTRIES_MAX {
            self.finish(false);
            self.begin();
        }
        self.counts[part as usize] += 1;
    }

    fn begin(&mut self) {
        self.writer.clear();
        self.counts = [0; 3];
        self.next_slot = 0;
        self.source = Source::default();
        let header = Header {
            tick: self.snapshot.tick,
            sequence: self.view.next_sequence.0 as u16,
            input_ack: self.snapshot.input_ack.0 as u16,
            last: false,
            gap_order: self.snapshot.gap_order,
            counts: self.counts,
        };
        header.write(self.snapshot.present, self.writer);
    }

    fn finish(&mut self, last: bool) {
        packet::finish(self.snapshot.present, self.counts, last, self.writer);
        let sequence = self.view.next_sequence;
        self.view.next_sequence.0 += 1;
        if self.view.link == Link::Unordered {
            let next = self.view.flight.cargo(self.snapshot.tick);
            self.view.flight.depart(sequence, std::mem::replace(&mut self.cargo, next));
        }
        let mut buffer = self.sink.buffer();
        buffer.clear();
        self.writer.copy_to(&mut buffer);
        self.sink.packet(sequence, buffer);
    }
}
