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
        if gathered.bits > context.settings.bytes_max * 8 {
            self.choose(context, gathered);
        }
        let removals = self.departed.iter().any(|(_, sent)| *sent == Tick::ZERO);
        if gathered.due.is_empty() && !removals && input_ack == self.input_ack_sent {
            self.silent_snapshots = self.silent_snapshots.saturating_add(1);
            if self.silent_snapshots < SILENT_SNAPSHOTS_MAX {
                return;
            }
        }
        self.silent_snapshots = 0;
        self.input_ack_sent = input_ack;
        let bits_max = gathered.bits_max();
        let GatherBuffer { due, packet_words, uses, block_uses, any_full, gap_order, .. } = gathered;
        uses.resize(deltas.len(), 0);
        block_uses.resize(deltas.blocks.len(), 0);
        let present = [removals, *any_full, due.iter().any(|due| !due.found.full)];
        let snapshot = Snapshot { tick: context.world.tick(), input_ack, gap_order: *gap_order, present };
        let mut packets = Packets::new(self, snapshot, Scratch { packet_words, uses, block_uses }, sink);
        packets.begin();
        if removals {
            packets.write_removals();
        }
        let is_plain = packets.is_plain(due.len(), bits_max);
        match (*any_full, is_plain) {
            (false, true) => packets.write_plain(due.iter(), deltas),
            (false, false) => packets.write_updates(due.iter(), deltas),
            (true, _) => {
                packets.write_full(due.iter().filter(|due| due.found.full), deltas);
                let updates = due.iter().filter(|due| !due.found.full);
                if is_plain { packets.write_plain(updates, deltas) } else { packets.write_updates(updates, deltas) }
            }
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
    lead: Lead,
    is_ordered: bool,
}

/// Bits before an entity in a packet: the gap from the previous one, and the source of an update.
#[derive(Clone, Copy)]
struct Lead {
    tick: Tick,
    gap_order: u32,
    next_slot: u32,
    /// States from which the previous update was made.
    source: DeltaKey,
}

impl Lead {
    /// Returns the lead of the first entity of a packet.
    fn new(snapshot: &Snapshot) -> Self {
        let Snapshot { tick, gap_order, .. } = *snapshot;
        Lead { tick, gap_order, next_slot: 0, source: DeltaKey::new(tick, 0) }
    }

    /// Returns the code of the gap before a slot, and its length.
    #[inline(always)]
    fn gap(&mut self, slot: u32) -> (u64, u32) {
        let gap = slot - self.next_slot;
        self.next_slot = slot + 1;
        packet::gap_code(gap, self.gap_order)
    }

    /// Returns the code of the gap and the source before an update, and its length.
    #[inline(always)]
    fn update(&mut self, due: &DueEntity) -> (u64, u32) {
        let previous = std::mem::replace(&mut self.source, due.source);
        due.source.code_after(self.gap(due.slot), previous, self.tick)
    }
}

/// Appends a lead and then an encoded delta.
#[inline(always)]
fn write_delta(writer: &mut PacketWriter<'_>, (lead, lead_bits): (u64, u32), due: &DueEntity, deltas: &DeltaCache) {
    let bits = u32::from(due.found.bits);
    if lead_bits + bits <= 64 {
        writer.write(lead | due.found.start << lead_bits, lead_bits + bits);
    } else {
        writer.write(lead, lead_bits);
        writer.append(deltas.words(due.found), bits);
    }
}

impl<'a, S: PacketSink> Packets<'a, S> {
    fn new(
        view: &'a mut ClientView,
        snapshot: Snapshot,
        Scratch { packet_words, uses, block_uses }: Scratch<'a>,
        sink: &'a mut S,
    ) -> Self {
        let is_ordered = view.order == DeliveryOrder::Ordered;
        Packets {
            view,
            sink,
            writer: PacketWriter::new(packet_words),
            uses,
            block_uses,
            snapshot,
            counts: [0; 3],
            contents: PacketContents::default(),
            lead: Lead::new(&snapshot),
            is_ordered,
        }
    }

    fn write_removals(&mut self) {
        let mut departed = std::mem::take(&mut self.view.departed);
        departed.sort_unstable();
        for (slot, sent) in departed.iter_mut().filter(|(_, sent)| *sent == Tick::ZERO) {
            *sent = self.snapshot.tick;
            self.make_room(PacketPart::Removed, 0);
            let (code, bits) = self.lead.gap(*slot);
            self.writer.write(code, bits);
            self.contents.removals.push(*slot);
        }
        if self.is_ordered {
            departed.clear();
        }
        self.view.departed = departed;
    }

    fn write_full<'d>(&mut self, due: impl Iterator<Item = &'d DueEntity>, deltas: &DeltaCache) {
        self.lead.next_slot = 0;
        for due in due {
            self.make_room(PacketPart::Full, usize::from(due.found.bits));
            write_delta(&mut self.writer, self.lead.gap(due.slot), due, deltas);
            // A client that gets an update has the entity, so it was announced before.
            self.view.entities.announced.insert(due.slot);
            self.settle(due);
        }
    }

    /// True if everything certainly fits the packet, delivery is ordered and nothing ever exceeded the budget.
    fn is_plain(&self, count: usize, bits_max: Option<usize>) -> bool {
        let fits = |bits_max| self.writer.bits() + bits_max <= STATE_PACKET_BYTES_MAX * 8;
        let is_usual = self.is_ordered && !self.view.was_over_budget;
        is_usual && count <= ENTRIES_MAX as usize && bits_max.is_some_and(fits)
    }

    /// Writes updates if [`Packets::is_plain`]. Most clients get no others, so what changes is in local variables.
    fn write_plain<'d>(&mut self, due: impl Iterator<Item = &'d DueEntity>, deltas: &DeltaCache) {
        let mut lead = Lead { next_slot: 0, ..self.lead };
        let mut writer = self.writer.reborrow();
        let (uses, mut count) = (&mut *self.uses, 0);
        let mut keys = self.view.entities.advance_to(self.snapshot.tick);
        for due in due {
            write_delta(&mut writer, lead.update(due), due, deltas);
            uses[due.found.range as usize] += 1;
            keys.advance(due.at as usize);
            count += 1;
        }
        let bits = writer.bits();
        self.writer.resume(bits);
        self.lead = lead;
        self.counts[PacketPart::Update as usize] += count;
    }

    fn write_updates<'d>(&mut self, due: impl Iterator<Item = &'d DueEntity>, deltas: &DeltaCache) {
        self.lead.next_slot = 0;
        for due in due {
            if due.is_block() {
                self.write_block(due, deltas);
            } else {
                self.write_update(due, deltas);
            }
        }
    }

    #[inline(always)]
    fn write_update(&mut self, due: &DueEntity, deltas: &DeltaCache) {
        self.make_room(PacketPart::Update, usize::from(due.found.bits));
        write_delta(&mut self.writer, self.lead.update(due), due, deltas);
        self.settle(due);
    }

    /// Writes a shared block: its first entity, and the others as one run.
    fn write_block(&mut self, due: &DueEntity, deltas: &DeltaCache) {
        let block = deltas.blocks.at(due.found.range);
        if !self.has_room(PacketPart::Update, block.bits, block.len) {
            return self.write_members(due, deltas);
        }
        self.counts[PacketPart::Update as usize] += block.len;
        write_delta(&mut self.writer, self.lead.update(&block.start), &block.start, deltas);
        let (run, run_bits) = deltas.blocks.run(block);
        self.writer.append(run, run_bits);
        (self.lead.next_slot, self.lead.source) = (block.end, block.end_source);
        self.block_uses[due.found.range as usize] += 1;
        let first = due.slot / 64 / GROUP_WORDS * GROUP_WORDS;
        for (word, &slots) in (first..).zip(&block.due).filter(|(_, slots)| **slots != 0) {
            self.mark_sent(word, slots);
            if self.is_ordered {
                self.view.entities.advance_word(word, slots, self.snapshot.tick);
            }
            if self.view.was_over_budget {
                self.view.entities.clear_priorities(word, slots);
            }
        }
    }

    /// Writes the entities of a block one by one, because they do not fit the packet.
    #[cold]
    fn write_members(&mut self, due: &DueEntity, deltas: &DeltaCache) {
        for member in deltas.blocks.members(deltas.blocks.at(due.found.range)) {
            let at = self.view.entities.visible.count_below(member.slot) as u32;
            self.write_update(&DueEntity { at, ..*member }, deltas);
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
            self.view.entities.advance_to(self.snapshot.tick).advance(at);
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
        self.lead = Lead::new(&self.snapshot);
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
