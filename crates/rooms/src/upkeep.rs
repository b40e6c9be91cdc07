//! Recurring work of the host: unused rooms end, ended rooms leave the directory, metrics are shown.

use crate::entry::RoomEntry;
use crate::host::RoomHost;
use crate::room_type::RoomType;
use crate::telemetry::RoomTypeStats;
use aether_engine::RoomExit;
use aether_wire::{CloseReason, RoomId, Tick};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use tracing::{error, info, warn};

/// Room types whose figures were shown last, by name.
pub(crate) type ShownTypes = BTreeMap<String, ShownType>;

pub(crate) struct ShownType {
    room_type: Arc<RoomType>,
    /// Number of ticks that all rooms of the type had made.
    ticks: u64,
}

/// Figures of a room type in one second.
struct CurrentType {
    room_type: Arc<RoomType>,
    figures: RoomTypeStats,
}

impl CurrentType {
    fn new(room_type: &Arc<RoomType>) -> CurrentType {
        CurrentType { room_type: Arc::clone(room_type), figures: RoomTypeStats::default() }
    }
}

impl RoomHost {
    /// Ends rooms that nobody uses and shows the figures of each type. To be called once a second.
    pub fn each_second(&self) {
        let now_ms = self.now_ms();
        let mut ended = Vec::new();
        let registered = self.types.all();
        let mut types: BTreeMap<String, CurrentType> =
            registered.iter().map(|room_type| (room_type.name().to_owned(), CurrentType::new(room_type))).collect();
        self.directory.for_each(|room| {
            // The type of a room may have been removed.
            let current = types.entry(room.room_type.name().to_owned());
            current.or_insert_with(|| CurrentType::new(&room.room_type)).figures.add(&*room.room);
            if room.is_in_use() {
                room.used_at_ms.store(now_ms, Ordering::Relaxed);
                return;
            }
            let unused_ms = now_ms.saturating_sub(room.used_at_ms.load(Ordering::Relaxed));
            if u128::from(unused_ms) > self.settings.empty_time_max.as_millis() {
                room.ending.store(true, Ordering::Relaxed);
                ended.push(Arc::clone(room));
            }
        });
        self.show(types);
        for room in ended {
            self.end(&room, CloseReason::RoomEnded, "unused");
        }
    }

    /// Shows the figures of all types, and zero for those that have neither a registration nor a room any more.
    fn show(&self, types: BTreeMap<String, CurrentType>) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let mut former = std::mem::take(&mut *shown);
        for (name, CurrentType { room_type, figures }) in types {
            let ticks = room_type.metrics.ticks();
            let before = former.remove(&name).map_or(ticks, |shown| shown.ticks);
            room_type.metrics.show(&figures);
            room_type.metrics.show_rate(ticks.saturating_sub(before) as f64);
            shown.insert(name, ShownType { room_type, ticks });
        }
        for ShownType { room_type, .. } in former.values() {
            room_type.metrics.show(&RoomTypeStats::default());
            room_type.metrics.show_rate(0.0);
        }
    }

    /// Ends a room. One that ticks is removed when the scheduler reports its end.
    pub(crate) fn end(&self, room: &RoomEntry, reason: CloseReason, why: &str) {
        room.ending.store(true, Ordering::Relaxed);
        if room.room.end(reason) {
            self.remove(room, why);
        }
    }

    /// Waits for a room to end and removes it from the directory.
    pub fn remove_ended(&self, wait: Duration) {
        let Some((number, ending)) = self.scheduler.next_ended(wait) else { return };
        let Some(room) = self.directory.by_number(number) else { return };
        match ending {
            RoomExit::Finished => self.remove(&room, "finished"),
            RoomExit::Panicked(message) => {
                let room_type = room.room_type.name();
                error!(room = room.id.0, room_type, panic = message, "a room failed; it ended alone");
                room.room_type.metrics.failures.inc();
                self.remove(&room, "failed");
            }
        }
    }

    fn remove(&self, room: &RoomEntry, why: &str) {
        info!(room = room.id.0, code = room.code, why, "room ended");
        self.directory.remove(room);
    }

    /// Number of rooms.
    #[must_use]
    pub fn len(&self) -> usize {
        self.directory.len()
    }

    /// Returns true if there is no room.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of players in all rooms.
    #[must_use]
    pub fn players(&self) -> u32 {
        let mut players = 0;
        self.directory.for_each(|room| players += room.room.players());
        players
    }

    /// Names a room that has been in one tick for longer than the limit. A game that never returns cannot be stopped. Other
    /// rooms of its thread wait for it and are not named.
    pub fn stuck(&self, ticks_seen: &mut HashMap<RoomId, (u32, Instant)>, limit: Duration) -> Option<String> {
        let mut stuck = None;
        let mut present = HashMap::with_capacity(ticks_seen.len());
        self.directory.for_each(|room| {
            let Some(figures) = room.room.figures() else { return };
            let Tick(tick) = figures.tick;
            let before = ticks_seen.remove(&room.id).filter(|(seen, _)| *seen == tick);
            let (_, since) = before.unwrap_or((tick, Instant::now()));
            present.insert(room.id.clone(), (tick, since));
            if since.elapsed() > limit && figures.is_ticking && room.room.is_open() {
                let room_type = room.room_type.name();
                warn!(room = room.id.0, room_type, tick, "a room's tick does not end");
                stuck = Some(format!("the room {} of type {room_type} is stuck in a tick", room.id.0));
            }
        });
        *ticks_seen = present;
        stuck
    }

    /// Ends all rooms: each game is told, and its players get the reason. It waits for the tick threads.
    pub fn stop(&self) {
        self.directory.for_each(|room| {
            if room.room.number().is_none() {
                room.room.end(CloseReason::Shutdown);
            }
        });
        self.scheduler.stop();
    }
}
