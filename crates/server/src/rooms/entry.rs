//! One room on the list, and the list.

use super::{Keeper, Started};
use aether_engine::RoomNumber;
use aether_limits::Share;
use aether_wire::RoomId;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A room that runs.
pub(crate) struct RoomEntry {
    pub id: RoomId,
    pub code: String,
    pub kind: String,
    pub started: Started,
    /// Where what is to be stored of it is handed in, if it is durable.
    pub keeper: Option<Arc<Keeper>>,
    /// The label that whoever asked for a room of its type gave.
    pub(super) wanted_label: String,
    pub(super) players_max: usize,
    pub(super) resume_seconds: f32,
    /// Set when it is about to end; nobody is let in any more.
    pub(super) ending: AtomicBool,
    /// Held by whoever made it, while it lasts.
    pub(super) _made: Share<IpAddr>,
    /// Connections that are in it or about to be.
    pub(super) connections: AtomicU32,
    /// Milliseconds since the server started at which it was last seen with someone in it.
    pub(super) used_at_ms: AtomicU64,
}

/// The rooms that run, by all that they are looked for by.
#[derive(Default)]
pub(super) struct Open {
    pub(super) by_id: HashMap<RoomId, Arc<RoomEntry>>,
    pub(super) by_code: HashMap<String, Arc<RoomEntry>>,
    pub(super) by_number: HashMap<RoomNumber, Arc<RoomEntry>>,
    /// By type and wanted label: whoever asks for any room of a type looks only at those.
    pub(super) by_wish: HashMap<(String, String), Vec<Arc<RoomEntry>>>,
    /// Durable rooms that this server writes to; also those that have ended, until everything of them is stored.
    pub(super) held: HashMap<RoomId, HeldRoom>,
}

/// What is to be known of a durable room as long as this server has it.
pub(super) struct HeldRoom {
    pub(super) code: String,
    pub(super) wish: (String, String),
}

/// While it lasts, a durable room counts as one that this server writes to.
pub(super) struct HeldUntil(pub(super) Arc<Mutex<Open>>, pub(super) RoomId);

impl Drop for HeldUntil {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).held.remove(&self.1);
    }
}

/// A room that was found, and a hold on it.
pub(crate) struct Found {
    pub room: Arc<RoomEntry>,
    pub hold: Hold,
}

impl Found {
    pub(super) fn new(room: Arc<RoomEntry>) -> Found {
        room.connections.fetch_add(1, Ordering::Relaxed);
        let hold = Hold(Arc::clone(&room));
        Found { room, hold }
    }
}

/// A connection's hold on a room: while it lasts, the room counts as used.
pub(crate) struct Hold(Arc<RoomEntry>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl RoomEntry {
    /// For how long a player who lost the connection keeps the place.
    pub fn grace(&self) -> Duration {
        Duration::from_secs_f32(self.resume_seconds)
    }

    pub(super) fn has_place(&self) -> bool {
        let in_use = self.players().max(self.connections.load(Ordering::Relaxed));
        self.is_open() && (in_use as usize) < self.players_max
    }

    pub fn is_open(&self) -> bool {
        !self.ending.load(Ordering::Relaxed) && self.takes_letters()
    }

    fn takes_letters(&self) -> bool {
        match &self.started {
            Started::Game(_, handle) => handle.is_open(),
            Started::Relay(_) => true,
        }
    }

    pub fn players(&self) -> u32 {
        match &self.started {
            Started::Game(_, handle) => handle.figures().players,
            Started::Relay(relay) => relay.members() as u32,
        }
    }

    pub(super) fn label(&self) -> String {
        match &self.started {
            Started::Game(_, handle) => handle.label().to_string(),
            Started::Relay(_) => self.wanted_label.clone(),
        }
    }

    fn wish(&self) -> (String, String) {
        (self.kind.clone(), self.wanted_label.clone())
    }
}

impl Open {
    pub(super) fn insert(&mut self, room: &Arc<RoomEntry>) {
        self.by_id.insert(room.id.clone(), Arc::clone(room));
        self.by_code.insert(room.code.clone(), Arc::clone(room));
        self.by_wish.entry(room.wish()).or_default().push(Arc::clone(room));
        if let Started::Game(number, _) = &room.started {
            self.by_number.insert(*number, Arc::clone(room));
        }
    }

    pub(super) fn remove(&mut self, room: &RoomEntry) {
        self.by_id.remove(&room.id);
        self.by_code.remove(&room.code);
        if let Started::Game(number, _) = &room.started {
            self.by_number.remove(number);
        }
        let wish = room.wish();
        if let Some(rooms) = self.by_wish.get_mut(&wish) {
            rooms.retain(|other| other.id != room.id);
            if rooms.is_empty() {
                self.by_wish.remove(&wish);
            }
        }
    }
}
