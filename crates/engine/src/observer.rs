//! [`Observer`]: hooks for metrics, timing and logs. The engine itself has no clock and writes no log.

use aether_wire::{PlayerId, Tick};
use std::time::Duration;

/// The five stages of a tick, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TickStage {
    /// Takes messages from the connections.
    Receive,
    /// Applies joins, leaves, inputs, answers and commands.
    Apply,
    /// Steps the game.
    Simulate,
    /// Finds what changed and who sees it.
    Extract,
    /// Builds packets.
    Send,
}

impl TickStage {
    /// All stages, in order.
    pub const ALL: [TickStage; 5] =
        [TickStage::Receive, TickStage::Apply, TickStage::Simulate, TickStage::Extract, TickStage::Send];

    /// Returns the label of the metric.
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

/// Observes a room. The observer owns clocks, metrics and logs.
pub trait Observer {
    /// Called when a stage begins. The previous one has ended.
    fn stage(&mut self, _tick: Tick, _stage: TickStage) {}

    /// Called before a tick, with its delay.
    fn tick_started(&mut self, _late: Duration) {}

    /// Called before a checkpoint is taken, after the last stage.
    fn checkpoint_started(&mut self) {}

    /// Called after a checkpoint was taken.
    fn checkpoint_finished(&mut self) {}

    /// Called after a tick, with its counts.
    fn tick_finished(&mut self, _tick: Tick, _counts: &RoomCounts) {}

    /// Called when ticks were dropped because the room is too late to catch up.
    fn ticks_dropped(&mut self, _ticks: u32) {}

    /// Called for an event of the audit log.
    fn audit(&mut self, _audit: &AuditEvent<'_>) {}
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}

/// An event of the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditEvent<'a> {
    /// Player who acted.
    pub player: PlayerId,
    /// Account of the player.
    pub user: &'a str,
    /// Action that was attempted.
    pub action: &'static str,
    /// True if the action was allowed.
    pub allowed: bool,
}

/// Declares the counts. The field name is the name of the metric.
macro_rules! counts {
    ($($(#[$meta:meta])* $name:ident,)*) => {
        /// Counts of a tick, or of all ticks.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct RoomCounts {
            $($(#[$meta])* pub $name: u64,)*
        }

        impl RoomCounts {
            /// Adds the counts of another tick.
            pub fn add(&mut self, other: &RoomCounts) {
                $(self.$name += other.$name;)*
            }

            /// Returns every count with its name.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }
        }
    };
}

counts! {
    /// Players who joined.
    joins,
    /// Joins that were rejected.
    joins_refused,
    /// Players who left.
    leaves,
    /// Inputs applied.
    inputs,
    /// Inputs received before. Clients repeat inputs against loss.
    inputs_repeated,
    /// Inputs dropped because they exceed a player's rate.
    inputs_dropped,
    /// Queries of the spatial index for what a player sees.
    interest_queries,
    /// Inputs that could not be decoded.
    decode_errors,
    /// Messages of a kind that a room does not handle.
    unexpected,
    /// Reliable messages of players.
    messages,
    /// Commands and messages that the game rejected.
    refused,
    /// Playground commands without permission.
    unprivileged,
    /// Spawns that failed because the room has its maximum number of entities.
    spawns_refused,
    /// Corrections sent.
    corrections,
    /// Movements that are not finite.
    movement_not_finite,
    /// Movements above the speed limit.
    movement_speed,
    /// Movements above the acceleration limit.
    movement_acceleration,
    /// Movements that are teleports.
    movement_teleport,
    /// Movements out of bounds.
    movement_bounds,
    /// Movements above the rate limit.
    movement_rate,
    /// Movements out of sequence.
    movement_sequence,
    /// Events sent, counted per recipient.
    events,
    /// Requests sent to services.
    requests,
    /// Requests that failed because too many are pending.
    requests_refused,
    /// Journal entries committed by the game.
    entries,
    /// Journal entries that could not be stored.
    entries_refused,
    /// Connections closed because their reliable queue was full.
    too_slow,
    /// Snapshots built.
    snapshots,
    /// Snapshots built by several threads.
    snapshots_parallel,
    /// Snapshots skipped because the client had not taken the last one.
    snapshots_skipped,
    /// Deltas encoded. Each is shared by many clients.
    deltas_encoded,
    /// Updates sent, counted per recipient.
    updates,
}
