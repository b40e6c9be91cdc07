//! Assembles encoded ranges into packets.

use crate::DeliveryOrder;
use crate::blocks::GROUP_WORDS;
use crate::deltas::{DeltaCache, DeltaKey};
use crate::gather::{DueEntity, GatherBuffer};
use crate::in_flight::PacketContents;
use crate::packet::{self, ENTRIES_MAX, PREFIX_BITS_MAX, PacketHeader, PacketPart};
use crate::packet_writer::{PacketWords, PacketWriter};
use crate::view::{ClientView, SnapshotContext};
use aether_wire::limits::STATE_PACKET_BYTES_MAX;
use aether_wire::{InputSeq, PacketSeq, Tick};

/// Receiver of the packets of a view.
pub trait PacketSink {
    /// Returns a buffer for the next packet, a used one if possible. Its content is replaced.
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
        let GatherBuffer { due, packet_words, uses, block_uses, any_full, gap_order, .. } = gathered;
        uses.resize(deltas.len(), 0);
        block_uses.resize(deltas.blocks.len(), 0);
        let present = [removals, *any_full, due.iter().any(|due| !due.found.full)];
        let snapshot = Snapshot { tick: context.world.tick(), input_ack, gap_order: *gap_order, present };
        let mut packets = Packets::new(self, snapshot, Scratch { packet_words, uses, block_uses }, sink);
        if removals {
            packets.write_removals();
        }
        if *any_full {
            packets.write_full(due.iter().filter(|due| due.found.full), deltas);
            packets.write_updates::<false>(due.iter().filter(|due| !due.found.full), deltas);
        } else if packets.is_ordered && !packets.view.was_over_budget {
            packets.write_updates::<true>(due.iter(), deltas);
        } else {
            packets.write_updates::<false>(due.iter(), deltas);
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
    packet_words: &'a mut PacketWords,
    /// Number of times that each range was sent.
    uses: &'a mut [u32],
    /// Number of times that each block was sent.
    block_uses: &'a mut [u32],
}

/// Writer of the packets of a snapshot.
struct Packets<'a, S> {
    view: &'a mut ClientView,
    sink: &'a mut S,
    writer: PacketWriter<'a>,
    /// Number of times that each range and each block was sent.
    uses: &'a mut [u32],
    block_uses: &'a mut [u32],
    snapshot: Snapshot,
    counts: [u32; 3],
    contents: PacketContents,
    next_slot: u32,
    /// States from which the previous update was made.
    source: DeltaKey,
    is_ordered: bool,
}

impl<'a, S: PacketSink> Packets<'a, S> {
    fn new(
        view: &'a mut ClientView,
        snapshot: Snapshot,
        Scratch { packet_words, uses, block_uses }: Scratch<'a>,
        sink: &'a mut S,
    ) -> Self {
        let is_ordered = view.order == DeliveryOrder::Ordered;
        let mut packets = Packets {
            view,
            sink,
            writer: PacketWriter::new(packet_words),
            uses,
            block_uses,
            snapshot,
            counts: [0; 3],
            contents: PacketContents::default(),
            next_slot: 0,
            source: DeltaKey::default(),
            is_ordered,
        };
        packets.begin();
        packets
    }

    fn write_removals(&mut self) {
        let mut departed = std::mem::take(&mut self.view.departed);
        departed.sort_unstable();
        for (slot, sent) in departed.iter_mut().filter(|(_, sent)| *sent == Tick::ZERO) {
            *sent = self.snapshot.tick;
            self.make_room(PacketPart::Removed, 0);
            let (code, bits) = packet::gap_code(*slot - self.next_slot, self.snapshot.gap_order);
            self.writer.write(code, bits);
            self.next_slot = *slot + 1;
            self.contents.removals.push(*slot);
        }
        if self.is_ordered {
            departed.clear();
        }
        self.view.departed = departed;
    }

    fn write_full<'d>(&mut self, due: impl Iterator<Item = &'d DueEntity>, deltas: &DeltaCache) {
        self.next_slot = 0;
        for due in due {
            self.make_room(PacketPart::Full, usize::from(due.found.bits));
            let (lead, lead_bits) = self.gap(due.slot);
            self.write_delta(lead, lead_bits, due, deltas);
            // A client that gets an update has the entity, so it was announced before.
            self.view.entities.announced.insert(due.slot);
            self.settle(due);
        }
    }

    /// Writes updates. `PLAIN` is true if delivery is ordered and nothing ever exceeded the budget, which is usual.
    fn write_updates<'d, const PLAIN: bool>(&mut self, due: impl Iterator<Item = &'d DueEntity>, deltas: &DeltaCache) {
        self.next_slot = 0;
        for due in due {
            if due.is_block() {
                self.write_block(due, deltas);
            } else {
                self.write_update::<PLAIN>(due, deltas);
            }
        }
    }

    #[inline(always)]
    fn write_update<const PLAIN: bool>(&mut self, due: &DueEntity, deltas: &DeltaCache) {
        self.make_room(PacketPart::Update, usize::from(due.found.bits));
        self.write_sourced(due, deltas);
        if PLAIN {
            self.uses[due.found.range as usize] += 1;
            self.view.entities.advance(due.at as usize, self.snapshot.tick);
        } else {
            self.settle(due);
        }
    }

    /// Writes a shared block: its first entity, and the others as one run.
    fn write_block(&mut self, due: &DueEntity, deltas: &DeltaCache) {
        let block = deltas.blocks.at(due.found.range);
        if !self.has_room(PacketPart::Update, block.bits, block.len) {
            return self.write_members(due, deltas);
        }
        self.counts[PacketPart::Update as usize] += block.len;
        self.write_sourced(&block.start, deltas);
        let (run, run_bits) = deltas.blocks.run(block);
        self.writer.append(run, run_bits);
        (self.next_slot, self.source) = (block.end, block.end_source);
        self.block_uses[due.found.range as usize] += 1;
        let first = due.slot / 64 / GROUP_WORDS * GROUP_WORDS;
        for (word, &slots) in (first..).zip(&block.due).filter(|(_, slots)| **slots != 0) {
            self.mark_sent(word, slots);
        }
        if self.is_ordered || self.view.was_over_budget {
            for member in deltas.blocks.members(block) {
                self.advance(self.view.entities.visible.count_below(member.slot));
            }
        }
    }

    /// Writes the entities of a block one by one, because they do not fit the packet.
    #[cold]
    fn write_members(&mut self, due: &DueEntity, deltas: &DeltaCache) {
        for member in deltas.blocks.members(deltas.blocks.at(due.found.range)) {
            let at = self.view.entities.visible.count_below(member.slot) as u32;
            self.write_update::<false>(&DueEntity { at, ..*member }, deltas);
        }
    }

    /// Notes that an entity was sent.
    #[inline(always)]
    fn settle(&mut self, due: &DueEntity) {
        self.uses[due.found.range as usize] += 1;
        self.mark_sent(due.slot / 64, 1 << (due.slot % 64));
        self.advance(due.at as usize);
    }

    #[inline(always)]
    fn advance(&mut self, at: usize) {
        if self.view.was_over_budget {
            self.view.entities.priority[at] = 0.0;
        }
        if self.is_ordered {
            self.view.entities.advance(at, self.snapshot.tick);
        }
    }

    /// Returns the code of the gap before a slot.
    #[inline(always)]
    fn gap(&mut self, slot: u32) -> (u64, u32) {
        let gap = slot - self.next_slot;
        self.next_slot = slot + 1;
        packet::gap_code(gap, self.snapshot.gap_order)
    }

    /// Appends an update with its gap and source.
    #[inline(always)]
    fn write_sourced(&mut self, due: &DueEntity, deltas: &DeltaCache) {
        let (gap, gap_bits) = self.gap(due.slot);
        let (code, bits) = due.source.code(self.source, self.snapshot.tick);
        self.source = due.source;
        let (lead, lead_bits) = (gap | code << gap_bits, gap_bits + bits);
        self.write_delta(lead, lead_bits, due, deltas);
    }

    /// Appends `lead_bits` bits of `lead` and then an encoded delta.
    #[inline(always)]
    fn write_delta(&mut self, lead: u64, lead_bits: u32, due: &DueEntity, deltas: &DeltaCache) {
        let bits = u32::from(due.found.bits);
        if lead_bits + bits <= 64 {
            self.writer.write(lead | due.found.start << lead_bits, lead_bits + bits);
        } else {
            self.writer.write(lead, lead_bits);
            self.writer.append(deltas.words(due.found), bits);
        }
    }

    /// Marks some slots of a word as sent.
    #[inline(always)]
    fn mark_sent(&mut self, word: u32, slots: u64) {
        if !self.is_ordered {
            self.contents.add(word, slots);
        }
    }

    /// Starts a new packet if an entry of `bits` bits does not fit, and counts the entry.
    #[inline(always)]
    fn make_room(&mut self, part: PacketPart, bits: usize) {
        if !self.has_room(part, bits, 1) {
            self.next_packet();
        }
        self.counts[part as usize] += 1;
    }

    #[cold]
    fn next_packet(&mut self) {
        self.finish(false);
        self.begin();
    }

    #[inline(always)]
    fn has_room(&self, part: PacketPart, bits: usize, count: u32) -> bool {
        let end = self.writer.bits() + PREFIX_BITS_MAX as usize + bits;
        end <= STATE_PACKET_BYTES_MAX * 8 && self.counts[part as usize] + count <= ENTRIES_MAX
    }

    fn begin(&mut self) {
        if !self.is_ordered {
            self.contents = self.view.in_flight.new_contents(self.snapshot.tick);
        }
        self.writer.clear();
        self.counts = [0; 3];
        self.next_slot = 0;
        self.source = DeltaKey::new(self.snapshot.tick, 0);
        let header = PacketHeader {
            tick: self.snapshot.tick,
            sequence: self.view.next_sequence.0 as u16,
            input_ack: self.snapshot.input_ack.0 as u16,
            last: false,
            gap_order: self.snapshot.gap_order,
            counts: self.counts,
        };
        let (start, (rest, bits)) = header.bits(self.snapshot.present);
        self.writer.write(start, 64);
        self.writer.write(rest, bits);
    }

    fn finish(&mut self, last: bool) {
        let (rest, bits) = packet::rest(self.snapshot.present, self.counts, last, self.snapshot.gap_order);
        self.writer.patch_second_word(rest, bits);
        let sequence = self.view.next_sequence;
        self.view.next_sequence.0 += 1;
        if !self.is_ordered {
            self.view.in_flight.add(sequence, std::mem::take(&mut self.contents));
        }
        let mut buffer = self.sink.buffer();
        self.writer.copy_to(&mut buffer);
        self.sink.packet(sequence, buffer);
    }
}
