//! What anyone may know of a room without asking it.

use crate::settings::RoomSettings;
use aether_bits::Schema;
use aether_wire::Tick;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a room shows of itself; each tick writes it anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoomStats {
    /// The current tick.
    pub tick: Tick,
    /// Players who are in, those with a lost connection included.
    pub players: u32,
    /// Entities in the world.
    pub entities: u32,
    /// The rung of the overload ladder: 0 is none.
    pub overload: u32,
    /// What a tick took lately, smoothed.
    pub tick_time: Duration,
    /// Whether it is in the middle of a tick. A room that stays so has a game that does not return.
    pub is_ticking: bool,
}

/// The place where a room writes its figures and others read them.
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
    /// Locked only to read it and when it changes, which is rare.
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

    pub fn write(&self, figures: &RoomStats) {
        self.tick.store(figures.tick.0, Ordering::Relaxed);
        self.players.store(figures.players, Ordering::Relaxed);
        self.entities.store(figures.entities, Ordering::Relaxed);
        self.overload.store(figures.overload, Ordering::Relaxed);
    }

    /// What a tick took is known only to whoever has a clock.
    pub fn write_tick_time(&self, time: Duration) {
        self.tick_ns.store(time.as_nanos() as u64, Ordering::Relaxed);
    }

    pub fn write_ticking(&self, is_ticking: bool) {
        self.is_ticking.store(is_ticking, Ordering::Relaxed);
    }

    pub fn read(&self) -> RoomStats {
        RoomStats {
            tick: Tick(self.tick.load(Ordering::Relaxed)),
            players: self.players.load(Ordering::Relaxed),
            entities: self.entities.load(Ordering::Relaxed),
            overload: self.overload.load(Ordering::Relaxed),
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
