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
pub use connection::{LinkEnd, RoomEnd};
pub use context::{Context, Sight};
pub use declaration::{Declaration, Events, Message};
pub use durable::{ENTRIES_MAX, ENTRY_BYTES_MAX, EntryNumber, Kept, Restore};
pub use figures::RoomFigures;
pub use game::{Game, Joiner, PlaygroundCommand, Refusal};
pub use handle::{MAILBOX_MAX, MailboxFull, RoomHandle};
pub use observer::{Audit, Counts, Observer, Stage, Unobserved};
pub use overload::Overload;
pub use pacer::{Pacer, Steps};
pub use request::{Answer, REQUESTS_MAX, Request};
pub use room::{RecordingSink, Room, RoomStatus};
pub use runtime::{RuntimeGame, RuntimeInput};
pub use scheduler::{Ending, MonotonicClock, RoomNumber, Scheduler};
pub use seat::{INPUT_DROPS_MAX, INPUT_QUEUE_MAX, closing};
pub use settings::{RoomSettings, SettingsError};
