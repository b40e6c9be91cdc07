//! Host of a node's rooms: finds, creates, lists and ends them.

use crate::code::new_code;
use crate::directory::{RoomDirectory, RoomLocation, TypeLabel};
use crate::drain::Drain;
use crate::durable::DurableSettings;
use crate::entry::{RoomEntry, RoomRef};
use crate::keyed_locks::KeyedLocks;
use crate::maintenance::ReportedTypes;
use crate::members::MatchMembers;
use crate::recordings::{RecordingSettings, Recordings, RoomRecording};
use crate::requests::RoomRequests;
use crate::room_list::PublishedRooms;
use crate::room_type::{RoomStart, RoomType, RoomTypes, StartedRoom};
use crate::supervisor::RoomSupervisor;
use crate::writer::WriteQueue;
use aether_engine::{BuildError, EncodePool, Rejection, Scheduler};
use aether_limits::{NetworkShare, NetworkShares};
use aether_metrics::Registry;
use aether_services::matches::{MatchSelector, selector_of};
use aether_wire::{ErrorCode, RoomId, RoomSelector};
use serde_json::Value;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::task::{JoinSet, spawn_blocking};
use tracing::{error, info, warn};
use uuid::Uuid;

/// Network that rooms created by the server itself count against. No peer has this address.
pub(crate) const SERVER_NETWORK: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

/// Start of a match token, in place of a room id. No id starts so.
const TOKEN_START: &str = "eyJ";

/// Longest wait for the files of recordings when the server stops.
const RECORDINGS_TIME_MAX: Duration = Duration::from_secs(5);

/// Host of all rooms of a node.
pub struct RoomHost {
    /// Room types of the call table.
    pub types: RoomTypes,
    pub(crate) directory: Arc<RoomDirectory>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) settings: RoomHostSettings,
    pub(crate) requests: Arc<RoomRequests>,
    /// Serializes opening and creation of each durable room.
    pub(crate) opening: KeyedLocks<RoomId>,
    /// Serializes creation of rooms of the same type and label when all existing ones are full.
    creating: KeyedLocks<TypeLabel>,
    supervisors: Mutex<JoinSet<()>>,
    /// Number of rooms by the network that created them.
    creators: NetworkShares,
    pub(crate) started: Instant,
    /// Room types whose gauges were set last.
    pub(crate) reported: Mutex<ReportedTypes>,
    /// Set before the first lease of a durable room. Leases are renewed even if the room type is removed.
    pub(crate) has_opened_durable: AtomicBool,
    pub(crate) recordings: Arc<Recordings>,
    pub(crate) drain: Drain,
    pub(crate) published: PublishedRooms,
    /// Set when the host stops creating rooms.
    is_closed: AtomicBool,
    pub(crate) this: Weak<RoomHost>,
}

/// Settings of the host.
pub struct RoomHostSettings {
    /// Id of this node, which owns the leases of durable rooms. It is stored in the data folder.
    pub node_id: String,
    /// Configured name of this node: the last part of the ids of its rooms.
    pub node_name: String,
    /// Most rooms of this node.
    pub rooms_max: usize,
    /// Time after which a room without players ends.
    pub empty_time_max: Duration,
    /// Most running rooms that one network may have created or opened.
    pub per_address_max: u32,
    /// Most stored rooms that one account may have created.
    pub stored_per_account_max: u32,
    /// Settings of recordings.
    pub recordings: RecordingSettings,
    /// Settings of durable rooms.
    pub durable: DurableSettings,
    /// Threads that share the encoding of large rooms; none if each tick thread encodes alone.
    pub encode_pool: Option<EncodePool>,
    /// Type of relayed matches, which clients of the services socket create. Clients do not join it by name.
    pub relayed: Arc<RoomType>,
}

/// Requester of a room: the server itself, or a client. The room is charged to whoever creates or opens it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoomRequester {
    /// Address of the client, or [`SERVER_NETWORK`].
    pub address: IpAddr,
    /// Account or guest; none for the server.
    pub user: Option<Uuid>,
}

impl RoomRequester {
    /// Returns the server as a requester, which has no limits of its own.
    pub(crate) fn server() -> RoomRequester {
        RoomRequester { address: SERVER_NETWORK, user: None }
    }
}

/// Names of a room.
pub(crate) struct RoomNames {
    pub id: RoomId,
    pub code: String,
    pub wanted_label: String,
    pub is_private: bool,
}

/// Room to create.
#[derive(Clone, Debug, Default)]
pub(crate) struct WantedRoom {
    /// Id; a new one if there is none.
    pub id: Option<RoomId>,
    pub label: String,
    /// True if it is joined by id or code only.
    pub is_private: bool,
    /// True if it is recorded from its first tick.
    pub is_recorded: bool,
    /// Ticks per second, instead of those of the room type.
    pub tick_hz: Option<u32>,
    /// Parameters of its game.
    pub params: Arc<Value>,
}

impl RoomHost {
    /// Creates a host without rooms.
    #[must_use]
    pub fn new(
        scheduler: Scheduler,
        settings: RoomHostSettings,
        requests: RoomRequests,
        registry: &Registry,
    ) -> Arc<RoomHost> {
        let host = Arc::new_cyclic(|this| RoomHost {
            types: RoomTypes::new(Arc::clone(requests.services())),
            directory: RoomDirectory::new(settings.node_name.clone()),
            scheduler: Arc::new(scheduler),
            recordings: Arc::new(Recordings::new(settings.recordings.clone(), registry)),
            drain: Drain::new(registry),
            published: PublishedRooms::default(),
            settings,
            requests: Arc::new(requests),
            opening: KeyedLocks::default(),
            creating: KeyedLocks::default(),
            supervisors: Mutex::default(),
            creators: NetworkShares::default(),
            started: Instant::now(),
            reported: Mutex::default(),
            has_opened_durable: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            this: Weak::clone(this),
        });
        host.leave_with_sessions();
        host
    }

    /// Returns the requested room: a running one, a stored one that is opened, or a new one if the request names a type
    /// and all rooms of the type are full.
    pub(crate) async fn find(&self, selector: &RoomSelector, requester: RoomRequester) -> Result<RoomRef, Rejection> {
        check(selector)?;
        if let RoomSelector::Id(RoomId(text)) = selector
            && text.starts_with(TOKEN_START)
        {
            return self.find_by_token(text, requester).await;
        }
        // Rooms of a removed type can still be joined by id or code, but not by type.
        let room_type = match selector {
            RoomSelector::Type { name, .. } | RoomSelector::NewPrivate { name, .. } => Some(self.room_type(name)?),
            RoomSelector::Id(_) | RoomSelector::Code(_) => None,
        };
        if let (RoomSelector::Type { label, .. } | RoomSelector::NewPrivate { label, .. }, Some(room_type)) =
            (selector, &room_type)
            && (room_type.is_private() || matches!(selector, RoomSelector::NewPrivate { .. }))
        {
            let label = label.clone().unwrap_or_default();
            let wanted = WantedRoom { label, is_private: true, ..WantedRoom::default() };
            let room_type = Arc::clone(room_type);
            return self.run_detached(move |host| host.create_of_type(room_type, wanted, requester)).await;
        }
        let located = self.directory.locate(selector);
        if let Some(RoomLocation::Local(room)) = located {
            return Ok(room);
        }
        if let (RoomSelector::Type { name, label }, Some(room_type)) = (selector, room_type) {
            let wanted = TypeLabel::new(name, label.as_deref().unwrap_or_default());
            return self.run_detached(move |host| host.find_or_create(room_type, wanted, requester)).await;
        }
        // A room that was never stored is rejected after one read, without waiting for a lock.
        match self.find_stored(selector).await? {
            Some(id) => self.run_detached(move |host| host.open_stored(id, requester.address)).await,
            None => Err(match located {
                Some(RoomLocation::Elsewhere(node)) => {
                    let message = format!("the room is on node `{node}`; connect to that node");
                    Rejection::new(ErrorCode::RoomNotFound, message)
                }
                _ => not_found(selected(selector)),
            }),
        }
    }

    /// Creates a room of a type.
    pub(crate) async fn create(
        &self,
        room_type: &str,
        wanted: WantedRoom,
        requester: RoomRequester,
    ) -> Result<RoomRef, Rejection> {
        if wanted.label.contains('\0') {
            return Err(bad_value("label", "the character U+0000, which cannot be stored"));
        }
        let room_type = self.room_type(room_type)?;
        if let Some(tick_hz) = wanted.tick_hz {
            room_type.check_tick_hz(tick_hz)?;
        }
        self.run_detached(move |host| host.create_of_type(room_type, wanted, requester)).await
    }

    /// Runs work in its own task, so that a room is registered even if its client disconnects while it is built.
    async fn run_detached<T, F>(&self, work: impl FnOnce(Arc<RoomHost>) -> F) -> Result<T, Rejection>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Rejection>> + Send + 'static,
    {
        let Some(host) = self.this.upgrade() else { return Err(stopping()) };
        let done = tokio::spawn(work(host)).await;
        done.unwrap_or_else(|_| {
            Err(Rejection::new(ErrorCode::Internal, "the room could not be opened; try again in a moment"))
        })
    }

    /// Returns the match of a token of the matchmaker.
    async fn find_by_token(&self, token: &str, requester: RoomRequester) -> Result<RoomRef, Rejection> {
        let invalid = "the match token is invalid or has expired; ask the matchmaker again";
        let selector = selector_of(self.requests.services(), token);
        match selector.map_err(|_| Rejection::new(ErrorCode::RoomNotFound, invalid))? {
            MatchSelector::Relayed(id) => self.find_relayed(id, requester).await,
            MatchSelector::Running(id) => {
                let id = RoomId(id);
                self.directory.local(&RoomSelector::Id(id.clone())).ok_or_else(|| not_found(&id.0))
            }
        }
    }

    /// Rejects a user without a seat, if all free places of the room are kept for players of the matchmaker.
    pub(crate) fn check_seat(&self, room: &RoomEntry, user: Uuid) -> Result<(), Rejection> {
        let matchmaker = &self.requests.services().matchmaker;
        let reserved = matchmaker.reserved_seats(&room.id.0);
        let is_full = || room.room.players() as usize + reserved >= room.room_type.players_max();
        if reserved == 0 || matchmaker.has_seat(&room.id.0, user) || !is_full() {
            return Ok(());
        }
        let sentence = "the free places of the room are kept for matched players; try again later or join another one";
        Err(Rejection::new(ErrorCode::RoomFull, sentence))
    }

    /// Returns a relayed match. It is created if it does not run.
    pub(crate) async fn find_relayed(&self, id: Uuid, requester: RoomRequester) -> Result<RoomRef, Rejection> {
        let id = RoomId(format!("{id}."));
        self.run_detached(move |host| host.find_or_create_relayed(id, requester)).await
    }

    async fn find_or_create_relayed(
        self: Arc<Self>,
        id: RoomId,
        requester: RoomRequester,
    ) -> Result<RoomRef, Rejection> {
        let room_type = Arc::clone(&self.settings.relayed);
        let _guard = self.creating.lock(TypeLabel::new(room_type.name(), &id.0)).await;
        if let Some(room) = self.directory.local(&RoomSelector::Id(id.clone())) {
            return Ok(room);
        }
        let wanted = WantedRoom { id: Some(id), ..WantedRoom::default() };
        Arc::clone(&self).create_of_type(room_type, wanted, requester).await
    }

    async fn find_or_create(
        self: Arc<Self>,
        room_type: Arc<RoomType>,
        wanted: TypeLabel,
        requester: RoomRequester,
    ) -> Result<RoomRef, Rejection> {
        let _guard = self.creating.lock(wanted.clone()).await;
        let selector = RoomSelector::Type { name: wanted.room_type.clone(), label: Some(wanted.label.clone()) };
        if let Some(room) = self.directory.local(&selector) {
            return Ok(room);
        }
        if room_type.is_durable()
            && let Some(id) = self.stored_of_type(&room_type, &wanted).await?
        {
            return self.open_stored(id, requester.address).await;
        }
        let wanted = WantedRoom { label: wanted.label, ..WantedRoom::default() };
        self.create_of_type(room_type, wanted, requester).await
    }

    async fn create_of_type(
        self: Arc<Self>,
        room_type: Arc<RoomType>,
        mut wanted: WantedRoom,
        requester: RoomRequester,
    ) -> Result<RoomRef, Rejection> {
        wanted.is_private |= room_type.is_private();
        let share = self.share(requester.address)?;
        if room_type.is_durable() {
            return self.create_durable(room_type, wanted, requester.user, share).await;
        }
        let id = wanted.id.unwrap_or_else(|| self.directory.new_id());
        let start = self.room_start(&room_type, &id, wanted.is_recorded, 0);
        let params = Arc::clone(&wanted.params);
        let start = RoomStart { label: wanted.label.clone(), tick_hz: wanted.tick_hz, params, ..start };
        let started = self.start(&room_type, start).await?;
        if let Some(handle) = &started.handle {
            let supervisor = RoomSupervisor {
                room: id.clone(),
                handle: handle.clone(),
                requests: Arc::clone(&self.requests),
                places: Arc::clone(&started.places),
                members: Arc::clone(&started.members),
            };
            self.supervise(supervisor.run(None));
        }
        let WantedRoom { label, is_private, .. } = wanted;
        let names = RoomNames { id, code: new_code(), wanted_label: label, is_private };
        Ok(self.register(room_type, names, started, (share, None)))
    }

    pub(crate) fn room_type(&self, name: &str) -> Result<Arc<RoomType>, Rejection> {
        self.types.find(name).ok_or_else(|| {
            let types = self.types.all();
            let known: Vec<&str> = types.iter().map(|room_type| room_type.name()).collect();
            let message = format!("room type `{name}` was not found; use one of: {}", known.join(", "));
            Rejection::new(ErrorCode::RoomNotFound, message)
        })
    }

    /// Takes a share of the room limits for the network that creates or opens a room. It is returned when the room ends or
    /// is unloaded.
    pub(crate) fn share(&self, address: IpAddr) -> Result<NetworkShare, Rejection> {
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(stopping());
        }
        if self.drain.is_active() {
            return Err(draining());
        }
        let rooms_max = u32::try_from(self.settings.rooms_max).unwrap_or(u32::MAX);
        let per_address_max = if address == SERVER_NETWORK { u32::MAX } else { self.settings.per_address_max };
        self.creators.take(address, per_address_max, rooms_max).ok_or_else(|| {
            Rejection::new(
                ErrorCode::LimitReached,
                "the server or your network has reached its limit of rooms; join an existing room or try again later",
            )
        })
    }

    /// Returns the start values of a new room, or of one that continues after a tick.
    pub(crate) fn room_start(&self, room_type: &RoomType, id: &RoomId, is_recorded: bool, tick: u32) -> RoomStart {
        RoomStart {
            room: id.0.clone(),
            seed: random_seed(),
            started_ms: self.requests.services().clock.now_ms().max(0).unsigned_abs(),
            params: Arc::default(),
            label: String::new(),
            recording: self.begin_recording(room_type, id, is_recorded, tick),
            encode_pool: self.settings.encode_pool.clone(),
            checkpoint_interval: room_type.is_durable().then_some(self.settings.durable.checkpoint_interval),
            restore: None,
            tick_hz: None,
            members: MatchMembers::new(
                id.0.clone(),
                self.stream_of(id, room_type),
                Arc::clone(&self.requests.services().router),
            ),
            audit: Arc::clone(&self.requests.services().audit),
        }
    }

    /// Builds and starts a room on the blocking pool: `Game::init` may take long and must not block an I/O thread.
    pub(crate) async fn start(&self, room_type: &Arc<RoomType>, start: RoomStart) -> Result<StartedRoom, Rejection> {
        let failed = |error: &dyn std::fmt::Display| {
            error!(room_type = room_type.name(), %error, "room could not be started");
            Rejection::new(ErrorCode::Internal, "the room could not be created; the server log has the reason")
        };
        let recording = start.recording.clone();
        let _permit = room_type.builds.acquire().await.map_err(|error| failed(&error))?;
        let (building, scheduler) = (Arc::clone(room_type), Arc::clone(&self.scheduler));
        let started = match spawn_blocking(move || building.start(&scheduler, start)).await {
            // The error of a script is for whoever creates the room; the log has all of it.
            Ok(Err(BuildError::Game(text))) => {
                warn!(room_type = room_type.name(), error = text, "game could not be made");
                Err(Rejection::new(ErrorCode::BadValue, text))
            }
            Ok(started) => started.map_err(|error| failed(&error)),
            Err(error) if error.is_panic() => Err(failed(&"the game panicked")),
            Err(error) => Err(failed(&error)),
        };
        if let (Err(_), Some(recording)) = (&started, recording) {
            self.recordings.discard(&recording);
        }
        started
    }

    /// Adds a started room to the directory.
    pub(crate) fn register(
        &self,
        room_type: Arc<RoomType>,
        RoomNames { id, code, wanted_label, is_private }: RoomNames,
        started: StartedRoom,
        (share, write_queue): (NetworkShare, Option<Arc<WriteQueue>>),
    ) -> RoomRef {
        let room = self.directory.insert(RoomEntry {
            members: started.members,
            label_document: Mutex::default(),
            id,
            code,
            room_type,
            room: started.room,
            write_queue,
            is_private,
            places: started.places,
            wanted_label,
            is_ending: AtomicBool::new(false),
            _share: share,
            connections: AtomicU32::new(0),
            used_at_ms: AtomicU64::new(self.now_ms()),
        });
        info!(room = room.id.0, code = room.code, room_type = room.room_type.name(), "room created");
        room
    }

    /// Runs the supervisor of a room until all its requests are answered and its writes are done.
    pub(crate) fn supervise(&self, supervisor: impl Future<Output = ()> + Send + 'static) {
        let mut supervisors = self.supervisors.lock().unwrap_or_else(PoisonError::into_inner);
        // Remove supervisors that have ended.
        while supervisors.try_join_next().is_some() {}
        supervisors.spawn(supervisor);
    }

    /// Waits until all requests of ended rooms are answered and their writes are done.
    pub async fn finish(&self) {
        let supervisors = std::mem::take(&mut *self.supervisors.lock().unwrap_or_else(PoisonError::into_inner));
        supervisors.join_all().await;
        let recordings = Arc::clone(&self.recordings);
        let _ = spawn_blocking(move || recordings.finish(RECORDINGS_TIME_MAX)).await;
    }

    /// Opens the file of a room that is recorded from its first tick. Without a file the room is not recorded.
    fn begin_recording(
        &self,
        room_type: &RoomType,
        id: &RoomId,
        is_recorded: bool,
        tick: u32,
    ) -> Option<Arc<RoomRecording>> {
        if !(is_recorded || self.recordings.settings.records_all) || room_type.tick_hz() == 0 {
            return None;
        }
        match self.recordings.begin(room_type.name(), id, tick) {
            Ok(recording) => Some(recording),
            Err(error) => {
                let folder = self.recordings.settings.folder.display();
                error!(room = id.0, %folder, %error, "recording could not begin");
                None
            }
        }
    }

    /// Returns true while the host takes no new rooms and joins.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.drain.is_active()
    }

    /// Returns the number of the current drain, from 1; 0 if there is none.
    #[must_use]
    pub fn drain_number(&self) -> u32 {
        self.drain.number()
    }

    /// Stops the creation of rooms.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Id of this node, which owns the leases of durable rooms.
    #[must_use]
    pub fn node_id(&self) -> &str {
        &self.settings.node_id
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}

/// Returns an unpredictable seed.
fn random_seed() -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the system provides random numbers");
    u64::from_le_bytes(bytes)
}

/// Returns the rejection for a room that does not exist, by its id or code.
pub(crate) fn not_found(room: &str) -> Rejection {
    Rejection::new(ErrorCode::RoomNotFound, format!("room `{room}` was not found; it may have ended"))
}

/// Rejects texts that cannot be stored, and labels that deceive other players.
fn check(selector: &RoomSelector) -> Result<(), Rejection> {
    let (what, text, label) = match selector {
        RoomSelector::Id(id) => ("id", &id.0, None),
        RoomSelector::Code(code) => ("code", code, None),
        RoomSelector::Type { name, label } | RoomSelector::NewPrivate { name, label } => {
            ("type", name, label.as_deref())
        }
    };
    if text.contains(char::is_control) {
        return Err(bad_value(what, "control characters"));
    }
    aether_names::check(label.unwrap_or_default()).map_err(|bad| bad_value("label", bad))
}

fn bad_value(what: &str, bad: impl std::fmt::Display) -> Rejection {
    Rejection::new(ErrorCode::BadValue, format!("the {what} of a room must not contain {bad}"))
}

/// Returns the id, code or type of a selector.
fn selected(selector: &RoomSelector) -> &str {
    match selector {
        RoomSelector::Id(id) => &id.0,
        RoomSelector::Code(code) => code,
        RoomSelector::Type { name, .. } | RoomSelector::NewPrivate { name, .. } => name,
    }
}

/// Returns the rejection of new rooms and joins during a drain.
pub(crate) fn draining() -> Rejection {
    Rejection::new(ErrorCode::Unavailable, "the server is draining; connect to another one or try again later")
}

fn stopping() -> Rejection {
    Rejection::new(ErrorCode::Unavailable, "the server is shutting down; connect to another one or try again later")
}
