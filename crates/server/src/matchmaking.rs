//! The task of the matchmaker: lets tickets search, and decides on match candidates.

use crate::config::Config;
use crate::running::StartError;
use aether_services::Services;
use aether_services::matchmaker::{self, RunPart};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::error;

/// Shortest time between two runs. Tickets that arrive in between search together.
const RUN_INTERVAL_MIN: Duration = Duration::from_millis(25);
/// Most decisions at a time: hooks that run, and rooms that are created.
const DECISIONS_MAX: usize = 64;

/// Checks the room type for matches. Modules may have registered it in the set-up of the program.
pub(crate) fn check(config: &Config, services: &Services) -> Result<(), StartError> {
    let types = services.calls.match_types();
    let names: Vec<&str> = types.keys().map(String::as_str).collect();
    match config.unknown_match_type(&names) {
        Some(problem) => Err(StartError::Config(problem.to_string())),
        None => Ok(()),
    }
}

/// Runs the matchmaker until the task is aborted.
pub(crate) async fn run(services: Arc<Services>) {
    let mut decisions = JoinSet::new();
    loop {
        services.matchmaker.until_due().await;
        let began = Instant::now();
        let service = Arc::clone(&services.matchmaker);
        // A run takes up to a few milliseconds.
        let part = tokio::task::spawn_blocking(move || service.run_part()).await;
        let RunPart { candidates, has_more } = part.unwrap_or_else(|error| {
            error!(%error, "run of the matchmaker failed");
            RunPart::default()
        });
        for candidate in candidates {
            while decisions.len() >= DECISIONS_MAX {
                decisions.join_next().await;
            }
            let services = Arc::clone(&services);
            decisions.spawn(async move { matchmaker::decide(&services, candidate).await });
        }
        while decisions.try_join_next().is_some() {}
        if !has_more {
            tokio::time::sleep_until(began + RUN_INTERVAL_MIN).await;
        }
    }
}
