//! Services of a game: accounts, sessions, storage, wallets, leaderboards, profiles.
//!
//! Each module serves one noun with plain async functions over the store and no HTTP. Server code calls them as
//! [`Caller::Server`], which may do everything; calls on behalf of a user are checked.

pub mod account;
pub mod admin;
pub mod audit;
pub mod bracket;
mod caller;
pub mod calls;
pub mod chat;
pub mod clock;
pub mod cursor;
mod declare;
pub mod error;
pub mod event;
mod facebook;
pub mod friend;
pub mod game_metrics;
pub mod group;
mod hooks;
pub mod http_client;
pub mod leaderboard;
pub mod matches;
pub mod matchmaker;
pub mod moderation;
pub mod multi_update;
pub mod notification;
pub mod party;
pub mod profile;
pub mod purchase;
pub mod remote_value;
pub mod room;
pub mod router;
mod services;
pub mod session;
pub mod sql;
pub mod status;
pub mod storage;
pub mod tournament;
pub mod wallet;
pub mod webhook;

pub use aether_messages::api;
pub use aether_messages::operation::{self, Operation};
pub use aether_messages::{realtime, socket};
pub use aether_store::private_file;
pub use caller::{CallContext, Caller, UserIdentity};
pub use declare::PACKAGE;
pub use error::{GrpcCode, ServiceError};
pub use hooks::Hooks;
pub use services::{Services, ServicesExtensions, ServicesParts, ServicesSettings};

/// Returns a time in milliseconds since 1970 by RFC 3339, as in answers of the admin API.
#[must_use]
pub fn rfc3339(ms: i64) -> String {
    aether_messages::timestamp(ms).to_string()
}
