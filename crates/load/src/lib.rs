//! Bots that play over every transport, and a report of what they saw.
//!
//! [`run`] does what `aether load` does: it lets [`LoadArguments::bots`] bots into rooms, lets
//! them play for a while and tells how that went. What a bot talks through is
//! [`aether_client_native`].

mod arguments;
mod bot;
mod deliveries;
mod input;
mod measures;
mod network;
mod process;
mod progress;
mod report;
mod run;
mod state;
mod tokens;

pub use arguments::{BotBehavior, LoadArguments, TransportChoice};
pub use process::cpu_seconds;
pub use report::{Latency, LoadReport, Transfer};
pub use run::{LoadError, run};
