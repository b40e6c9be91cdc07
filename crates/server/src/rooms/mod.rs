//! The rooms of a server: made, found, listed and put away.

mod bridge;
mod code;
mod durable;
mod entry;
mod keeper;
mod kind;
mod steward;

pub(crate) use bridge::{Bridge, Call, Called};
pub(crate) use durable::{KeepSettings, told};
pub(crate) use entry::{Found, Hold, RoomEntry};
pub(crate) use keeper::Keeper;
pub(crate) use kind::{Build, GameKind, Registered, RoomKind, Started};

use crate::telemetry::KindFigures;
use aether_api::{RoomFilter, RoomInfo};
use aether_engine::recording::Recording;
use aether_engine::{Ending, RecordingSink, Refusal, RoomFigures, Scheduler, closing};
use aether_limits::{Share, Shares, network_of};
use aether_wire::{CloseReason, ErrorCode, RoomId, RoomSelector, Tick};
use code::new_code;
use entry::{HeldRoom, HeldUntil, Open};
use kind::NewRoom;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tracing::{error, info, warn};
use uuid::Uuid;

/// Rooms that a list shows at most.
const ROOMS_LISTED_MAX: usize = 100;

/// Everything about a server's rooms.
pub(crate) struct Rooms {
    kinds: BTreeMap<String, RoomKind>,
    scheduler: Scheduler,
    settings: RoomsSettings,
    bridge: Arc<Bridge>,
    /// The id of this server.
    node: String,
    open: Arc<Mutex<Open>>,
    /// Held by whoever looks for a room in the store.
    opening: tokio::sync::Mutex<()>,
    /// Those who look after rooms.
    stewards: Mutex<JoinSet<()>>,
    /// How many rooms each address has made.
    makers: Shares<IpAddr>,
    started: Instant,
    /// Set when no new rooms are made.
    closed: AtomicBool,
}

pub(crate) struct RoomsSettings {
    pub rooms_max: usize,
    /// How long a room without players is kept.
    pub empty: Duration,
    /// Rooms that one address may have made, so that nobody takes them all.
    pub per_address_max: u32,
    /// Where rooms are recorded to, if they are.
    pub recordings: Option<PathBuf>,
    /// How durable rooms are stored.
    pub keep: KeepSettings,
}

impl Rooms {
    pub fn new(
        kinds: Vec<RoomKind>,
        scheduler: Scheduler,
        settings: RoomsSettings,
        (bridge, node): (Arc<Bridge>, String),
    ) -> Rooms {
        Rooms {
            kinds: kinds.into_iter().map(|kind| (kind.name.clone(), kind)).collect(),
            scheduler,
            settings,
            bridge,
            node,
            open: Arc::default(),
            opening: tokio::sync::Mutex::default(),
            stewards: Mutex::default(),
            makers: Shares::default(),
            started: Instant::now(),
            closed: AtomicBool::new(false),
        }
    }

    pub fn kinds(&self) -> impl Iterator<Item = &RoomKind> {
        self.kinds.values()
    }

    pub fn len(&self) -> usize {
        self.open().by_id.len()
    }

    /// Whether a type's rooms outlast the server.
    pub fn is_durable(&self, room_type: &str) -> bool {
        self.kinds.get(room_type).is_some_and(RoomKind::is_durable)
    }

    /// Whether any type's rooms outlast the server.
    pub fn has_durable(&self) -> bool {
        self.kinds.values().any(RoomKind::is_durable)
    }

    /// The id of this server.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The room that is meant: one that runs, or that is stored and is rebuilt, or one that is made because any of its type
    /// will do and all that are there are full.
    pub async fn find(&self, selector: &RoomSelector, address: IpAddr) -> Result<Found, Refusal> {
        match self.find_running(selector, address)? {
            Some(found) => Ok(found),
            None => self.find_stored(selector, address).await,
        }
    }

    /// The room that is meant, if it runs or can be made without asking the store; nothing if the store may know it.
    fn find_running(&self, selector: &RoomSelector, address: IpAddr) -> Result<Option<Found>, Refusal> {
        let mut open = self.open();
        let (entry, may_be_stored) = match selector {
            RoomSelector::Id(id) => (open.by_id.get(id).cloned(), self.has_durable()),
            RoomSelector::Code(code) => (open.by_code.get(&code.to_ascii_uppercase()).cloned(), self.has_durable()),
            RoomSelector::Type { name, label } => {
                let wish = (name.clone(), label.clone().unwrap_or_default());
                let candidates = open.by_wish.get(&wish).map_or(&[][..], Vec::as_slice);
                match candidates.iter().find(|room| room.has_place()) {
                    Some(room) => (Some(Arc::clone(room)), false),
                    None if self.is_durable(name) => (None, true),
                    None => (Some(self.make(&mut open, wish, address)?), false),
                }
            }
        };
        match entry.filter(|entry| entry.is_open()) {
            Some(entry) => Ok(Some(Found::new(entry))),
            None if may_be_stored => Ok(None),
            None => Err(not_found()),
        }
    }

    fn make(
        &self,
        open: &mut Open,
        (name, label): (String, String),
        address: IpAddr,
    ) -> Result<Arc<RoomEntry>, Refusal> {
        let made = self.may_make(&name, address)?;
        let kind = self.kinds.get(&name).ok_or_else(not_found)?;
        let id = Uuid::now_v7();
        let recording_sink = self.sink(&name, &id.to_string());
        let new =
            NewRoom { seed: random_seed(), label: label.clone(), recording_sink, keep_every: None, restore: None };
        let started = self.start(kind, new)?;
        let code = std::iter::repeat_with(new_code).find(|code| !open.by_code.contains_key(code)).unwrap_or_default();
        let entry = Arc::new(self.entry(kind, (RoomId(format!("{id}.local")), code, label), started, made));
        if let Started::Game(_, handle) = &entry.started {
            let room = (entry.id.clone(), handle.clone());
            self.look_after(steward::look_after(room, Arc::clone(&self.bridge), None));
        }
        open.insert(&entry);
        Ok(entry)
    }

    /// Whether someone may make a room of a type.
    fn may_make(&self, name: &str, address: IpAddr) -> Result<Share<IpAddr>, Refusal> {
        if !self.kinds.contains_key(name) {
            let known: Vec<&str> = self.kinds.keys().map(String::as_str).collect();
            let sentence = format!("there is no room type of this name; there is {}", known.join(", "));
            return Err(Refusal::new(ErrorCode::RoomNotFound, sentence));
        }
        self.may_run(address, self.settings.per_address_max)
    }

    /// Whether there may be one more room, for whose running an address answers.
    fn may_run(&self, address: IpAddr, per_address_max: u32) -> Result<Share<IpAddr>, Refusal> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(Refusal::new(ErrorCode::Unavailable, "the server stops; no new rooms are made"));
        }
        let rooms_max = u32::try_from(self.settings.rooms_max).unwrap_or(u32::MAX);
        self.makers.take(network_of(address), per_address_max, rooms_max).ok_or_else(|| {
            Refusal::new(ErrorCode::LimitReached, "the server, or someone at your address, has as many rooms as may be")
        })
    }

    fn entry(
        &self,
        kind: &RoomKind,
        (id, code, wanted_label): (RoomId, String, String),
        started: Started,
        made: Share<IpAddr>,
    ) -> RoomEntry {
        info!(room = id.0, code, room_type = kind.name, "room made");
        RoomEntry {
            id,
            code,
            kind: kind.name.clone(),
            started,
            keeper: None,
            wanted_label,
            players_max: kind.players_max(),
            resume_seconds: kind.resume_seconds(),
            ending: AtomicBool::new(false),
            _made: made,
            connections: AtomicU32::new(0),
            used_at_ms: AtomicU64::new(self.now_ms()),
        }
    }

    /// Has a room looked after until it and everything of it has ended.
    fn look_after(&self, steward: impl Future<Output = ()> + Send + 'static) {
        let mut stewards = self.stewards.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that are done make place.
        while stewards.try_join_next().is_some() {}
        stewards.spawn(steward);
    }

    fn held_until(&self, id: RoomId) -> HeldUntil {
        HeldUntil(Arc::clone(&self.open), id)
    }

    /// Waits until everything of the rooms that have ended is answered and stored.
    pub async fn finish(&self) {
        let stewards = std::mem::take(&mut *self.stewards.lock().unwrap_or_else(PoisonError::into_inner));
        stewards.join_all().await;
    }

    /// Starts a room. A game that fails to begin is no reason to leave whoever asked without an answer.
    fn start(&self, kind: &RoomKind, new: NewRoom) -> Result<Started, Refusal> {
        let failed = |why: &dyn std::fmt::Display| {
            error!(room_type = kind.name, %why, "a room could not be made");
            Refusal::new(ErrorCode::Internal, "the room could not be made")
        };
        match catch_unwind(AssertUnwindSafe(|| kind.start(new, &self.scheduler))) {
            Ok(started) => started.map_err(|error| failed(&error)),
            Err(_) => Err(failed(&"its game panicked")),
        }
    }

    /// Where a room's recording goes when it is over.
    fn sink(&self, name: &str, id: &str) -> Option<RecordingSink> {
        let path = self.settings.recordings.as_ref()?.join(format!("{name}-{id}.aether"));
        Some(Box::new(move |recording: Recording| {
            if recording.ticks() == 0 {
                return;
            }
            match std::fs::write(&path, recording.to_bytes()) {
                Ok(()) => info!(path = %path.display(), ticks = recording.ticks(), "recording written"),
                Err(error) => error!(path = %path.display(), %error, "the recording could not be written"),
            }
        }))
    }

    /// The rooms that are meant, the oldest first, and no more than a list can show.
    pub fn list(&self, filter: &RoomFilter) -> Vec<RoomInfo> {
        let mut rooms: Vec<Arc<RoomEntry>> = self.open().by_id.values().cloned().collect();
        rooms.sort_by(|a, b| a.id.0.cmp(&b.id.0));
        rooms.iter().filter_map(|room| self.info(room, filter)).take(ROOMS_LISTED_MAX).collect()
    }

    fn info(&self, room: &RoomEntry, filter: &RoomFilter) -> Option<RoomInfo> {
        let label = room.label();
        let wanted = filter.room_type.as_ref().is_none_or(|kind| *kind == room.kind)
            && filter.label.as_ref().is_none_or(|wanted| *wanted == label);
        wanted.then(|| RoomInfo {
            id: room.id.0.clone(),
            code: room.code.clone(),
            room_type: room.kind.clone(),
            label,
            players: room.players(),
            players_max: room.players_max,
            tick_hz: self.kinds.get(&room.kind).map_or(0, RoomKind::tick_hz),
        })
    }

    /// What is due each second: rooms that nobody uses end, and figures are shown.
    pub fn each_second(&self) {
        let now_ms = self.now_ms();
        let mut relays_over = Vec::new();
        let open = self.open();
        let mut kinds: BTreeMap<&str, KindFigures> = BTreeMap::new();
        for room in open.by_id.values() {
            let kind = kinds.entry(room.kind.as_str()).or_default();
            kind.rooms += 1.0;
            kind.players += f64::from(room.players());
            if let Started::Game(_, handle) = &room.started {
                let figures = handle.figures();
                kind.entities += f64::from(figures.entities);
                kind.overload = kind.overload.max(f64::from(figures.overload));
                kind.letters = kind.letters.max(handle.letters() as f64);
            }
            if room.connections.load(Ordering::Relaxed) > 0 || room.players() > 0 {
                room.used_at_ms.store(now_ms, Ordering::Relaxed);
                continue;
            }
            let unused = now_ms.saturating_sub(room.used_at_ms.load(Ordering::Relaxed));
            if u128::from(unused) > self.settings.empty.as_millis() {
                room.ending.store(true, Ordering::Relaxed);
                match &room.started {
                    // It is taken off the list when the scheduler reports its end.
                    Started::Game(_, handle) => drop(handle.end()),
                    Started::Relay(_) => relays_over.push(Arc::clone(room)),
                }
            }
        }
        for kind in self.kinds() {
            kind.metrics().show(&kinds.get(kind.name.as_str()).copied().unwrap_or_default());
        }
        drop(open);
        for room in relays_over {
            self.remove(&room, "unused");
        }
    }

    /// Waits for a room to end and takes it off the list.
    pub fn put_away(&self, wait: Duration) {
        let Some((number, ending)) = self.scheduler.next_ended(wait) else { return };
        let Some(room) = self.open().by_number.get(&number).cloned() else { return };
        match ending {
            Ending::Finished => self.remove(&room, "finished"),
            Ending::Panicked(words) => {
                error!(room = room.id.0, room_type = room.kind, panic = words, "a room failed; it ended alone");
                if let Some(kind) = self.kinds.get(&room.kind) {
                    kind.metrics().failures.inc();
                }
                self.remove(&room, "failed");
            }
        }
    }

    fn remove(&self, room: &Arc<RoomEntry>, why: &str) {
        info!(room = room.id.0, code = room.code, why, "room ended");
        self.open().remove(room);
        if let Started::Relay(relay) = &room.started {
            relay.end(&closing(CloseReason::RoomEnded));
        }
    }

    /// From now on no rooms are made.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// How many players are in rooms.
    pub fn players(&self) -> u32 {
        self.open().by_id.values().map(|room| room.players()).sum()
    }

    /// A room that has been in one tick for a long time, if there is one. A game that never returns cannot be stopped, but it
    /// can be named. The others of its thread wait for it, and are not to blame.
    pub fn stuck(&self, before: &mut HashMap<RoomId, (u32, Instant)>, limit: Duration) -> Option<String> {
        let open = self.open();
        before.retain(|id, _| open.by_id.contains_key(id));
        let mut stuck = None;
        for room in open.by_id.values() {
            let Started::Game(_, handle) = &room.started else { continue };
            let RoomFigures { tick: Tick(tick), is_ticking, .. } = handle.figures();
            let seen = before.entry(room.id.clone()).or_insert((tick, Instant::now()));
            if seen.0 != tick {
                *seen = (tick, Instant::now());
            } else if seen.1.elapsed() > limit && is_ticking && handle.is_open() {
                warn!(room = room.id.0, room_type = room.kind, tick, "a room's tick does not end");
                stuck = Some(format!("the room {} of type {} is stuck in a tick", room.id.0, room.kind));
            }
        }
        stuck
    }

    fn end_relays(&self) {
        for room in self.open().by_id.values() {
            if let Started::Relay(relay) = &room.started {
                relay.end(&closing(CloseReason::Shutdown));
            }
        }
    }

    /// Ends all rooms, each with its game told and its players given the reason.
    pub fn stop(&self) {
        self.end_relays();
        self.scheduler.stop();
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}

/// Nobody outside may know the random numbers of a room.
fn random_seed() -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the system has random numbers");
    u64::from_le_bytes(bytes)
}

fn not_found() -> Refusal {
    Refusal::new(ErrorCode::RoomNotFound, "there is no such room")
}
