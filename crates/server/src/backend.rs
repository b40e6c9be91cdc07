//! What the HTTP interfaces ask.

use crate::clock::unix_seconds;
use crate::config::Config;
use crate::data::Health;
use crate::tokens::{Claims, Role, Tokens};
use aether_api::admin::AdminBackend;
use aether_api::{ApiError, GuestLogin, PublicBackend, RequestPeer, RoomFilter, RoomInfo};
use aether_limits::{RateLimit, TokenBucket, network_of};
use aether_metrics::{Gauge, Registry};
use aether_net::Gateway;
use aether_net::certificate::Certificates;
use aether_rooms::{LiveSessions, RoomHost};
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

/// A room that does not tick for so long is stuck, and `/livez` says so.
const STUCK_AFTER: Duration = Duration::from_secs(10);
/// How often guests of this machine may come: a load test makes one of each bot.
const LOCAL_GUESTS: RateLimit = RateLimit { per_second: 2_000, burst: 10_000 };
/// Networks whose guests are counted; beyond, all begin anew.
const GUEST_NETWORKS_MAX: usize = 10_000;

/// What is behind the HTTP interfaces.
pub(crate) struct ServerBackend {
    rooms: Arc<RoomHost>,
    gateway: Arc<Gateway>,
    tokens: Arc<Tokens>,
    sessions: Arc<LiveSessions>,
    registry: Registry,
    web_transport: Option<(Certificates, SocketAddr)>,
    guests: Option<Guests>,
    version: &'static str,
    started: Instant,
    draining: AtomicBool,
    pub(crate) database: Arc<Health>,
    watch: Mutex<Watch>,
    uptime: Gauge,
    memory: Gauge,
    open_sessions: Gauge,
}

struct Guests {
    /// The role that a guest on this machine gets, under the development key.
    local_role: Option<Role>,
    access_seconds: u32,
    /// By network, so that one who asks too often is the only one to wait.
    buckets: Mutex<HashMap<IpAddr, TokenBucket>>,
}

impl Guests {
    fn may_come(&self, peer: &RequestPeer, now: Duration) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= GUEST_NETWORKS_MAX {
            buckets.clear();
        }
        let rate = if peer.is_local { LOCAL_GUESTS } else { RateLimit::STRICT };
        buckets.entry(network_of(peer.address)).or_insert_with(|| TokenBucket::new(rate, now)).take(now)
    }
}

#[derive(Default)]
struct Watch {
    ticks_seen: HashMap<RoomId, (u32, Instant)>,
    ticks_by_type: HashMap<String, u64>,
    stuck: Option<String>,
}

impl ServerBackend {
    pub fn new(
        config: &Config,
        registry: &Registry,
        (rooms, gateway, tokens, sessions): (&Arc<RoomHost>, &Arc<Gateway>, &Arc<Tokens>, &Arc<LiveSessions>),
        web_transport: Option<(Certificates, SocketAddr)>,
        version: &'static str,
    ) -> ServerBackend {
        let guests = config.accepts_guests().then(|| Guests {
            local_role: config.accepts_development().then(|| config.guest_role()),
            access_seconds: config.tokens.access_seconds,
            buckets: Mutex::default(),
        });
        registry.gauge("aether_build_info", "The version that runs.", &[("version", version)]).set(1.0);
        ServerBackend {
            rooms: Arc::clone(rooms),
            gateway: Arc::clone(gateway),
            tokens: Arc::clone(tokens),
            sessions: Arc::clone(sessions),
            registry: registry.clone(),
            web_transport,
            guests,
            version,
            started: Instant::now(),
            draining: AtomicBool::new(false),
            database: Arc::default(),
            watch: Mutex::default(),
            uptime: registry.gauge("aether_uptime_seconds", "Since the server started.", &[]),
            memory: registry.gauge("aether_memory_bytes", "Memory that the process has resident.", &[]),
            open_sessions: registry.gauge("aether_sessions", "Sessions that are open.", &[]),
        }
    }

    /// From now on the server is not ready.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// What is due each second.
    pub fn each_second(&self) {
        self.uptime.set(self.started.elapsed().as_secs_f64());
        self.memory.set(resident_bytes() as f64);
        self.open_sessions.set(self.sessions.open() as f64);
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let Watch { ticks_seen, ticks_by_type, stuck } = &mut *watch;
        *stuck = self.rooms.stuck(ticks_seen, STUCK_AFTER);
        for (name, room_type) in self.rooms.types.all().iter() {
            let ticks = room_type.ticks();
            let before = ticks_by_type.insert(name.clone(), ticks).unwrap_or(ticks);
            // A type that was replaced counts anew.
            room_type.show_tick_rate(ticks.saturating_sub(before));
        }
    }
}

impl PublicBackend for ServerBackend {
    fn server(&self, host: Option<&str>) -> ServerInfo {
        let room_types = self.rooms.types.all();
        let room_types = room_types.values().map(|room_type| RoomTypeInfo {
            name: room_type.name().to_owned(),
            tick_hz: room_type.tick_hz(),
            snapshot_hz: room_type.snapshot_hz(),
            players_max: room_type.players_max(),
        });
        let web_transport = self.web_transport.as_ref().map(|(certificates, address)| WebTransportInfo {
            url: match host.filter(|_| address.ip().is_unspecified()) {
                // Whoever listens on all addresses is reached by the one that the client used.
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
            let sentence = "This server has no guests: sign in. Whoever runs it may set guests.enabled.";
            return Err(ApiError::new(StatusCode::FORBIDDEN, "no_guests", sentence));
        };
        if !guests.may_come(peer, self.gateway.now()) {
            let sentence = "Too many guests at once; try again in a moment.";
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
            true => Err("the server stops".to_owned()),
            false => self.database.problem().map_or_else(|| self.liveness(), Err),
        }
    }

    fn liveness(&self) -> Result<(), String> {
        match &self.watch.lock().unwrap_or_else(PoisonError::into_inner).stuck {
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
}

fn room_info(info: MatchInfo) -> RoomInfo {
    let MatchInfo { id, code, match_type, label, players, players_max, tick_hz } = info;
    RoomInfo { id, code, room_type: match_type, label, players, players_max, tick_hz }
}

/// What the system counts as this process's memory; 0 where it does not tell.
fn resident_bytes() -> u64 {
    /// Of the system's page; all that we build for have this.
    const PAGE_BYTES: u64 = 4_096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * PAGE_BYTES
}
