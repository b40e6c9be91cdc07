//! The directory of rooms: everything that looks for a room asks it.

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

/// Answer of the directory.
pub(crate) enum RoomLocation {
    /// The room runs on this node.
    Local(RoomRef),
    /// The room's id names another node.
    Elsewhere(String),
}

/// Room type and wanted label: whoever asks for any room of a type gets one of the same label.
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

/// The rooms of this node, by everything that they are looked for by. The lock is held for lookups only: rooms are built
/// and opened outside of it.
pub(crate) struct RoomDirectory {
    /// Name of this node, the last part of the ids of its rooms.
    node: String,
    tables: Mutex<Tables>,
    /// Notified when a durable room was unloaded.
    unloaded: Notify,
}

#[derive(Default)]
struct Tables {
    by_id: HashMap<RoomId, Arc<RoomEntry>>,
    by_code: HashMap<String, Arc<RoomEntry>>,
    by_number: HashMap<RoomNumber, Arc<RoomEntry>>,
    by_type: HashMap<TypeLabel, Vec<Arc<RoomEntry>>>,
    /// Durable rooms that this node writes to: those that run, and those that have ended until all of them is stored.
    written: HashMap<RoomId, TypeLabel>,
}

impl RoomDirectory {
    pub fn new(node: String) -> Arc<RoomDirectory> {
        Arc::new(RoomDirectory { node, tables: Mutex::default(), unloaded: Notify::new() })
    }

    /// Returns a new id of a room of this node.
    pub fn new_id(&self) -> RoomId {
        RoomId(format!("{}.{}", Uuid::now_v7(), self.node))
    }

    /// Finds a room that takes joins: by id, by code, or one of a type that has a free place.
    pub fn locate(&self, selector: &RoomSelector) -> Option<RoomLocation> {
        let tables = self.tables();
        let entry = match selector {
            RoomSelector::Id(id) => tables.by_id.get(id),
            RoomSelector::Code(code) => tables.by_code.get(&code.to_ascii_uppercase()),
            RoomSelector::Type { name, label } => {
                let wanted = TypeLabel::new(name, label.as_deref().unwrap_or_default());
                tables.by_type.get(&wanted).and_then(|rooms| rooms.iter().find(|room| room.has_place()))
            }
        };
        // Counted as in use under the lock, so that it is not ended as unused in between.
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

    /// Returns the node that an id names, if it is another one.
    fn other_node(&self, id: &RoomId) -> Option<String> {
        let (_, node) = id.0.split_once('.')?;
        (node != self.node).then(|| node.to_owned())
    }

    pub fn by_number(&self, number: RoomNumber) -> Option<Arc<RoomEntry>> {
        self.tables().by_number.get(&number).cloned()
    }

    /// Returns all rooms, the oldest first.
    pub fn all(&self) -> Vec<Arc<RoomEntry>> {
        let mut rooms: Vec<_> = self.tables().by_id.values().cloned().collect();
        // Ids are ordered by time.
        rooms.sort_by(|a, b| a.id.0.cmp(&b.id.0));
        rooms
    }

    /// Calls a function for each room, in no order, with the directory locked: nobody joins a room meanwhile.
    pub fn for_each(&self, mut visit: impl FnMut(&Arc<RoomEntry>)) {
        self.tables().by_id.values().for_each(&mut visit);
    }

    pub fn len(&self) -> usize {
        self.tables().by_id.len()
    }

    /// Adds a room. One that is not durable gets another code if its code is taken.
    pub fn insert(&self, mut entry: RoomEntry) -> RoomRef {
        let mut tables = self.tables();
        while entry.write_queue.is_none() && tables.by_code.contains_key(&entry.code) {
            entry.code = new_code();
        }
        let entry = Arc::new(entry);
        tables.by_id.insert(entry.id.clone(), Arc::clone(&entry));
        tables.by_code.insert(entry.code.clone(), Arc::clone(&entry));
        tables.by_type.entry(entry.type_label()).or_default().push(Arc::clone(&entry));
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

    /// Counts a durable room as written by this node until the guard is dropped.
    pub fn begin_writing(self: &Arc<Self>, id: RoomId, type_label: TypeLabel) -> WritingGuard {
        self.tables().written.insert(id.clone(), type_label);
        WritingGuard { directory: Arc::clone(self), id }
    }

    /// Returns true if this node writes to a durable room, running or not.
    pub fn is_written(&self, id: &RoomId) -> bool {
        self.tables().written.contains_key(id)
    }

    /// Waits until a room that has ended is stored; false if that takes too long.
    pub async fn wait_until_unloaded(&self, id: &RoomId, at_most: Duration) -> bool {
        self.wait_while(|tables| tables.written.contains_key(id), at_most).await
    }

    /// Waits until no room of a type and label is being unloaded: it may be the one that everybody knows.
    pub async fn wait_until_all_unloaded(&self, wanted: &TypeLabel, at_most: Duration) -> bool {
        let is_unloading = |tables: &Tables| {
            let is_open = |id: &RoomId| tables.by_id.get(id).is_some_and(|room| room.is_open());
            tables.written.iter().any(|(id, type_label)| type_label == wanted && !is_open(id))
        };
        self.wait_while(is_unloading, at_most).await
    }

    async fn wait_while(&self, is_so: impl Fn(&Tables) -> bool, at_most: Duration) -> bool {
        let changed = async {
            loop {
                let unloaded = self.unloaded.notified();
                if !is_so(&self.tables()) {
                    return;
                }
                unloaded.await;
            }
        };
        timeout(at_most, changed).await.is_ok()
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a durable room as written by this node.
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
    use crate::room_type::{RoomDefinition, RoomType};
    use aether_limits::KeyedShares;
    use aether_metrics::Registry;
    use aether_net::relay::{Relay, RelaySettings};
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::atomic::{AtomicBool, Ordering};

    fn entry(directory: &RoomDirectory, code: &str) -> RoomEntry {
        let definition = RoomDefinition::Relay(RelaySettings { members_max: 1, ..RelaySettings::default() });
        let shares = KeyedShares::default();
        RoomEntry {
            id: directory.new_id(),
            code: code.to_owned(),
            room_type: Arc::new(RoomType::new("lounge", definition, &Registry::new())),
            room: Box::new(RelayRoom::new(Relay::new(RelaySettings::default()), String::new())),
            write_queue: None,
            wanted_label: String::new(),
            ending: AtomicBool::new(false),
            _share: shares.take(IpAddr::V4(Ipv4Addr::LOCALHOST), 1, 1).unwrap(),
            connections: 0.into(),
            used_at_ms: 0.into(),
        }
    }

    fn any_lounge() -> RoomSelector {
        RoomSelector::Type { name: "lounge".into(), label: None }
    }

    #[test]
    fn a_room_is_found_by_id_by_code_and_by_type_while_it_has_a_place() {
        let directory = RoomDirectory::new("north".into());
        let room = directory.insert(entry(&directory, "AAAAAA"));
        assert!(room.id.0.ends_with(".north"));
        assert!(directory.local(&RoomSelector::Id(room.id.clone())).is_some());
        assert!(directory.local(&RoomSelector::Code("aaaaaa".into())).is_some());
        assert!(directory.local(&any_lounge()).is_none(), "its only place is taken by the first reference");
        drop(room);
        assert!(directory.local(&any_lounge()).is_some());
    }

    #[test]
    fn an_id_of_another_node_is_elsewhere_and_one_of_this_node_is_unknown() {
        let directory = RoomDirectory::new("north".into());
        let locate = |id: &str| directory.locate(&RoomSelector::Id(RoomId(id.into())));
        assert!(matches!(locate("1.south"), Some(RoomLocation::Elsewhere(node)) if node == "south"));
        assert!(locate("1.north").is_none());
        assert!(locate("1").is_none());
    }

    #[test]
    fn a_room_that_ends_is_not_found_and_a_removed_one_is_gone() {
        let directory = RoomDirectory::new("north".into());
        let room = directory.insert(entry(&directory, "AAAAAA"));
        room.ending.store(true, Ordering::Relaxed);
        assert!(directory.local(&RoomSelector::Id(room.id.clone())).is_none());
        directory.remove(&room);
        assert_eq!(directory.len(), 0);
    }

    #[test]
    fn a_code_is_given_once() {
        let directory = RoomDirectory::new("north".into());
        let (first, second) =
            (directory.insert(entry(&directory, "AAAAAA")), directory.insert(entry(&directory, "AAAAAA")));
        assert_ne!(first.code, second.code);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_for_a_room_to_be_unloaded_goes_on_when_it_is() {
        let directory = RoomDirectory::new("north".into());
        let id = directory.new_id();
        let guard = directory.begin_writing(id.clone(), TypeLabel::new("lounge", ""));
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
