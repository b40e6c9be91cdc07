//! The program, its data folder and its metrics.

use aether_store::Database;
use aether_testkit_server::{ApiClient, DEADLINE, Process};
use aether_testkit_store::TestDatabase;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tokio::time::timeout;

/// Returns the path of the program `aether`.
pub fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_aether"))
}

/// Data folder and settings of a server.
pub struct ServerSetup {
    data_dir: PathBuf,
    settings: Vec<String>,
}

impl ServerSetup {
    pub fn new(database: &TestDatabase, settings: &[&str]) -> ServerSetup {
        let url = match &database.database {
            Database::Memory => "memory".to_owned(),
            Database::File(path) => format!("sqlite:{}", path.display()),
            Database::Postgres(url) => url.clone(),
        };
        ServerSetup::at(&url, settings)
    }

    pub fn at(url: &str, settings: &[&str]) -> ServerSetup {
        let data_dir = std::env::temp_dir().join(format!("aether-rooms-{}", uuid::Uuid::new_v4().simple()));
        let fixed = [format!("database.url={url}"), "log.filter=warn".to_owned()];
        let settings = settings.iter().map(|setting| (*setting).to_owned());
        ServerSetup { data_dir, settings: fixed.into_iter().chain(settings).collect() }
    }

    pub async fn serve(&self) -> Process {
        let settings: Vec<&str> = self.settings.iter().map(String::as_str).collect();
        Process::serve(program(), &self.data_dir, &settings).await
    }

    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Starts the server again at the same addresses.
    pub async fn serve_again(&self, http: SocketAddr, admin: SocketAddr) -> Process {
        let settings: Vec<&str> = self.settings.iter().map(String::as_str).collect();
        Process::serve_at(program(), &self.data_dir, (http, admin), &settings).await
    }
}

impl Drop for ServerSetup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.data_dir);
        let _ = std::fs::remove_file(self.data_dir.with_extension("log"));
    }
}

/// Returns the sum of a metric's series.
pub async fn metric(server: &Process, name: &str) -> f64 {
    let answer = ApiClient::new(server.admin).get("/metrics").await.expect("the server answers");
    let lines = answer.body.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

/// Waits until a metric is above a value.
pub async fn until_metric(server: &Process, name: &str, above: f64) {
    let waited = async {
        while metric(server, name).await <= above {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, waited).await.unwrap_or_else(|_| panic!("timeout while waiting for {name} above {above}"));
}
