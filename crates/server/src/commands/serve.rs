//! `aether serve` and `aether record`: run the server until a signal.

use super::fail;
use crate::config::{Config, ConfigArguments};
use crate::logging;
use crate::running::RunningServer;
use crate::server::Server;
use aether_store::private_file;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

/// Flags of `aether serve`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ServeArguments {
    /// Configuration file and flags.
    #[command(flatten)]
    pub config: ConfigArguments,
}

/// Flags of `aether record`.
#[derive(clap::Args, Clone, Debug)]
pub struct RecordArguments {
    /// Folder for the recordings, one file for each room; created if it is missing
    #[arg(long, default_value = "recordings", value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Flags of the server.
    #[command(flatten)]
    pub serve: ServeArguments,
}

/// Runs the server until a signal. Records rooms if a folder for recordings is given.
pub(crate) fn run(server: Server, arguments: &ServeArguments, recordings: Option<PathBuf>) -> ExitCode {
    let config = match arguments.config.load() {
        Ok(config) => config,
        Err(error) => return fail(&error),
    };
    if let Err(error) = super::check::report(&config, &server.declared_room_types(), &server.encodings) {
        return fail(&error);
    }
    if let Err(error) = logging::start(&config.log) {
        return fail(&error);
    }
    if let Some(folder) = &recordings
        && let Err(error) = private_file::create_folder(folder)
    {
        return fail(&format!("Cannot create the folder {}: {error}", folder.display()));
    }
    // Every WebSocket takes a file descriptor, and the default soft limit is often 1,024.
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        warn!(%error, "limit of open files could not be raised");
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("io").build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("Cannot start the async runtime: {error}")),
    };
    let code = runtime.block_on(serve(server, config, recordings));
    // Does not wait for tasks that hang.
    runtime.shutdown_background();
    code
}

async fn serve(server: Server, config: Config, recordings: Option<PathBuf>) -> ExitCode {
    let grace = Duration::from_secs(config.shutdown.grace_seconds.into());
    let (name, version) = (server.name, server.version);
    let scheme = if config.http.tls_certificate.is_some() { "https" } else { "http" };
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
        return fail(&"Cannot install the handlers of SIGTERM and SIGINT.");
    };
    let running = match RunningServer::start(server, config, recordings).await {
        Ok(running) => running,
        Err(error) => return fail(&error),
    };
    let url = start_url(&running, scheme);
    print_addresses(&running, &url);
    info!(program = name, version, %url, admin = %running.admin, "server started");
    any_signal(&mut terminate, &mut interrupt).await;
    tokio::select! {
        () = running.stop(grace) => ExitCode::SUCCESS,
        () = any_signal(&mut terminate, &mut interrupt) => {
            warn!("second signal: exiting without waiting");
            ExitCode::FAILURE
        }
    }
}

/// Returns the URL of the pages. During development it has the developer secret, in the part that browsers do not send.
fn start_url(running: &RunningServer, scheme: &str) -> String {
    let address = running.http;
    match running.developer_secret() {
        Some(secret) => format!("{scheme}://{address}/#developer={secret}"),
        None => format!("{scheme}://{address}/"),
    }
}

/// Prints the addresses to standard output as one line of JSON, for scripts.
fn print_addresses(running: &RunningServer, url: &str) {
    let line = json!({ "listening": {
        "http": running.http.to_string(),
        "admin": running.admin.to_string(),
        "webtransport": running.webtransport.map(|address| address.to_string()),
        "udp": running.udp.map(|address| address.to_string()),
    }, "url": url });
    println!("{line}");
}

pub(super) async fn any_signal(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
