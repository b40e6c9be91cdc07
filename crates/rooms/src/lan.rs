//! Rooms as they are shown on the local network.

use crate::host::RoomHost;
use aether_net::multicast::{LanRooms, SpectatedRoom};
use aether_wire::lan::{LAN_ROOMS_MAX, LanRoom};
use aether_wire::{RoomId, RoomSelector};

impl LanRooms for RoomHost {
    fn room_types(&self) -> Vec<String> {
        self.types.all().iter().map(|room_type| room_type.name().to_owned()).collect()
    }

    fn rooms(&self) -> Vec<LanRoom> {
        let mut rooms = Vec::new();
        for room in self.directory.all() {
            if room.is_private || !room.is_open() || rooms.len() >= LAN_ROOMS_MAX {
                continue;
            }
            rooms.push(LanRoom {
                id: room.id.0.clone(),
                code: room.code.clone(),
                room_type: room.room_type.name().to_owned(),
                players: u16::try_from(room.room.players()).unwrap_or(u16::MAX),
                players_max: u16::try_from(room.room_type.players_max()).unwrap_or(u16::MAX),
                label: room.room.label().to_string(),
                can_watch: false,
            });
        }
        rooms
    }

    fn find(&self, id: &str) -> Option<SpectatedRoom> {
        // The reference is dropped at once: spectators keep no room from ending.
        let room = self.directory.local(&RoomSelector::Id(RoomId(id.to_owned())))?;
        let handle = room.room.signal_handle().filter(|_| !room.is_private && room.is_open())?.clone();
        Some(SpectatedRoom { id: room.id.0.clone(), room_type: room.room_type.name().to_owned(), handle })
    }
}
