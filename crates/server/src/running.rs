//! The running server: wires the parts together and stops them in order.

use crate::admin_key::AdminKey;
use crate::backend::{ServerBackend, ServerBackendParts};
use crate::clock::{UptimeClock, unix_seconds};
use crate::config::{Config, Http};
use crate::data;
use crate::keys::{KeyError, KeyRing};
use crate::lan;
use crate::matchmaking;
use crate::node;
use crate::script_editor::ScriptEditor;
use crate::scripting;
use crate::server::{Server, relayed_matches};
use crate::shared_memory::{self, DriverUdp, Drivers};
use crate::tokens::Tokens;
use crate::udp::{self, UdpTokens};
use aether_api::listener::{self, Http2Settings, ListenerSettings, TcpSettings};
use aether_api::socket::SocketSettings;
use aether_api::{AllowedOrigins, Pages, PublicApi, TrustedProxies};
use aether_engine::{EncodePool, Scheduler};
use aether_limits::RateLimit;
use aether_metrics::Registry;
use aether_net::certificate::{CertificateError, Certificates};
use aether_net::udp::UdpListener;
use aether_net::webtransport::{WebTransportServer, WebTransportSettings};
use aether_net::{ConnectionMetrics, ConnectionSettings, Gateway, PendingClient, WakeTask};
use aether_rooms::{
    DurableSettings, LiveSessionSettings, LiveSessions, LobbySettings, RecordingSettings, RoomHost, RoomHostSettings,
    RoomLobby, RoomRequests,
};
use aether_script::{ScriptReloader, Scripts};
use aether_services::Services;
use aether_store::StoreError;
use aether_wire::{CloseReason, Encodings, RoomSelector};
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

/// Time for connections to send their close messages after the rooms have ended.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(3);
/// HTTP connections that one address may have in addition to its realtime connections.
const HTTP_CONNECTIONS_EXTRA: u32 = 32;
/// Time for rooms to end. A room whose tick never returns is abandoned.
const ROOMS_END_TIME_MAX: Duration = Duration::from_secs(5);
/// Time for the state of ended rooms to be stored.
const ROOMS_STORE_TIME_MAX: Duration = Duration::from_secs(10);
/// Time for the last users of the store to drop it.
const STORE_CLOSE_TIME_MAX: Duration = Duration::from_secs(5);
/// Running rooms that one address may have created or opened on a public server. Players behind one router share an
/// address.
const ROOMS_PER_ADDRESS_MAX: u32 = 16;
/// Default of `rooms.stored_per_account_max` on a public server: far more than a player uses, and a small part of a
/// disk.
const STORED_PER_ACCOUNT_MAX: u32 = 32;
/// Time between two updates of the list of rooms for those who watch it.
const ROOM_LIST_INTERVAL: Duration = Duration::from_millis(250);
/// Time between two checks of a certificate.
const CERTIFICATE_CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// A generated certificate is replaced this long before it expires, so that a client that just fetched its hash can still
/// connect.
const RENEW_BEFORE: Duration = Duration::from_secs(24 * 3_600);

/// A running server.
pub struct RunningServer {
    /// Address of the public listener: pages, API and WebSockets.
    pub http: SocketAddr,
    /// Address of the admin listener: metrics and profiles.
    pub admin: SocketAddr,
    /// UDP address of WebTransport, if it is enabled.
    pub webtransport: Option<SocketAddr>,
    /// Address of reliable UDP, if it is enabled.
    pub udp: Option<SocketAddr>,
    services: Arc<Services>,
    /// Lua scripts, if there is a folder of modules.
    scripts: Option<Arc<Scripts>>,
    reloader: Option<Arc<ScriptReloader>>,
    sessions: Arc<LiveSessions>,
    origins: Arc<AllowedOrigins>,
    registry: Registry,
    rooms: Arc<RoomHost>,
    gateway: Arc<Gateway>,
    backend: Arc<ServerBackend>,
    tasks: Vec<JoinHandle<()>>,
    /// Tasks of the UDP listeners: WebTransport and reliable UDP. Each ends after its notice.
    udp_tasks: Vec<(JoinHandle<()>, Arc<Notify>)>,
    stopping: Arc<AtomicBool>,
    /// The thread that removes ended rooms.
    remove_ended_thread: Option<std::thread::JoinHandle<()>>,
}

/// Reason why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// The configuration is invalid.
    Config(String),
    /// The signing keys cannot be read or created.
    Keys(KeyError),
    /// The database cannot be opened.
    Database(StoreError),
    /// Code added by [`Server::on_start`], or the services, failed at the start.
    Game(String),
    /// A listener cannot be opened.
    Listen {
        /// The address.
        address: SocketAddr,
        /// The setting that names it.
        setting: &'static str,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// A certificate or its key cannot be used.
    Certificate(CertificateError),
    /// The WebTransport listener cannot be opened.
    WebTransport(SocketAddr, String),
    /// The listener of reliable UDP cannot be opened.
    Udp(SocketAddr, String),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Config(text) => f.write_str(text),
            StartError::Keys(error) => error.fmt(f),
            StartError::Database(error) => error.fmt(f),
            StartError::Game(why) => write!(f, "The set-up of the game failed: {why}"),
            StartError::Listen { address, setting, error } => {
                write!(f, "Cannot listen on {address}: {error}. Stop the program that uses it, or change {setting}.")
            }
            StartError::Certificate(error) => error.fmt(f),
            StartError::WebTransport(address, error) => {
                write!(
                    f,
                    "Cannot listen on {address} (UDP) for WebTransport: {error}. Change webtransport.address, or set \
                     webtransport.enabled to false."
                )
            }
            StartError::Udp(address, error) => {
                write!(
                    f,
                    "Cannot listen on {address} (UDP) for reliable UDP: {error}. Stop the program that uses it, change \
                     udp.address, or set udp.enabled to false."
                )
            }
        }
    }
}

impl std::error::Error for StartError {}

impl RunningServer {
    /// Returns the secret by which a guest on this machine gets the role of a developer, if the server grants it: the value
    /// of `developer` in the fragment of the start URL, and of `Authorization: Bearer` in `POST /api/guest`.
    #[must_use]
    pub fn developer_secret(&self) -> Option<String> {
        self.backend.developer_secret()
    }

    pub(crate) async fn start(
        mut server: Server,
        config: Config,
        recordings: Option<PathBuf>,
    ) -> Result<RunningServer, StartError> {
        let registry = Registry::new();
        let (name, version) = (server.name, server.version);
        let pages = pages(&config, std::mem::take(&mut server.pages))?;
        let keys = KeyRing::open(&config.data_dir, unix_seconds()).map_err(StartError::Keys)?;
        let tokens = Arc::new(Tokens::new(keys, &config.tokens.audience));
        aether_rooms::register_functions(&mut server.extensions.functions);
        aether_services::remote_value::register_functions(&mut server.extensions.functions);
        server.register_room_types(&config, &registry)?;
        let node = node::id(&config.data_dir).map_err(StartError::Config)?;
        let scripts = scripting::open(&config, &mut server, &registry)?;
        let services = data::open(&config, std::mem::take(&mut server.extensions), &tokens, &registry).await?;
        server.set_up(&config, &services).await?;
        scripting::load(scripts.as_ref(), &services).await?;
        matchmaking::check(&config, &services)?;
        data::recover_rooms(&services, &node).await;
        let requests = RoomRequests::new(Arc::clone(&services), &registry);
        let host = host_settings(&config, node, recordings, &registry)?;
        let rooms = RoomHost::new(scheduler(&config), host, requests, &registry);
        services.host_matches(Arc::downgrade(&rooms) as _);
        let sessions = Arc::new(live_sessions(&config, &services));
        let settings = lobby_settings(&config, version);
        let lobby = RoomLobby::new(Arc::clone(&rooms), Arc::clone(&sessions), Arc::clone(&tokens), settings, &registry);
        let lobby = Arc::new(lobby);
        let gateway =
            Gateway::new(Arc::clone(&lobby) as _, connection_settings(&config), ConnectionMetrics::new(&registry));
        let (listeners, udp) = Listeners::open(&config, &server.encodings, &registry).await?;
        let admin_key = AdminKey::open(&config).map_err(StartError::Config)?;
        let parts = ServerBackendParts {
            services: Arc::clone(&services),
            admin_key,
            rooms: Arc::clone(&rooms),
            lobby: Arc::clone(&lobby),
            gateway: Arc::clone(&gateway),
            tokens,
            sessions: Arc::clone(&sessions),
            registry: registry.clone(),
            editor: scripts.as_ref().map(|scripts| Arc::new(ScriptEditor::new(scripts, &services))),
            web_transport: listeners.webtransport.as_ref().map(|open| (open.certificates.clone(), open.address)),
            udp,
        };
        let backend = Arc::new(ServerBackend::new(&config, parts, version));
        let mut running = RunningServer {
            http: listeners.http.1,
            admin: listeners.admin.1,
            webtransport: listeners.webtransport.as_ref().map(|open| open.address),
            udp: listeners.udp.as_ref().map(UdpListener::local_address),
            services,
            scripts,
            reloader: None,
            sessions,
            origins: Arc::new(allowed_origins(&config, &registry)),
            registry,
            rooms,
            gateway,
            backend,
            tasks: Vec::new(),
            udp_tasks: Vec::new(),
            stopping: Arc::default(),
            remove_ended_thread: None,
        };
        let program = (name, pages, Arc::new(server.encodings));
        running.serve(&config, &lobby, program, listeners)?;
        running.tasks.extend(lan::serve(&config, running.http, (name, version), &running.rooms, &running.registry)?);
        running.start_maintenance(lobby);
        running.start_services_tasks(config);
        Ok(running)
    }

    /// Serves the clients of all listeners.
    fn serve(
        &mut self,
        config: &Config,
        lobby: &RoomLobby,
        program: (&'static str, Pages, Arc<Encodings>),
        listeners: Listeners,
    ) -> Result<(), StartError> {
        self.serve_http(config, lobby, program, listeners.http.0, listeners.admin.0)?;
        if let Some(webtransport) = listeners.webtransport {
            self.serve_webtransport(webtransport);
        }
        if let Some(udp) = listeners.udp {
            self.serve_udp(udp);
        }
        self.tasks.extend(listeners.drivers.map(|drivers| shared_memory::serve(drivers, &self.gateway)));
        Ok(())
    }

    fn serve_http(
        &mut self,
        config: &Config,
        lobby: &RoomLobby,
        (name, pages, encodings): (&'static str, Pages, Arc<Encodings>),
        http: TcpListener,
        admin: TcpListener,
    ) -> Result<(), StartError> {
        let tls = match config.http.tls_certificate.as_ref().zip(config.http.tls_key.as_ref()) {
            None => None,
            Some((chain, key)) => {
                let certificates = Certificates::from_files(chain, key).map_err(StartError::Certificate)?;
                let tls = certificates.https_config(config.http.http2).map_err(StartError::Certificate)?;
                self.reload_certificates(certificates);
                Some(TlsAcceptor::from(tls))
            }
        };
        let proxies = config.http.trusted_proxies.iter().map(|network| network.parts()).collect();
        let proxies = Arc::new(TrustedProxies::new(proxies));
        let accounts = lobby.accounts().clone();
        let client_api = data::client_api(config, &self.services, &proxies, &self.registry)
            .with_presence(move |user| accounts.count(&user.to_string()) > 0);
        let trusted = Arc::clone(&proxies);
        let router = aether_api::router(PublicApi {
            name,
            backend: Arc::clone(&self.backend) as _,
            gateway: Arc::clone(&self.gateway),
            client_api,
            socket: socket_settings(config),
            proxies,
            origins: Arc::clone(&self.origins),
            encodings,
            compression: config.connections.compression,
            request_time_max: Duration::from_secs(config.http.request_seconds.into()),
            web_transport_port: self.webtransport.map(|address| address.port()),
            pages,
            registry: self.registry.clone(),
        });
        let header_time_max = Duration::from_secs(config.http.header_seconds.into());
        let connections_max = limit(config.connections.max);
        // A browser loads a page's files over a few connections in addition to its realtime connection.
        let per_address_max = if config.is_public() {
            limit(config.connections.per_ip_max).saturating_add(HTTP_CONNECTIONS_EXTRA)
        } else {
            u32::MAX
        };
        let write_stall = Duration::from_secs(config.connections.write_stall_seconds.into());
        let (name, help) = ("aether_http_stalled_total", "HTTP connections closed because answers were not read.");
        let stalled = self.registry.counter(name, help, &[]);
        let settings = ListenerSettings {
            header_time_max,
            connections_max,
            per_address_max,
            proxies: trusted,
            write_stall,
            stalled,
            tls,
            header_bytes_max: config.http.header_bytes_max,
            http2: http2_settings(&config.http),
            tcp: tcp_settings(&config.http),
        };
        let admin_key = config.http.admin_key.as_ref().map(|key| key.expose());
        let admin_router =
            aether_api::admin::router(Arc::clone(&self.backend) as _, admin_key, config.http.admin_hosts.clone());
        let admin_settings = ListenerSettings {
            connections_max: 64,
            per_address_max: 64,
            proxies: Arc::default(),
            tls: None,
            ..settings.clone()
        };
        self.tasks.push(tokio::spawn(listener::serve(http, router, settings)));
        self.tasks.push(tokio::spawn(listener::serve(admin, admin_router, admin_settings)));
        Ok(())
    }

    fn serve_webtransport(&mut self, OpenWebTransport { mut server, certificates, .. }: OpenWebTransport) {
        self.reload_certificates(certificates);
        let (gateway, origins) = (Arc::clone(&self.gateway), Arc::clone(&self.origins));
        let close = Arc::<Notify>::default();
        let closed = Arc::clone(&close);
        let task = tokio::spawn(async move {
            loop {
                let session = tokio::select! {
                    session = server.accept() => session,
                    () = closed.notified() => return server.close().await,
                };
                let Some(session) = session else { return };
                let address = session.peer.ip();
                // A refused session is dropped, which closes it. Pages learn the reason from `/api/server`.
                if origins.check(session.origin.as_deref(), &session.authority).is_err() {
                    continue;
                }
                // Above the limit the session is dropped, which closes it.
                let Some(permit) = gateway.permit(address) else { continue };
                let room = session.room_code.map(RoomSelector::Code);
                let is_local = address.is_loopback() && aether_api::is_local_name(&session.authority);
                let client = PendingClient { address, is_local, room, account: None, permit };
                tokio::spawn(Arc::clone(&gateway).serve(session.transport, client));
            }
        });
        self.udp_tasks.push((task, close));
    }

    fn serve_udp(&mut self, listener: UdpListener) {
        let close = Arc::<Notify>::default();
        let task = tokio::spawn(udp::serve(listener, Arc::clone(&self.gateway), Arc::clone(&close)));
        self.udp_tasks.push((task, close));
    }

    /// Starts a task that reloads a certificate: its files may change, and a generated one expires.
    fn reload_certificates(&mut self, certificates: Certificates) {
        self.tasks.push(tokio::spawn(async move {
            loop {
                tokio::time::sleep(CERTIFICATE_CHECK_INTERVAL).await;
                let now = SystemTime::now();
                let renew = certificates.expires_at().is_none_or(|expires_at| now + RENEW_BEFORE >= expires_at);
                if let Some(Err(error)) = renew.then(|| certificates.reload(now)) {
                    warn!(%error, "certificate reload failed; the previous certificate stays in use");
                }
            }
        }));
    }

    /// Lets matches get new code, lets operators reload the scripts, and starts the task that watches their files.
    fn connect_scripts(&mut self, config: &Config) {
        let Some(scripts) = &self.scripts else { return };
        scripts.host_matches(Arc::downgrade(&self.rooms));
        let (reloader, watch) = scripting::reloader(config, scripts, &self.services);
        self.reloader = Some(reloader);
        self.tasks.extend(watch.map(tokio::spawn));
    }

    /// Starts the task that runs once a second, the one that publishes the list of rooms, and the thread that removes ended
    /// rooms.
    fn start_maintenance(&mut self, lobby: Arc<RoomLobby>) {
        let rooms = Arc::clone(&self.rooms);
        self.tasks.push(tokio::spawn(async move {
            let mut interval = tokio::time::interval(ROOM_LIST_INTERVAL);
            loop {
                interval.tick().await;
                rooms.publish_room_list();
            }
        }));
        let (rooms, backend) = (Arc::clone(&self.rooms), Arc::clone(&self.backend));
        self.tasks.push(tokio::spawn(async move {
            let mut second = tokio::time::interval(Duration::from_secs(1));
            loop {
                second.tick().await;
                rooms.run_maintenance();
                lobby.sweep();
                backend.each_second();
            }
        }));
        let (rooms, stopping) = (Arc::clone(&self.rooms), Arc::clone(&self.stopping));
        let remove_ended = move || {
            while !stopping.load(Ordering::Relaxed) {
                rooms.remove_ended(Duration::from_millis(200));
            }
        };
        match std::thread::Builder::new().name("rooms".into()).spawn(remove_ended) {
            Ok(thread) => self.remove_ended_thread = Some(thread),
            Err(error) => error!(%error, "thread for ended rooms did not start; ended rooms stay listed"),
        }
    }

    /// Starts the periodic tasks of the services, and the scheduled functions of the scripts.
    fn start_services_tasks(&mut self, config: Config) {
        self.connect_scripts(&config);
        let services = || Arc::clone(&self.services);
        let health = Arc::clone(&self.backend.database);
        let mut tasks = vec![
            tokio::spawn(data::run_maintenance(services(), config, health)),
            tokio::spawn(data::renew_leases(services(), Arc::clone(&self.rooms))),
            tokio::spawn(data::deliver_webhooks(services())),
            tokio::spawn(matchmaking::run(services())),
        ];
        if let Some(scripts) = &self.scripts {
            tasks.push(tokio::spawn(scripting::run_schedules(Arc::clone(scripts), services())));
        }
        self.tasks.append(&mut tasks);
    }

    /// Returns the signed-in sessions of this server. Revoking one closes its connections.
    #[must_use]
    pub fn sessions(&self) -> &Arc<LiveSessions> {
        &self.sessions
    }

    /// Returns the services: accounts, storage, leaderboards and the others.
    #[must_use]
    pub fn services(&self) -> &Arc<Services> {
        &self.services
    }

    /// Returns the host of the rooms.
    #[must_use]
    pub fn rooms(&self) -> &Arc<RoomHost> {
        &self.rooms
    }

    /// Returns the Lua scripts, if the server has some.
    #[must_use]
    pub fn scripts(&self) -> Option<&Arc<Scripts>> {
        self.scripts.as_ref()
    }

    /// Returns the metric registry.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns the number of open realtime connections.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.gateway.connections()
    }

    /// Stops the server. First it is no longer ready, creates no rooms, and announces the stop to clients. After `grace`, or
    /// when no connection is left, rooms end, their state is stored and the store is closed.
    pub async fn stop(mut self, grace: Duration) {
        info!(grace_seconds = grace.as_secs(), connections = self.connections(), "stopping");
        self.backend.drain();
        self.rooms.close();
        self.gateway.announce_stop(grace);
        if let Some(scripts) = &self.scripts {
            scripts.shut_down().await;
        }
        self.wait_for_no_clients(grace).await;
        self.services.router.disconnect_all(CloseReason::Shutdown, "The server stops.");
        let rooms = Arc::clone(&self.rooms);
        // Ending rooms waits for their threads.
        let ended = tokio::task::spawn_blocking(move || rooms.stop());
        if tokio::time::timeout(ROOMS_END_TIME_MAX, ended).await.is_err() {
            error!("a room did not end in time and is abandoned");
        }
        if tokio::time::timeout(ROOMS_STORE_TIME_MAX, self.rooms.finish()).await.is_err() {
            error!("the state of some rooms was not stored in time");
        }
        self.wait_for_no_connections(CLOSE_TIME_MAX).await;
        for (task, close) in std::mem::take(&mut self.udp_tasks) {
            close.notify_one();
            let _ = tokio::time::timeout(CLOSE_TIME_MAX, task).await;
        }
        self.stopping.store(true, Ordering::Relaxed);
        for task in std::mem::take(&mut self.tasks) {
            task.abort();
            // Awaited so that the addresses are free when this function returns.
            let _ = task.await;
        }
        if let Some(thread) = self.remove_ended_thread.take() {
            // The thread owns the rooms and they own the store, which closes when the last owner is dropped.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
        if let Err(error) = self.services.sessions.flush_all().await {
            warn!(%error, "session history was not flushed");
        }
        if let Err(error) = self.services.rooms.flush_visits().await {
            warn!(%error, "visit history was not flushed");
        }
        if let Err(error) = self.services.audit.flush().await {
            warn!(%error, "audit entries were not flushed");
        }
        if let Some(scripts) = &self.scripts {
            scripts.stop(&self.services);
        }
        let (store, connections) = (self.services.store.clone(), self.connections());
        drop(self);
        // Tasks of connections that have just ended may use it for a moment.
        if !store.close_within(STORE_CLOSE_TIME_MAX).await {
            warn!("a request still uses the database; it was not closed and recovers at the next start");
        }
        info!(connections, "stopped");
    }

    /// Waits for clients of rooms, which were told of the stop. The services socket has no message for it, so that its
    /// clients would not leave.
    async fn wait_for_no_clients(&self, at_most: Duration) {
        let end = Instant::now() + at_most;
        while self.gateway.connections() as usize > self.services.router.sockets() && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn wait_for_no_connections(&self, at_most: Duration) {
        let end = Instant::now() + at_most;
        while self.gateway.connections() > 0 && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn lobby_settings(config: &Config, version: &'static str) -> LobbySettings {
    LobbySettings {
        per_account_max: limit(config.connections.per_account_max),
        accepts_development: config.accepts_development(),
        version,
    }
}

fn live_sessions(config: &Config, services: &Services) -> LiveSessions {
    let settings = LiveSessionSettings {
        idle_max: Duration::from_secs(config.tokens.session_idle_seconds.into()),
        age_max: Duration::from_secs(config.tokens.session_seconds_max.into()),
        heartbeat: Duration::from_secs(config.tokens.heartbeat_seconds.into()),
    };
    let sessions = &services.sessions;
    LiveSessions::new(Arc::clone(sessions.revocations()), Arc::clone(sessions.roles()), settings)
}

/// Listeners on their addresses, before anyone is served.
struct Listeners {
    http: (TcpListener, SocketAddr),
    admin: (TcpListener, SocketAddr),
    webtransport: Option<OpenWebTransport>,
    udp: Option<UdpListener>,
    drivers: Option<Drivers>,
}

impl Listeners {
    /// Opens all listeners. Also returns what issues the connect tokens of UDP.
    async fn open(
        config: &Config,
        encodings: &Encodings,
        registry: &Registry,
    ) -> Result<(Listeners, Option<UdpTokens>), StartError> {
        let http = listen(config.http.address, "http.address").await?;
        let admin = listen(config.http.admin_address, "http.admin_address").await?;
        let webtransport = open_webtransport(config, http.1, encodings, registry)?;
        let drivers = shared_memory::open(config, encodings, registry)?;
        let driver_udp = drivers.as_ref().map(DriverUdp::of);
        let open_udp = udp::open(config, http.1, driver_udp, registry)?;
        let (udp, tokens) = open_udp.map(|open| (open.listener, open.tokens)).unzip();
        Ok((Listeners { http, admin, webtransport, udp: udp.flatten(), drivers }, tokens))
    }
}

/// WebTransport on its address, before anyone is served.
struct OpenWebTransport {
    server: WebTransportServer,
    certificates: Certificates,
    address: SocketAddr,
}

fn open_webtransport(
    config: &Config,
    http: SocketAddr,
    encodings: &Encodings,
    registry: &Registry,
) -> Result<Option<OpenWebTransport>, StartError> {
    if !config.webtransport.enabled {
        return Ok(None);
    }
    // The same port as HTTP, also when the system chose it (port 0).
    let wanted = config.webtransport.address.unwrap_or(http);
    let certificates = match config.webtransport_certificate() {
        Some((chain, key)) => Certificates::from_files(chain, key),
        None => Certificates::generate(["localhost".to_owned(), wanted.ip().to_string()], SystemTime::now()),
    };
    let certificates = certificates.map_err(StartError::Certificate)?;
    let settings = WebTransportSettings {
        handshake: Duration::from_secs(config.connections.handshake_seconds.into()),
        idle: Duration::from_secs(config.connections.idle_seconds.into()),
        encodings: encodings.clone(),
        ..WebTransportSettings::default()
    };
    let failed = |error: String| StartError::WebTransport(wanted, error);
    let server = WebTransportServer::bind(wanted, &certificates, settings, registry);
    let server = server.map_err(|error| failed(error.to_string()))?;
    let address = server.local_address().map_err(|error| failed(error.to_string()))?;
    Ok(Some(OpenWebTransport { server, certificates, address }))
}

/// Returns the pages of the configured folder, or else those of the program.
fn pages(config: &Config, of_program: Pages) -> Result<Pages, StartError> {
    match &config.http.pages {
        None => Ok(of_program),
        Some(folder) if folder.is_dir() => Ok(Pages::folder(folder.clone())),
        Some(folder) => {
            let sentence =
                format!("http.pages: {} is not a folder. Create it, or change the setting.", folder.display());
            Err(StartError::Config(sentence))
        }
    }
}

/// Returns the origins whose pages may connect.
fn allowed_origins(config: &Config, registry: &Registry) -> AllowedOrigins {
    let listed = config.http.allowed_origins.iter().map(ToString::to_string).collect();
    let origins = AllowedOrigins::new(listed).counted(registry);
    if config.is_public() { origins } else { origins.with_local_pages() }
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
        // On loopback every client has the same address.
        per_address_max: if config.is_public() { limit(connections.per_ip_max) } else { u32::MAX },
        handshake: seconds(connections.handshake_seconds),
        idle: seconds(connections.idle_seconds),
        ping: connections.ping_seconds.map(seconds),
        message_bytes_max: connections.message_bytes_max,
        rate: RateLimit { per_second: connections.messages_per_second, burst: connections.messages_burst },
        write_stall: seconds(connections.write_stall_seconds),
        read_buffer_bytes: connections.read_buffer_bytes,
        write_buffer_bytes: connections.write_buffer_bytes,
    }
}

fn http2_settings(http: &Http) -> Option<Http2Settings> {
    http.http2.then(|| Http2Settings {
        streams_max: http.http2_streams_max,
        stream_window_bytes: http.http2_stream_window_bytes,
        connection_window_bytes: http.http2_connection_window_bytes,
        ping_interval: Duration::from_secs(http.http2_ping_seconds.into()),
        ping_time_max: Duration::from_secs(http.http2_ping_timeout_seconds.into()),
    })
}

fn tcp_settings(http: &Http) -> TcpSettings {
    TcpSettings {
        unsent_bytes_max: http.socket_unsent_bytes,
        send_buffer_bytes: http.socket_send_bytes,
        receive_buffer_bytes: http.socket_receive_bytes,
    }
}

fn socket_settings(config: &Config) -> SocketSettings {
    let socket = &config.socket;
    // While too many requests run, nothing is read, so they must end before the idle timeout.
    let seconds_max = config.http.request_seconds.min(config.connections.idle_seconds / 2).max(1);
    SocketSettings {
        node: config.node_name.to_string().into(),
        message_bytes_max: socket.message_bytes_max,
        requests_max: socket.requests_max,
        request_time_max: Duration::from_secs(seconds_max.into()),
        rate: RateLimit { per_second: socket.messages_per_second, burst: socket.messages_burst },
    }
}

/// Starts the tick threads.
fn scheduler(config: &Config) -> Scheduler {
    let waking = WakeTask::start() as _;
    Scheduler::with_waking(config.tick_threads(cores()), Arc::new(UptimeClock::start()), &waking)
}

/// Starts the threads that share the encoding of large rooms. None if there would be one thread: the tick thread does
/// that without a pool.
fn encode_pool(config: &Config, registry: &Registry) -> Result<Option<EncodePool>, StartError> {
    let threads = config.encode_threads(cores());
    let help = "Threads that share the encoding of a large room; with 1, its tick thread encodes alone.";
    registry.gauge("aether_encode_threads", help, &[]).set(threads as f64);
    if threads == 1 {
        return Ok(None);
    }
    let pool = aether_engine::encode_pool(threads).map_err(|error| {
        let sentence = format!("rooms.encode_threads: cannot start {threads} threads: {error}. Set a lower number.");
        StartError::Config(sentence)
    })?;
    info!(threads, "encoding threads started");
    Ok(Some(pool))
}

/// Returns the number of cores.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn host_settings(
    config: &Config,
    node_id: String,
    recordings: Option<PathBuf>,
    registry: &Registry,
) -> Result<RoomHostSettings, StartError> {
    Ok(RoomHostSettings {
        node_id,
        node_name: config.node_name.to_string(),
        rooms_max: config.rooms.max,
        empty_time_max: Duration::from_secs(config.rooms.empty_seconds.into()),
        // On loopback every client has the same address.
        per_address_max: if config.is_public() { ROOMS_PER_ADDRESS_MAX } else { u32::MAX },
        stored_per_account_max: match config.rooms.stored_per_account_max {
            Some(set) => limit(set),
            None if config.is_public() => STORED_PER_ACCOUNT_MAX,
            None => u32::MAX,
        },
        recordings: RecordingSettings {
            records_all: recordings.is_some(),
            folder: recordings.unwrap_or_else(|| config.data_dir.join("recordings")),
            running_max: config.rooms.recordings_max,
            bytes_max: u64::from(config.rooms.recording_mib_max) << 20,
        },
        durable: durable_settings(config),
        encode_pool: encode_pool(config, registry)?,
        relayed: relayed_matches(config, registry)?,
    })
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

/// Converts a configured limit, where 0 means no limit.
fn limit(configured: usize) -> u32 {
    match configured {
        0 => u32::MAX,
        limit => u32::try_from(limit).unwrap_or(u32::MAX),
    }
}
