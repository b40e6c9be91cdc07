//! The `aether` program: a server with the built-in games.

mod lobby;
mod pages;

use aether_arena_server::Arena;
use aether_asteroids_server::Asteroids;
use aether_engine::RoomSettings;
use aether_net::relay::RelaySettings;
use aether_outpost_server::Outpost;
use aether_sandbox_server::Sandbox;
use aether_server::Server;
use aether_server::services::leaderboard::Definition;
use mimalloc::MiMalloc;
use std::process::ExitCode;

/// With the allocator of the C library, a request takes a quarter more of the CPU: see docs/decisions/0062.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Time in which a player of the sandbox can resume after a lost connection.
const RESUME_SECONDS: u32 = 15;

fn main() -> ExitCode {
    server().main()
}

fn server() -> Server {
    let sandbox = aether_sandbox_server::settings();
    let sandbox = RoomSettings { resume_ticks: RESUME_SECONDS * sandbox.tick_hz, ..sandbox };
    Server::new("aether", env!("CARGO_PKG_VERSION"))
        .game(aether_sandbox_server::NAME, sandbox, Sandbox::default)
        .game(aether_arena_server::NAME, aether_arena_server::settings(), Arena::default)
        .game(aether_asteroids_server::NAME, aether_asteroids_server::settings(), Asteroids::default)
        .game(aether_outpost_server::NAME, aether_outpost_server::settings(), Outpost::default)
        .relay("relay", RelaySettings::default())
        .module("quilt", include_str!("../../../games/quilt/lua/quilt.lua"))
        .module("quilt.bots", include_str!("../../../games/quilt/lua/quilt/bots.lua"))
        .module("quilt.cloth", include_str!("../../../games/quilt/lua/quilt/cloth.lua"))
        .reserve_collection(aether_sandbox_server::COLLECTION)
        .reserve_collection(aether_arena_server::COLLECTION)
        .matchmaker_matched(async |_, candidate| Ok(lobby::matched(&candidate)))
        .pages(pages::pages())
        .on_start(async |services| {
            for board in [aether_sandbox_server::NAME, aether_arena_server::BOARD, aether_asteroids_server::BOARD] {
                services.leaderboards.create(Definition::new(board)).await?;
            }
            services.tournaments.create(lobby::reflex_cup()).await?;
            Ok(())
        })
}
