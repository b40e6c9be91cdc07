//! A server that runs: what was wired together, and how it ends.

use crate::backend::ServerBackend;
use crate::clock::{UptimeClock, unix_seconds};
use crate::config::Config;
use crate::data;
use crate::keys::{KeyError, KeyRing};
use crate::node;
use crate::server::Server;
use crate::tokens::Tokens;
use aether_api::listener::{self, ListenerSettings};
use aether_api::{AllowedOrigins, Pages, PublicApi, TrustedProxies};
use aether_engine::Scheduler;
use aether_limits::RateLimit;
use aether_metrics::Registry;
use aether_net::certificate::{CertificateError, Certificates};
use aether_net::webtransport::{WebTransportServer, WebTransportSettings};
use aether_net::{ConnectionMetrics, ConnectionSettings, Gateway, PendingClient};
use aether_rooms::{DurableSettings, LiveSessions, LobbySettings, RoomHost, RoomHostSettings, RoomLobby, RoomRequests};
use aether_services::Services;
use aether_store::StoreError;
use aether_wire::RoomSelector;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tracing::{error, info, warn};

/// How long connections have for their last words after the rooms have ended.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// HTTP connections of one address beyond those that become realtime ones.
const HTTP_CONNECTIONS_BESIDE: u32 = 32;
/// How long rooms have to end. One that never returns is left behind.
const ROOMS_END: Duration = Duration::from_secs(5);
/// How long everything of rooms that have ended has to be stored.
const ROOMS_STORED: Duration = Duration::from_secs(10);
/// Time for the last holders of the store to let go of it.
const STORE_CLOSED: Duration = Duration::from_secs(5);
/// Rooms that one address may have made on a public server; players behind one router share an address.
const ROOMS_PER_ADDRESS_MAX: u32 = 16;
/// How often certificates are looked at.
const CERTIFICATES_EVERY: Duration = Duration::from_secs(60);
/// A generated certificate is replaced so long before it expires: a client that just learned its hash can still use it.
const RENEW_BEFORE: Duration = Duration::from_secs(24 * 3_600);

/// A server that runs.
pub struct RunningServer {
    /// Where pages, the API and WebSockets are.
    pub http: SocketAddr,
    /// Where metrics and profiles are.
    pub admin: SocketAddr,
    /// Where WebTransport is, if it is on.
    pub webtransport: Option<SocketAddr>,
    services: Arc<Services>,
    sessions: Arc<LiveSessions>,
    registry: Registry,
    rooms: Arc<RoomHost>,
    gateway: Arc<Gateway>,
    backstage: Arc<ServerBackend>,
    tasks: Vec<JoinHandle<()>>,
    webtransport_task: Option<JoinHandle<()>>,
    close_webtransport: Arc<Notify>,
    stopping: Arc<AtomicBool>,
    /// The thread that puts rooms away.
    putting_away: Option<std::thread::JoinHandle<()>>,
}

/// Why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// The configuration is wrong.
    Config(String),
    /// The keys cannot be used.
    Keys(KeyError),
    /// The database cannot be used.
    Database(StoreError),
    /// What the game wanted to do at the start did not work.
    Game(String),
    /// An address cannot be listened on.
    Listen {
        /// The address.
        address: SocketAddr,
        /// The setting that names it.
        setting: &'static str,
        /// What the system says.
        error: std::io::Error,
    },
    /// A certificate cannot be used.
    Certificate(CertificateError),
    /// WebTransport cannot be offered.
    WebTransport(SocketAddr, String),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Config(text) => f.write_str(text),
            StartError::Keys(error) => error.fmt(f),
            StartError::Database(error) => error.fmt(f),
            StartError::Game(why) => write!(f, "The game could not be set up: {why}"),
            StartError::Listen { address, setting, error } => {
                write!(f, "{address} cannot be listened on: {error}. Is another server running? Set {setting}.")
            }
            StartError::Certificate(error) => error.fmt(f),
            StartError::WebTransport(address, error) => {
                write!(
                    f,
                    "WebTransport cannot be offered on {address}: {error}. Set webtransport.address, or turn it off."
                )
            }
        }
    }
}

impl std::error::Error for StartError {}

impl RunningServer {
    pub(crate) async fn start(
        mut server: Server,
        config: Config,
        recordings: Option<PathBuf>,
    ) -> Result<RunningServer, StartError> {
        let registry = Registry::new();
        let (version, pages) = (server.version, std::mem::take(&mut server.pages));
        let tokens = KeyRing::open(&config.data_dir, unix_seconds()).map_err(StartError::Keys)?;
        let tokens = Arc::new(Tokens::new(tokens, &config.tokens.audience));
        aether_rooms::register_functions(&mut server.extensions.functions);
        let services = data::open(&config, std::mem::take(&mut server.extensions), &tokens, &registry).await?;
        server.set_up(&services).await?;
        let node = node::id(&config.data_dir).map_err(StartError::Config)?;
        if let Err(refusal) = services.rooms.started(&node).await {
            warn!(%refusal, "what a crash has left behind was not tidied up");
        }
        let requests = RoomRequests::new(Arc::clone(&services), &registry);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let scheduler = Scheduler::new(config.tick_threads(cores), Arc::new(UptimeClock::start()));
        let rooms = RoomHost::new(scheduler, host_settings(&config, node, recordings), requests);
        for room_type in server.configured(&config, &registry)? {
            rooms.types.register(room_type);
        }
        services.host_matches(Arc::downgrade(&rooms) as _);
        let sessions = Arc::new(LiveSessions::new(Arc::clone(services.sessions.revocations())));
        let settings = LobbySettings {
            per_account_max: limit(config.connections.per_account_max),
            accepts_development: config.accepts_development(),
            version,
        };
        let lobby = RoomLobby::new(Arc::clone(&rooms), Arc::clone(&sessions), Arc::clone(&tokens), settings, &registry);
        let lobby = Arc::new(lobby);
        let gateway =
            Gateway::new(Arc::clone(&lobby) as _, connection_settings(&config), ConnectionMetrics::new(&registry));
        let (http_listener, http) = listen(config.http.address, "http.address").await?;
        let (admin_listener, admin) = listen(config.http.admin_address, "http.admin_address").await?;
        let transport = open_webtransport(&config, http, &registry)?;
        let web = transport.as_ref().map(|(_, certificates, address)| (certificates.clone(), *address));
        let backstage =
            Arc::new(ServerBackend::new(&config, &registry, (&rooms, &gateway, &tokens, &sessions), web, version));
        let mut running = RunningServer {
            http,
            admin,
            webtransport: transport.as_ref().map(|(_, _, address)| *address),
            services,
            sessions,
            registry,
            rooms,
            gateway,
            backstage,
            tasks: Vec::new(),
            webtransport_task: None,
            close_webtransport: Arc::default(),
            stopping: Arc::default(),
            putting_away: None,
        };
        running.serve_http(&config, &lobby, pages, http_listener, admin_listener)?;
        if let Some((server, certificates, _)) = transport {
            running.serve_webtransport(server, &config);
            running.watch_certificates(certificates);
        }
        running.housekeeping(lobby);
        let health = Arc::clone(&running.backstage.database);
        running.tasks.push(tokio::spawn(data::keep_house(Arc::clone(&running.services), config, health)));
        running.tasks.push(tokio::spawn(data::renew_leases(Arc::clone(&running.services), Arc::clone(&running.rooms))));
        running.tasks.push(tokio::spawn(data::deliver(Arc::clone(&running.services))));
        Ok(running)
    }

    fn serve_http(
        &mut self,
        config: &Config,
        lobby: &RoomLobby,
        pages: Pages,
        http: TcpListener,
        admin: TcpListener,
    ) -> Result<(), StartError> {
        let tls = match config.http.tls_certificate.as_ref().zip(config.http.tls_key.as_ref()) {
            None => None,
            Some((chain, key)) => {
                let certificates = Certificates::from_files(chain, key).map_err(StartError::Certificate)?;
                let tls = certificates.https_config().map_err(StartError::Certificate)?;
                self.watch_certificates(certificates);
                Some(TlsAcceptor::from(tls))
            }
        };
        let proxies = config.http.trusted_proxies.iter().map(|network| network.parts()).collect();
        let proxies = Arc::new(TrustedProxies::new(proxies));
        let accounts = lobby.accounts().clone();
        let desk = data::desk(config, &self.services, &proxies, &self.registry)
            .with_presence(move |user| accounts.count(&user.to_string()) > 0);
        let origins = config.http.allowed_origins.iter().map(ToString::to_string).collect();
        let router = aether_api::router(PublicApi {
            backend: Arc::clone(&self.backstage) as _,
            gateway: Arc::clone(&self.gateway),
            desk,
            proxies,
            origins: Arc::new(AllowedOrigins::new(origins)),
            compression: config.connections.compression,
            request_time_max: Duration::from_secs(config.http.request_seconds.into()),
            web_transport_port: self.webtransport.map(|address| address.port()),
            pages,
            registry: self.registry.clone(),
        });
        let header_time_max = Duration::from_secs(config.http.header_seconds.into());
        let connections_max = limit(config.connections.max);
        // A page asks for its files by a few connections beside those that count as realtime ones.
        let per_address_max = if config.is_public() {
            limit(config.connections.per_ip_max).saturating_add(HTTP_CONNECTIONS_BESIDE)
        } else {
            u32::MAX
        };
        let settings = ListenerSettings { header_time_max, connections_max, per_address_max, tls };
        let admin_key = config.http.admin_key.as_ref().map(|key| key.expose());
        let admin_router = aether_api::admin::router(Arc::clone(&self.backstage) as _, admin_key);
        let admin_settings =
            ListenerSettings { connections_max: 64, per_address_max: 64, tls: None, ..settings.clone() };
        self.tasks.push(tokio::spawn(listener::serve(http, router, settings)));
        self.tasks.push(tokio::spawn(listener::serve(admin, admin_router, admin_settings)));
        Ok(())
    }

    fn serve_webtransport(&mut self, mut server: WebTransportServer, config: &Config) {
        let gateway = Arc::clone(&self.gateway);
        let origins = AllowedOrigins::new(config.http.allowed_origins.iter().map(ToString::to_string).collect());
        let close = Arc::clone(&self.close_webtransport);
        self.webtransport_task = Some(tokio::spawn(async move {
            loop {
                let session = tokio::select! {
                    session = server.accept() => session,
                    () = close.notified() => return server.close().await,
                };
                let Some(session) = session else { return };
                let address = session.peer.ip();
                if !origins.allow(session.origin.as_deref(), &session.authority) {
                    continue;
                }
                // Beyond the limit the session is dropped, which closes it.
                let Some(ticket) = gateway.ticket(address) else { continue };
                let room = session.room_code.map(RoomSelector::Code);
                let is_local = address.is_loopback() && aether_api::is_local_name(&session.authority);
                let visitor = PendingClient { address, is_local, room, ticket };
                tokio::spawn(Arc::clone(&gateway).serve(session.transport, visitor));
            }
        }));
    }

    /// Looks at a certificate now and then: files may have changed, and a generated one expires.
    fn watch_certificates(&mut self, certificates: Certificates) {
        self.tasks.push(tokio::spawn(async move {
            loop {
                tokio::time::sleep(CERTIFICATES_EVERY).await;
                let now = SystemTime::now();
                let renew = certificates.expires_at().is_none_or(|expires_at| now + RENEW_BEFORE >= expires_at);
                if let Some(Err(error)) = renew.then(|| certificates.reload(now)) {
                    warn!(%error, "the certificate could not be read again; the old one stays");
                }
            }
        }));
    }

    /// What is due each second, and the thread that puts rooms away.
    fn housekeeping(&mut self, lobby: Arc<RoomLobby>) {
        let (rooms, backstage) = (Arc::clone(&self.rooms), Arc::clone(&self.backstage));
        self.tasks.push(tokio::spawn(async move {
            let mut second = tokio::time::interval(Duration::from_secs(1));
            loop {
                second.tick().await;
                rooms.each_second();
                lobby.sweep();
                backstage.each_second();
            }
        }));
        let (rooms, stopping) = (Arc::clone(&self.rooms), Arc::clone(&self.stopping));
        let put_away = move || {
            while !stopping.load(Ordering::Relaxed) {
                rooms.remove_ended(Duration::from_millis(200));
            }
        };
        match std::thread::Builder::new().name("rooms".into()).spawn(put_away) {
            Ok(thread) => self.putting_away = Some(thread),
            Err(error) => error!(%error, "rooms that end are not taken off the list"),
        }
    }

    /// Signing out: revoke a session, and its connections are closed with a reason.
    #[must_use]
    pub fn sessions(&self) -> &Arc<LiveSessions> {
        &self.sessions
    }

    /// Accounts, storage, leaderboards and the others, for the program's own code.
    #[must_use]
    pub fn services(&self) -> &Arc<Services> {
        &self.services
    }

    /// The metrics.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// How many realtime connections are open.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.gateway.connections()
    }

    /// Stops: not ready, no new rooms, players told with a deadline; then rooms end, and everything is flushed.
    pub async fn stop(mut self, grace: Duration) {
        info!(grace_seconds = grace.as_secs(), connections = self.connections(), "stopping");
        self.backstage.drain();
        self.rooms.close();
        self.gateway.announce_stop(grace);
        self.wait_for_no_connections(grace).await;
        let rooms = Arc::clone(&self.rooms);
        // Ending rooms waits for their threads.
        let ended = tokio::task::spawn_blocking(move || rooms.stop());
        if tokio::time::timeout(ROOMS_END, ended).await.is_err() {
            error!("a room does not end; it is left behind");
        }
        if tokio::time::timeout(ROOMS_STORED, self.rooms.finish()).await.is_err() {
            error!("not everything of the rooms could be stored in time");
        }
        self.wait_for_no_connections(LAST_WORDS).await;
        if let Some(webtransport) = self.webtransport_task.take() {
            self.close_webtransport.notify_one();
            let _ = tokio::time::timeout(LAST_WORDS, webtransport).await;
        }
        self.stopping.store(true, Ordering::Relaxed);
        for task in std::mem::take(&mut self.tasks) {
            task.abort();
            // Waited for, so that the addresses are free when this returns.
            let _ = task.await;
        }
        if let Some(thread) = self.putting_away.take() {
            // It holds the rooms, and these the store, which is only closed when nobody holds it.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
        if let Err(error) = self.services.sessions.flush().await {
            warn!(%error, "the last of the session history was not written");
        }
        if let Err(error) = self.services.rooms.flush_visits().await {
            warn!(%error, "the last of the history of visits was not written");
        }
        let (store, connections) = (self.services.store.clone(), self.connections());
        drop(self);
        // Tasks of connections that have just ended may hold it for a moment.
        if !store.close_within(STORE_CLOSED).await {
            warn!("a request still holds the database; the next start tidies up its files");
        }
        info!(connections, "stopped");
    }

    async fn wait_for_no_connections(&self, at_most: Duration) {
        let end = Instant::now() + at_most;
        while self.gateway.connections() > 0 && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn open_webtransport(
    config: &Config,
    http: SocketAddr,
    registry: &Registry,
) -> Result<Option<(WebTransportServer, Certificates, SocketAddr)>, StartError> {
    if !config.webtransport.enabled {
        return Ok(None);
    }
    // The same port as HTTP, also when the system chose that.
    let wanted = config.webtransport.address.unwrap_or(http);
    let certificates = match config.webtransport_certificate() {
        Some((chain, key)) => Certificates::from_files(chain, key),
        None => Certificates::generate(["localhost".to_owned(), wanted.ip().to_string()], SystemTime::now()),
    };
    let certificates = certificates.map_err(StartError::Certificate)?;
    let settings = WebTransportSettings {
        handshake: Duration::from_secs(config.connections.handshake_seconds.into()),
        idle: Duration::from_secs(config.connections.idle_seconds.into()),
        ..WebTransportSettings::default()
    };
    let refused = |error: String| StartError::WebTransport(wanted, error);
    let server = WebTransportServer::bind(wanted, &certificates, settings, registry);
    let server = server.map_err(|error| refused(error.to_string()))?;
    let address = server.local_address().map_err(|error| refused(error.to_string()))?;
    Ok(Some((server, certificates, address)))
}

async fn listen(address: SocketAddr, setting: &'static str) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |error| StartError::Listen { address, setting, error };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

fn connection_settings(config: &Config) -> ConnectionSettings {
    let connections = &config.connections;
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    ConnectionSettings {
        connections_max: limit(connections.max),
        // On one's own machine every client has the same address.
        per_address_max: if config.is_public() { limit(connections.per_ip_max) } else { u32::MAX },
        handshake: seconds(connections.handshake_seconds),
        idle: seconds(connections.idle_seconds),
        message_bytes_max: connections.message_bytes_max,
        rate: RateLimit { per_second: connections.messages_per_second, burst: connections.messages_burst },
        write_stall: seconds(connections.write_stall_seconds),
    }
}

fn host_settings(config: &Config, node_id: String, recordings: Option<PathBuf>) -> RoomHostSettings {
    RoomHostSettings {
        node_id,
        node_name: config.node_name.to_string(),
        rooms_max: config.rooms.max,
        empty_time_max: Duration::from_secs(config.rooms.empty_seconds.into()),
        // On one's own machine everyone has the same address.
        per_address_max: if config.is_public() { ROOMS_PER_ADDRESS_MAX } else { u32::MAX },
        recordings,
        durable: durable_settings(config),
    }
}

fn durable_settings(config: &Config) -> DurableSettings {
    let rooms = &config.rooms;
    DurableSettings {
        checkpoint_interval: Duration::from_millis(rooms.checkpoint_ms.into()),
        snapshot_interval: Duration::from_secs(rooms.snapshot_seconds.into()),
        snapshots_max: rooms.snapshots_kept,
        away_time_max: Duration::from_secs(rooms.away_seconds.into()),
    }
}

/// In the configuration 0 sets no limit.
fn limit(configured: usize) -> u32 {
    match configured {
        0 => u32::MAX,
        limit => u32::try_from(limit).unwrap_or(u32::MAX),
    }
}
