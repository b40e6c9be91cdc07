//! A server as a process of its own, which can be killed.

use crate::DEADLINE;
use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// A program with these arguments, without the settings of whoever runs the tests. It ends with the test.
#[must_use]
pub fn command(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).kill_on_drop(true).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AETHER_")) {
        command.env_remove(name);
    }
    command
}

/// A server that runs, on free ports of loopback.
pub struct Process {
    /// Where pages, the API and WebSockets are.
    pub http: SocketAddr,
    /// Where metrics and profiles are.
    pub admin: SocketAddr,
    /// The process itself.
    pub child: Child,
}

impl Process {
    /// Starts a server with a folder for its data and with settings, such as `api.logins_per_second=5`, and waits until it
    /// listens. What it logs is in a file beside the folder.
    ///
    /// # Panics
    /// If it does not.
    pub async fn serve(program: &Path, data_dir: &Path, settings: &[&str]) -> Process {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        Process::serve_at(program, data_dir, (any, any), settings).await
    }

    /// The same at certain addresses, for pages and the API and for the admin.
    ///
    /// # Panics
    /// If it does not listen there.
    pub async fn serve_at(
        program: &Path,
        data_dir: &Path,
        (http, admin): (SocketAddr, SocketAddr),
        settings: &[&str],
    ) -> Process {
        let log = data_dir.with_extension("log");
        let data_dir = data_dir.to_str().expect("folders of tests are text");
        let (http, admin) = (http.to_string(), admin.to_string());
        let mut arguments = vec!["serve", "--data-dir", data_dir, "--address", &http, "--admin-address", &admin];
        arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        let words = File::create(&log).expect("the log can be written beside the data");
        let mut child = command(program, &arguments).stderr(words).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let line = timeout(DEADLINE, lines.next_line()).await.expect("it says where it is").expect("it can be read");
        let why = || std::fs::read_to_string(&log).unwrap_or_default();
        let line = line.unwrap_or_else(|| panic!("it does not listen: {}", why()));
        let line: serde_json::Value = serde_json::from_str(&line).expect("it is JSON");
        let address = |name: &str| {
            let address = line["listening"][name].as_str().expect("it has an address");
            address.parse().expect("it is an address")
        };
        Process { http: address("http"), admin: address("admin"), child }
    }

    /// Ends it at once, as `kill -9` does.
    ///
    /// # Panics
    /// If it has ended before.
    pub async fn kill(mut self) {
        let ended = self.child.try_wait().expect("it can be asked");
        assert!(ended.is_none(), "it ended by itself: {ended:?}");
        self.child.kill().await.expect("it can be killed");
    }
}
