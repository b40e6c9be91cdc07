//! `aether serve`: the server until a signal ends it.

use super::fail;
use crate::config::{Config, ConfigArguments};
use crate::logging;
use crate::running::RunningServer;
use crate::server::Server;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

/// The flags of `aether serve`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ServeArguments {
    /// How to configure.
    #[command(flatten)]
    pub config: ConfigArguments,
}

/// The flags of `aether record`.
#[derive(clap::Args, Clone, Debug)]
pub struct RecordArguments {
    /// The folder for the recordings, one for each room; it is made when it is missing
    #[arg(long, default_value = "recordings", value_name = "FOLDER")]
    pub folder: PathBuf,
    /// How to serve.
    #[command(flatten)]
    pub serve: ServeArguments,
}

/// Serves until a signal; rooms are recorded if there is a folder for it.
pub(crate) fn run(server: Server, arguments: &ServeArguments, recordings: Option<PathBuf>) -> ExitCode {
    let config = match arguments.config.load() {
        Ok(config) => config,
        Err(error) => return fail(&error),
    };
    if let Err(error) = super::check::report(&config, &server.declared()) {
        return fail(&error);
    }
    if let Err(error) = logging::start(&config.log) {
        return fail(&error);
    }
    if let Some(folder) = &recordings
        && let Err(error) = std::fs::create_dir_all(folder)
    {
        return fail(&format!("The folder {} cannot be made: {error}", folder.display()));
    }
    // Every WebSocket takes a file descriptor; what the system allows is better taken than run out of.
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        warn!(%error, "the number of open files stays at its limit");
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("io").build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("The runtime cannot start: {error}")),
    };
    let code = runtime.block_on(serve(server, config, recordings));
    // What hangs does not keep the program.
    runtime.shutdown_background();
    code
}

async fn serve(server: Server, config: Config, recordings: Option<PathBuf>) -> ExitCode {
    let grace = Duration::from_secs(config.shutdown.grace_seconds.into());
    let (name, version) = (server.name, server.version);
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
        return fail(&"Signals cannot be heard on this system.");
    };
    let running = match RunningServer::start(server, config, recordings).await {
        Ok(running) => running,
        Err(error) => return fail(&error),
    };
    announce(&running, name, version);
    any(&mut terminate, &mut interrupt).await;
    tokio::select! {
        () = running.stop(grace) => ExitCode::SUCCESS,
        () = any(&mut terminate, &mut interrupt) => {
            warn!("a second signal: ending at once");
            ExitCode::FAILURE
        }
    }
}

/// One line for programs that started this one, and one for people.
fn announce(running: &RunningServer, name: &str, version: &str) {
    let line = json!({ "listening": {
        "http": running.http.to_string(),
        "admin": running.admin.to_string(),
        "webtransport": running.webtransport.map(|address| address.to_string()),
    }});
    println!("{line}");
    info!(version, http = %running.http, admin = %running.admin, "{name} is at http://{}/", running.http);
}

async fn any(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
