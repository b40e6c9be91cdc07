//! Directory entry of a running room.

use crate::directory::TypeLabel;
use crate::hosted::HostedRoom;
use crate::members::MatchMembers;
use crate::places::RoomPlaces;
use crate::room_type::RoomType;
use crate::writer::WriteQueue;
use aether_limits::NetworkShare;
use aether_query::Document;
use aether_wire::RoomId;
use serde_json::Value;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A running room, with its directory data.
pub(crate) struct RoomEntry {
    pub id: RoomId,
    pub code: String,
    pub room_type: Arc<RoomType>,
    pub room: Box<dyn HostedRoom>,
    /// Write queue of a durable room.
    pub write_queue: Option<Arc<WriteQueue>>,
    /// True if the room is absent from lists and joined by id or code only.
    pub is_private: bool,
    /// Places of each network.
    pub places: Arc<RoomPlaces>,
    /// Members over the services socket.
    pub members: Arc<MatchMembers>,
    /// Label as a document for queries, with the label that it was made of.
    pub label_document: Mutex<Option<LabelDocument>>,
    /// Label that the first player requested.
    pub wanted_label: String,
    /// Set before the room ends: it takes no more joins.
    pub is_ending: AtomicBool,
    /// Creator's share of the room limit.
    pub _share: NetworkShare,
    /// Number of connections that have joined or are about to.
    pub connections: AtomicU32,
    /// Time of last use, in milliseconds since the start of the server.
    pub used_at_ms: AtomicU64,
}

/// Label of a room as a document; none if it is not a JSON object.
pub(crate) type LabelDocument = (Arc<str>, Option<Arc<Document>>);

impl RoomEntry {
    /// Returns the label as a document for queries. It is made again only if the label has changed.
    pub fn label_document(&self) -> Option<Arc<Document>> {
        let label = self.room.label();
        let mut known = self.label_document.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((of, document)) if *of == label => document.clone(),
            _ => {
                let value = serde_json::from_str::<Value>(&label).ok().filter(Value::is_object);
                let document = value.and_then(|value| Document::builder().json("label", &value).build().ok());
                let document = document.map(Arc::new);
                *known = Some((label, document.clone()));
                document
            }
        }
    }

    /// Returns true if one more player can join.
    pub fn has_capacity(&self) -> bool {
        let in_use = self.room.players().max(self.connections.load(Ordering::Relaxed));
        self.is_open() && (in_use as usize) < self.room_type.players_max()
    }

    /// Returns true while the room takes joins.
    pub fn is_open(&self) -> bool {
        !self.is_ending.load(Ordering::Relaxed) && self.room.is_open()
    }

    /// Returns true if the room has players or joining connections.
    pub fn is_in_use(&self) -> bool {
        self.connections.load(Ordering::Relaxed) > 0 || self.room.players() > 0
    }

    pub fn type_label(&self) -> TypeLabel {
        TypeLabel::new(self.room_type.name(), &self.wanted_label)
    }
}

/// Reference to a room. It counts as a connection, so the room stays in use until it is dropped.
pub(crate) struct RoomRef(Arc<RoomEntry>);

impl RoomRef {
    pub fn new(entry: Arc<RoomEntry>) -> RoomRef {
        entry.connections.fetch_add(1, Ordering::Relaxed);
        RoomRef(entry)
    }
}

impl Clone for RoomRef {
    fn clone(&self) -> RoomRef {
        RoomRef::new(Arc::clone(&self.0))
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
