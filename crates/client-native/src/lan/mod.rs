//! Local network: finds servers and rooms, and watches rooms by multicast.

mod finder;
mod found_server;
mod settings;
mod sockets;
mod spectator;
mod spectator_error;
mod stream_reader;
mod verify;

pub use finder::find_servers;
pub use found_server::FoundServer;
pub use settings::LanSettings;
pub use spectator::Spectator;
pub use spectator_error::SpectatorError;
pub use stream_reader::{SpectatorStats, SpectatorUpdate};
