//! Implements the backends of the public and the admin HTTP interface.

use crate::admin_key::AdminKey;
use crate::clock::unix_seconds;
use crate::config::Config;
use crate::data::DatabaseHealth;
use crate::old_metrics;
use crate::tokens::{Claims, Role, Tokens};
use aether_api::admin::AdminBackend;
use aether_api::{ApiError, GuestLogin, PublicBackend, RequestPeer, RoomFilter, RoomInfo};
use aether_limits::{RateLimit, TokenBucket, network_of};
use aether_metrics::{Gauge, Registry};
use aether_net::Gateway;
use aether_net::certificate::Certificates;
use aether_rooms::{LiveSessions, RoomHost};
use aether_services::Services;
use aether_services::matches::{MatchFilter, MatchInfo};
use aether_wire::{PROTOCOL_VERSION, RoomId, RoomTypeInfo, ServerInfo, WebTransportInfo};
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// A room that has not ticked for this long is stuck, and `/livez` fails.
const STUCK_AFTER: Duration = Duration::from_secs(10);
/// Rate of guest logins from this machine. A load test logs in one guest per bot.
const LOCAL_GUESTS: RateLimit = RateLimit { per_second: 2_000, burst: 10_000 };
/// Networks with a token bucket for guest logins. At this number all buckets are reset.
const GUEST_NETWORKS_MAX: usize = 10_000;

/// State of the server that the HTTP interfaces read.
pub(crate) struct ServerBackend {
    rooms: Arc<RoomHost>,
    gateway: Arc<Gateway>,
    tokens: Arc<Tokens>,
    sessions: Arc<LiveSessions>,
    services: Arc<Services>,
    admin_key: AdminKey,
    registry: Registry,
    web_transport: Option<(Certificates, SocketAddr)>,
    guests: Option<GuestLogins>,
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
    pub gateway: Arc<Gateway>,
    pub tokens: Arc<Tokens>,
    pub sessions: Arc<LiveSessions>,
    pub services: Arc<Services>,
    pub admin_key: AdminKey,
    pub registry: Registry,
}

/// Settings and rate limits of guest logins.
struct GuestLogins {
    /// Role of a guest on this machine, granted by the development key.
    local_role: Option<Role>,
    access_seconds: u32,
    /// By network, so that one busy network does not slow down the others.
    buckets: Mutex<HashMap<IpAddr, TokenBucket>>,
}

impl GuestLogins {
    fn is_within_rate(&self, peer: &RequestPeer, now: Duration) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= GUEST_NETWORKS_MAX {
            buckets.clear();
        }
        let rate = if peer.is_local { LOCAL_GUESTS } else { RateLimit::STRICT };
        buckets.entry(network_of(peer.address)).or_insert_with(|| TokenBucket::new(rate, now)).take(now)
    }
}

/// Tick counts of the previous second, to find stuck rooms.
#[derive(Default)]
struct TickProgress {
    ticks_seen: HashMap<RoomId, (u32, Instant)>,
    stuck: Option<String>,
}

impl ServerBackend {
    pub fn new(
        config: &Config,
        ServerBackendParts { rooms, gateway, tokens, sessions, services, admin_key, registry }: ServerBackendParts,
        web_transport: Option<(Certificates, SocketAddr)>,
        version: &'static str,
    ) -> ServerBackend {
        let guests = config.accepts_guests().then(|| GuestLogins {
            local_role: config.accepts_development().then(|| config.guest_role()),
            access_seconds: config.tokens.access_seconds,
            buckets: Mutex::default(),
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
            web_transport,
            guests,
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

    /// Makes the server not ready from now on.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Updates gauges and finds stuck rooms. Called once a second.
    pub fn each_second(&self) {
        self.uptime.set(self.started.elapsed().as_secs_f64());
        self.memory.set(resident_bytes() as f64);
        self.open_sessions.set(self.sessions.open() as f64);
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
            guests: self.guests.is_some(),
        }
    }

    fn rooms(&self, filter: &RoomFilter) -> Vec<RoomInfo> {
        let RoomFilter { room_type, label } = filter.clone();
        let filter = MatchFilter { match_type: room_type, label, ..MatchFilter::default() };
        self.rooms.list(&filter).into_iter().map(room_info).collect()
    }

    fn guest(&self, peer: &RequestPeer) -> Result<GuestLogin, ApiError> {
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
        let role = guests.local_role.filter(|_| peer.is_local);
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

    fn readiness(&self) -> Result<(), String> {
        match self.draining.load(Ordering::Relaxed) {
            true => Err("the server is stopping".to_owned()),
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

fn room_info(info: MatchInfo) -> RoomInfo {
    let MatchInfo { id, code, match_type, label, players, players_max, tick_hz } = info;
    RoomInfo { id, code, room_type: match_type, label, players, players_max, tick_hz }
}

/// Returns the resident memory of this process, or 0 on systems without `/proc`.
fn resident_bytes() -> u64 {
    /// Page size of all systems that the server is built for.
    const PAGE_BYTES: u64 = 4_096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * PAGE_BYTES
}
