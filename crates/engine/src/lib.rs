//! Rooms, stages and the tick scheduler.
//!
//! A [`Room`] owns one world and one game. [`Room::tick`] runs the five stages of a tick. Messages and packets pass
//! through bounded queues; the room has no socket, clock, log or lock. A [`Scheduler`] runs many rooms on a few
//! threads.
//!
//! Game authors implement [`Game`], or [`RuntimeGame`] if the schema is known only at run time, and act on the room
//! through [`Context`].

pub mod authority;
mod bounded;
mod builder;
pub mod connection;
mod context;
mod control;
mod durable;
mod encode_pool;
mod game;
mod handle;
mod inbox;
mod inspect;
mod observer;
mod overload;
mod pacer;
mod players;
pub mod recording;
mod request;
mod room;
mod runtime;
mod scheduler;
mod schema;
mod scratch;
mod settings;
mod spectators;
mod stages;
mod stats;
mod waking;

pub use aether_bits as bits;
pub use aether_bits::Random;
pub use aether_replication::UpdateRing;
pub use aether_space::{IndexKind, InterestSettings, WorldBounds};
pub use aether_wire::{JoinMetadata, Permissions};
pub use builder::{BuildError, RoomBuilder};
pub use connection::{ConnectionEndpoint, RoomEndpoint};
pub use context::{Context, Viewpoint};
pub use control::{RecordingRefusal, StartedRecording};
pub use durable::{ENTRIES_MAX, ENTRY_BYTES_MAX, EntryNumber, RestoreData, RoomCheckpoint};
pub use encode_pool::{EncodePool, encode_pool};
pub use game::{Game, JoinRequest, PlaygroundCommand, Rejection};
pub use handle::{MAILBOX_MAX, MailboxFull, RELOAD_BYTES_MAX, ReloadError, RoomHandle};
pub use inspect::{EntityPage, EntityQuery, InspectedEntity};
pub use observer::{AuditEvent, NoObserver, Observer, RoomCounts, TickStage};
pub use overload::OverloadLadder;
pub use pacer::{DueTicks, TickPacer};
pub use players::{INPUT_DROPS_MAX, INPUT_QUEUE_MAX, closing};
pub use request::{Answer, REQUESTS_MAX, Request};
pub use room::{RecordingSink, Room, RoomStatus};
pub use runtime::{RuntimeGame, RuntimeInput};
pub use scheduler::{MonotonicClock, RoomExit, RoomNumber, Scheduler};
pub use schema::{EventRegistry, GameSchemaBuilder, PlayerMessage};
pub use settings::{RoomSettings, SettingsError};
pub use spectators::SPECTATORS_MAX;
pub use stats::RoomStats;
pub use waking::{ConnectionWaking, WakeEach};
