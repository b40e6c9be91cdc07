//! Limits of the client API over real sockets.

mod logins;
mod scores;
mod storage;
mod text;
mod tokens;
mod webhooks;

use aether_server::config::{Config, Secret};
use aether_store::Database;
use aether_testkit_server::TestServer;
use aether_testkit_store::{TestDatabase, databases};

/// Starts a server on each kind of database. Returns each server with its database.
pub(super) async fn servers(change: impl Fn(&mut Config)) -> Vec<(TestServer, TestDatabase)> {
    let mut servers = Vec::new();
    for database in databases() {
        let url = match &database.database {
            Database::Memory => "memory".to_owned(),
            Database::File(path) => format!("sqlite:{}", path.display()),
            Database::Postgres(url) => url.clone(),
        };
        let server = TestServer::start(|config| {
            config.database.url = Some(Secret::new(&url));
            change(config);
        });
        servers.push((server.await, database));
    }
    servers
}
