//! [`Context`]: the game's access to its room.

use crate::authority::{Mover, Violation};
use crate::durable::{ENTRIES_MAX, ENTRY_BYTES_MAX, EntryNumber, PendingEntry};
use crate::game::Rejection;
use crate::players::RoomPlayers;
use crate::request::{REQUESTS_MAX, Request};
use crate::room::TickOutput;
use crate::schema::EventRegistry;
use crate::settings::{RoomSettings, SettingsError};
use aether_bits::runtime::{EventHandle, Record, ValueError};
use aether_bits::{BitWriter, Component, Random};
use aether_wire::{
    CloseReason, Correction, EntityId, ErrorCode, Event, GameBody, JoinMetadata, PlayerId, Possession, RequestId,
    ServerMessage, Tick, Vector2,
};
use aether_world::{SpatialQuery, World};
use std::sync::Arc;

/// The room as a game sees it.
///
/// ```
/// # use aether_bits::Replicate;
/// # use aether_engine::{Context, Request};
/// # use aether_wire::PlayerId;
/// # #[derive(Clone, Replicate)]
/// # struct Coin { value: u16 }
/// # #[derive(Clone, Replicate)]
/// # struct Scored { points: u32 }
/// fn score(room: &mut Context<'_>, player: PlayerId) {
///     let _ = room.world.spawn(Coin { value: room.random.below(10) as u16 });
///     room.send(player, &Scored { points: 1 });
///     if let Some(user) = room.user(player).map(str::to_owned) {
///         room.request(Request::SubmitScore { board: "coins".to_owned(), user, score: 1 });
///     }
/// }
/// ```
pub struct Context<'a> {
    /// Entities and their components.
    pub world: &'a mut World,
    /// Random numbers of the room. Use only these: replays depend on it.
    pub random: &'a mut Random,
    pub(crate) players: &'a mut RoomPlayers,
    pub(crate) output: &'a mut TickOutput,
    pub(crate) events: &'a EventRegistry,
    pub(crate) settings: &'a RoomSettings,
    pub(crate) started_ms: u64,
}

/// Point from which a player sees the world. It decides which entities are in the player's interest radius.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Viewpoint {
    /// The entity that the player possesses.
    #[default]
    Possession,
    /// A fixed position.
    At([f32; 2]),
    /// Everywhere: the player sees all entities. For spectators and replays.
    Everything,
}

impl Context<'_> {
    /// Returns the current tick.
    #[must_use]
    pub fn tick(&self) -> Tick {
        self.world.tick()
    }

    /// Returns the wall clock of tick 0, in milliseconds since 1970. A rebuilt room has another one, so that
    /// [`Context::now_ms`] continues with the current time.
    #[must_use]
    pub fn started_ms(&self) -> u64 {
        self.started_ms
    }

    /// Returns the time of this tick, in milliseconds since 1970: the start of the room and the length of its ticks. It is
    /// the same in a replay. It falls behind the wall clock if the room drops ticks.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        let ticks_ms = u64::from(self.tick().0) * 1_000 / u64::from(self.settings.tick_hz);
        self.started_ms.saturating_add(ticks_ms)
    }

    /// Sets the tick rate of the room, from 1 to 128. Only [`crate::Game::init`] and [`crate::Game::restore`] may: the
    /// rate takes effect when they return. Times in ticks of the settings keep their length; past positions keep their
    /// number of ticks.
    pub fn set_tick_hz(&mut self, tick_hz: u32) -> Result<(), SettingsError> {
        if !self.output.is_starting {
            return Err(SettingsError("the tick rate of a room can be set only before its first tick"));
        }
        if !(1..=128).contains(&tick_hz) {
            return Err(SettingsError("tick_hz must be from 1 to 128"));
        }
        self.output.tick_hz = Some(tick_hz);
        Ok(())
    }

    /// Returns the length of a tick, in seconds.
    #[must_use]
    pub fn seconds_per_tick(&self) -> f32 {
        self.settings.seconds_per_tick()
    }

    /// Returns the settings of the room.
    #[must_use]
    pub fn settings(&self) -> &RoomSettings {
        self.settings
    }

    /// Returns all players, in the order in which they joined.
    pub fn players(&self) -> impl Iterator<Item = PlayerId> {
        self.players.iter().map(|room_player| room_player.id)
    }

    /// Returns the display name of a player.
    #[must_use]
    pub fn name(&self, player: PlayerId) -> Option<&str> {
        self.players.get(player).map(|room_player| room_player.join.name.as_str())
    }

    /// Returns the account id of a player.
    #[must_use]
    pub fn user(&self, player: PlayerId) -> Option<&str> {
        self.players.get(player).map(|room_player| room_player.join.user.as_str())
    }

    /// Returns the user name of a player's account.
    #[must_use]
    pub fn username(&self, player: PlayerId) -> Option<&str> {
        self.players.get(player).map(|room_player| room_player.join.username.as_str())
    }

    /// Returns the session id of a player. It changes if the player resumes in another session.
    #[must_use]
    pub fn session(&self, player: PlayerId) -> Option<&str> {
        self.players.get(player).map(|room_player| room_player.join.session.as_str())
    }

    /// Returns the metadata that a player joined with. A resumed player has the same as before.
    #[must_use]
    pub fn join_metadata(&self, player: PlayerId) -> Option<&JoinMetadata> {
        self.players.get(player).map(|room_player| &room_player.join.metadata)
    }

    /// Gives a player control of an entity. The player becomes its owner, is notified reliably, and sees from there.
    pub fn possess(&mut self, player: PlayerId, entity: EntityId) {
        let Some(room_player) = self.players.get_mut(player) else { return };
        room_player.possession = Some(entity);
        room_player.view.focus = Some(entity);
        self.world.set_owner(entity, Some(player));
        self.deliver(player, ServerMessage::Possession(Possession { tick: self.world.tick(), entity }));
    }

    /// Returns the entity that a player possesses.
    #[must_use]
    pub fn possession(&self, player: PlayerId) -> Option<EntityId> {
        self.players.get(player)?.possession
    }

    /// Sets the viewpoint of a player. The default is [`Viewpoint::Possession`].
    pub fn set_viewpoint(&mut self, player: PlayerId, viewpoint: Viewpoint) {
        if let Some(room_player) = self.players.get_mut(player) {
            room_player.viewpoint = viewpoint;
        }
    }

    /// Sets the team of a player, for [`aether_world::Visibility::Team`].
    pub fn set_team(&mut self, player: PlayerId, team: Option<u8>) {
        if let Some(room_player) = self.players.get_mut(player) {
            room_player.team = team;
        }
    }

    /// Sends an event to one player. See [`Context::send_to`].
    pub fn send<E: Component>(&mut self, player: PlayerId, event: &E) {
        self.send_to(&[player], event);
    }

    /// Sends an event to several players. It is sent before the state of this tick.
    ///
    /// # Panics
    /// If the event is not declared in [`crate::Game::declare`].
    pub fn send_to<E: Component>(&mut self, players: &[PlayerId], event: &E) {
        let Some(message) = self.encode(event) else { return };
        for &player in players {
            self.deliver_shared(player, &message);
        }
    }

    /// Sends an event to all players of the room.
    pub fn broadcast<E: Component>(&mut self, event: &E) {
        if let Some(message) = self.encode(event) {
            self.deliver_to_all(message);
        }
    }

    /// Sends an event that is declared at run time to several players.
    pub fn send_record(&mut self, players: &[PlayerId], event: EventHandle, record: &Record) -> Result<(), ValueError> {
        let message = self.encode_record(event, record)?;
        for &player in players {
            self.deliver_shared(player, &message);
        }
        Ok(())
    }

    /// Sends an event that is declared at run time to all players.
    pub fn broadcast_record(&mut self, event: EventHandle, record: &Record) -> Result<(), ValueError> {
        let message = self.encode_record(event, record)?;
        self.deliver_to_all(message);
        Ok(())
    }

    /// Sends match data to several players: an op code with bytes that the schema does not describe. Members over the
    /// services socket get it as match data, with the sender if there is one; others get it as an event with this code.
    pub fn send_data(&mut self, players: &[PlayerId], op_code: u16, data: Vec<u8>, sender: Option<PlayerId>) {
        let message = self.event_of(sender, op_code, data);
        for &player in players {
            self.deliver_shared(player, &message);
        }
    }

    /// Sends match data to all players; see [`Context::send_data`].
    pub fn broadcast_data(&mut self, op_code: u16, data: Vec<u8>, sender: Option<PlayerId>) {
        let message = self.event_of(sender, op_code, data);
        self.deliver_to_all(message);
    }

    /// Kicks a player: it leaves at the next tick.
    pub fn kick(&mut self, player: PlayerId) {
        if let Some(room_player) = self.players.get_mut(player) {
            room_player.leaving.get_or_insert(CloseReason::Kicked);
        }
    }

    /// Sends a request to the services and returns its id. The room does not wait: the answer arrives in
    /// [`crate::Game::answer`] at a later tick. If [`REQUESTS_MAX`] requests are pending, that answer is
    /// [`crate::Answer::Failed`].
    pub fn request(&mut self, request: Request) -> RequestId {
        self.output.next_request.0 += 1;
        let id = self.output.next_request;
        let accepted =
            self.output.requests_waiting < REQUESTS_MAX && self.output.shared.requests.push((id, request)).is_ok();
        if accepted {
            self.output.requests_waiting += 1;
            self.output.counts.requests += 1;
            self.output.wake_pending = true;
        } else {
            self.output.requests_refused.push(id);
            self.output.counts.requests_refused += 1;
        }
        id
    }

    /// Stores an entry that must not be lost.
    ///
    /// At a later tick the room calls [`crate::Game::committed`], or [`crate::Game::uncommitted`] if the entry could
    /// not be stored. Until then, only reserve what the entry needs. The answer to the command that is being handled
    /// waits for the entry. In a room that is not durable, the entry counts as stored at the next tick.
    ///
    /// Fails if the entry is longer than [`ENTRY_BYTES_MAX`] or [`ENTRIES_MAX`] entries are pending.
    pub fn commit(&mut self, entry: Vec<u8>) -> Result<(), Rejection> {
        if entry.len() > ENTRY_BYTES_MAX {
            return Err(Rejection::new(ErrorCode::Internal, "the game committed an entry of more than 4096 bytes"));
        }
        let entries = &mut self.output.entries;
        if entries.pending.len() >= ENTRIES_MAX {
            let sentence = "too many entries wait to be stored; try again in a moment";
            return Err(Rejection::new(ErrorCode::Unavailable, sentence));
        }
        let number = EntryNumber(entries.last.0 + 1);
        entries.last = number;
        // The queue holds [`ENTRIES_MAX`] entries, so this push succeeds.
        match self.output.is_durable && self.output.shared.entries.push((number, entry.clone())).is_ok() {
            true => self.output.wake_pending = true,
            false => entries.due.push(number),
        }
        entries.pending.push_back(PendingEntry { number, entry, command: entries.command });
        self.output.counts.entries += 1;
        Ok(())
    }

    /// Returns the position of `target` as `player` saw it when it sent its last input. For lag compensation; it
    /// reaches back at most `rewind_ticks` of the room's settings.
    #[must_use]
    pub fn position_seen_by(&self, player: PlayerId, target: EntityId) -> Option<[f32; 2]> {
        let seen = self.players.get(player)?.view_tick;
        self.world.rewind().position_at(target, seen.tick, f32::from(seen.fraction) / 256.0)
    }

    /// Returns the position of `target` in three dimensions; see [`Context::position_seen_by`].
    #[must_use]
    pub fn position_3d_seen_by(&self, player: PlayerId, target: EntityId) -> Option<[f32; 3]> {
        let seen = self.players.get(player)?.view_tick;
        self.world.rewind().position_3d_at(target, seen.tick, f32::from(seen.fraction) / 256.0)
    }

    /// Returns queries on the positions of all entities as `player` saw them when it sent its last input. Returns
    /// `None` if the room stores no past positions. [`World::query`] has the present ones.
    #[must_use]
    pub fn query_seen_by(&self, player: PlayerId) -> Option<SpatialQuery<'_>> {
        let seen = self.players.get(player)?.view_tick;
        self.world.query_at(seen.tick, f32::from(seen.fraction) / 256.0)
    }

    /// Sends a player the true position and velocity of its entity, with the last input that they include.
    pub fn correct(&mut self, player: PlayerId, entity: EntityId, position: [f32; 2], velocity: [f32; 2]) {
        let Some(room_player) = self.players.get(player) else { return };
        let vector = |[x, y]: [f32; 2]| Vector2 { x, y };
        let correction = Correction {
            entity,
            position: vector(position),
            velocity: vector(velocity),
            ack_seq: room_player.input_ack,
        };
        self.output.counts.corrections += 1;
        self.deliver(player, ServerMessage::Correction(correction));
    }

    /// Counts a movement violation and sends the player a correction.
    pub fn correct_movement(&mut self, player: PlayerId, entity: EntityId, mover: &Mover, violation: Violation) {
        let counts = &mut self.output.counts;
        let count = match violation {
            Violation::NotFinite => &mut counts.movement_not_finite,
            Violation::Sequence => &mut counts.movement_sequence,
            Violation::Rate => &mut counts.movement_rate,
            Violation::Teleport => &mut counts.movement_teleport,
            Violation::Speed => &mut counts.movement_speed,
            Violation::Acceleration => &mut counts.movement_acceleration,
            Violation::Bounds => &mut counts.movement_bounds,
        };
        *count += 1;
        self.correct(player, entity, mover.position, mover.velocity);
    }

    /// Returns the label of the room, by which it is listed and found.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.output.label
    }

    /// Sets the label of the room. Control characters are left out: a database cannot store all of them.
    pub fn set_label(&mut self, label: impl Into<String>) {
        self.output.label = label.into();
        self.output.label.retain(|character| !character.is_control());
        self.output.label_changed = true;
    }

    /// Ends the room for good after this tick.
    pub fn end(&mut self) {
        self.output.is_ending = true;
    }

    /// Ends the room after this tick because its game failed, with a text for the log. Players are closed as after a panic,
    /// and [`crate::Game::terminate`] is not called. The game may still be called in this tick. Before the first tick, the
    /// text is the error of whoever creates the room.
    pub fn fail(&mut self, text: impl Into<String>) {
        self.output.failure.get_or_insert_with(|| text.into());
    }

    pub(crate) fn deliver(&mut self, player: PlayerId, message: ServerMessage) {
        self.deliver_shared(player, &Arc::new(message));
    }

    pub(crate) fn deliver_to_all(&mut self, message: Arc<ServerMessage>) {
        for room_player in self.players.iter_mut() {
            self.output.counts.events += 1;
            self.output.counts.too_slow += u64::from(!room_player.send(&message));
        }
    }

    fn deliver_shared(&mut self, player: PlayerId, message: &Arc<ServerMessage>) {
        if let Some(room_player) = self.players.get_mut(player) {
            self.output.counts.events += 1;
            self.output.counts.too_slow += u64::from(!room_player.send(message));
        }
    }

    /// Encodes an event.
    fn encode<E: Component>(&mut self, event: &E) -> Option<Arc<ServerMessage>> {
        let code = self.events.code::<E>();
        assert!(code.is_some(), "the event {0} is not declared: add .event::<{0}>() to Game::declare", E::NAME);
        let mut snapped = event.clone();
        snapped.snap();
        let mut writer = BitWriter::new();
        snapped.write_full(&mut writer);
        Some(self.event(code?, writer.to_bytes()))
    }

    /// Encodes an event that is declared at run time.
    fn encode_record(&mut self, event: EventHandle, record: &Record) -> Result<Arc<ServerMessage>, ValueError> {
        let unknown = || ValueError::OtherRecord { record: format!("event {}", event.code()) };
        let record_type = self.events.record_type(event).ok_or_else(unknown)?;
        record_type.check(record)?;
        let mut snapped = record.clone();
        record_type.snap(&mut snapped);
        let mut writer = BitWriter::new();
        record_type.write_full(&snapped, &mut writer);
        Ok(self.event(event.code(), writer.to_bytes()))
    }

    fn event(&self, code: u16, payload: Vec<u8>) -> Arc<ServerMessage> {
        self.event_of(None, code, payload)
    }

    fn event_of(&self, sender: Option<PlayerId>, code: u16, payload: Vec<u8>) -> Arc<ServerMessage> {
        let body = GameBody::Packed { code, payload };
        Arc::new(ServerMessage::Event(Event { tick: self.world.tick(), sender, body }))
    }
}
