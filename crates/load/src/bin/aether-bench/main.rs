//! Benchmarks of a whole server over real sockets, and its soak. `cargo xtask bench` and `cargo xtask soak` start it.

mod api;
mod bare;
mod child;
mod connections;
mod crowd;
mod figure;
mod games;
mod relay;
mod soak;
mod spatial;
mod swarm;

use clap::{Parser, Subcommand};
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

/// What a benchmark comes to; it prints its figures itself.
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Benchmarks of a whole server over real sockets.
#[derive(Parser)]
#[command(name = "aether-bench")]
struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// Rooms that pass messages on: time per delivery, and the most clients
    Relay(relay::RelayArguments),
    /// 500 players in one room who all see each other
    Crowd(Length),
    /// 300 players at 40 Hz: from an input to the state that contains it
    #[command(name = "spatial-300")]
    Spatial(Length),
    /// 9,000 quiet connections: memory of each
    Connections(Length),
    /// Requests of the client API, on SQLite and on PostgreSQL
    Api(Length),
    /// Bots that come and go, and whether the server stays as it was
    Soak(soak::SoakArguments),
    /// A server with the games of the benchmarks
    #[command(hide = true)]
    Serve(aether_server::commands::serve::ServeArguments),
    /// The least that can pass messages on, to compare with
    #[command(hide = true)]
    BareRelay(bare::BareRelayArguments),
    /// The least that can send state to a crowd, to compare with
    #[command(hide = true)]
    BareCrowd(bare::BareCrowdArguments),
}

/// How long a benchmark measures.
#[derive(clap::Args, Clone, Copy)]
pub struct Length {
    /// A quick form that shows that it works; its figures mean little
    #[arg(long)]
    short: bool,
}

impl Length {
    /// The one time, or the other in the short form.
    fn pick<T>(self, full: T, short: T) -> T {
        if self.short { short } else { full }
    }

    fn measured(self) -> Duration {
        Duration::from_millis(self.pick(6_000, 700))
    }
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().bench {
        Bench::Serve(arguments) => return games::serve(arguments),
        Bench::BareRelay(arguments) => bare::relay(arguments),
        Bench::BareCrowd(arguments) => bare::crowd(arguments),
        Bench::Relay(arguments) => on_its_core(|| relay::run(arguments)),
        Bench::Crowd(length) => on_its_core(|| crowd::run(length)),
        Bench::Spatial(length) => on_its_core(|| spatial::run(length)),
        Bench::Api(length) => on_its_core(|| api::run(length)),
        Bench::Connections(length) => on_its_core(|| connections::run(length)),
        Bench::Soak(arguments) => soak::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The load has a core of its own, so that it takes nothing from the server.
fn on_its_core(run: impl FnOnce() -> Outcome) -> Outcome {
    rlimit::increase_nofile_limit(u64::MAX)?;
    child::pin_load()?;
    run()
}
