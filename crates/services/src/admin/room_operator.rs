//! [`RoomOperator`]: the operator's access to the rooms of a node.

use super::room::{
    ListRoomEntitiesRequest, ListRoomsRequest, RecordingList, RoomDetail, RoomEntityList, RoomList, ShownDrain,
    ShownRecording, ShownRoom,
};
use crate::matches::{Matches, MatchesFuture, NewMatch};

/// Rooms of a node as operators manage them. Implemented by the host of the rooms.
pub trait RoomOperator: Matches {
    /// Lists running and stored rooms.
    fn list_rooms<'a>(&'a self, request: &'a ListRoomsRequest) -> MatchesFuture<'a, RoomList>;

    /// Returns a room, running or stored, with its checkpoints.
    fn room<'a>(&'a self, id: &'a str) -> MatchesFuture<'a, RoomDetail>;

    /// Creates a room, and records it if wanted.
    fn create_room<'a>(&'a self, new: &'a NewMatch, record: bool) -> MatchesFuture<'a, ShownRoom>;

    /// Lists entities of a running or stored room.
    fn entities<'a>(&'a self, request: &'a ListRoomEntitiesRequest) -> MatchesFuture<'a, RoomEntityList>;

    /// Opens a stored room, unless it runs.
    fn wake<'a>(&'a self, id: &'a str) -> MatchesFuture<'a, ShownRoom>;

    /// Begins to record a running room.
    fn start_recording<'a>(&'a self, id: &'a str) -> MatchesFuture<'a, ShownRecording>;

    /// Ends the recording of a room.
    fn stop_recording<'a>(&'a self, id: &'a str) -> MatchesFuture<'a, ShownRecording>;

    /// Lists recordings.
    fn recordings(&self) -> MatchesFuture<'_, RecordingList>;

    /// Begins or ends a drain.
    fn set_draining(&self, draining: bool) -> ShownDrain;

    /// Returns the state of the drain.
    fn drain(&self) -> ShownDrain;
}
