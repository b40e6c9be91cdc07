//! Rooms that outlast the server: found in the store, rebuilt, and stored while they run.

use super::keeper::{Keeper, Writer};
use super::kind::{NewRoom, RoomKind, Started};
use super::{Found, HeldRoom, Rooms, new_code, not_found, random_seed, steward};
use aether_engine::{EntryNumber, Joiner, Refusal, Restore};
use aether_limits::Share;
use aether_services::Code;
use aether_services::room::{self, HELD, Opened, Which};
use aether_wire::{ErrorCode, PlayerId, RoomId, RoomSelector};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;
use tracing::{error, info};
use uuid::Uuid;

/// How long someone waits for a room that is just being put away; then it is rebuilt.
const PUT_AWAY_MAX: Duration = Duration::from_secs(8);
const PUT_AWAY_PAUSE: Duration = Duration::from_millis(20);
/// Codes that are tried for a new room. A few thousand of a billion are in use.
const CODES_TRIED: u32 = 5;

/// How durable rooms are stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeepSettings {
    /// How often a room hands its state out.
    pub every: Duration,
    /// How often a state is kept to look back.
    pub snapshot_every: Duration,
    /// How many of those; 0 for none.
    pub snapshots: u32,
    /// How long a server may be away so that players still have their places.
    pub away_max: Duration,
}

impl Rooms {
    /// The room that is meant, if it may be stored although it does not run: rebuilt, or made if any of its type will do.
    pub(super) async fn find_stored(&self, selector: &RoomSelector, address: IpAddr) -> Result<Found, Refusal> {
        // One after the other, so that nobody rebuilds a room that another is rebuilding.
        let _turn = self.opening.lock().await;
        let end = Instant::now() + PUT_AWAY_MAX;
        loop {
            if let Some(found) = self.find_running(selector, address)? {
                return Ok(found);
            }
            if self.is_put_away(selector) {
                if Instant::now() >= end {
                    return Err(unavailable("the room is being put away; try again in a moment"));
                }
                sleep(PUT_AWAY_PAUSE).await;
                continue;
            }
            let which = match selector {
                RoomSelector::Id(id) => Which::Id(id.0.clone()),
                RoomSelector::Code(code) => Which::Code(code.to_ascii_uppercase()),
                RoomSelector::Type { name, label } => {
                    let label = label.as_deref().unwrap_or_default();
                    match self.candidate(name, label).await? {
                        Some(id) => Which::Id(id),
                        None => return self.make_durable(name, label, address).await,
                    }
                }
            };
            return self.rebuild(which, address).await;
        }
    }

    /// A stored room of a type that does not run and has a place.
    async fn candidate(&self, room_type: &str, label: &str) -> Result<Option<String>, Refusal> {
        let players_max = self.kinds.get(room_type).map_or(0, RoomKind::players_max);
        let candidates = self.stored().candidates(&self.node, room_type, label, players_max).await.map_err(told)?;
        let open = self.open();
        Ok(candidates.into_iter().find(|id| {
            let id = RoomId(id.clone());
            !open.by_id.contains_key(&id) && !open.held.contains_key(&id)
        }))
    }

    async fn make_durable(&self, name: &str, label: &str, address: IpAddr) -> Result<Found, Refusal> {
        let made = self.may_make(name, address)?;
        let kind = self.kinds.get(name).ok_or_else(not_found)?;
        let id = format!("{}.local", Uuid::now_v7());
        let mut attempts = 0;
        let (hold, code) = loop {
            attempts += 1;
            let code = new_code();
            let room = room::NewRoom {
                id: id.clone(),
                code: code.clone(),
                room_type: name.to_owned(),
                wanted_label: label.to_owned(),
            };
            match self.stored().create(&self.node, room).await {
                Ok(hold) => break (hold, code),
                Err(refusal) if refusal.code == Code::AlreadyExists && attempts < CODES_TRIED => {}
                Err(refusal) => return Err(told(refusal)),
            }
        };
        let new = NewRoom { label: label.to_owned(), ..self.new_room(kind, &id) };
        match self.start(kind, new) {
            Ok(started) => Ok(self.run_durable(kind, (id, code, label.to_owned()), started, (hold, made))),
            Err(refusal) => {
                // Nobody has seen it, so nobody misses it.
                let _ = self.stored().remove(&hold).await;
                Err(refusal)
            }
        }
    }

    async fn rebuild(&self, which: Which, address: IpAddr) -> Result<Found, Refusal> {
        // Those who come back to a room have not made it.
        let made = self.may_run(address, u32::MAX)?;
        let opened = self.stored().open(&self.node, which, self.away_ms_max()).await.map_err(told)?;
        let opened = opened.ok_or_else(not_found)?;
        let hold = opened.hold.clone();
        match self.start_again(opened, made) {
            Ok(found) => Ok(found),
            Err(refusal) => {
                let _ = self.stored().release(&hold).await;
                Err(refusal)
            }
        }
    }

    fn start_again(&self, opened: Opened, made: Share<IpAddr>) -> Result<Found, Refusal> {
        let Opened { hold, room, state, applied, last_player, holders, journal } = opened;
        let kind = self.kinds.get(&room.room_type).filter(|kind| kind.is_durable()).ok_or_else(|| {
            error!(room = room.id, room_type = room.room_type, "a stored room is of a type that is not durable here");
            not_found()
        })?;
        let joiner = |holder: room::Holder| {
            let permissions = holder.role.permissions();
            let joiner = Joiner { user: holder.user.to_string(), name: holder.name, permissions, metadata: Vec::new() };
            (PlayerId(holder.player), joiner)
        };
        let players: Vec<_> = holders.into_iter().map(joiner).collect();
        info!(room = room.id, players = players.len(), entries = journal.len(), "room rebuilt");
        let restore = Restore {
            state,
            applied: EntryNumber(applied),
            last_player: PlayerId(last_player),
            players,
            journal: journal.into_iter().map(|(number, entry)| (EntryNumber(number), entry)).collect(),
        };
        let new = NewRoom { label: room.wanted_label.clone(), restore: Some(restore), ..self.new_room(kind, &room.id) };
        let started = self.start(kind, new)?;
        Ok(self.run_durable(kind, (room.id, room.code, room.wanted_label), started, (hold, made)))
    }

    /// Puts a durable room on the list, with those who look after it.
    fn run_durable(
        &self,
        kind: &RoomKind,
        (id, code, label): (String, String, String),
        started: Started,
        (hold, made): (room::Hold, Share<IpAddr>),
    ) -> Found {
        let keeper = Arc::new(Keeper::default());
        let id = RoomId(id);
        let mut open = self.open();
        if let Started::Game(_, handle) = &started {
            let writer = Writer {
                keeper: Arc::clone(&keeper),
                services: Arc::clone(self.bridge.services()),
                hold,
                handle: handle.clone(),
                settings: self.settings.keep,
                metrics: kind.keep_metrics().clone(),
            };
            open.held.insert(id.clone(), HeldRoom { code: code.clone(), wish: (kind.name.clone(), label.clone()) });
            let steward = steward::look_after(
                (id.clone(), handle.clone()),
                Arc::clone(&self.bridge),
                Some((Arc::clone(&keeper), writer)),
            );
            let held = self.held_until(id.clone());
            self.look_after(async move {
                steward.await;
                drop(held);
            });
        }
        let entry = self.entry(kind, (id, code, label), started, made);
        let entry = Arc::new(super::RoomEntry { keeper: Some(keeper), ..entry });
        open.insert(&entry);
        Found::new(entry)
    }

    /// Whether the room that is meant runs no more but is still being stored.
    fn is_put_away(&self, selector: &RoomSelector) -> bool {
        let open = self.open();
        match selector {
            RoomSelector::Id(id) => open.held.contains_key(id),
            RoomSelector::Code(code) => open.held.values().any(|held| held.code.eq_ignore_ascii_case(code)),
            // Those of the type that run are full; one that ends may be the one that everybody knows.
            RoomSelector::Type { name, label } => {
                let wish = (name.clone(), label.clone().unwrap_or_default());
                let runs = |id: &RoomId| open.by_id.get(id).is_some_and(|room| room.is_open());
                open.held.iter().any(|(id, held)| held.wish == wish && !runs(id))
            }
        }
    }

    /// How long the server of a room may have been away so that its players still have their places. Those who do not come
    /// back in time after this server started have lost them.
    fn away_ms_max(&self) -> i64 {
        let graces = self.kinds.values().filter(|kind| kind.is_durable()).map(RoomKind::resume_seconds);
        let grace = Duration::from_secs_f32(graces.fold(0.0, f32::max));
        match self.started.elapsed() <= grace {
            true => i64::try_from(self.settings.keep.away_max.as_millis()).unwrap_or(i64::MAX),
            false => -1,
        }
    }

    fn stored(&self) -> &room::Rooms {
        &self.bridge.services().rooms
    }

    /// What every new room of a kind begins with.
    fn new_room(&self, kind: &RoomKind, id: &str) -> NewRoom {
        NewRoom {
            seed: random_seed(),
            label: String::new(),
            recording_sink: self.sink(&kind.name, id.trim_end_matches(".local")),
            keep_every: Some(self.settings.keep.every),
            restore: None,
        }
    }
}

/// What services refuse, as those hear it who want to come in.
pub(crate) fn told(refusal: aether_services::Refusal) -> Refusal {
    match refusal.code {
        Code::NotFound => not_found(),
        _ if refusal == HELD => unavailable(refusal.message),
        Code::Unavailable | Code::DeadlineExceeded | Code::Aborted | Code::ResourceExhausted => {
            unavailable("the database does not answer, and the room is there; try again in a moment")
        }
        _ => Refusal::new(ErrorCode::Internal, "the room could not be opened"),
    }
}

fn unavailable(sentence: impl Into<String>) -> Refusal {
    Refusal::new(ErrorCode::Unavailable, sentence)
}
