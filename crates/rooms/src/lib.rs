//! Hosting of rooms: room types, the directory, the lobby, resume records, durable rooms, live sessions, telemetry.
//!
//! A [`RoomHost`] finds, creates, lists and ends the rooms of a node. The [`RoomLobby`] checks who connects and joins them
//! to the room they ask for. To the services the host is the [`Matches`](aether_services::matches::Matches) of the node.
//!
//! The way of a join: [`RoomLobby`] verifies the token, `RoomHost::find` asks the directory, and `HostedRoom::join` hands
//! the player to the room. A room that is not there is built on the blocking pool, outside of every lock: creations of one
//! type and label take turns, so that players who arrive together share a room, and openings of one stored room do.

mod code;
mod directory;
mod durable;
mod entry;
mod host;
mod hosted;
mod lobby;
mod matches;
mod requests;
mod resume;
mod room_type;
mod sessions;
mod supervisor;
mod telemetry;
mod turns;
mod upkeep;
mod writer;

pub use durable::DurableSettings;
pub use host::{RoomHost, RoomHostSettings};
pub use lobby::{LobbySettings, RoomLobby};
pub use requests::{RoomRequests, register_functions};
pub use room_type::{GameFactory, RoomDefinition, RoomType, RoomTypes};
pub use sessions::LiveSessions;
