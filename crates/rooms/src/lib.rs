//! Hosting of rooms: room types, the directory, the lobby, resume records, durable rooms, live sessions, telemetry.
//!
//! A [`RoomHost`] finds, creates, lists and ends the rooms of a node. The [`RoomLobby`] authenticates clients and joins
//! them to rooms. The host implements [`Matches`](aether_services::matches::Matches) for the services.
//!
//! Steps of a join: [`RoomLobby`] verifies the token, `RoomHost::find` looks the room up in the directory, and
//! `HostedRoom::join` passes the player to the room. A missing room is built on the blocking pool, outside of all
//! locks. Creations of rooms of the same type and label run one after another, so that players who join at the same
//! time share a room. So do openings of the same stored room.
//!
//! Clients of the services socket join by `socket_members`; `members` keeps them for each room.

mod code;
mod directory;
mod drain;
mod durable;
mod entry;
mod game_factory;
mod host;
mod hosted;
mod keyed_locks;
mod lan;
mod lobby;
mod maintenance;
mod matches;
mod members;
mod operator;
mod places;
mod presence;
mod recordings;
mod reload;
mod requests;
mod resume;
mod room_list;
mod room_type;
mod sessions;
mod socket_members;
mod supervisor;
mod telemetry;
mod writer;

pub use durable::DurableSettings;
pub use game_factory::{GameFactory, GameSetup};
pub use host::{RoomHost, RoomHostSettings};
pub use lobby::{LobbySettings, RoomLobby};
pub use recordings::RecordingSettings;
pub use reload::ReloadReport;
pub use requests::{RoomRequests, register_functions};
pub use room_type::{RoomDefinition, RoomType, RoomTypes};
pub use sessions::{LiveSessionSettings, LiveSessions, VerifiedSession};
