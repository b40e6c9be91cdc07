//! The database and the services over it, as the configuration has them.

use crate::config::Config;
use crate::platforms;
use crate::running::StartError;
use crate::tokens::Tokens;
use aether_api::TrustedProxies;
use aether_api::client::{ApiKeys, ClientApi, RequestRates};
use aether_metrics::Registry;
use aether_rooms::RoomHost;
use aether_services::clock::SystemClock;
use aether_services::{
    GrpcCode, Services, ServicesExtensions, ServicesParts, ServicesSettings, account, outgoing, session, webhook,
};
use aether_store::{Database, Store, StoreError, StoreSettings};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tracing::{info, warn};

/// The file of SQLite in the data folder.
const FILE: &str = "aether.db";
/// How often old history is put away.
const PRUNE_EVERY_SECONDS: u64 = 3_600;
/// How long the database may take to answer before it counts as lost.
const PING_TIME_MAX: Duration = Duration::from_secs(2);
/// How often there are looked for news.
const DELIVER_EVERY: Duration = Duration::from_millis(500);
/// How often leases are renewed: a few times within one, so that a slow answer loses none.
const RENEW_EVERY: Duration = Duration::from_secs(2);
const DAY_MS: i64 = 86_400_000;

/// Whether the database answers.
#[derive(Default)]
pub(crate) struct Health {
    problem: Mutex<Option<String>>,
}

impl Health {
    /// What is wrong with the database, if something is.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn look(&self, services: &Services) {
        let problem = match tokio::time::timeout(PING_TIME_MAX, services.store.ping()).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the database does not answer".to_owned()),
        };
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }
}

/// Which database a configuration means.
pub(crate) fn database(config: &Config) -> Result<Database, StoreError> {
    let Some(url) = &config.database.url else { return Ok(Database::File(config.data_dir.join(FILE))) };
    let url = url.expose();
    match url.split_once(':') {
        _ if url == "memory" => Ok(Database::Memory),
        Some(("sqlite", path)) if !path.is_empty() => Ok(Database::File(PathBuf::from(path))),
        Some(("postgres" | "postgresql", _)) => Ok(Database::Postgres(url.to_owned())),
        _ => Err(StoreError::Refused(
            "database.url is none of postgres://…, sqlite:<file> and memory. Leave it out for a file in the data folder."
                .to_owned(),
        )),
    }
}

/// Opens the store that a configuration means.
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
        accounts: account::Settings::default(),
        outgoing: outgoing::Settings {
            time_max: Duration::from_secs(config.outgoing.seconds.into()),
            allowed: allowed_networks(config)?,
            ..outgoing::Settings::default()
        },
        webhook: config.webhook.url.as_ref().zip(config.webhook.secret.as_ref()).map(|(url, secret)| {
            let attempts_max = config.webhook.attempts_max;
            webhook::Settings { url: url.clone(), secret: secret.expose().to_owned(), attempts_max }
        }),
        providers: platforms::providers(config),
        purchases: platforms::shops(config),
        storage: config.storage_quota(),
    };
    let parts = ServicesParts { store, clock: Arc::new(SystemClock), tokens: Arc::clone(tokens), registry };
    let services = Services::open(parts, settings, extensions).await;
    Ok(Arc::new(services.map_err(|refusal| match refusal.code {
        GrpcCode::InvalidArgument => StartError::Config(refusal.to_string()),
        _ => StartError::Game(refusal.to_string()),
    })?))
}

fn allowed_networks(config: &Config) -> Result<Vec<outgoing::Network>, StartError> {
    let networks = config.outgoing.allowed_networks.iter().map(|network| network.to_string().parse());
    networks.collect::<Result<_, _>>().map_err(|error: outgoing::NetworkError| StartError::Config(error.to_string()))
}

/// The client API before the services.
pub(crate) fn desk(
    config: &Config,
    services: &Arc<Services>,
    proxies: &Arc<TrustedProxies>,
    registry: &Registry,
) -> ClientApi {
    let keys = ApiKeys { server: config.api.server_key.clone() };
    ClientApi::new(Arc::clone(services), keys, RequestRates::new(config.rates()), Arc::clone(proxies), registry)
}

/// Delivers news to the outside as they come.
pub(crate) async fn deliver(services: Arc<Services>) {
    let Some(webhooks) = &services.webhooks else { return };
    loop {
        match webhooks.deliver_due().await {
            Ok(0) => tokio::time::sleep(DELIVER_EVERY).await,
            Ok(_) => {}
            Err(error) => {
                warn!(%error, "webhooks wait for the database");
                tokio::time::sleep(DELIVER_EVERY).await;
            }
        }
    }
}

/// Says every few seconds that this server lives, so that its durable rooms stay its own.
pub(crate) async fn renew_leases(services: Arc<Services>, rooms: Arc<RoomHost>) {
    if !rooms.types.has_durable() {
        return;
    }
    loop {
        tokio::time::sleep(RENEW_EVERY).await;
        if let Err(error) = services.rooms.renew(rooms.node_id()).await {
            warn!(%error, "durable rooms wait for the database");
        }
    }
}

/// What is due each second.
pub(crate) async fn keep_house(services: Arc<Services>, config: Config, health: Arc<Health>) {
    let mut second = tokio::time::interval(Duration::from_secs(1));
    let mut seconds: u64 = 0;
    loop {
        second.tick().await;
        let now = services.clock.now_ms();
        health.look(&services).await;
        services.sessions.revocations().sweep(now / 1_000);
        if let Err(error) = services.sessions.flush().await {
            warn!(%error, "the session history waits for the database");
        }
        if let Err(error) = services.rooms.flush_visits().await {
            warn!(%error, "the history of visits waits for the database");
        }
        if let Err(error) = services.leaderboards.tick(now / 1_000).await {
            warn!(%error, "resets of leaderboards wait for the database");
        }
        if seconds.is_multiple_of(PRUNE_EVERY_SECONDS) {
            let expired_before = now - i64::from(config.database.session_history_days) * DAY_MS;
            if let Err(error) = services.sessions.prune(expired_before).await {
                warn!(%error, "old sessions were not put away");
            }
            let unused_since = now - i64::from(config.rooms.unused_days) * DAY_MS;
            let away_ms_max = i64::from(config.rooms.away_seconds) * 1_000;
            match services.rooms.prune(unused_since, away_ms_max, expired_before).await {
                Ok(0) => {}
                Ok(rooms) => info!(rooms, "rooms that nobody used were removed"),
                Err(error) => warn!(%error, "old rooms were not put away"),
            }
        }
        seconds += 1;
    }
}
