//! Interface to the rooms of a server.

use aether_engine::RoomHandle;
use aether_wire::lan::LanRoom;

/// Rooms that are shown on the local network.
pub trait LanRooms: Send + Sync + 'static {
    /// Names of the room types that clients can join.
    fn room_types(&self) -> Vec<String>;

    /// Public rooms, in an order that changes little. [`LanRoom::can_watch`] is overwritten.
    fn rooms(&self) -> Vec<LanRoom>;

    /// Finds a public game room by its id.
    fn find(&self, id: &str) -> Option<SpectatedRoom>;
}

/// Room for a stream.
pub struct SpectatedRoom {
    /// Id of the room.
    pub id: String,
    /// Type of the room.
    pub room_type: String,
    /// Handle of the room.
    pub handle: RoomHandle,
}
