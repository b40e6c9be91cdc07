//! Assembles encoded ranges into packets.

use crate::DeliveryOrder;
use crate::deltas::DeltaCache;
use crate::gather::{DueEntity, GatherBuffer};
use crate::in_flight::PacketContents;
use crate::packet::{self, DeltaSource, ENTRIES_MAX, PREFIX_BITS_MAX, PacketHeader, PacketPart};
use crate::view::{ClientView, SnapshotContext};
use aether_bits::BitWriter;
use aether_wire::limits::STATE_PACKET_BYTES_MAX;
use aether_wire::{InputSeq, PacketSeq, Tick};

/// Receiver of the packets of a view.
pub trait PacketSink {
    /// Returns an empty buffer for the next packet, a used one if possible.
    fn buffer(&mut self) -> Vec<u8>;

    /// Receives a finished packet.
    fn packet(&mut self, sequence: PacketSeq, bytes: Vec<u8>);
}

/// Empty snapshots after which one is sent anyway, so that the client's clock advances.
const SILENT_SNAPSHOTS_MAX: u32 = 20;

impl ClientView {
    /// Sends what is due, within the byte budget, and the removals. `input_ack` is the last input of the client that
    /// was applied.
    pub fn assemble(
        &mut self,
        context: &SnapshotContext<'_>,
        deltas: &DeltaCache,
        gathered: &mut GatherBuffer,
        input_ack: InputSeq,
        sink: &mut impl PacketSink,
    ) {
        self.choose(context, gathered);
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
        let snapshot = Snapshot { tick: context.world.tick(), input_ack, gap_order: *gap_order, present };
        let mut packets = Packets::new(self, snapshot, Scratch { writer, uses, block_uses }, sink);
        if removals {
            packets.write_removals();
        }
        if *any_full {
            packets.write_entities(PacketPart::Full, due.iter().filter(|due| due.found.full), deltas);
            packets.write_entities(PacketPart::Update, due.iter().filter(|due| !due.found.full), deltas);
        } else {
            packets.write_entities(PacketPart::Update, due.iter(), deltas);
        }
        packets.finish(true);
        if self.order == DeliveryOrder::Ordered {
            self.received = context.world.tick();
        }
    }
}

/// Header values that all packets of a snapshot share.
#[derive(Clone, Copy)]
struct Snapshot {
    tick: Tick,
    input_ack: InputSeq,
    gap_order: u32,
    /// Parts that are present.
    present: [bool; 3],
}

/// Buffers that packets are written with.
struct Scratch<'a> {
    writer: &'a mut BitWriter,
    /// Number of times that each range was sent.
    uses: &'a mut [u32],
    /// Number of times that each block was sent.
    block_uses: &'a mut [u32],
}

/// Writer of the packets of a snapshot.
struct Packets<'a, S> {
    view: &'a mut ClientView,
    sink: &'a mut S,
    writer: &'a mut BitWriter,
    /// Number of times that each range and each block was sent.
    uses: &'a mut [u32],
    block_uses: &'a mut [u32],
    snapshot: Snapshot,
    counts: [u32; 3],
    contents: PacketContents,
    next_slot: u32,
    source: DeltaSource,
}

impl<'a, S: PacketSink> Packets<'a, S> {
    fn new(
        view: &'a mut ClientView,
        snapshot: Snapshot,
        Scratch { writer, uses, block_uses }: Scratch<'a>,
        sink: &'a mut S,
    ) -> Self {
        let (counts, contents, next_slot, source) = ([0; 3], PacketContents::default(), 0, DeltaSource::default());
        let mut packets =
            Packets { view, sink, writer, uses, block_uses, snapshot, counts, contents, next_slot, source };
        packets.begin();
        packets
    }

    fn write_removals(&mut self) {
        let mut departed = std::mem::take(&mut self.view.departed);
        departed.sort_unstable();
        for (slot, sent) in departed.iter_mut().filter(|(_, sent)| *sent == Tick::ZERO) {
            *sent = self.snapshot.tick;
            self.make_room(PacketPart::Removed, 0, 1);
            let (code, bits) = packet::gap_code(*slot - self.next_slot, self.snapshot.gap_order);
            self.writer.write(code, bits);
            self.next_slot = *slot + 1;
            self.contents.removals.push(*slot);
        }
        if self.view.order == DeliveryOrder::Ordered {
            departed.clear();
        }
        self.view.departed = departed;
    }

    fn write_entities<'d>(&mut self, part: PacketPart, due: impl Iterator<Item = &'d DueEntity>, deltas: &DeltaCache) {
        self.next_slot = 0;
        for due in due {
            if due.is_block() {
                self.write_block(due, deltas);
            } else {
                self.add_entity(part, due, deltas);
            }
        }
    }

    #[inline]
    fn add_entity(&mut self, part: PacketPart, due: &DueEntity, deltas: &DeltaCache) {
        self.make_room(part, usize::from(due.found.bits), 1);
        self.write_entity(part, due, deltas);
        self.uses[due.found.range as usize] += 1;
        self.mark_sent(due.slot / 64, 1 << (due.slot % 64));
        if self.view.was_over_budget {
            self.view.entities.priority[due.at as usize] = 0.0;
        }
        if self.view.order == DeliveryOrder::Ordered {
            self.view.entities.advance(due.at as usize, self.snapshot.tick);
        }
    }

    /// Writes a shared block: its first entity, and the others as one run.
    fn write_block(&mut self, due: &DueEntity, deltas: &DeltaCache) {
        let block = deltas.blocks.at(due.found.range);
        let members = deltas.blocks.members(block);
        let word = due.slot / 64;
        let visible = self.view.entities.visible.words()[word as usize];
        let at = |slot: u32| due.at + (visible & ((1 << (slot % 64)) - 1)).count_ones();
        if !self.has_room(PacketPart::Update, block.bits, members.len() as u32) {
            for member in members {
                self.add_entity(PacketPart::Update, &DueEntity { at: at(member.due.slot), ..member.due }, deltas);
            }
            return;
        }
        self.counts[PacketPart::Update as usize] += members.len() as u32;
        self.write_entity(PacketPart::Update, &members[0].due, deltas);
        deltas.blocks.append(block, self.writer);
        self.next_slot = members[members.len() - 1].due.slot + 1;
        self.block_uses[due.found.range as usize] += 1;
        self.mark_sent(word, block.due);
        if self.view.was_over_budget {
            for member in members {
                self.view.entities.priority[at(member.due.slot) as usize] = 0.0;
            }
        }
        if self.view.order == DeliveryOrder::Ordered {
            for member in members {
                self.view.entities.advance(at(member.due.slot) as usize, self.snapshot.tick);
            }
        }
    }

    /// Appends an entity.
    #[inline]
    fn write_entity(&mut self, part: PacketPart, due: &DueEntity, deltas: &DeltaCache) {
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

    /// Marks some slots of a word as sent.
    #[inline]
    fn mark_sent(&mut self, word: u32, slots: u64) {
        self.view.entities.announced.insert_word(word as usize, slots);
        if self.view.order == DeliveryOrder::Unordered {
            self.contents.add(word, slots);
        }
        if !self.view.waiting.is_empty() {
            self.view.waiting.remove_word(word as usize, slots);
        }
    }

    /// Starts a new packet if an entry of `bits` bits does not fit, and counts the entry.
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
        if self.view.order == DeliveryOrder::Unordered {
            self.contents = self.view.in_flight.new_contents(self.snapshot.tick);
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
        if self.view.order == DeliveryOrder::Unordered {
            self.view.in_flight.add(sequence, std::mem::take(&mut self.contents));
        }
        let mut buffer = self.sink.buffer();
        buffer.clear();
        self.writer.copy_to(&mut buffer);
        self.sink.packet(sequence, buffer);
    }
}
