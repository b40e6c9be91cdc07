//! Implementation of the operator's access to rooms.

use crate::durable::read_params;
use crate::entry::{RoomEntry, RoomRef};
use crate::host::{RoomHost, RoomRequester, WantedRoom, not_found};
use crate::matches::to_service_error;
use crate::recordings::{RECORDINGS_LISTED_MAX, RoomRecording};
use aether_engine::{EntityPage, EntityQuery, JoinRequest, RestoreData, RoomHandle, StartedRecording};
use aether_net::fields_to_json;
use aether_services::admin::RoomOperator;
use aether_services::admin::room::{
    ListRoomEntitiesRequest, ListRoomsRequest, RecordingList, RoomDetail, RoomEntityList, RoomList, ShownCheckpoint,
    ShownDrain, ShownEntity, ShownRecording, ShownRoom,
};
use aether_services::matches::{MatchesFuture, NewMatch};
use aether_services::room::{CheckpointInfo, StoredRoom};
use aether_services::{GrpcCode, ServiceError};
use aether_wire::{PlayerId, RoomId, RoomSelector, Tick};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use tokio::task::spawn_blocking;

/// Longest wait for a room to answer: a few slow ticks.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);
/// Longest wait for the file of a stopped recording.
const FILE_TIME_MAX: Duration = Duration::from_secs(5);
/// Entities in one list, unless the request says otherwise, and at most.
const ENTITIES_DEFAULT: i32 = 100;
const ENTITIES_MAX: i32 = 1_000;
/// Rooms in one list, unless the request says otherwise, and at most.
const ROOMS_DEFAULT: i32 = 20;
const ROOMS_MAX: i32 = 100;

impl RoomOperator for RoomHost {
    fn list_rooms<'a>(&'a self, request: &'a ListRoomsRequest) -> MatchesFuture<'a, RoomList> {
        Box::pin(self.list_all(request))
    }

    fn room<'a>(&'a self, id: &'a str) -> MatchesFuture<'a, RoomDetail> {
        Box::pin(async move {
            let room = self.shown(id).await?;
            let checkpoints = match room.durable {
                true => self.requests.services().rooms.checkpoints(id).await?,
                false => Vec::new(),
            };
            Ok(RoomDetail { room: Some(room), checkpoints: checkpoints.into_iter().map(shown_checkpoint).collect() })
        })
    }

    fn create_room<'a>(&'a self, new: &'a NewMatch, record: bool) -> MatchesFuture<'a, ShownRoom> {
        Box::pin(async move {
            if record && !self.recordings.has_capacity() {
                return Err(self.too_many_recordings());
            }
            let wanted = WantedRoom {
                label: new.label.clone(),
                is_private: new.private,
                is_recorded: record,
                tick_hz: new.tick_hz,
                ..WantedRoom::default()
            };
            let created = self.create(&new.match_type, wanted, RoomRequester::server()).await;
            let room = created.map_err(to_service_error)?;
            self.shown(&room.id.0).await
        })
    }

    fn entities<'a>(&'a self, request: &'a ListRoomEntitiesRequest) -> MatchesFuture<'a, RoomEntityList> {
        Box::pin(async move {
            let limit = limit(request.limit, ENTITIES_DEFAULT, ENTITIES_MAX)?;
            let query = EntityQuery { from_slot: cursor(&request.cursor)?, limit: limit as usize };
            let running = self.find_by_id(&request.room);
            match (request.checkpoint, running) {
                (None, Some(room)) => self.running_entities(&room, query).await,
                (number, _) => self.stored_entities(&request.room, number.unwrap_or(0), query).await,
            }
        })
    }

    fn wake<'a>(&'a self, id: &'a str) -> MatchesFuture<'a, ShownRoom> {
        Box::pin(async move {
            let selector = RoomSelector::Id(RoomId(id.to_owned()));
            let room = self.find(&selector, RoomRequester::server()).await.map_err(to_service_error)?;
            self.shown(&room.id.0).await
        })
    }

    fn start_recording<'a>(&'a self, id: &'a str) -> MatchesFuture<'a, ShownRecording> {
        Box::pin(self.record(id))
    }

    fn stop_recording<'a>(&'a self, id: &'a str) -> MatchesFuture<'a, ShownRecording> {
        Box::pin(async move {
            let room = self.running(id)?;
            let recording = self.recordings.of_room(&room.id).ok_or_else(|| {
                let message = format!("Room {id} is not being recorded; start a recording first.");
                ServiceError::with(GrpcCode::FailedPrecondition, message)
            })?;
            let handle = game_handle(&room)?;
            ask(handle, |handle, reply| handle.stop_recording(reply).is_ok()).await?;
            let written = Arc::clone(&recording);
            let wait = async move {
                while !written.is_written() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            // A slow disk finishes the file later.
            let _ = tokio::time::timeout(FILE_TIME_MAX, wait).await;
            Ok(shown_recording(&recording))
        })
    }

    fn recordings(&self) -> MatchesFuture<'_, RecordingList> {
        Box::pin(async move {
            let recordings = Arc::clone(&self.recordings);
            let files = spawn_blocking(move || recordings.files()).await.unwrap_or_default();
            let known = self.recordings.all();
            let mut list: Vec<ShownRecording> = known.iter().map(|recording| shown_recording(recording)).collect();
            for (name, bytes) in files {
                if !known.iter().any(|recording| recording.name == name) {
                    let (bytes, state) = (saturated(bytes), "file".to_owned());
                    list.push(ShownRecording { name, bytes, state, ..ShownRecording::default() });
                }
            }
            list.truncate(RECORDINGS_LISTED_MAX);
            Ok(RecordingList { recordings: list, folder: self.recordings.settings.folder.display().to_string() })
        })
    }

    fn set_draining(&self, draining: bool) -> ShownDrain {
        self.drain.set(draining);
        RoomOperator::drain(self)
    }

    fn drain(&self) -> ShownDrain {
        let seconds = self.drain.seconds();
        ShownDrain {
            draining: seconds.is_some(),
            seconds: seconds.map_or(0, saturated),
            rooms: saturated(self.len() as u64),
            players: self.players(),
        }
    }
}

impl RoomHost {
    async fn list_all(&self, request: &ListRoomsRequest) -> Result<RoomList, ServiceError> {
        let limit = limit(request.limit, ROOMS_DEFAULT, ROOMS_MAX)? as usize;
        let (shows_running, shows_stored) = match request.state.as_str() {
            "" => (true, true),
            "running" => (true, false),
            "stored" => (false, true),
            _ => return Err(ServiceError::invalid("`state` must be `running` or `stored`.")),
        };
        let skipped = cursor(&request.cursor)? as usize;
        let running = if shows_running { self.directory.all() } else { Vec::new() };
        let page: Vec<_> = running.iter().skip(skipped).take(limit).collect();
        let stored = &self.requests.services().rooms;
        let durable = page.iter().filter(|room| room.write_queue.is_some()).map(|room| room.id.0.clone()).collect();
        let details: HashMap<String, StoredRoom> =
            stored.stored(durable).await?.into_iter().map(|room| (room.summary.id.clone(), room)).collect();
        let mut rooms: Vec<ShownRoom> =
            page.iter().map(|room| self.shown_running(room, details.get(&room.id.0))).collect();
        let mut next = skipped + rooms.len();
        if rooms.len() < limit && shows_stored {
            let read = limit - rooms.len();
            let found = stored.list_stored(saturated((next - running.len().min(next)) as u64), read as u32).await?;
            next += found.len();
            let is_end = found.len() < read;
            // Running rooms are listed as such.
            let is_other = |room: &StoredRoom| !shows_running || self.find_by_id(&room.summary.id).is_none();
            rooms.extend(found.into_iter().filter(is_other).map(|room| match self.find_by_id(&room.summary.id) {
                Some(running) => self.shown_running(&running, Some(&room)),
                None => self.shown_stored(room),
            }));
            return Ok(RoomList { rooms, cursor: if is_end { String::new() } else { next.to_string() } });
        }
        let is_end = !shows_stored && next >= running.len();
        Ok(RoomList { rooms, cursor: if is_end { String::new() } else { next.to_string() } })
    }

    /// Returns a room, running or stored.
    async fn shown(&self, id: &str) -> Result<ShownRoom, ServiceError> {
        let stored = match self.has_durable() {
            true => self.requests.services().rooms.stored(vec![id.to_owned()]).await?.pop(),
            false => None,
        };
        match (self.find_by_id(id), stored) {
            (Some(room), stored) => Ok(self.shown_running(&room, stored.as_ref())),
            (None, Some(stored)) => Ok(self.shown_stored(stored)),
            (None, None) => Err(to_service_error(not_found(id))),
        }
    }

    fn shown_running(&self, room: &RoomEntry, stored: Option<&StoredRoom>) -> ShownRoom {
        let stats = room.room.stats().unwrap_or_default();
        let (created_at, updated_at) =
            stored.map_or((None, None), |room| (Some(room.summary.created_at), Some(room.summary.updated_at)));
        ShownRoom {
            id: room.id.0.clone(),
            code: room.code.clone(),
            room_type: room.room_type.name().to_owned(),
            label: room.room.label().to_string(),
            state: if room.is_open() { "running" } else { "unloading" }.to_owned(),
            node: self.settings.node_name.clone(),
            epoch: stored.map_or(0, |room| number(room.epoch)),
            private: room.is_private,
            durable: room.write_queue.is_some(),
            recorded: self.recordings.of_room(&room.id).is_some(),
            players: room.room.players(),
            players_max: saturated(room.room_type.players_max() as u64),
            entities: stats.entities,
            tick: stats.tick.0,
            tick_hz: room.room_type.tick_hz(),
            bytes: stored.map_or(0, |room| number(room.bytes)),
            create_time: time(created_at),
            write_time: time(updated_at),
        }
    }

    fn shown_stored(&self, room: StoredRoom) -> ShownRoom {
        let StoredRoom { summary, node, epoch, is_leased, is_private, tick, entities, bytes } = room;
        let room_type = self.types.find(&summary.room_type);
        let is_here = node == self.node_id();
        let state = match (is_leased, is_here, self.directory.is_written(&RoomId(summary.id.clone()))) {
            (_, _, true) => "unloading",
            (true, true, false) => "opening",
            (true, false, false) => "elsewhere",
            (false, _, false) => "stored",
        };
        ShownRoom {
            id: summary.id,
            code: summary.code,
            label: summary.label,
            state: state.to_owned(),
            node: if is_here { self.settings.node_name.clone() } else { node },
            epoch: number(epoch),
            private: is_private,
            durable: true,
            recorded: false,
            players: number(summary.players),
            players_max: room_type.as_ref().map_or(0, |room_type| saturated(room_type.players_max() as u64)),
            entities: number(entities),
            tick: number(tick),
            tick_hz: room_type.map_or(0, |room_type| room_type.tick_hz()),
            bytes: number(bytes),
            create_time: time(Some(summary.created_at)),
            write_time: time(Some(summary.updated_at)),
            room_type: summary.room_type,
        }
    }

    async fn running_entities(&self, room: &RoomRef, query: EntityQuery) -> Result<RoomEntityList, ServiceError> {
        let handle = game_handle(room)?;
        let page = ask(handle.clone(), move |handle, reply| handle.inspect(query, reply).is_ok()).await?;
        shown_entities("running", &page, handle.schema())
    }

    /// Rebuilds a stored room in memory, without its lease, to show its entities.
    async fn stored_entities(
        &self,
        id: &str,
        checkpoint: i32,
        query: EntityQuery,
    ) -> Result<RoomEntityList, ServiceError> {
        let stored = self.requests.services().rooms.stored_state(id, checkpoint.into()).await?.ok_or_else(|| {
            let message = format!("Room {id} has no stored checkpoint {checkpoint}; get the room for a list of them.");
            ServiceError::with(GrpcCode::NotFound, message)
        })?;
        let room_type = self.room_type(&stored.room_type).map_err(to_service_error)?;
        let players = stored.members.into_iter().map(|member| {
            let (user, name) = (member.user.to_string(), member.name);
            (PlayerId(member.player), JoinRequest { user, name, ..JoinRequest::default() })
        });
        let restore = RestoreData {
            tick: Tick(number(stored.tick)),
            state: Some(stored.state),
            players: players.collect(),
            ..RestoreData::default()
        };
        let _permit = room_type.builds.acquire().await.map_err(|_| INSPECTION_FAILED)?;
        let (building, params) = (Arc::clone(&room_type), read_params(&stored.params));
        let inspected =
            spawn_blocking(move || building.inspect(&params, restore, query)).await.map_err(|_| INSPECTION_FAILED)?;
        let inspected = inspected.ok_or_else(|| refused("the room is a relay, which has no state"))?;
        let (page, schema) = inspected.map_err(|error| {
            ServiceError::with(GrpcCode::FailedPrecondition, format!("The checkpoint cannot be shown: {error}."))
        })?;
        shown_entities("checkpoint", &page, &schema)
    }

    async fn record(&self, id: &str) -> Result<ShownRecording, ServiceError> {
        let room = self.running(id)?;
        let handle = game_handle(&room)?;
        let tick = handle.stats().tick.0;
        if self.recordings.of_room(&room.id).is_some() {
            return Err(refused("the room is already being recorded; stop that recording first"));
        }
        if !self.recordings.has_capacity() {
            return Err(self.too_many_recordings());
        }
        let begun = self.recordings.begin(room.room_type.name(), &room.id, tick.max(1)).map_err(|error| {
            let folder = self.recordings.settings.folder.display();
            ServiceError::with(GrpcCode::Unavailable, format!("The recording cannot be written to {folder}: {error}."))
        })?;
        let (channel, name) = (Arc::clone(&begun.channel), room.room_type.name().to_owned());
        let started = ask(handle.clone(), move |handle, reply| handle.start_recording(name, channel, reply).is_ok());
        let outcome = match started.await {
            Ok(Ok(started)) => match self.check_capture(&room, started).await {
                true => return Ok(shown_recording(&begun)),
                false => {
                    let _ = ask(handle, |handle, reply| handle.stop_recording(reply).is_ok()).await;
                    refused(
                        "the recording cannot begin in the middle, because `Game::capture` of this game leaves out a \
                         part of its state: create the room with a recording, or run the server by `aether record`",
                    )
                }
            },
            Ok(Err(refusal)) => refused(&refusal.to_string()),
            Err(error) => error,
        };
        self.recordings.discard(&begun);
        Err(outcome)
    }

    /// Returns true if a replay of the captured state has the hash of the room.
    async fn check_capture(&self, room: &RoomRef, started: StartedRecording) -> bool {
        let room_type = Arc::clone(&room.room_type);
        let check = move || room_type.begins_with(&started.header, started.hash);
        spawn_blocking(check).await.unwrap_or(false)
    }

    fn too_many_recordings(&self) -> ServiceError {
        let most = self.recordings.settings.running_max;
        let message = format!("{most} recordings are running; stop one, or raise rooms.recordings_max.");
        ServiceError::with(GrpcCode::ResourceExhausted, message)
    }

    fn find_by_id(&self, id: &str) -> Option<RoomRef> {
        self.directory.local(&RoomSelector::Id(RoomId(id.to_owned())))
    }

    fn running(&self, id: &str) -> Result<RoomRef, ServiceError> {
        self.find_by_id(id).ok_or_else(|| {
            let message = format!("Room {id} does not run here; wake it if it is stored.");
            ServiceError::with(GrpcCode::NotFound, message)
        })
    }
}

const INSPECTION_FAILED: ServiceError =
    ServiceError::new(GrpcCode::Internal, "The checkpoint could not be read; the server log has the reason.");

/// Sends a request to a room and waits for its answer.
async fn ask<T: Send + 'static>(
    handle: RoomHandle,
    post: impl FnOnce(&RoomHandle, SyncSender<T>) -> bool,
) -> Result<T, ServiceError> {
    const BUSY: ServiceError =
        ServiceError::new(GrpcCode::Unavailable, "The room is overloaded; try again in a moment.");
    let (sender, reply) = sync_channel(1);
    if !post(&handle, sender) {
        return Err(BUSY);
    }
    match spawn_blocking(move || reply.recv_timeout(ANSWER_TIME_MAX)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(RecvTimeoutError::Disconnected)) => Err(ServiceError::new(GrpcCode::NotFound, "The room has ended.")),
        Ok(Err(RecvTimeoutError::Timeout)) | Err(_) => Err(BUSY),
    }
}

fn game_handle(room: &RoomEntry) -> Result<RoomHandle, ServiceError> {
    room.room.signal_handle().cloned().ok_or_else(|| refused("the room is a relay, which has no state"))
}

fn refused(sentence: &str) -> ServiceError {
    ServiceError::with(GrpcCode::FailedPrecondition, sentence.to_owned())
}

fn shown_entities(
    source: &str,
    page: &EntityPage,
    schema: &aether_engine::bits::Schema,
) -> Result<RoomEntityList, ServiceError> {
    let mut entities = Vec::new();
    let read = page.each(schema, |entity, components| {
        let mut by_name = Map::new();
        for (number, value) in components {
            let component = &schema.components[number];
            by_name.insert(component.name.clone(), fields_to_json(&component.kind, &value));
        }
        entities.push(ShownEntity {
            id: format!("{}.{}", entity.id.slot, entity.id.generation),
            owner: entity.owner.map_or(0, |owner| owner.0),
            components: Value::Object(by_name).to_string(),
        });
    });
    read.map_err(|_| INSPECTION_FAILED)?;
    Ok(RoomEntityList {
        source: source.to_owned(),
        tick: page.tick.0,
        total: saturated(page.total as u64),
        entities,
        cursor: page.next_slot.map_or_else(String::new, |slot| slot.to_string()),
    })
}

fn shown_checkpoint(info: CheckpointInfo) -> ShownCheckpoint {
    ShownCheckpoint {
        number: number(info.number),
        tick: number(info.tick),
        players: number(info.players),
        entities: number(info.entities),
        bytes: number(info.bytes),
        time: time(Some(info.taken_at)),
    }
}

fn shown_recording(recording: &RoomRecording) -> ShownRecording {
    let (first, last) = recording.channel.ticks();
    ShownRecording {
        name: recording.name.clone(),
        room: recording.room.0.clone(),
        state: recording.end().map_or("running", |end| end.name()).to_owned(),
        first_tick: first.0,
        last_tick: last.0,
        bytes: saturated(recording.channel.bytes()),
        error: recording.error(),
    }
}

fn limit(wanted: Option<i32>, default: i32, most: i32) -> Result<u32, ServiceError> {
    match wanted.unwrap_or(default) {
        limit if (1..=most).contains(&limit) => Ok(limit as u32),
        _ => Err(ServiceError::invalid(format!("`limit` must be from 1 to {most}."))),
    }
}

fn cursor(text: &str) -> Result<u32, ServiceError> {
    match text {
        "" => Ok(0),
        text => text.parse().map_err(|_| ServiceError::invalid("The cursor is not one of an earlier list.")),
    }
}

fn time(at: Option<i64>) -> String {
    at.map_or_else(String::new, aether_services::rfc3339)
}

/// Database integers are signed. These numbers are small.
fn number(value: i64) -> u32 {
    u32::try_from(value.max(0)).unwrap_or(u32::MAX)
}

fn saturated(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
