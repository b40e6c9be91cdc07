//! The HTTP interface: health, rooms, upgrades to realtime connections, and pages.
//!
//! [`router`] is one function that can be tested without a socket; [`listener`] puts it behind one.

pub mod admin;
pub mod client;
mod cors;
mod folder;
pub mod listener;
mod origin;
mod page;
mod peer;
mod public;
mod realtime;
mod routing;
mod site;
mod watch;

pub use origin::AllowedOrigins;
pub use page::{PageAsset, PageFile, Pages};
pub use peer::{PeerAddress, RequestPeer, TrustedProxies, is_local_name, shares_prefix};
pub use public::{GuestLogin, PublicApi, PublicBackend, RoomFilter, RoomInfo, router};
pub use routing::ApiError;
