//! Directory of rooms: all lookups of rooms go through it.

use crate::code::new_code;
use crate::entry::{RoomEntry, RoomRef};
use aether_engine::RoomNumber;
use aether_wire::{RoomId, RoomSelector};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;
use uuid::Uuid;

/// Location of a room.
pub(crate) enum RoomLocation {
    /// The room runs on this node.
    Local(RoomRef),
    /// The room's id names another node.
    Elsewhere(String),
}

/// Room type and requested label. A request for any room of a type is served by a room with the same label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TypeLabel {
    pub room_type: String,
    pub label: String,
}

impl TypeLabel {
    pub fn new(room_type: &str, label: &str) -> TypeLabel {
        TypeLabel { room_type: room_type.to_owned(), label: label.to_owned() }
    }
}

/// Rooms of this node, by all lookup keys. The lock is held for lookups only: rooms are built and opened outside of it.
pub(crate) struct RoomDirectory {
    /// Name of this node: the last part of the ids of its rooms.
    node: String,
    tables: Mutex<Tables>,
    /// Notified when a durable room is unloaded.
    unloaded: Notify,
}

#[derive(Default)]
struct Tables {
    by_id: HashMap<RoomId, Arc<RoomEntry>>,
    by_code: HashMap<String, Arc<RoomEntry>>,
    by_number: HashMap<RoomNumber, Arc<RoomEntry>>,
    by_type: HashMap<TypeLabel, Vec<Arc<RoomEntry>>>,
    /// Durable rooms that this node writes: running ones, and ended ones until all writes are done. A private room has no
    /// type and label, because nobody waits for it by type.
    written: HashMap<RoomId, Option<TypeLabel>>,
}

impl RoomDirectory {
    pub fn new(node: String) -> Arc<RoomDirectory> {
        Arc::new(RoomDirectory { node, tables: Mutex::default(), unloaded: Notify::new() })
    }

    /// Returns the id of a new room of this node.
    pub fn new_id(&self) -> RoomId {
        RoomId(format!("{}.{}", Uuid::now_v7(), self.node))
    }

    /// Finds a room that takes joins: by id, by code, or any room of a type that is not full.
    pub fn locate(&self, selector: &RoomSelector) -> Option<RoomLocation> {
        let tables = self.tables();
        let entry = match selector {
            RoomSelector::Id(id) => tables.by_id.get(id),
            RoomSelector::Code(code) => tables.by_code.get(&code.to_ascii_uppercase()),
            RoomSelector::Type { name, label } => {
                let wanted = TypeLabel::new(name, label.as_deref().unwrap_or_default());
                tables.by_type.get(&wanted).and_then(|rooms| rooms.iter().find(|room| room.has_capacity()))
            }
            RoomSelector::NewPrivate { .. } => None,
        };
        // The reference is created under the lock, so that the room is not ended as unused in between.
        match (entry.filter(|entry| entry.is_open()), selector) {
            (Some(entry), _) => Some(RoomLocation::Local(RoomRef::new(Arc::clone(entry)))),
            (None, RoomSelector::Id(id)) => self.other_node(id).map(RoomLocation::Elsewhere),
            (None, _) => None,
        }
    }

    /// Finds a room that runs on this node.
    pub fn local(&self, selector: &RoomSelector) -> Option<RoomRef> {
        match self.locate(selector) {
            Some(RoomLocation::Local(room)) => Some(room),
            Some(RoomLocation::Elsewhere(_)) | None => None,
        }
    }

    /// Returns the node of a room id, if it is another one.
    fn other_node(&self, id: &RoomId) -> Option<String> {
        let (_, node) = id.0.split_once('.')?;
        // The id of a relayed match names no node.
        (!node.is_empty() && node != self.node).then(|| node.to_owned())
    }

    pub fn by_number(&self, number: RoomNumber) -> Option<Arc<RoomEntry>> {
        self.tables().by_number.get(&number).cloned()
    }

    /// Returns all rooms, oldest first.
    pub fn all(&self) -> Vec<Arc<RoomEntry>> {
        let mut rooms: Vec<_> = self.tables().by_id.values().cloned().collect();
        // Ids begin with their time of creation.
        rooms.sort_by(|a, b| a.id.0.cmp(&b.id.0));
        rooms
    }

    /// Calls a function for each room, in no order. The directory is locked meanwhile, so no client joins.
    pub fn for_each(&self, mut visit: impl FnMut(&Arc<RoomEntry>)) {
        self.tables().by_id.values().for_each(&mut visit);
    }

    pub fn len(&self) -> usize {
        self.tables().by_id.len()
    }

    /// Adds a room. If its code is in use, a room that is not durable gets another one.
    pub fn insert(&self, mut entry: RoomEntry) -> RoomRef {
        let mut tables = self.tables();
        while entry.write_queue.is_none() && tables.by_code.contains_key(&entry.code) {
            entry.code = new_code();
        }
        let entry = Arc::new(entry);
        tables.by_id.insert(entry.id.clone(), Arc::clone(&entry));
        tables.by_code.insert(entry.code.clone(), Arc::clone(&entry));
        if !entry.is_private {
            tables.by_type.entry(entry.type_label()).or_default().push(Arc::clone(&entry));
        }
        if let Some(number) = entry.room.number() {
            tables.by_number.insert(number, Arc::clone(&entry));
        }
        RoomRef::new(entry)
    }

    pub fn remove(&self, room: &RoomEntry) {
        let mut tables = self.tables();
        tables.by_id.remove(&room.id);
        if tables.by_code.get(&room.code).is_some_and(|other| other.id == room.id) {
            tables.by_code.remove(&room.code);
        }
        if let Some(number) = room.room.number() {
            tables.by_number.remove(&number);
        }
        let type_label = room.type_label();
        if let Some(rooms) = tables.by_type.get_mut(&type_label) {
            rooms.retain(|other| other.id != room.id);
            if rooms.is_empty() {
                tables.by_type.remove(&type_label);
            }
        }
    }

    /// Marks a durable room as written by this node until the guard is dropped.
    pub fn begin_writing(self: &Arc<Self>, id: RoomId, type_label: Option<TypeLabel>) -> WritingGuard {
        self.tables().written.insert(id.clone(), type_label);
        WritingGuard { directory: Arc::clone(self), id }
    }

    /// Returns true if this node writes a durable room, running or not.
    pub fn is_written(&self, id: &RoomId) -> bool {
        self.tables().written.contains_key(id)
    }

    /// Waits until a room is unloaded. Returns false on timeout.
    pub async fn wait_until_unloaded(&self, id: &RoomId, time_max: Duration) -> bool {
        self.wait_while(|tables| tables.written.contains_key(id), time_max).await
    }

    /// Waits until no room of a type and label is being unloaded, so that it can be opened again instead of a new one
    /// being created. Returns false on timeout.
    pub async fn wait_until_all_unloaded(&self, wanted: &TypeLabel, time_max: Duration) -> bool {
        let is_unloading = |tables: &Tables| {
            let is_open = |id: &RoomId| tables.by_id.get(id).is_some_and(|room| room.is_open());
            tables.written.iter().any(|(id, type_label)| type_label.as_ref() == Some(wanted) && !is_open(id))
        };
        self.wait_while(is_unloading, time_max).await
    }

    async fn wait_while(&self, condition: impl Fn(&Tables) -> bool, time_max: Duration) -> bool {
        let changed = async {
            loop {
                let unloaded = self.unloaded.notified();
                if !condition(&self.tables()) {
                    return;
                }
                unloaded.await;
            }
        };
        timeout(time_max, changed).await.is_ok()
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks a durable room as written by this node.
pub(crate) struct WritingGuard {
    directory: Arc<RoomDirectory>,
    id: RoomId,
}

impl Drop for WritingGuard {
    fn drop(&mut self) {
        self.directory.tables().written.remove(&self.id);
        self.directory.unloaded.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosted::RelayRoom;
    use crate::members::MatchMembers;
    use crate::places::RoomPlaces;
    use crate::room_type::{RoomDefinition, RoomType};
    use aether_limits::NetworkShares;
    use aether_metrics::Registry;
    use aether_net::relay::{Relay, RelaySettings};
    use aether_services::router::{Router, StreamId};
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::atomic::{AtomicBool, Ordering};

    fn entry(directory: &RoomDirectory, code: &str) -> RoomEntry {
        let definition = RoomDefinition::Relay(RelaySettings { members_max: 1, ..RelaySettings::default() });
        let shares = NetworkShares::default();
        RoomEntry {
            id: directory.new_id(),
            code: code.to_owned(),
            room_type: Arc::new(RoomType::new("lounge", definition, &Registry::new())),
            room: Box::new(RelayRoom::new(Relay::new(RelaySettings::default()), String::new())),
            write_queue: None,
            is_private: false,
            places: Arc::new(RoomPlaces::new(0)),
            members: MatchMembers::new(String::new(), StreamId::default(), Arc::new(Router::new(&Registry::new()))),
            label_document: Mutex::default(),
            wanted_label: String::new(),
            is_ending: AtomicBool::new(false),
            _share: shares.take(IpAddr::V4(Ipv4Addr::LOCALHOST), 1, 1).unwrap(),
            connections: 0.into(),
            used_at_ms: 0.into(),
        }
    }

    fn any_lounge() -> RoomSelector {
        RoomSelector::Type { name: "lounge".into(), label: None }
    }

    #[test]
    fn a_room_is_found_by_id_by_code_and_by_type_until_it_is_full() {
        let directory = RoomDirectory::new("north".into());
        let room = directory.insert(entry(&directory, "AAAAAA"));
        assert!(room.id.0.ends_with(".north"));
        assert!(directory.local(&RoomSelector::Id(room.id.clone())).is_some());
        assert!(directory.local(&RoomSelector::Code("aaaaaa".into())).is_some());
        assert!(directory.local(&any_lounge()).is_none(), "the first reference fills the room");
        drop(room);
        assert!(directory.local(&any_lounge()).is_some());
    }

    #[test]
    fn a_private_room_is_found_by_id_and_code_only() {
        let directory = RoomDirectory::new("north".into());
        let room = directory.insert(RoomEntry { is_private: true, ..entry(&directory, "AAAAAA") });
        let (id, code) = (room.id.clone(), room.code.clone());
        drop(room);
        assert!(directory.local(&RoomSelector::Id(id)).is_some());
        assert!(directory.local(&RoomSelector::Code(code)).is_some());
        assert!(directory.local(&any_lounge()).is_none());
    }

    #[test]
    fn an_id_of_another_node_is_elsewhere_and_an_unknown_one_is_not_found() {
        let directory = RoomDirectory::new("north".into());
        let locate = |id: &str| directory.locate(&RoomSelector::Id(RoomId(id.into())));
        assert!(matches!(locate("1.south"), Some(RoomLocation::Elsewhere(node)) if node == "south"));
        assert!(locate("1.north").is_none());
        assert!(locate("1.").is_none(), "a relayed match names no node");
        assert!(locate("1").is_none());
    }

    #[test]
    fn an_ending_room_is_not_found_and_a_removed_one_is_not_counted() {
        let directory = RoomDirectory::new("north".into());
        let room = directory.insert(entry(&directory, "AAAAAA"));
        room.is_ending.store(true, Ordering::Relaxed);
        assert!(directory.local(&RoomSelector::Id(room.id.clone())).is_none());
        directory.remove(&room);
        assert_eq!(directory.len(), 0);
    }

    #[test]
    fn codes_are_unique() {
        let directory = RoomDirectory::new("north".into());
        let (first, second) =
            (directory.insert(entry(&directory, "AAAAAA")), directory.insert(entry(&directory, "AAAAAA")));
        assert_ne!(first.code, second.code);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_when_a_room_is_unloaded() {
        let directory = RoomDirectory::new("north".into());
        let id = directory.new_id();
        let guard = directory.begin_writing(id.clone(), Some(TypeLabel::new("lounge", "")));
        assert!(!directory.wait_until_unloaded(&id, Duration::from_secs(1)).await);
        let waiting = tokio::spawn({
            let (directory, id) = (Arc::clone(&directory), id.clone());
            async move { directory.wait_until_unloaded(&id, Duration::from_secs(60)).await }
        });
        tokio::task::yield_now().await;
        drop(guard);
        assert!(waiting.await.unwrap());
        assert!(directory.wait_until_all_unloaded(&TypeLabel::new("lounge", ""), Duration::ZERO).await);
    }
}
