//! Load tool: bots that play over every transport, and a report.
//!
//! [`run`] implements `aether load`: it connects [`LoadArguments::bots`] bots, lets them play for a while and returns a
//! report. Bots connect through [`aether_client_native`].

mod arguments;
mod bot;
mod deliveries;
mod input;
mod metrics;
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
