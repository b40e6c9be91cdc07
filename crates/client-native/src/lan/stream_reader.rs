//! Reads the frames of a stream into a mirror.

use aether_bits::Schema;
use aether_replication::{DeliveryOrder, Mirror, MirrorBuilder};
use aether_wire::Tick;
use aether_wire::lan::{FrameBody, KeyFrame, KeyFrameAssembler, ServerKey, StreamFrame};

use super::verify::is_signed;

/// State packets that wait for the key frame of their epoch: those of a second in a large room.
const WAITING_MAX: usize = 512;

/// Change of the state that a spectator sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpectatorUpdate {
    /// A key frame has arrived: the mirror is a new one, with the whole state of the room.
    KeyFrame {
        /// Tick of the key frame.
        tick: Tick,
        /// Hash of its state. All viewers have the same, and so has the server over the entities that it streams.
        hash: u64,
    },
    /// A state packet was applied to the mirror.
    State {
        /// Tick of the state.
        tick: Tick,
        /// True for the last packet of its snapshot.
        is_last: bool,
    },
}

/// Statistics of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpectatorStats {
    /// Frames that arrived.
    pub frames: u64,
    /// Frames that did not arrive, by the gaps in their numbers.
    pub lost: u64,
    /// Key frames that arrived in full.
    pub key_frames: u64,
    /// Packets that are not of this stream, or whose signature is wrong.
    pub forged: u64,
    /// Frames that could not be used: too late, or not readable.
    pub unused: u64,
}

/// Creates the mirror of a key frame.
pub(super) type MakeMirror = Box<dyn Fn(&Schema) -> MirrorBuilder + Send>;

/// Reader of one stream.
pub(super) struct StreamReader {
    key: ServerKey,
    stream: u64,
    make_mirror: MakeMirror,
    assembler: KeyFrameAssembler,
    /// State packets of the epoch that is being assembled.
    waiting: Vec<Vec<u8>>,
    shown: Option<ShownEpoch>,
    newest_sequence: u32,
    pub stats: SpectatorStats,
}

/// State that is shown.
pub(super) struct ShownEpoch {
    epoch: u32,
    pub key_frame: KeyFrame,
    pub schema: Schema,
    pub mirror: Mirror,
}

impl StreamReader {
    pub fn new(key: ServerKey, stream: u64, make_mirror: MakeMirror) -> Self {
        Self {
            key,
            stream,
            make_mirror,
            assembler: KeyFrameAssembler::default(),
            waiting: Vec::new(),
            shown: None,
            newest_sequence: 0,
            stats: SpectatorStats::default(),
        }
    }

    pub fn shown(&self) -> Option<&ShownEpoch> {
        self.shown.as_ref()
    }

    pub fn stream(&self) -> u64 {
        self.stream
    }

    /// Continues with another stream of the same room. The last state stays shown until its first key frame.
    pub fn restart(&mut self, stream: u64) {
        self.stream = stream;
        self.assembler = KeyFrameAssembler::default();
        self.waiting.clear();
        self.newest_sequence = 0;
        if let Some(shown) = &mut self.shown {
            shown.epoch = 0;
        }
    }

    /// Handles a packet. Returns the change, if there is one.
    pub fn handle(&mut self, packet: &[u8]) -> Option<SpectatorUpdate> {
        let frame = StreamFrame::decode(packet).ok().filter(|frame| frame.stream == self.stream);
        let Some(frame) = frame.filter(|_| is_signed(packet, &self.key)) else {
            self.stats.forged += 1;
            return None;
        };
        self.count(frame.sequence);
        match frame.body {
            FrameBody::KeyPart { part, parts, bytes } => {
                if frame.epoch > self.assembler.epoch() {
                    self.waiting.clear();
                }
                let key_frame = self.assembler.push(frame.epoch, (part, parts), bytes)?;
                self.show(frame.epoch, &key_frame)
            }
            FrameBody::State(state) => self.handle_state(frame.epoch, state),
        }
    }

    fn handle_state(&mut self, epoch: u32, state: &[u8]) -> Option<SpectatorUpdate> {
        match &mut self.shown {
            Some(shown) if shown.epoch == epoch => apply(&mut shown.mirror, state, &mut self.stats),
            // The key frame may follow: packets overtake each other.
            _ if epoch >= self.assembler.epoch() && self.waiting.len() < WAITING_MAX => {
                self.waiting.push(state.to_vec());
                None
            }
            _ => {
                self.stats.unused += 1;
                None
            }
        }
    }

    /// Shows the state of a key frame, and of the packets that waited for it.
    fn show(&mut self, epoch: u32, key_frame: &[u8]) -> Option<SpectatorUpdate> {
        let shown = self.read_key_frame(epoch, key_frame);
        self.stats.unused += u64::from(shown.is_none());
        let mut shown = shown?;
        let (tick, hash) = (shown.key_frame.tick, shown.mirror.hash());
        for state in self.waiting.drain(..) {
            apply(&mut shown.mirror, &state, &mut self.stats);
        }
        self.stats.key_frames += 1;
        self.shown = Some(shown);
        Some(SpectatorUpdate::KeyFrame { tick, hash })
    }

    fn read_key_frame(&self, epoch: u32, bytes: &[u8]) -> Option<ShownEpoch> {
        let key_frame = KeyFrame::decode(bytes).ok().filter(|key_frame| key_frame.tick_hz > 0)?;
        let schema = Schema::from_bytes(&key_frame.schema).ok()?;
        if schema.hash() != key_frame.schema_hash.0 {
            return None;
        }
        let mut mirror =
            (self.make_mirror)(&schema).build(DeliveryOrder::Unordered, 1.0 / f32::from(key_frame.tick_hz));
        for packet in &key_frame.packets {
            mirror.apply(packet).ok()?;
        }
        Some(ShownEpoch { epoch, key_frame, schema, mirror })
    }

    /// Counts a frame, and those that are missing before it. One that comes late is no longer missing.
    fn count(&mut self, sequence: u32) {
        self.stats.frames += 1;
        if self.newest_sequence == 0 {
            self.newest_sequence = sequence;
        } else if sequence > self.newest_sequence {
            self.stats.lost += u64::from(sequence - self.newest_sequence - 1);
            self.newest_sequence = sequence;
        } else {
            self.stats.lost = self.stats.lost.saturating_sub(1);
        }
    }
}

/// Applies a state packet. One that is late, or made from states that are missing, is not used.
fn apply(mirror: &mut Mirror, state: &[u8], stats: &mut SpectatorStats) -> Option<SpectatorUpdate> {
    match mirror.apply(state) {
        Ok(applied) if !applied.stale => Some(SpectatorUpdate::State { tick: applied.tick, is_last: applied.last }),
        _ => {
            stats.unused += 1;
            None
        }
    }
}
