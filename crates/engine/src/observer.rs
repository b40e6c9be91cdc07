//! What the outside sees of a tick. The engine itself has no clock and writes no log.

use aether_wire::{PlayerId, Tick};
use std::time::Duration;

/// The five stages of a tick, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TickStage {
    /// Messages are taken from the connections.
    Receive,
    /// Joins, leaves, inputs, answers and commands take effect.
    Apply,
    /// The game steps.
    Simulate,
    /// What changed and who sees it is worked out.
    Extract,
    /// Packets are built.
    Send,
}

impl TickStage {
    /// All stages, in order.
    pub const ALL: [TickStage; 5] =
        [TickStage::Receive, TickStage::Apply, TickStage::Simulate, TickStage::Extract, TickStage::Send];

    /// A short name for a metric's label.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            TickStage::Receive => "receive",
            TickStage::Apply => "apply",
            TickStage::Simulate => "simulate",
            TickStage::Extract => "extract",
            TickStage::Send => "send",
        }
    }
}

/// Watches a room: it owns clocks, metrics and logs.
pub trait Observer {
    /// A stage begins; the one before it has ended.
    fn stage(&mut self, _tick: Tick, _stage: TickStage) {}

    /// A tick is about to begin, so late.
    fn tick_started(&mut self, _late: Duration) {}

    /// The game's state is about to be taken, after the last stage.
    fn checkpoint_started(&mut self) {}

    /// The game's state was taken.
    fn checkpoint_finished(&mut self) {}

    /// The tick has ended.
    fn tick_finished(&mut self, _tick: Tick, _counts: &RoomCounts) {}

    /// So many ticks were given up, because the room was too late to make up for them.
    fn ticks_dropped(&mut self, _ticks: u32) {}

    /// Something happened that belongs in an audit log.
    fn audit(&mut self, _audit: &AuditEvent<'_>) {}
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}

/// Something for the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditEvent<'a> {
    /// Who.
    pub player: PlayerId,
    /// Their account.
    pub user: &'a str,
    /// What they wanted to do.
    pub action: &'static str,
    /// Whether they were allowed to.
    pub allowed: bool,
}

/// Counts things, each under a name that a metric can use.
macro_rules! counts {
    ($($(#[$meta:meta])* $name:ident,)*) => {
        /// What happened in a tick, or in all of them.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct RoomCounts {
            $($(#[$meta])* pub $name: u64,)*
        }

        impl RoomCounts {
            /// Adds what happened in another tick.
            pub fn add(&mut self, other: &RoomCounts) {
                $(self.$name += other.$name;)*
            }

            /// Every count with its name.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }
        }
    };
}

counts! {
    /// Players who came in.
    joins,
    /// Players who were refused.
    joins_refused,
    /// Players who left.
    leaves,
    /// Inputs that were applied.
    inputs,
    /// Inputs that had been seen before, as redundancy wants it.
    inputs_repeated,
    /// Inputs beyond a player's budget, dropped.
    inputs_dropped,
    /// Inputs and messages that could not be read.
    decode_errors,
    /// Messages that do not belong in a room.
    unexpected,
    /// Reliable messages of players.
    messages,
    /// Commands and messages that the game refused.
    refused,
    /// Playground commands without permission.
    unprivileged,
    /// Spawns refused because the room is full.
    spawns_refused,
    /// Corrections sent.
    corrections,
    /// Movement that was not a number.
    movement_not_finite,
    /// Movement too fast.
    movement_speed,
    /// Movement that sped up too fast.
    movement_acceleration,
    /// Movement too far to be movement.
    movement_teleport,
    /// Movement out of bounds.
    movement_bounds,
    /// Movement too often.
    movement_rate,
    /// Movement out of sequence.
    movement_sequence,
    /// Events sent, counted per recipient.
    events,
    /// Requests made to services.
    requests,
    /// Requests refused because too many wait.
    requests_refused,
    /// Entries that were to be stored.
    entries,
    /// Entries that could not be stored.
    entries_refused,
    /// Connections closed because they did not keep up.
    too_slow,
    /// Snapshots built.
    snapshots,
    /// Snapshots skipped because the link was still busy with the last.
    snapshots_skipped,
    /// Differences encoded, each shared by many clients.
    deltas_encoded,
    /// Updates sent, counted per recipient.
    updates,
}
