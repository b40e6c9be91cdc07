//! Stats that a room publishes, readable from any thread.

use crate::overload::OverloadLadder;
use crate::settings::RoomSettings;
use aether_bits::Schema;
use aether_wire::Tick;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Stats of a room, updated every tick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoomStats {
    /// Current tick.
    pub tick: Tick,
    /// Players in the room, including those without a connection.
    pub players: u32,
    /// Entities in the world.
    pub entities: u32,
    /// Rung of the overload ladder; 0 is no overload.
    pub overload: u32,
    /// Slowdown of time by the overload ladder, in percent; 0 is normal.
    pub slowdown_percent: u32,
    /// Recent duration of a tick, smoothed.
    pub tick_time: Duration,
    /// True during a tick. If it stays true, the game does not return.
    pub is_ticking: bool,
}

/// Memory that a room writes its stats to, with its settings, schema and label.
#[derive(Debug)]
pub(crate) struct SharedStats {
    pub settings: RoomSettings,
    pub schema: Arc<Schema>,
    tick: AtomicU32,
    players: AtomicU32,
    entities: AtomicU32,
    overload: AtomicU32,
    tick_ns: AtomicU64,
    is_ticking: AtomicBool,
    /// Locked only to read the label, or to change it, which is rare.
    label: Mutex<Arc<str>>,
}

impl SharedStats {
    pub fn new(settings: RoomSettings, schema: Schema) -> Self {
        SharedStats {
            settings,
            schema: Arc::new(schema),
            tick: AtomicU32::new(0),
            players: AtomicU32::new(0),
            entities: AtomicU32::new(0),
            overload: AtomicU32::new(0),
            tick_ns: AtomicU64::new(0),
            is_ticking: AtomicBool::new(false),
            label: Mutex::new(Arc::from("")),
        }
    }

    pub fn write(&self, stats: &RoomStats) {
        self.tick.store(stats.tick.0, Ordering::Relaxed);
        self.players.store(stats.players, Ordering::Relaxed);
        self.entities.store(stats.entities, Ordering::Relaxed);
        self.overload.store(stats.overload, Ordering::Relaxed);
    }

    /// Set by the scheduler, because the room has no clock.
    pub fn write_tick_time(&self, time: Duration) {
        self.tick_ns.store(time.as_nanos() as u64, Ordering::Relaxed);
    }

    pub fn write_ticking(&self, is_ticking: bool) {
        self.is_ticking.store(is_ticking, Ordering::Relaxed);
    }

    pub fn read(&self) -> RoomStats {
        let overload = self.overload.load(Ordering::Relaxed);
        RoomStats {
            tick: Tick(self.tick.load(Ordering::Relaxed)),
            players: self.players.load(Ordering::Relaxed),
            entities: self.entities.load(Ordering::Relaxed),
            overload,
            slowdown_percent: OverloadLadder::slowdown_percent_at(overload),
            tick_time: Duration::from_nanos(self.tick_ns.load(Ordering::Relaxed)),
            is_ticking: self.is_ticking.load(Ordering::Relaxed),
        }
    }

    pub fn label(&self) -> Arc<str> {
        Arc::clone(&self.label.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn set_label(&self, label: &str) {
        *self.label.lock().unwrap_or_else(PoisonError::into_inner) = Arc::from(label);
    }
}
