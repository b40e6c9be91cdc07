//! One running room with what the host knows of it.

use crate::directory::TypeLabel;
use crate::hosted::HostedRoom;
use crate::room_type::RoomType;
use crate::writer::WriteQueue;
use aether_limits::KeyedShare;
use aether_wire::RoomId;
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// A running room.
pub(crate) struct RoomEntry {
    pub id: RoomId,
    pub code: String,
    pub room_type: Arc<RoomType>,
    pub room: Box<dyn HostedRoom>,
    /// Queue of what is to be stored of a durable room.
    pub write_queue: Option<Arc<WriteQueue>>,
    /// Label that the first player asked for.
    pub wanted_label: String,
    /// Set when it is about to end: it takes no more joins.
    pub ending: AtomicBool,
    /// Share of the limit on rooms, taken by whoever created it.
    pub _share: KeyedShare<IpAddr>,
    /// Connections that are in it or about to join.
    pub connections: AtomicU32,
    /// Milliseconds since the start of the server at which it was last in use.
    pub used_at_ms: AtomicU64,
}

impl RoomEntry {
    /// Returns true if one more player fits in.
    pub fn has_place(&self) -> bool {
        let in_use = self.room.players().max(self.connections.load(Ordering::Relaxed));
        self.is_open() && (in_use as usize) < self.room_type.players_max()
    }

    /// Returns true while it takes joins.
    pub fn is_open(&self) -> bool {
        !self.ending.load(Ordering::Relaxed) && self.room.is_open()
    }

    /// Returns true if someone is in it or about to join.
    pub fn is_in_use(&self) -> bool {
        self.connections.load(Ordering::Relaxed) > 0 || self.room.players() > 0
    }

    pub fn type_label(&self) -> TypeLabel {
        TypeLabel::new(self.room_type.name(), &self.wanted_label)
    }
}

/// A reference to a room that counts as a connection: while it is held, the room is in use.
pub(crate) struct RoomRef(Arc<RoomEntry>);

impl RoomRef {
    pub fn new(entry: Arc<RoomEntry>) -> RoomRef {
        entry.connections.fetch_add(1, Ordering::Relaxed);
        RoomRef(entry)
    }
}

impl Deref for RoomRef {
    type Target = RoomEntry;

    fn deref(&self) -> &RoomEntry {
        &self.0
    }
}

impl Drop for RoomRef {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
