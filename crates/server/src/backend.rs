//! Implements the backends of the public and the admin HTTP interface.

use crate::admin_key::AdminKey;
use crate::clock::unix_seconds;
use crate::config::Config;
use crate::data::DatabaseHealth;
use crate::old_metrics;
use crate::script_editor::ScriptEditor;
use crate::tokens::{Claims, Role, Tokens};
use crate::udp::UdpTokens;
use aether_api::admin::AdminBackend;
use aether_api::{ApiError, GuestLogin, ModuleEditor, PublicBackend, RequestPeer, RoomFilter, RoomInfo};
use aether_limits::{Network, RateLimit, TokenBucket, networks_of};
use aether_metrics::{Gauge, Registry};
use aether_net::Gateway;
use aether_net::certificate::Certificates;
use aether_rooms::{LiveSessions, RoomHost, RoomLobby};
use aether_services::Services;
use aether_services::matches::{MatchFilter, MatchInfo};
use aether_wire::{PROTOCOL_VERSION, RoomId, RoomTypeInfo, ServerInfo, Token, UdpGrant, WebTransportInfo};
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// A room that has not ticked for this long is stuck, and `/livez` fails.
const STUCK_AFTER: Duration = Duration::from_secs(10);
/// Rate of guest logins from this machine. A load test logs in one guest per bot.
pub(crate) const LOCAL_GUESTS: RateLimit = RateLimit { per_second: 2_000, burst: 10_000 };
/// Networks with a token bucket. At this number all buckets are reset.
const NETWORKS_MAX: usize = 10_000;

/// State of the server that the HTTP interfaces read.
pub(crate) struct ServerBackend {
    rooms: Arc<RoomHost>,
    lobby: Arc<RoomLobby>,
    gateway: Arc<Gateway>,
    tokens: Arc<Tokens>,
    sessions: Arc<LiveSessions>,
    services: Arc<Services>,
    admin_key: AdminKey,
    /// Modules of scripts, if the server has some.
    editor: Option<Arc<ScriptEditor>>,
    registry: Registry,
    web_transport: Option<(Certificates, SocketAddr)>,
    udp: Option<UdpTokens>,
    /// True if tokens of the development key are accepted from this machine.
    accepts_development: bool,
    guests: Option<GuestLogins>,
    /// Rate of room listings of one network; none for no limit.
    listing_rate: Option<RateLimit>,
    listings: NetworkRates,
    version: &'static str,
    started: Instant,
    draining: AtomicBool,
    pub(crate) database: Arc<DatabaseHealth>,
    tick_progress: Mutex<TickProgress>,
    uptime: Gauge,
    memory: Gauge,
    open_sessions: Gauge,
}

/// Parts of the server that the HTTP interfaces use.
pub(crate) struct ServerBackendParts {
    pub rooms: Arc<RoomHost>,
    pub lobby: Arc<RoomLobby>,
    pub gateway: Arc<Gateway>,
    pub tokens: Arc<Tokens>,
    pub sessions: Arc<LiveSessions>,
    pub services: Arc<Services>,
    pub admin_key: AdminKey,
    pub registry: Registry,
    pub editor: Option<Arc<ScriptEditor>>,
    pub web_transport: Option<(Certificates, SocketAddr)>,
    pub udp: Option<UdpTokens>,
}

/// Settings and rate limits of guest logins.
struct GuestLogins {
    /// Role of a guest on this machine who shows the developer secret, and the digest of the secret.
    developer: Option<(Role, [u8; 32])>,
    access_seconds: u32,
    rates: NetworkRates,
}

/// Token buckets by network, so that one busy network does not slow down the others.
#[derive(Default)]
pub(crate) struct NetworkRates(Mutex<HashMap<Network, TokenBucket>>);

impl NetworkRates {
    /// Takes a token of each network of the address. Returns false if one has none.
    pub fn take(&self, address: IpAddr, rate: RateLimit, now: Duration) -> bool {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= NETWORKS_MAX {
            buckets.clear();
        }
        networks_of(address).all(|(network, multiple)| {
            buckets.entry(network).or_insert_with(|| TokenBucket::new(rate.times(multiple), now)).take(now)
        })
    }
}

impl GuestLogins {
    /// Returns the role of a peer on this machine who shows the developer secret. Being on this machine is not enough: a
    /// tunnel or a proxy that this server does not know forwards the requests of others.
    fn developer_role(&self, peer: &RequestPeer, developer_secret: Option<&str>) -> Option<Role> {
        // Digests are compared, so that the time of the comparison tells nothing about the secret.
        let is_shown = |expected: &[u8; 32]| developer_secret.is_some_and(|secret| digest(secret) == *expected);
        self.developer.filter(|(_, expected)| peer.is_local && is_shown(expected)).map(|(role, _)| role)
    }

    fn is_within_rate(&self, peer: &RequestPeer, now: Duration) -> bool {
        self.rates.take(peer.address, if peer.is_local { LOCAL_GUESTS } else { RateLimit::STRICT }, now)
    }
}

/// Tick counts of the previous second, to find stuck rooms.
#[derive(Default)]
struct TickProgress {
    ticks_seen: HashMap<RoomId, (u32, Instant)>,
    stuck: Option<String>,
}

impl ServerBackend {
    pub fn new(config: &Config, parts: ServerBackendParts, version: &'static str) -> ServerBackend {
        let ServerBackendParts { rooms, gateway, tokens, sessions, services, admin_key, registry, editor, .. } = parts;
        let guests = config.accepts_guests().then(|| GuestLogins {
            developer: config.accepts_development().then(|| (config.guest_role(), digest(&tokens.developer_secret()))),
            access_seconds: config.tokens.access_seconds,
            rates: NetworkRates::default(),
        });
        old_metrics::keep(&registry);
        registry.gauge("aether_build_info", "Version of the running server.", &[("version", version)]).set(1.0);
        ServerBackend {
            rooms,
            gateway,
            tokens,
            sessions,
            services,
            admin_key,
            editor,
            web_transport: parts.web_transport,
            udp: parts.udp,
            lobby: parts.lobby,
            accepts_development: config.accepts_development(),
            guests,
            listing_rate: config.listing_rate(),
            listings: NetworkRates::default(),
            version,
            started: Instant::now(),
            draining: AtomicBool::new(false),
            database: Arc::default(),
            tick_progress: Mutex::default(),
            uptime: registry.gauge("aether_uptime_seconds", "Time since the server started.", &[]),
            memory: registry.gauge("aether_memory_bytes", "Resident memory of the process.", &[]),
            open_sessions: registry.gauge("aether_active_sessions", "Open sessions.", &[]),
            registry,
        }
    }

    /// Returns the secret that guests on this machine show to get a role, if the server grants one.
    pub fn developer_secret(&self) -> Option<String> {
        self.guests.as_ref()?.developer.map(|_| self.tokens.developer_secret())
    }

    /// Returns the account of a valid access token or resume token.
    async fn account_of(&self, token: &str, peer: &RequestPeer) -> Option<String> {
        // Only an access token has parts.
        if !token.contains('.') {
            return self.lobby.account_of_resume_token(&Token::new(token)).await;
        }
        let is_allowed = self.accepts_development && peer.is_local;
        let verified = self.tokens.verify(token, unix_seconds(), is_allowed).ok()?;
        let (session, user) = (Uuid::from_u128(verified.session.0), Uuid::try_parse(&verified.user).ok()?);
        let is_ended = self.services.sessions.revocations().is_ended(session, user, verified.issued_at);
        (!is_ended).then_some(verified.user)
    }

    /// Makes the server not ready from now on.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Updates gauges and finds stuck rooms. Called once a second.
    pub fn each_second(&self) {
        self.uptime.set(self.started.elapsed().as_secs_f64());
        self.memory.set(resident_bytes() as f64);
        self.open_sessions.set(self.sessions.open() as f64);
        self.gateway.announce_drain(self.rooms.drain_number());
        let mut progress = self.tick_progress.lock().unwrap_or_else(PoisonError::into_inner);
        let TickProgress { ticks_seen, stuck } = &mut *progress;
        *stuck = self.rooms.find_stuck_room(ticks_seen, STUCK_AFTER);
    }
}

impl PublicBackend for ServerBackend {
    fn server(&self, host: Option<&str>) -> ServerInfo {
        let room_types = self.rooms.types.all();
        let room_types = room_types.iter().map(|room_type| RoomTypeInfo {
            name: room_type.name().to_owned(),
            tick_hz: room_type.tick_hz(),
            snapshot_hz: room_type.snapshot_hz(),
            players_max: room_type.players_max(),
        });
        let web_transport = self.web_transport.as_ref().map(|(certificates, address)| WebTransportInfo {
            url: match host.filter(|_| address.ip().is_unspecified()) {
                // A server that listens on all addresses is reachable at the host that the client used.
                Some(host) => format!("https://{host}:{}/rt", address.port()),
                None => format!("https://{address}/rt"),
            },
            certificate_hash: certificates.hash().map(|hash| STANDARD.encode(hash)),
        });
        ServerInfo {
            version: self.version.to_owned(),
            protocol: PROTOCOL_VERSION,
            room_types: room_types.collect(),
            web_transport,
            udp: self.udp.as_ref().and_then(UdpTokens::info),
            guests: self.guests.is_some(),
        }
    }

    fn rooms(&self, peer: &RequestPeer, filter: &RoomFilter) -> Result<Vec<RoomInfo>, ApiError> {
        if self.listing_rate.is_some_and(|rate| !self.listings.take(peer.address, rate, self.gateway.now())) {
            let sentence = "Too many room listings from your network; try again in a moment.";
            return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", sentence));
        }
        let RoomFilter { room_type, label } = filter.clone();
        let filter = MatchFilter { match_type: room_type, label, private: Some(false), ..MatchFilter::default() };
        Ok(self.rooms.list(&filter).into_iter().map(room_info).collect())
    }

    fn guest(&self, peer: &RequestPeer, developer_secret: Option<&str>) -> Result<GuestLogin, ApiError> {
        let Some(guests) = &self.guests else {
            let sentence = "Guest logins are disabled on this server: sign in. The operator can set guests.enabled.";
            return Err(ApiError::new(StatusCode::FORBIDDEN, "no_guests", sentence));
        };
        if !guests.is_within_rate(peer, self.gateway.now()) {
            let sentence = "Too many guest logins from your network; try again in a moment.";
            return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", sentence));
        }
        let user = Uuid::new_v4();
        let name = format!("guest-{}", &user.simple().to_string()[..6]);
        let claims = Claims::new(user, name, unix_seconds(), guests.access_seconds).of_guest();
        let role = guests.developer_role(peer, developer_secret);
        let claims = match role {
            Some(role) => claims.with_role(role),
            None => claims,
        };
        Ok(GuestLogin {
            token: self.tokens.sign(&claims),
            role: role.unwrap_or_default().name(),
            user: user.to_string(),
            expires_at: claims.expires_at,
        })
    }

    fn udp<'a>(
        &'a self,
        peer: &'a RequestPeer,
        host: Option<&'a str>,
        token: Option<&'a str>,
    ) -> Pin<Box<dyn Future<Output = Result<UdpGrant, ApiError>> + Send + 'a>> {
        Box::pin(async move {
            let Some(udp) = &self.udp else {
                let sentence = "Reliable UDP is disabled on this server: use WebTransport or WebSocket.";
                return Err(ApiError::new(StatusCode::NOT_FOUND, "no_udp", sentence));
            };
            if !udp.is_within_rate(peer, self.gateway.now()) {
                let sentence = "Too many connect tokens for your network; try again in a moment.";
                return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", sentence));
            }
            let account = match token {
                Some(token) => self.account_of(token, peer).await,
                None => None,
            };
            let Some(account) = account else {
                let sentence =
                    "The access token was not accepted: sign in and send a fresh one as Authorization: Bearer.";
                return Err(ApiError::new(StatusCode::UNAUTHORIZED, "unauthenticated", sentence));
            };
            udp.issue(account, host)
        })
    }

    fn module_editor(
        &self,
        peer: &RequestPeer,
        developer_secret: Option<&str>,
    ) -> Result<Arc<dyn ModuleEditor>, ApiError> {
        let refused = |sentence: &str| Err(ApiError::new(StatusCode::FORBIDDEN, "not_development", sentence));
        let Some((guests, _)) = self.guests.as_ref().and_then(|guests| Some((guests, guests.developer?))) else {
            return refused("Modules can be changed on a development server only: one that listens on loopback.");
        };
        let may_change = |role: Role| matches!(role, Role::Developer | Role::Admin);
        if !guests.developer_role(peer, developer_secret).is_some_and(may_change) {
            return refused(
                "Modules can be changed by a developer only: open the URL that the server printed at its start, on its machine.",
            );
        }
        match &self.editor {
            Some(editor) => Ok(Arc::clone(editor) as _),
            None => Err(ApiError::new(
                StatusCode::NOT_FOUND,
                "no_modules",
                "This server has no modules: set script.folder.",
            )),
        }
    }

    fn readiness(&self) -> Result<(), String> {
        match self.draining.load(Ordering::Relaxed) {
            true => Err("the server is stopping".to_owned()),
            false if self.rooms.is_draining() => Err("the server is draining".to_owned()),
            false => self.database.problem().map_or_else(|| self.liveness(), Err),
        }
    }

    fn liveness(&self) -> Result<(), String> {
        match &self.tick_progress.lock().unwrap_or_else(PoisonError::into_inner).stuck {
            Some(stuck) => Err(stuck.clone()),
            None => Ok(()),
        }
    }
}

impl AdminBackend for ServerBackend {
    fn metrics(&self) -> String {
        self.registry.render()
    }

    fn health(&self) -> (bool, Value) {
        let problem = self.readiness().err();
        let detail = json!({
            "ready": problem.is_none(),
            "problem": problem,
            "database": self.database.problem().unwrap_or_else(|| "ok".to_owned()),
            "version": self.version,
            "uptimeSeconds": self.started.elapsed().as_secs(),
            "connections": self.gateway.connections(),
            "rooms": self.rooms.len(),
            "players": self.rooms.players(),
            "memoryBytes": resident_bytes(),
        });
        (problem.is_none(), detail)
    }

    fn services(&self) -> &Arc<Services> {
        &self.services
    }

    fn registry(&self) -> &Registry {
        &self.registry
    }

    fn is_admin_key(&self, shown: &str) -> bool {
        self.admin_key.is(shown)
    }
}

fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret).into()
}

fn room_info(info: MatchInfo) -> RoomInfo {
    let MatchInfo { id, code, match_type, label, players, players_max, tick_hz, .. } = info;
    RoomInfo { id, code, room_type: match_type, label, players, players_max, tick_hz }
}

/// Returns the resident memory of this process, or 0 on systems without `/proc`.
fn resident_bytes() -> u64 {
    /// Page size of all systems that the server is built for.
    const PAGE_BYTES: u64 = 4_096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * PAGE_BYTES
}
