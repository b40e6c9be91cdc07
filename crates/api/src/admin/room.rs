//! Rooms, recordings and the drain, for operators.

use super::Admin;
use crate::routing::Routes;
use aether_services::admin::room::{
    CreateRoom, EndRoom, GetDrain, GetRoom, ListRecordings, ListRoomEntities, ListRooms, SignalRoom, StartDrain,
    StartRoomRecording, StopDrain, StopRoomRecording, WakeRoom,
};
use http::Method;

pub(super) fn routes(routes: Routes<Admin>) -> Routes<Admin> {
    routes
        .address::<ListRooms>(Method::GET, "/api/rooms")
        .body::<CreateRoom>(Method::POST, "/api/rooms")
        .address::<GetRoom>(Method::GET, "/api/rooms/{room}")
        .address::<ListRoomEntities>(Method::GET, "/api/rooms/{room}/entities")
        .address::<WakeRoom>(Method::POST, "/api/rooms/{room}/wake")
        .field::<SignalRoom, _>(Method::POST, "/api/rooms/{room}/signal", |to, body| to.signal = Some(body))
        .address::<EndRoom>(Method::POST, "/api/rooms/{room}/end")
        .address::<StartRoomRecording>(Method::POST, "/api/rooms/{room}/recording")
        .address::<StopRoomRecording>(Method::DELETE, "/api/rooms/{room}/recording")
        .address::<ListRecordings>(Method::GET, "/api/recordings")
        .address::<GetDrain>(Method::GET, "/api/drain")
        .address::<StartDrain>(Method::POST, "/api/drain")
        .address::<StopDrain>(Method::DELETE, "/api/drain")
}
