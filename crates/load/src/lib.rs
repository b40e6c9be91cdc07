//! Bots that play over every transport, and a report of what they saw.
//!
//! [`run`] does what `aether load` does: it lets [`LoadArguments::bots`] bots into rooms, lets
//! them play for a while and tells how that went. [`client`] is what a bot talks through; tests
//! and benchmarks may drive it themselves.

mod address;
mod arguments;
mod bot;
pub mod client;
mod deliveries;
mod http;
mod input;
mod measures;
mod network;
mod process;
mod progress;
mod report;
mod run;
mod state;
mod tokens;

pub use address::{Address, AddressError};
pub use arguments::{LoadArguments, Play, TransportChoice};
pub use http::{HttpError, ServerInfo, WebTransportInfo, server_info};
pub use process::cpu_seconds;
pub use report::{Latency, Report, Transfer};
pub use run::{LoadError, run};
