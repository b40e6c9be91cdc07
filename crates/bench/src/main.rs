//! Benchmarks and soak test of a whole server over real sockets. Started by `cargo xtask bench` and `cargo xtask soak`.

mod api;
mod bare;
mod bare_api;
mod chat;
mod child;
mod connections;
mod crowd;
mod games;
mod lua;
mod lua_hooks;
mod relay;
mod result;
mod soak;
mod spatial;
mod swarm;
mod udp;
mod udp_swarm;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

/// The allocator of the `aether` program.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Result of a benchmark, which prints its measurements itself.
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
    /// Relay rooms: CPU time per delivery, and the largest number of clients
    Relay(relay::RelayArguments),
    /// Relayed matches on the services socket: number of clients, compared with relay rooms
    RelayWs(relay::RelayWsArguments),
    /// Relay rooms over reliable UDP: CPU time per delivery, compared with WebSocket
    RelayUdp(relay::RelayUdpArguments),
    /// Stored chat messages: one channel of 1,000 members, and 1,000 channels of 10
    Chat(Length),
    /// Lua scripts: matches per core and functions over HTTP, compared with Rust
    Lua(Length),
    /// 500 players in one room with full visibility
    Crowd(Length),
    /// 300 players at 40 Hz: time from an input to the state that includes it
    #[command(name = "spatial-300")]
    Spatial(Length),
    /// 9,000 idle connections: memory per connection
    Connections(Length),
    /// Requests of the client API, on SQLite and on PostgreSQL
    Api(Length),
    /// Hooks in Lua: their cost for an operation
    LuaHooks(Length),
    /// Reliable UDP: CPU time per packet compared with bare datagrams, messages per core, latency, overhead
    Udp(udp::UdpArguments),
    /// Bots that join and leave: checks that memory and rooms do not grow
    Soak(soak::SoakArguments),
    /// Server with the games of the benchmarks
    #[command(hide = true)]
    Serve(aether_server::commands::serve::ServeArguments),
    /// Minimal relay as a baseline
    #[command(hide = true)]
    BareRelay(bare::BareRelayArguments),
    /// Minimal sender of state as a baseline
    #[command(hide = true)]
    BareCrowd(bare::BareCrowdArguments),
    /// Minimal server of the client API as a baseline
    #[command(hide = true)]
    BareApi(bare_api::BareApiArguments),
    /// Echo server over reliable UDP
    #[command(hide = true)]
    UdpServer(udp::UdpServerArguments),
    /// Echo server of bare datagrams as a baseline
    #[command(hide = true)]
    UdpBareServer,
}

/// Duration of a benchmark.
#[derive(clap::Args, Clone, Copy)]
pub struct Length {
    /// Runs briefly, only to show that the benchmark works
    #[arg(long)]
    short: bool,
}

impl Length {
    /// Returns `full`, or `short` in a short run.
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
        Bench::BareApi(arguments) => bare_api::run(&arguments),
        Bench::UdpServer(arguments) => udp::serve(&arguments),
        Bench::UdpBareServer => udp::serve_bare(),
        Bench::Udp(arguments) => run_pinned(|| udp::run(&arguments)),
        Bench::Relay(arguments) => run_pinned(|| relay::run(arguments)),
        Bench::RelayWs(arguments) => run_pinned(|| relay::run_ws(arguments)),
        Bench::RelayUdp(arguments) => run_pinned(|| relay::run_udp(arguments)),
        Bench::Chat(length) => run_pinned(|| chat::run(length)),
        Bench::Lua(length) => run_pinned(|| lua::run(length)),
        Bench::Crowd(length) => run_pinned(|| crowd::run(length)),
        Bench::Spatial(length) => run_pinned(|| spatial::run(length)),
        Bench::Api(length) => run_pinned(|| api::run(length)),
        Bench::LuaHooks(length) => run_pinned(|| lua_hooks::run(length)),
        Bench::Connections(length) => run_pinned(|| connections::run(length)),
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

/// Runs the load on its own core, so that it takes no CPU time from the server.
fn run_pinned(run: impl FnOnce() -> Outcome) -> Outcome {
    rlimit::increase_nofile_limit(u64::MAX)?;
    child::pin_load()?;
    run()
}
