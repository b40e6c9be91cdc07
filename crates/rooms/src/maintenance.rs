//! Periodic work of the host: ends unused rooms, removes ended ones, sets gauges, and finds stuck rooms.

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

/// Room types whose gauges were set last, by name.
pub(crate) type ReportedTypes = BTreeMap<String, ReportedType>;

pub(crate) struct ReportedType {
    room_type: Arc<RoomType>,
    /// Total ticks of the type at that time.
    ticks: u64,
}

/// Stats of a room type in one second.
struct CurrentType {
    room_type: Arc<RoomType>,
    stats: RoomTypeStats,
}

impl CurrentType {
    fn new(room_type: &Arc<RoomType>) -> CurrentType {
        CurrentType { room_type: Arc::clone(room_type), stats: RoomTypeStats::default() }
    }
}

impl RoomHost {
    /// Ends unused rooms and sets the gauges of each room type. Call it once a second.
    pub fn run_maintenance(&self) {
        let (now_ms, is_draining) = (self.now_ms(), self.drain.is_active());
        let mut unused = Vec::new();
        let registered = self.types.all();
        let mut types: BTreeMap<String, CurrentType> =
            registered.iter().map(|room_type| (room_type.name().to_owned(), CurrentType::new(room_type))).collect();
        self.directory.for_each(|room| {
            // The room type may have been removed.
            let current = types.entry(room.room_type.name().to_owned());
            current.or_insert_with(|| CurrentType::new(&room.room_type)).stats.add(&*room.room);
            if room.is_in_use() {
                room.used_at_ms.store(now_ms, Ordering::Relaxed);
                return;
            }
            let unused_ms = now_ms.saturating_sub(room.used_at_ms.load(Ordering::Relaxed));
            // During a drain, other servers can open a durable room as soon as it is empty.
            if is_draining || u128::from(unused_ms) > self.settings.empty_time_max.as_millis() {
                room.is_ending.store(true, Ordering::Relaxed);
                unused.push(Arc::clone(room));
            }
        });
        self.report(types);
        for room in unused {
            self.end(&room, CloseReason::RoomEnded, "unused");
        }
    }

    /// Sets the gauges of all types. Types without registration and rooms are set to zero.
    fn report(&self, types: BTreeMap<String, CurrentType>) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let mut former = std::mem::take(&mut *reported);
        for (name, CurrentType { room_type, stats }) in types {
            let ticks = room_type.metrics.ticks();
            let before = former.remove(&name).map_or(ticks, |reported| reported.ticks);
            room_type.metrics.set_stats(&stats);
            room_type.metrics.set_tick_rate(ticks.saturating_sub(before) as f64);
            reported.insert(name, ReportedType { room_type, ticks });
        }
        for ReportedType { room_type, .. } in former.values() {
            room_type.metrics.set_stats(&RoomTypeStats::default());
            room_type.metrics.set_tick_rate(0.0);
        }
    }

    /// Ends a room. A game room is removed when the scheduler reports its end.
    pub(crate) fn end(&self, room: &RoomEntry, reason: CloseReason, why: &str) {
        room.is_ending.store(true, Ordering::Relaxed);
        if room.room.end(reason) {
            self.remove(room, why);
        }
    }

    /// Waits for a room to end and removes it from the directory.
    pub fn remove_ended(&self, wait: Duration) {
        let Some((number, exit)) = self.scheduler.next_ended(wait) else { return };
        let Some(room) = self.directory.by_number(number) else { return };
        match exit {
            RoomExit::Finished => self.remove(&room, "finished"),
            RoomExit::Failed(text) => {
                let room_type = room.room_type.name();
                error!(room = room.id.0, room_type, error = text, "game failed; room ended");
                room.room_type.metrics.failures.inc();
                self.remove(&room, "failed");
            }
            RoomExit::Panicked(message) => {
                let room_type = room.room_type.name();
                error!(room = room.id.0, room_type, panic = message, "game panicked; room ended");
                room.room_type.metrics.failures.inc();
                self.remove(&room, "failed");
            }
        }
    }

    fn remove(&self, room: &RoomEntry, why: &str) {
        info!(room = room.id.0, code = room.code, why, "room ended");
        self.directory.remove(room);
        room.members.close();
        self.requests.services().matchmaker.end_match(&room.id.0);
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

    /// Describes a room that has been in one tick for longer than the limit, if there is one. A game that never returns
    /// cannot be stopped. Other rooms of its thread wait for it and are not reported.
    pub fn find_stuck_room(&self, ticks_seen: &mut HashMap<RoomId, (u32, Instant)>, limit: Duration) -> Option<String> {
        let mut stuck = None;
        let mut present = HashMap::with_capacity(ticks_seen.len());
        self.directory.for_each(|room| {
            let Some(stats) = room.room.stats() else { return };
            let Tick(tick) = stats.tick;
            let before = ticks_seen.remove(&room.id).filter(|(seen, _)| *seen == tick);
            let (_, since) = before.unwrap_or((tick, Instant::now()));
            present.insert(room.id.clone(), (tick, since));
            if since.elapsed() > limit && stats.is_ticking && room.room.is_open() {
                let room_type = room.room_type.name();
                warn!(room = room.id.0, room_type, tick, "tick does not end");
                stuck = Some(format!("room {} of type {room_type} is stuck in a tick", room.id.0));
            }
        });
        *ticks_seen = present;
        stuck
    }

    /// Ends all rooms and waits for the tick threads. Games are notified, and players get the reason.
    pub fn stop(&self) {
        self.directory.for_each(|room| {
            if room.room.number().is_none() {
                room.room.end(CloseReason::Shutdown);
            }
        });
        self.scheduler.stop();
    }
}
