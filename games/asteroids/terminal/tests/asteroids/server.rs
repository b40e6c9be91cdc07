//! A server with the game.

use aether_asteroids_server::{Asteroids, BOARD, NAME, settings};
use aether_testkit_server::TestServer;
use aether_testkit_server::aether_server::services::leaderboard::Definition;

/// Starts a server on free ports.
pub async fn start() -> TestServer {
    let extend = |server: aether_testkit_server::aether_server::Server| {
        server.game(NAME, settings(), Asteroids::default).on_start(async |services| {
            services.leaderboards.create(Definition::new(BOARD)).await?;
            Ok(())
        })
    };
    TestServer::start_with(|_| {}, extend).await
}
