//! The HTTP interface: health, rooms, the client API, upgrades to realtime connections, and pages.
//!
//! [`router`] builds the public router, which tests use without a socket; [`listener`] serves it on one.

pub mod admin;
mod answers;
pub mod client;
mod cors;
mod custom;
mod development;
mod folder;
pub mod listener;
mod origin;
mod page;
mod peer;
mod plain_page;
mod public;
mod realtime;
mod request_metrics;
mod routing;
mod site;
mod slow_bodies;
pub mod socket;
mod unread;

pub use development::{ModuleChange, ModuleEditor, ModuleEntry, ModuleProblem, ModulesLoaded};
pub use origin::AllowedOrigins;
pub use page::{PageAsset, PageFile, Pages};
pub use peer::{PeerAddress, RequestPeer, TrustedProxies, is_local_name, shares_prefix};
pub use public::{GuestLogin, PublicApi, PublicBackend, RoomFilter, RoomInfo, router};
pub use routing::ApiError;
