//! The live list of rooms: publishes its changes to the sessions that watch it.

use crate::host::RoomHost;
use crate::matches::info;
use aether_services::matches::{MATCHES_LISTED_MAX, MatchInfo, MatchListChanges, list_stream};
use aether_services::router::Router;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Rooms by id.
type RoomsById = BTreeMap<String, MatchInfo>;

/// Rooms that were published last, by the type that is watched. The empty text stands for all types.
#[derive(Default)]
pub(crate) struct PublishedRooms(Mutex<BTreeMap<String, RoomsById>>);

impl RoomHost {
    /// Publishes the changes of the list of public rooms since the last call. Call it a few times a second; it costs
    /// little if nobody watches.
    pub fn publish_room_list(&self) {
        let router = &self.requests.services().router;
        let types = self.watched_types(router);
        let mut published = self.published.0.lock().unwrap_or_else(PoisonError::into_inner);
        published.retain(|watched, _| types.contains(watched));
        if types.is_empty() {
            return;
        }
        let mut current = RoomsById::new();
        self.directory.for_each(|room| {
            if !room.is_private && room.is_open() {
                current.insert(room.id.0.clone(), info(room));
            }
        });
        for watched in types {
            publish(router, &watched, published.entry(watched.clone()).or_default(), &current);
        }
    }

    /// Returns the types that sessions watch.
    fn watched_types(&self, router: &Router) -> Vec<String> {
        let types = self.types.all();
        let names = types.iter().map(|room_type| room_type.name()).chain(["", self.settings.relayed.name()]);
        names.filter(|name| router.count(&list_stream(name)) > 0).map(ToOwned::to_owned).collect()
    }
}

/// Sends at most [`MATCHES_LISTED_MAX`] changes to those who watch a type; the others follow at the next call.
fn publish(router: &Router, watched: &str, published: &mut RoomsById, current: &RoomsById) {
    let is_watched = |info: &MatchInfo| watched.is_empty() || info.match_type == watched;
    let changed = current.iter().filter(|(id, info)| is_watched(info) && published.get(*id) != Some(*info));
    let ended = published.keys().filter(|id| !current.contains_key(*id));
    let changes = MatchListChanges {
        matches: changed.map(|(_, info)| info.clone()).take(MATCHES_LISTED_MAX).collect(),
        ended: ended.take(MATCHES_LISTED_MAX).cloned().collect(),
    };
    changes.ended.iter().for_each(|id| drop(published.remove(id)));
    published.extend(changes.matches.iter().map(|info| (info.id.clone(), info.clone())));
    if !(changes.matches.is_empty() && changes.ended.is_empty())
        && let Ok(data) = serde_json::to_string(&changes)
    {
        router.send_data(&list_stream(watched), None, data, true);
    }
}
