//! Wires Lua scripts into the server.

use crate::config::{Config, MODULES_FOLDER};
use crate::running::StartError;
use crate::server::Server;
use aether_metrics::Registry;
use aether_script::{CallLimits, MatchLimits, ScriptReloader, ScriptSettings, Scripts};
use aether_services::Services;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tracing::warn;

/// Creates the scripts of the configured folder and of the program, without loading them, and adds their forwarders to the
/// extensions of the services; none if there are none.
pub(crate) fn open(
    config: &Config,
    server: &mut Server,
    registry: &Registry,
) -> Result<Option<Arc<Scripts>>, StartError> {
    let modules = std::mem::take(&mut server.modules);
    let built_in = if config.script.built_in { modules } else { Vec::new() };
    let folder = match config.script_folder() {
        Some(folder) => folder,
        None if built_in.is_empty() => return Ok(None),
        // A developer's changes of the program's modules are stored there.
        None => config.data_dir.join(MODULES_FOLDER),
    };
    if config.script.folder.is_some() && !folder.is_dir() {
        let text = format!("script.folder: {} is not a folder. Create it, or remove the setting.", folder.display());
        return Err(StartError::Config(text));
    }
    let script = &config.script;
    let mebibytes = |count: u32| usize::try_from(count).unwrap_or(usize::MAX) << 20;
    let scripts = Scripts::new(ScriptSettings {
        folder,
        built_in,
        limits: CallLimits {
            time_max: Duration::from_millis(script.call_ms.into()),
            memory_max: mebibytes(script.call_memory_mib),
            vms_max: usize::try_from(script.vms_max).unwrap_or(usize::MAX),
        },
        match_limits: MatchLimits {
            tick_share: f64::from(script.match_share_percent) / 100.0,
            memory_max: mebibytes(script.match_memory_mib),
        },
        environment: environment(&script.environment)?,
        // As presences of the socket show it.
        node: config.node_name.to_string(),
        sql: script.sql,
        config: shown(config),
        version: server.version.to_owned(),
        registry: registry.clone(),
    });
    scripts.extend(&mut server.extensions);
    Ok(Some(scripts))
}

/// Loads the scripts at the start. A module that does not load stops the start, as a wrong configuration does.
pub(crate) async fn load(scripts: Option<&Arc<Scripts>>, services: &Arc<Services>) -> Result<(), StartError> {
    let Some(scripts) = scripts else { return Ok(()) };
    let loaded = scripts.reload(services).await;
    loaded.map_err(|error| StartError::Game(format!("The scripts cannot be loaded: {error}")))?;
    Ok(())
}

/// Lets operators reload the scripts. With `script.watch` the returned future reloads them when files change; run it until
/// the server stops.
pub(crate) fn reloader(
    config: &Config,
    scripts: &Arc<Scripts>,
    services: &Arc<Services>,
) -> (Arc<ScriptReloader>, Option<impl Future<Output = ()> + Send + use<>>) {
    let reloader = Arc::new(ScriptReloader::new(scripts, services));
    services.host_scripts(Arc::downgrade(&reloader) as _);
    let watch = config.watches_scripts().then(|| Arc::clone(&reloader).watch());
    (reloader, watch)
}

/// Runs scheduled functions until the task is aborted.
pub(crate) async fn run_schedules(scripts: Arc<Scripts>, services: Arc<Services>) {
    let mut second = tokio::time::interval(Duration::from_secs(1));
    let mut runs = JoinSet::new();
    loop {
        second.tick().await;
        match scripts.claim_due(&services, services.clock.now_seconds()).await {
            Ok(due) => due.into_iter().for_each(|due| drop(runs.spawn(due.run()))),
            Err(error) => warn!(%error, "scheduled functions not run: database unavailable"),
        }
        while runs.try_join_next().is_some() {}
    }
}

/// Returns the settings that scripts may read, with the names that existing modules know. None of them is a secret.
fn shown(config: &Config) -> serde_json::Value {
    let (tokens, socket, matchmaker) = (&config.tokens, &config.socket, &config.matchmaker);
    json!({
        "name": config.node_name.to_string(),
        "shutdown_grace_sec": config.shutdown.grace_seconds,
        "logger": { "level": config.log.filter },
        "session": {
            "token_expiry_sec": tokens.access_seconds,
            "refresh_token_expiry_sec": tokens.refresh_seconds,
            "single_session": tokens.single_session,
        },
        "socket": {
            "address": config.http.address.ip().to_string(),
            "port": config.http.address.port(),
            "max_message_size_bytes": socket.message_bytes_max,
        },
        "matchmaker": {
            "max_tickets": matchmaker.tickets_per_session_max,
            "interval_sec": f64::from(matchmaker.interval_ms) / 1_000.0,
            "max_intervals": matchmaker.max_intervals,
            "rev_precision": matchmaker.mutual,
        },
        "runtime": { "env": config.script.environment, "call_ms": config.script.call_ms },
    })
}

fn environment(entries: &[String]) -> Result<BTreeMap<String, String>, StartError> {
    let entry = |entry: &String| {
        let (name, value) = entry.split_once('=').filter(|(name, _)| !name.is_empty())?;
        Some((name.to_owned(), value.to_owned()))
    };
    let entries: Option<BTreeMap<_, _>> = entries.iter().map(entry).collect();
    entries.ok_or_else(|| StartError::Config("script.environment: write each entry as `name=value`.".to_owned()))
}
