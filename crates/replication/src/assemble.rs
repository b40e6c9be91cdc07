//! Puts encoded ranges into packets.

use crate::DeliveryOrder;
use crate::deltas::DeltaCache;
use crate::flight::PacketContents;
use crate::gather::{DueEntity, GatherBuffer};
use crate::packet::{self, DeltaSource, ENTRIES_MAX, PREFIX_BITS_MAX, PacketHeader, PacketPart};
use crate::view::{ClientView, SnapshotContext};
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

impl ClientView {
    /// Sends what is due, within the byte budget, and what left the view. `input_ack` is the client's last input that was
    /// applied.
    pub fn assemble(
        &mut self,
        frame: &SnapshotContext<'_>,
        deltas: &DeltaCache,
        gathered: &mut GatherBuffer,
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
        let GatherBuffer { due, writer, uses, block_uses, any_full, gap_order, .. } = gathered;
        uses.resize(deltas.len(), 0);
        block_uses.resize(deltas.blocks.len(), 0);
        let present = [removals, *any_full, due.iter().any(|due| !due.found.full)];
        let snapshot = Snapshot { tick: frame.world.tick(), input_ack, gap_order: *gap_order, present };
        let mut packets = Packets::new(self, snapshot, (writer, uses, block_uses), sink);
        if removals {
            packets.removals();
        }
        if *any_full {
            packets.entities(PacketPart::Full, due.iter().filter(|due| due.found.full), deltas);
            packets.entities(PacketPart::Update, due.iter().filter(|due| !due.found.full), deltas);
        } else {
            packets.entities(PacketPart::Update, due.iter(), deltas);
        }
        packets.finish(true);
        if self.link == DeliveryOrder::Ordered {
            self.received = frame.world.tick();
        }
    }
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
    view: &'a mut ClientView,
    sink: &'a mut S,
    writer: &'a mut BitWriter,
    /// How often each range and each block was sent.
    uses: &'a mut [u32],
    block_uses: &'a mut [u32],
    snapshot: Snapshot,
    counts: [u32; 3],
    cargo: PacketContents,
    next_slot: u32,
    source: DeltaSource,
}

impl<'a, S: PacketSink> Packets<'a, S> {
    fn new(
        view: &'a mut ClientView,
        snapshot: Snapshot,
        (writer, uses, block_uses): (&'a mut BitWriter, &'a mut [u32], &'a mut [u32]),
        sink: &'a mut S,
    ) -> Self {
        let (counts, cargo, next_slot, source) = ([0; 3], PacketContents::default(), 0, DeltaSource::default());
        let mut packets = Packets { view, sink, writer, uses, block_uses, snapshot, counts, cargo, next_slot, source };
        packets.begin();
        packets
    }

    fn removals(&mut self) {
        let mut departed = std::mem::take(&mut self.view.departed);
        departed.sort_unstable();
        for (slot, sent) in departed.iter_mut().filter(|(_, sent)| *sent == Tick::ZERO) {
            *sent = self.snapshot.tick;
            self.make_room(PacketPart::Removed, 0, 1);
            let (code, bits) = packet::gap_code(*slot - self.next_slot, self.snapshot.gap_order);
            self.writer.write(code, bits);
            self.next_slot = *slot + 1;
            self.cargo.removals.push(*slot);
        }
        if self.view.link == DeliveryOrder::Ordered {
            departed.clear();
        }
        self.view.departed = departed;
    }

    fn entities<'d>(&mut self, part: PacketPart, due: impl Iterator<Item = &'d DueEntity>, deltas: &DeltaCache) {
        self.next_slot = 0;
        for due in due {
            if due.is_block() {
                self.block(due, deltas);
            } else {
                self.entity(part, due, deltas);
            }
        }
    }

    #[inline]
    fn entity(&mut self, part: PacketPart, due: &DueEntity, deltas: &DeltaCache) {
        self.make_room(part, usize::from(due.found.bits), 1);
        self.write(part, due, deltas);
        self.uses[due.found.range as usize] += 1;
        self.book(due.slot / 64, 1 << (due.slot % 64));
        if self.view.pressed {
            self.view.roster.priority[due.at as usize] = 0.0;
        }
        if self.view.link == DeliveryOrder::Ordered {
            self.view.roster.advance(due.at as usize, self.snapshot.tick);
        }
    }

    /// A stretch that another client needed in the same form: its first entity, and the others as one run.
    fn block(&mut self, due: &DueEntity, deltas: &DeltaCache) {
        let block = deltas.blocks.at(due.found.range);
        let members = deltas.blocks.members(block);
        let word = due.slot / 64;
        let visible = self.view.roster.visible.words()[word as usize];
        let at = |slot: u32| due.at + (visible & ((1 << (slot % 64)) - 1)).count_ones();
        if !self.has_room(PacketPart::Update, block.bits, members.len() as u32) {
            for member in members {
                self.entity(PacketPart::Update, &DueEntity { at: at(member.due.slot), ..member.due }, deltas);
            }
            return;
        }
        self.counts[PacketPart::Update as usize] += members.len() as u32;
        self.write(PacketPart::Update, &members[0].due, deltas);
        deltas.blocks.append(block, self.writer);
        self.next_slot = members[members.len() - 1].due.slot + 1;
        self.block_uses[due.found.range as usize] += 1;
        self.book(word, block.due);
        if self.view.pressed {
            for member in members {
                self.view.roster.priority[at(member.due.slot) as usize] = 0.0;
            }
        }
        if self.view.link == DeliveryOrder::Ordered {
            for member in members {
                self.view.roster.advance(at(member.due.slot) as usize, self.snapshot.tick);
            }
        }
    }

    /// Appends an entity.
    #[inline]
    fn write(&mut self, part: PacketPart, due: &DueEntity, deltas: &DeltaCache) {
        let (mut lead, mut lead_bits) = packet::gap_code(due.slot - self.next_slot, self.snapshot.gap_order);
        self.next_slot = due.slot + 1;
        if part == PacketPart::Update {
            let source = due.source(self.snapshot.tick);
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
    }

    /// Notes that some slots of a stretch were sent.
    #[inline]
    fn book(&mut self, word: u32, slots: u64) {
        self.view.roster.told.insert_word(word as usize, slots);
        if self.view.link == DeliveryOrder::Unordered {
            self.cargo.add(word, slots);
        }
        if !self.view.waiting.is_empty() {
            self.view.waiting.remove_word(word as usize, slots);
        }
    }

    /// Makes sure that an entry of so many bits fits, in a new packet if need be, and counts it.
    #[inline]
    fn make_room(&mut self, part: PacketPart, bits: usize, count: u32) {
        if !self.has_room(part, bits, count) {
            self.finish(false);
            self.begin();
        }
        self.counts[part as usize] += count;
    }

    #[inline]
    fn has_room(&self, part: PacketPart, bits: usize, count: u32) -> bool {
        let end = self.writer.bits() + PREFIX_BITS_MAX as usize + bits;
        end <= STATE_PACKET_BYTES_MAX * 8 && self.counts[part as usize] + count <= ENTRIES_MAX
    }

    fn begin(&mut self) {
        if self.view.link == DeliveryOrder::Unordered {
            self.cargo = self.view.flight.cargo(self.snapshot.tick);
        }
        self.writer.clear();
        self.counts = [0; 3];
        self.next_slot = 0;
        self.source = DeltaSource::default();
        let header = PacketHeader {
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
        if self.view.link == DeliveryOrder::Unordered {
            self.view.flight.depart(sequence, std::mem::take(&mut self.cargo));
        }
        let mut buffer = self.sink.buffer();
        buffer.clear();
        self.writer.copy_to(&mut buffer);
        self.sink.packet(sequence, buffer);
    }
}
