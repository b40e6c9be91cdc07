//! Rooms, stages and the tick scheduler.
//!
//! A [`Room`] owns one world and one game. Messages come in through bounded queues, [`Room::tick`] runs the five stages,
//! and packets go out through bounded queues; there is no socket, clock, log or lock inside. A [`Scheduler`] runs many
//! rooms on a few threads.

pub mod authority;
mod bounded;
mod builder;
pub mod connection;
mod context;
mod declaration;
mod durable;
mod figures;
mod game;
mod handle;
mod inbox;
mod observer;
mod overload;
mod pacer;
pub mod recording;
mod request;
mod room;
mod runtime;
mod scheduler;
mod seat;
mod settings;
mod stages;

pub use aether_bits as bits;
pub use aether_bits::Random;
pub use aether_wire::Permissions;
pub use builder::{BuildError, RoomBuilder};
pub use connection::{ConnectionEndpoint, RoomEndpoint};
pub use context::{Context, Viewpoint};
pub use declaration::{EventRegistry, GameSchemaBuilder, PlayerMessage};
pub use durable::{ENTRIES_MAX, ENTRY_BYTES_MAX, EntryNumber, RestoreData, RoomCheckpoint};
pub use figures::RoomStats;
pub use game::{Game, JoinRequest, PlaygroundCommand, Rejection};
pub use handle::{MAILBOX_MAX, MailboxFull, RoomHandle};
pub use observer::{AuditEvent, NoObserver, Observer, RoomCounts, TickStage};
pub use overload::OverloadLadder;
pub use pacer::{DueTicks, TickPacer};
pub use request::{Answer, REQUESTS_MAX, Request};
pub use room::{RecordingSink, Room, RoomStatus};
pub use runtime::{RuntimeGame, RuntimeInput};
pub use scheduler::{MonotonicClock, RoomExit, RoomNumber, Scheduler};
pub use seat::{INPUT_DROPS_MAX, INPUT_QUEUE_MAX, closing};
pub use settings::{RoomSettings, SettingsError};
