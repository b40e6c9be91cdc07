//! Opens the database and the services, and runs their periodic tasks.

use crate::config::Config;
use crate::platforms;
use crate::running::StartError;
use crate::tokens::Tokens;
use aether_api::TrustedProxies;
use aether_api::client::{ApiKeys, ClientApi, RequestRates};
use aether_metrics::Registry;
use aether_rooms::RoomHost;
use aether_services::clock::SystemClock;
use aether_services::leaderboard::Definition;
use aether_services::tournament::Terms;
use aether_services::{
    GrpcCode, Services, ServicesExtensions, ServicesParts, ServicesSettings, account, http_client, session, webhook,
};
use aether_store::{Database, Store, StoreError, StoreSettings};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tracing::{info, warn};

/// SQLite file in the data folder.
const FILE: &str = "aether.db";
/// Time between two removals of old history.
const PRUNE_INTERVAL_SECONDS: u64 = 3_600;
/// The database counts as unavailable if a ping takes longer.
const PING_TIME_MAX: Duration = Duration::from_secs(2);
/// Time between two reads of due webhooks.
const DELIVER_INTERVAL: Duration = Duration::from_millis(500);
/// Time between two renewals of leases: a fraction of a lease, so that a slow answer loses none.
const RENEW_INTERVAL: Duration = Duration::from_secs(2);
const DAY_MS: i64 = 86_400_000;

/// Result of the last ping of the database.
#[derive(Default)]
pub(crate) struct DatabaseHealth {
    problem: Mutex<Option<String>>,
}

impl DatabaseHealth {
    /// Returns the problem of the last ping, if there was one.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn ping(&self, services: &Services) {
        let (store, seconds) = (&services.store, PING_TIME_MAX.as_secs());
        let problem = match tokio::time::timeout(PING_TIME_MAX, store.ping()).await {
            Ok(Ok(())) => match tokio::time::timeout(PING_TIME_MAX, store.check_writes()).await {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(format!("writes fail: {error}")),
                Err(_) => Some(format!("writes fail: the database did not accept one within {seconds} s")),
            },
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("the database did not answer within {seconds} s")),
        };
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }
}

/// Returns the database that the configuration names.
pub(crate) fn database(config: &Config) -> Result<Database, StoreError> {
    let Some(url) = &config.database.url else { return Ok(Database::File(config.data_dir.join(FILE))) };
    let url = url.expose();
    match url.split_once(':') {
        _ if url == "memory" => Ok(Database::Memory),
        Some(("sqlite", path)) if !path.is_empty() => Ok(Database::File(PathBuf::from(path))),
        Some(("postgres" | "postgresql", _)) => Ok(Database::Postgres(url.to_owned())),
        _ => Err(StoreError::Refused(
            "database.url must be postgres://…, sqlite:<file> or memory. Remove it to use a file in the data folder."
                .to_owned(),
        )),
    }
}

/// Opens the store of the configured database.
pub(crate) async fn open_store(config: &Config, registry: &Registry) -> Result<Store, StoreError> {
    let settings = StoreSettings {
        connections: config.database.connections,
        readers: config.database.readers,
        migrate: config.database.migrate,
        ..StoreSettings::new(database(config)?)
    };
    Store::open(&settings, registry).await
}

/// Opens the services.
pub(crate) async fn open(
    config: &Config,
    extensions: ServicesExtensions,
    tokens: &Arc<Tokens>,
    registry: &Registry,
) -> Result<Arc<Services>, StartError> {
    let store = open_store(config, registry).await.map_err(StartError::Database)?;
    let settings = ServicesSettings {
        sessions: session::Settings {
            access_seconds: config.tokens.access_seconds,
            refresh_seconds: config.tokens.refresh_seconds,
            refresh_again_seconds: config.tokens.refresh_again_seconds,
            single: config.tokens.single_session,
        },
        accounts: account::Settings { recent_seconds: config.tokens.recent_seconds, ..account::Settings::default() },
        http_client: http_client::Settings {
            time_max: Duration::from_secs(config.outgoing.seconds.into()),
            allowed: allowed_networks(config)?,
            ..http_client::Settings::default()
        },
        webhook: config.webhook.url.as_ref().zip(config.webhook.secret.as_ref()).map(|(url, secret)| {
            let attempts_max = config.webhook.attempts_max;
            webhook::Settings { url: url.clone(), secret: secret.expose().to_owned(), attempts_max }
        }),
        providers: platforms::providers(config),
        purchases: platforms::shops(config),
        storage: config.storage_quota(),
        reserved_collections: config.storage.reserved_collections.iter().cloned().collect(),
        matchmaker: config.matchmaker.settings(),
    };
    let mut extensions = extensions;
    extensions.storage_indexes.extend(config.storage_indexes());
    let parts = ServicesParts { store, clock: Arc::new(SystemClock), tokens: Arc::clone(tokens), registry };
    let services = Services::open(parts, settings, extensions).await;
    Ok(Arc::new(services.map_err(|error| match error.code {
        GrpcCode::InvalidArgument => StartError::Config(error.to_string()),
        _ => StartError::Game(error.to_string()),
    })?))
}

/// Creates the leaderboards that the configuration opens to clients. Those of games exist already, and stay closed.
pub(crate) async fn open_leaderboards(config: &Config, services: &Services) -> Result<(), StartError> {
    for id in &config.api.open_leaderboards {
        let created = services.leaderboards.create(Definition::new(id).open_to_clients()).await;
        created.map_err(|error| StartError::Config(format!("api.open_leaderboards: {error}")))?;
    }
    Ok(())
}

/// Creates the tournaments that the configuration opens to clients: active all day, and reset at midnight.
pub(crate) async fn open_tournaments(config: &Config, services: &Services) -> Result<(), StartError> {
    for id in &config.api.open_tournaments {
        let definition = Definition { reset_schedule: "0 0 * * *".to_owned(), ..Definition::new(id).open_to_clients() };
        let created = services.tournaments.create(definition.tournament(Terms::lasting(DAY_MS / 1_000))).await;
        created.map_err(|error| StartError::Config(format!("api.open_tournaments: {error}")))?;
    }
    Ok(())
}

/// Ends leases and visits of the previous run of this node.
pub(crate) async fn recover_rooms(services: &Services, node: &str) {
    if let Err(error) = services.rooms.recover(node).await {
        warn!(%error, "leases and visits of the previous run were not ended");
    }
}

fn allowed_networks(config: &Config) -> Result<Vec<http_client::Network>, StartError> {
    let networks = config.outgoing.allowed_networks.iter().map(|network| network.to_string().parse());
    networks.collect::<Result<_, _>>().map_err(|error: http_client::NetworkError| StartError::Config(error.to_string()))
}

/// Returns the client API of the services.
pub(crate) fn client_api(
    config: &Config,
    services: &Arc<Services>,
    proxies: &Arc<TrustedProxies>,
    registry: &Registry,
) -> ClientApi {
    let http_key = config.api.http_key.as_ref().map(|key| key.expose());
    let keys = ApiKeys::new(config.api.server_key.as_str(), http_key);
    ClientApi::new(Arc::clone(services), keys, RequestRates::new(config.rates()), Arc::clone(proxies), registry)
}

/// Delivers webhooks until the task is aborted.
pub(crate) async fn deliver_webhooks(services: Arc<Services>) {
    let Some(webhooks) = &services.webhooks else { return };
    loop {
        match webhooks.deliver_due().await {
            Ok(0) => tokio::time::sleep(DELIVER_INTERVAL).await,
            Ok(_) => {}
            Err(error) => {
                warn!(%error, "webhooks not delivered: database unavailable");
                tokio::time::sleep(DELIVER_INTERVAL).await;
            }
        }
    }
}

/// Renews the leases of this server's durable rooms every few seconds.
pub(crate) async fn renew_leases(services: Arc<Services>, rooms: Arc<RoomHost>) {
    loop {
        tokio::time::sleep(RENEW_INTERVAL).await;
        // A module may register a durable type at any time.
        if !rooms.has_durable() {
            continue;
        }
        if let Err(error) = services.rooms.renew(rooms.node_id()).await {
            warn!(%error, "leases of durable rooms not renewed: database unavailable");
        }
    }
}

/// Runs the periodic work of the services: once a second, and once an hour for old history.
pub(crate) async fn run_maintenance(services: Arc<Services>, config: Config, health: Arc<DatabaseHealth>) {
    let mut second = tokio::time::interval(Duration::from_secs(1));
    let mut seconds: u64 = 0;
    loop {
        second.tick().await;
        let now = services.clock.now_ms();
        health.ping(&services).await;
        services.sessions.revocations().sweep(now / 1_000);
        if let Err(error) = services.sessions.flush().await {
            warn!(%error, "session history not written: database unavailable");
        }
        if let Err(error) = services.audit.flush().await {
            warn!(%error, "audit entries not written: database unavailable");
        }
        if let Err(error) = services.rooms.flush_visits().await {
            warn!(%error, "visit history not written: database unavailable");
        }
        if let Err(error) = services.report_periods(now / 1_000).await {
            warn!(%error, "ends of leaderboard periods not reported: database unavailable");
        }
        if let Err(error) = services.brackets.tick().await {
            warn!(%error, "deadlines of brackets not processed");
        }
        if seconds.is_multiple_of(PRUNE_INTERVAL_SECONDS) {
            let expired_before = now - i64::from(config.database.session_history_days) * DAY_MS;
            if let Err(error) = services.sessions.prune(expired_before).await {
                warn!(%error, "removal of old sessions failed");
            }
            if let Err(error) = services.audit.prune(now - i64::from(config.database.audit_days) * DAY_MS).await {
                warn!(%error, "removal of old audit entries failed");
            }
            if let Err(error) = services.moderation.prune(now - i64::from(config.database.audit_days) * DAY_MS).await {
                warn!(%error, "removal of old reports and mutes failed");
            }
            if let Some(webhooks) = &services.webhooks {
                match webhooks.prune().await {
                    Ok(0) => {}
                    Ok(messages) => warn!(messages, "parked webhook messages removed after their last day"),
                    Err(error) => warn!(%error, "removal of parked webhook messages failed"),
                }
            }
            let unused_since = now - i64::from(config.rooms.unused_days) * DAY_MS;
            let away_ms_max = i64::from(config.rooms.away_seconds) * 1_000;
            match services.rooms.prune(unused_since, away_ms_max, expired_before).await {
                Ok(0) => {}
                Ok(rooms) => info!(rooms, "unused durable rooms removed"),
                Err(error) => warn!(%error, "removal of unused durable rooms failed"),
            }
        }
        seconds += 1;
    }
}
