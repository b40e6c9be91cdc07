//! Durable rooms: lookup in the store, creation, rebuilding, and writes while they run.

use crate::code::new_code;
use crate::directory::TypeLabel;
use crate::entry::RoomRef;
use crate::host::{RoomHost, RoomNames, WantedRoom, not_found};
use crate::room_type::{RoomStart, RoomType, StartedRoom};
use crate::supervisor::RoomSupervisor;
use crate::writer::{RoomWriter, WriteQueue};
use aether_engine::{EntryNumber, JoinRequest, Rejection, RestoreData};
use aether_limits::NetworkShare;
use aether_services::GrpcCode;
use aether_services::room::{self, LEASE_HELD, OpenedRoom, ROOMS_STORED_MAX_REACHED, RoomChoice, RoomCreator};
use aether_wire::{ErrorCode, PlayerId, RoomId, RoomSelector, Tick};
use serde_json::Value;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::timeout;
use tracing::{error, info};
use uuid::Uuid;

/// Longest wait for a room to be unloaded before it is opened again.
const UNLOAD_TIME_MAX: Duration = Duration::from_secs(8);
/// Longest wait for one answer of the database while a client waits to join.
const STORE_TIME_MAX: Duration = Duration::from_secs(5);
/// Most codes that are tried for a new room. A few thousand of a billion are in use.
const CODES_TRIED_MAX: u32 = 5;

/// Ticks up to which a rebuilt room continues: a year at 60 per second. Beyond it the room starts over, long before the
/// numbers end.
const TICKS_CONTINUED_MAX: u32 = u32::MAX / 2;

/// Settings of durable rooms.
#[derive(Clone, Copy, Debug)]
pub struct DurableSettings {
    /// Interval between two checkpoints of a room.
    pub checkpoint_interval: Duration,
    /// Interval between two checkpoints that are stored as snapshots.
    pub snapshot_interval: Duration,
    /// Most stored snapshots; 0 for none.
    pub snapshots_max: u32,
    /// Longest downtime of the server after which players can resume.
    pub away_time_max: Duration,
}

impl RoomHost {
    /// Returns true if there are durable rooms, or a room type that is durable.
    #[must_use]
    pub fn has_durable(&self) -> bool {
        self.has_opened_durable.load(Ordering::Relaxed) || self.types.has_durable()
    }

    /// Looks a room up in the store; none if it was never stored.
    pub(crate) async fn find_stored(&self, selector: &RoomSelector) -> Result<Option<RoomId>, Rejection> {
        if !self.has_durable() {
            return Ok(None);
        }
        let choice = match selector {
            RoomSelector::Id(id) => RoomChoice::Id(id.0.clone()),
            RoomSelector::Code(code) => RoomChoice::Code(code.to_ascii_uppercase()),
            RoomSelector::Type { .. } | RoomSelector::NewPrivate { .. } => return Ok(None),
        };
        Ok(within_time(self.stored().find(choice)).await?.map(RoomId))
    }

    /// Returns a stored room of a type that is not running and not full.
    pub(crate) async fn stored_of_type(
        &self,
        room_type: &RoomType,
        wanted: &TypeLabel,
    ) -> Result<Option<RoomId>, Rejection> {
        if !self.directory.wait_until_all_unloaded(wanted, UNLOAD_TIME_MAX).await {
            return Err(being_unloaded());
        }
        let players_max = room_type.players_max();
        let candidates = self.stored().candidates(self.node_id(), &wanted.room_type, &wanted.label, players_max);
        let candidates = within_time(candidates).await?;
        Ok(candidates.into_iter().map(RoomId).find(|id| !self.directory.is_written(id)))
    }

    /// Opens a stored room, unless it is already running.
    pub(crate) async fn open_stored(self: Arc<Self>, id: RoomId, address: IpAddr) -> Result<RoomRef, Rejection> {
        let _guard = self.opening.lock(id.clone()).await;
        if let Some(room) = self.directory.local(&RoomSelector::Id(id.clone())) {
            return Ok(room);
        }
        if !self.directory.wait_until_unloaded(&id, UNLOAD_TIME_MAX).await {
            return Err(being_unloaded());
        }
        let share = self.share(address)?;
        self.has_opened_durable.store(true, Ordering::Relaxed);
        let opened = self.stored().open(self.node_id(), RoomChoice::Id(id.0.clone()), self.away_ms_max());
        let opened = within_time(opened).await?.ok_or_else(|| not_found(&id.0))?;
        let lease = opened.lease.clone();
        let rebuilt = self.rebuild(opened, share).await;
        if rebuilt.is_err() {
            // If this fails, the lease expires.
            let _ = timeout(STORE_TIME_MAX, self.stored().release(&lease)).await;
        }
        rebuilt
    }

    pub(crate) async fn create_durable(
        self: Arc<Self>,
        room_type: Arc<RoomType>,
        wanted: WantedRoom,
        creator: Option<Uuid>,
        share: NetworkShare,
    ) -> Result<RoomRef, Rejection> {
        let id = self.directory.new_id();
        // A client that finds the code in the store before the room runs waits for this lock.
        let _guard = self.opening.lock(id.clone()).await;
        let (lease, code) = self.store_new(&room_type, &id, &wanted, creator).await?;
        let start = self.room_start(&room_type, &id, wanted.is_recorded, 0);
        let start = RoomStart { label: wanted.label.clone(), params: Arc::clone(&wanted.params), ..start };
        match self.start(&room_type, start).await {
            Ok(started) => {
                let WantedRoom { label, is_private, .. } = wanted;
                let names = RoomNames { id, code, wanted_label: label, is_private };
                Ok(self.register_durable(room_type, names, started, (share, lease)))
            }
            Err(rejection) => {
                // No client has seen the room, so it can be deleted.
                let _ = timeout(STORE_TIME_MAX, self.stored().remove(&lease)).await;
                Err(rejection)
            }
        }
    }

    /// Stores a new room under an unused code.
    async fn store_new(
        &self,
        room_type: &RoomType,
        id: &RoomId,
        wanted: &WantedRoom,
        creator: Option<Uuid>,
    ) -> Result<(room::RoomLease, String), Rejection> {
        let creator = creator.map(|user| RoomCreator { user, rooms_max: self.settings.stored_per_account_max });
        self.has_opened_durable.store(true, Ordering::Relaxed);
        for _ in 0..CODES_TRIED_MAX {
            let code = new_code();
            let room = room::NewRoom {
                id: id.0.clone(),
                code: code.clone(),
                room_type: room_type.name().to_owned(),
                wanted_label: wanted.label.clone(),
                is_private: wanted.is_private,
                params: wanted.params.to_string(),
            };
            match timeout(STORE_TIME_MAX, self.stored().create(self.node_id(), room, creator)).await {
                Ok(Ok(lease)) => return Ok((lease, code)),
                Ok(Err(error)) if error.code == GrpcCode::AlreadyExists => {}
                Ok(Err(error)) => return Err(to_room_error(error)),
                // If the write succeeds later, the room is opened by the next request for its type.
                Err(_) => return Err(database_timeout()),
            }
        }
        Err(unavailable("no unused room code was found; try again"))
    }

    async fn rebuild(&self, opened: OpenedRoom, share: NetworkShare) -> Result<RoomRef, Rejection> {
        let OpenedRoom { lease, room, tick, ran_ms_max, state, applied, last_player, members, journal } = opened;
        let room_type = self.types.find(&room.room_type).filter(|room_type| room_type.is_durable());
        let room_type = room_type.ok_or_else(|| {
            error!(room = room.id, room_type = room.room_type, "stored room has no durable room type");
            not_found(&room.id)
        })?;
        let roles = self.requests.services().sessions.roles();
        let player = |member: room::MemberIdentity| {
            let permissions = member.role.max(roles.of(member.user)).permissions();
            let room::MemberIdentity { name, metadata, .. } = member;
            let (user, session) = (member.user.to_string(), member.session.to_string());
            let request = JoinRequest { user, username: name.clone(), name, session, permissions, metadata };
            (PlayerId(member.player), request)
        };
        let players: Vec<_> = members.into_iter().map(player).collect();
        info!(room = room.id, players = players.len(), entries = journal.len(), "room rebuilt");
        let restore = RestoreData {
            tick: next_tick(tick, ran_ms_max, room_type.tick_hz()),
            state,
            applied: EntryNumber(applied),
            last_player: PlayerId(last_player),
            players,
            journal: journal.into_iter().map(|(number, entry)| (EntryNumber(number), entry)).collect(),
        };
        let id = RoomId(room.id);
        let start = self.room_start(&room_type, &id, false, restore.tick.0);
        let (label, params) = (room.wanted_label.clone(), Arc::new(read_params(&room.params)));
        let started_ms = clock_start(start.started_ms, restore.tick, room_type.tick_hz());
        let start = RoomStart { label, params, started_ms, restore: Some(restore), ..start };
        let started = self.start(&room_type, start).await?;
        let names = RoomNames { id, code: room.code, wanted_label: room.wanted_label, is_private: room.is_private };
        Ok(self.register_durable(room_type, names, started, (share, lease)))
    }

    /// Adds a durable room to the directory, with its writer.
    fn register_durable(
        &self,
        room_type: Arc<RoomType>,
        names: RoomNames,
        started: StartedRoom,
        (share, lease): (NetworkShare, room::RoomLease),
    ) -> RoomRef {
        let queue = Arc::new(WriteQueue::default());
        if let Some(handle) = &started.handle {
            let writer = RoomWriter {
                queue: Arc::clone(&queue),
                services: Arc::clone(self.requests.services()),
                lease,
                handle: handle.clone(),
                settings: self.settings.durable,
                metrics: room_type.durable_metrics.clone(),
            };
            let type_label = (!names.is_private).then(|| TypeLabel::new(room_type.name(), &names.wanted_label));
            let writing = self.directory.begin_writing(names.id.clone(), type_label);
            let (room, handle, requests) = (names.id.clone(), handle.clone(), Arc::clone(&self.requests));
            let (places, members) = (Arc::clone(&started.places), Arc::clone(&started.members));
            let supervisor = RoomSupervisor { room, handle, requests, places, members };
            self.supervise(async move {
                supervisor.run(Some(writer)).await;
                drop(writing);
            });
        }
        self.register(room_type, names, started, (share, Some(queue)))
    }

    /// Longest downtime after which players can resume, in milliseconds; -1 once the grace period after the start of
    /// this server has passed.
    fn away_ms_max(&self) -> i64 {
        let types = self.types.all();
        let graces = types.iter().filter(|room_type| room_type.is_durable()).map(|room_type| room_type.resume_grace());
        match self.started.elapsed() <= graces.max().unwrap_or_default() {
            true => i64::try_from(self.settings.durable.away_time_max.as_millis()).unwrap_or(i64::MAX),
            false => -1,
        }
    }

    fn stored(&self) -> &room::Rooms {
        &self.requests.services().rooms
    }
}

/// Returns the tick from which a rebuilt room continues: not before any that a client has seen. A room that was not
/// unloaded may have run after its last write.
fn next_tick(tick: u32, ran_ms_max: i64, tick_hz: u32) -> Tick {
    if tick > TICKS_CONTINUED_MAX {
        return Tick::ZERO;
    }
    if ran_ms_max == 0 {
        return Tick(tick);
    }
    // A second more than that, because the tick of a write is read before the write begins.
    let ran_ticks = (ran_ms_max as u64 / 1_000 + 2).saturating_mul(tick_hz.into());
    Tick(tick.saturating_add(u32::try_from(ran_ticks).unwrap_or(u32::MAX)))
}

/// Returns the wall clock of tick 0 with which the clock of a rebuilt room continues at the current time.
fn clock_start(now_ms: u64, tick: Tick, tick_hz: u32) -> u64 {
    now_ms.saturating_sub(u64::from(tick.0) * 1_000 / u64::from(tick_hz.max(1)))
}

/// Reads stored parameters. Only a damaged database has others than JSON.
pub(crate) fn read_params(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// Waits for a database operation, at most for [`STORE_TIME_MAX`].
pub(crate) async fn within_time<T>(
    work: impl Future<Output = Result<T, aether_services::ServiceError>>,
) -> Result<T, Rejection> {
    match timeout(STORE_TIME_MAX, work).await {
        Ok(done) => done.map_err(to_room_error),
        Err(_) => Err(database_timeout()),
    }
}

/// Converts an error of the services.
pub(crate) fn to_room_error(error: aether_services::ServiceError) -> Rejection {
    match error.code {
        GrpcCode::InvalidArgument => Rejection::new(ErrorCode::BadValue, error.message),
        GrpcCode::NotFound => Rejection::new(ErrorCode::RoomNotFound, "the room was not found; it may have ended"),
        _ if error == LEASE_HELD => unavailable(error.message),
        _ if error == ROOMS_STORED_MAX_REACHED => Rejection::new(ErrorCode::LimitReached, error.message),
        GrpcCode::Unavailable | GrpcCode::DeadlineExceeded | GrpcCode::Aborted | GrpcCode::ResourceExhausted => {
            database_timeout()
        }
        _ => Rejection::new(ErrorCode::Internal, "the room could not be opened; try again in a moment"),
    }
}

fn database_timeout() -> Rejection {
    unavailable("the database does not answer; try again in a moment")
}

fn being_unloaded() -> Rejection {
    unavailable("the room is being unloaded; try again in a moment")
}

fn unavailable(sentence: impl Into<String>) -> Rejection {
    Rejection::new(ErrorCode::Unavailable, sentence)
}
