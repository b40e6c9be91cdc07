//! `aether driver`: owns the socket of reliable UDP, and passes messages on to a server on this machine.

use super::fail;
use crate::config::ConfigArguments;
use crate::logging;
use std::process::ExitCode;

/// Flags of `aether driver`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct DriverArguments {
    /// Configuration file and flags: those of the server.
    #[command(flatten)]
    pub config: ConfigArguments,
}

/// Runs the driver until a signal.
pub(crate) fn run(arguments: &DriverArguments) -> ExitCode {
    let config = match arguments.config.load() {
        Ok(config) => config,
        Err(error) => return fail(&error),
    };
    let Some(path) = config.shared_memory.path.clone() else {
        return fail(
            &"A driver needs the path of the server's socket: set shared_memory.path to the same path for both programs, \
              such as --set shared_memory.path=/run/aether/driver.sock.",
        );
    };
    if !config.udp.enabled {
        return fail(&"A driver listens on reliable UDP: set udp.enabled to true.");
    }
    if let Err(error) = logging::start(&config.log) {
        return fail(&error);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("io").build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("Cannot start the async runtime: {error}")),
    };
    let code = runtime.block_on(drive(config, path));
    // Does not wait for tasks that hang.
    runtime.shutdown_background();
    code
}

#[cfg(not(target_os = "linux"))]
async fn drive(_: crate::config::Config, _: std::path::PathBuf) -> ExitCode {
    fail(&"A driver needs Linux. Without it, the server listens itself: remove shared_memory.path.")
}

#[cfg(target_os = "linux")]
use linux::drive;

#[cfg(target_os = "linux")]
mod linux {
    use super::super::fail;
    use super::super::serve::any_signal;
    use crate::config::Config;
    use crate::udp::listener_settings;
    use aether_metrics::Registry;
    use aether_net::shared_memory::{AttachError, DriverClient, SharedMemoryDriver};
    use aether_net::udp::{UdpListener, UdpSession};
    use aether_rudp::TokenKey;
    use serde_json::json;
    use std::path::{Path, PathBuf};
    use std::process::ExitCode;
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::signal::unix::{SignalKind, signal};
    use tokio::task::JoinSet;
    use tracing::{info, warn};

    /// Time between two attempts to attach.
    const RETRY: Duration = Duration::from_millis(100);
    /// Longest time for clients to get their close message.
    const CLOSE_TIME_MAX: Duration = Duration::from_secs(3);

    /// Serves one game after another, until a signal.
    pub(super) async fn drive(config: Config, path: PathBuf) -> ExitCode {
        let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
        let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
            return fail(&"Cannot install the handlers of SIGTERM and SIGINT.");
        };
        let registry = Registry::new();
        loop {
            let attached = tokio::select! {
                attached = attach(&path) => attached,
                () = any_signal(&mut terminate, &mut interrupt) => return ExitCode::SUCCESS,
            };
            let opened = match attached {
                Ok((driver, greeting)) => AttachedGame::open(&config, &registry, driver, &greeting),
                Err(error) => Err(format!("Cannot attach to the server: {error}.")),
            };
            let mut game = match opened {
                Ok(game) => game,
                Err(error) => return fail(&error),
            };
            let stops = tokio::select! {
                () = game.serve() => false,
                () = any_signal(&mut terminate, &mut interrupt) => true,
            };
            game.close().await;
            if stops {
                return ExitCode::SUCCESS;
            }
            warn!("server has ended; waiting for the next");
        }
    }

    /// Attaches to the server. Waits for one that does not listen yet.
    async fn attach(path: &Path) -> Result<(SharedMemoryDriver, Vec<u8>), AttachError> {
        let mut has_warned = false;
        loop {
            let wanted = path.to_owned();
            // The handshake blocks, for some seconds at most.
            let attached = tokio::task::spawn_blocking(move || SharedMemoryDriver::attach(&wanted)).await;
            match attached.unwrap_or(Err(AttachError::Handshake("it was interrupted"))) {
                // The server does not run, or ends just now.
                Err(error @ (AttachError::NotListening(_) | AttachError::System(..))) => {
                    if !has_warned {
                        warn!(%error, "waiting for the server");
                    }
                    has_warned = true;
                    tokio::time::sleep(RETRY).await;
                }
                result => return result,
            }
        }
    }

    /// A server, and the socket that this process owns for it.
    struct AttachedGame {
        driver: SharedMemoryDriver,
        listener: UdpListener,
        clients: JoinSet<()>,
    }

    impl AttachedGame {
        /// Opens the socket. `greeting` is the key of connect tokens.
        fn open(
            config: &Config,
            registry: &Registry,
            driver: SharedMemoryDriver,
            greeting: &[u8],
        ) -> Result<AttachedGame, String> {
            let key = greeting.try_into().map_err(|_| "The server has sent no key; use the same version of both.")?;
            let address = config.udp_address();
            let settings = listener_settings(config, address);
            let listener = UdpListener::bind(&settings, Arc::new(TokenKey::from_bytes(key)), registry);
            let listener = listener.map_err(|error| {
                format!(
                    "Cannot listen on {address} (UDP): {error}. Stop the program that uses it, or change udp.address."
                )
            })?;
            Ok(AttachedGame { driver, listener, clients: JoinSet::new() })
        }

        /// Passes clients on until the server has ended.
        async fn serve(&mut self) {
            let udp = self.listener.local_address();
            self.driver.offer(Some(udp)).await;
            // For scripts, as the line of `aether serve`.
            println!("{}", json!({ "listening": { "udp": udp.to_string() } }));
            info!(%udp, "driver attached to a server");
            loop {
                tokio::select! {
                    () = self.driver.ended() => return,
                    Some(_) = self.clients.join_next() => {}
                    session = self.listener.accept() => match session {
                        Some(session) => self.pass_on(session),
                        None => return,
                    },
                }
            }
        }

        fn pass_on(&mut self, UdpSession { transport, peer, account }: UdpSession) {
            let address = peer.ip();
            // A page cannot send UDP, so whoever sends from loopback is a program of this machine.
            let client = DriverClient { address, is_local: address.is_loopback(), room: None, account: Some(account) };
            self.clients.spawn(self.driver.serve(transport, client));
        }

        /// Closes the clients, which may then resume through another driver or server.
        async fn close(mut self) {
            self.driver.close();
            let closed = async { while self.clients.join_next().await.is_some() {} };
            // A lost client does not answer.
            let _ = tokio::time::timeout(CLOSE_TIME_MAX, closed).await;
            self.listener.close().await;
        }
    }
}
