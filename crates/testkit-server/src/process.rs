//! A server in its own process, which can be killed.

use crate::DEADLINE;
use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Returns a command for a program, without the `AETHER_` variables of the environment. The process ends with the test.
#[must_use]
pub fn command(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).kill_on_drop(true).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AETHER_")) {
        command.env_remove(name);
    }
    command
}

/// A running server on loopback.
pub struct Process {
    /// Address of pages, the API and WebSockets.
    pub http: SocketAddr,
    /// Address of metrics and profiles.
    pub admin: SocketAddr,
    /// URL of the pages that it prints, with the developer secret.
    pub url: String,
    /// Process of the server.
    pub child: Child,
}

impl Process {
    /// Starts a server on free ports, with a data folder and settings such as `api.logins_per_second=5`, and waits until it
    /// listens. Its log is in a file beside the folder.
    ///
    /// # Panics
    /// Panics if it does not listen.
    pub async fn serve(program: &Path, data_dir: &Path, settings: &[&str]) -> Process {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        Process::serve_at(program, data_dir, (any, any), settings).await
    }

    /// Starts a server at given addresses of the public and the admin listener.
    ///
    /// # Panics
    /// Panics if it does not listen there.
    pub async fn serve_at(
        program: &Path,
        data_dir: &Path,
        (http, admin): (SocketAddr, SocketAddr),
        settings: &[&str],
    ) -> Process {
        let log = data_dir.with_extension("log");
        let data_dir = data_dir.to_str().expect("the path of the data folder is UTF-8");
        let (http, admin) = (http.to_string(), admin.to_string());
        let mut arguments = vec!["serve", "--data-dir", data_dir, "--address", &http, "--admin-address", &admin];
        // Clients ask the server for the port, so it need not stay the same after a restart.
        arguments.extend(["--set", "udp.address=127.0.0.1:0"]);
        arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        let log_file = File::create(&log).expect("the log can be written");
        let mut child = command(program, &arguments).stderr(log_file).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("standard output is piped")).lines();
        let line = timeout(DEADLINE, lines.next_line())
            .await
            .expect("the server prints its addresses")
            .expect("the output is readable");
        let why = || std::fs::read_to_string(&log).unwrap_or_default();
        let line = line.unwrap_or_else(|| panic!("the server does not listen: {}", why()));
        let line: serde_json::Value = serde_json::from_str(&line).expect("the line is JSON");
        let address = |name: &str| {
            let address = line["listening"][name].as_str().expect("the line has an address");
            address.parse().expect("the address is valid")
        };
        let url = line["url"].as_str().expect("the line has a URL").to_owned();
        Process { http: address("http"), admin: address("admin"), url, child }
    }

    /// Kills the process, as `kill -9` does.
    ///
    /// # Panics
    /// Panics if it has ended before.
    pub async fn kill(mut self) {
        let ended = self.child.try_wait().expect("the process has a status");
        assert!(ended.is_none(), "the server ended by itself: {ended:?}");
        self.child.kill().await.expect("the process can be killed");
    }
}
