//! What a game can do to its room.

use crate::authority::{Mover, Violation};
use crate::declaration::EventRegistry;
use crate::durable::{ENTRIES_MAX, ENTRY_BYTES_MAX, EntryNumber, PendingEntry};
use crate::game::Rejection;
use crate::request::{REQUESTS_MAX, Request};
use crate::room::TickOutput;
use crate::seat::RoomPlayers;
use crate::settings::RoomSettings;
use aether_bits::runtime::{EventHandle, Record, ValueError};
use aether_bits::{BitWriter, Component, Random};
use aether_wire::{
    CloseReason, Correction, EntityId, ErrorCode, Event, GameBody, PlayerId, Possession, RequestId, ServerMessage,
    Tick, Vector2,
};
use aether_world::World;
use std::sync::Arc;

/// The room, as its game sees it.
pub struct Context<'a> {
    /// Entities and components.
    pub world: &'a mut World,
    /// The room's own random numbers.
    pub random: &'a mut Random,
    pub(crate) seats: &'a mut RoomPlayers,
    pub(crate) desk: &'a mut TickOutput,
    pub(crate) events: &'a EventRegistry,
    pub(crate) settings: &'a RoomSettings,
}

/// From where a player looks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Viewpoint {
    /// From the entity it possesses.
    #[default]
    Possession,
    /// From a place.
    At([f32; 2]),
    /// From everywhere: sees the whole room. For spectators and replays.
    Everything,
}

impl Context<'_> {
    /// The current tick.
    #[must_use]
    pub fn tick(&self) -> Tick {
        self.world.tick()
    }

    /// The length of a tick.
    #[must_use]
    pub fn seconds_per_tick(&self) -> f32 {
        self.settings.seconds_per_tick()
    }

    /// The room's settings.
    #[must_use]
    pub fn settings(&self) -> &RoomSettings {
        self.settings
    }

    /// All players, in the order in which they came.
    pub fn players(&self) -> impl Iterator<Item = PlayerId> {
        self.seats.iter().map(|seat| seat.id)
    }

    /// The name of a player.
    #[must_use]
    pub fn name(&self, player: PlayerId) -> Option<&str> {
        self.seats.get(player).map(|seat| seat.joiner.name.as_str())
    }

    /// The account of a player.
    #[must_use]
    pub fn user(&self, player: PlayerId) -> Option<&str> {
        self.seats.get(player).map(|seat| seat.joiner.user.as_str())
    }

    /// Gives an entity to a player, who is told so reliably and looks from there.
    pub fn possess(&mut self, player: PlayerId, entity: EntityId) {
        let Some(seat) = self.seats.get_mut(player) else { return };
        seat.possession = Some(entity);
        seat.view.focus = Some(entity);
        self.world.set_owner(entity, Some(player));
        self.deliver(player, ServerMessage::Possession(Possession { tick: self.world.tick(), entity }));
    }

    /// The entity that a player possesses.
    #[must_use]
    pub fn possession(&self, player: PlayerId) -> Option<EntityId> {
        self.seats.get(player)?.possession
    }

    /// Says from where a player looks.
    pub fn set_viewpoint(&mut self, player: PlayerId, sight: Viewpoint) {
        if let Some(seat) = self.seats.get_mut(player) {
            seat.sight = sight;
        }
    }

    /// Puts a player in a team, for [`aether_world::Visibility::Team`].
    pub fn set_team(&mut self, player: PlayerId, team: Option<u8>) {
        if let Some(seat) = self.seats.get_mut(player) {
            seat.team = team;
        }
    }

    /// Sends an event to one player.
    pub fn send<E: Component>(&mut self, player: PlayerId, event: &E) {
        self.send_to(&[player], event);
    }

    /// Sends an event to some players. It arrives before the state of this tick.
    pub fn send_to<E: Component>(&mut self, players: &[PlayerId], event: &E) {
        let Some(message) = self.encode(event) else { return };
        for &player in players {
            self.deliver_shared(player, &message);
        }
    }

    /// Sends an event to everyone in the room.
    pub fn broadcast<E: Component>(&mut self, event: &E) {
        if let Some(message) = self.encode(event) {
            self.deliver_to_all(message);
        }
    }

    /// Sends an event that was declared at run time to some players.
    pub fn send_record(&mut self, players: &[PlayerId], event: EventHandle, record: &Record) -> Result<(), ValueError> {
        let message = self.encode_record(event, record)?;
        for &player in players {
            self.deliver_shared(player, &message);
        }
        Ok(())
    }

    /// Sends an event that was declared at run time to everyone in the room.
    pub fn broadcast_record(&mut self, event: EventHandle, record: &Record) -> Result<(), ValueError> {
        let message = self.encode_record(event, record)?;
        self.deliver_to_all(message);
        Ok(())
    }

    /// Removes a player at the next tick.
    pub fn kick(&mut self, player: PlayerId) {
        if let Some(seat) = self.seats.get_mut(player) {
            seat.leaving.get_or_insert(CloseReason::Kicked);
        }
    }

    /// Asks a service for something. The answer comes to [`crate::Game::answer`] on a later tick; nothing waits.
    pub fn request(&mut self, request: Request) -> RequestId {
        self.desk.next_request.0 += 1;
        let id = self.desk.next_request;
        let accepted =
            self.desk.requests_waiting < REQUESTS_MAX && self.desk.outlet.requests.push((id, request)).is_ok();
        if accepted {
            self.desk.requests_waiting += 1;
            self.desk.counts.requests += 1;
            self.desk.news = true;
        } else {
            self.desk.requests_refused.push(id);
            self.desk.counts.requests_refused += 1;
        }
        id
    }

    /// Stores an entry that must not be lost. [`crate::Game::committed`] is called when it is stored, on a later tick, and
    /// [`crate::Game::uncommitted`] if it cannot be; until then the game only sets aside what the entry needs. The command
    /// that is being handled is answered then, and not before. In a room that is not durable it counts as stored at the
    /// next tick.
    pub fn commit(&mut self, entry: Vec<u8>) -> Result<(), Rejection> {
        if entry.len() > ENTRY_BYTES_MAX {
            return Err(Rejection::new(ErrorCode::Internal, "the game wanted to store more at once than may be"));
        }
        let entries = &mut self.desk.entries;
        if entries.pending.len() >= ENTRIES_MAX {
            let sentence = "too much waits to be stored; try again in a moment";
            return Err(Rejection::new(ErrorCode::Unavailable, sentence));
        }
        let number = EntryNumber(entries.last.0 + 1);
        entries.last = number;
        // The queue holds as many as may be pending, so it has place.
        match self.desk.is_durable && self.desk.outlet.entries.push((number, entry.clone())).is_ok() {
            true => self.desk.news = true,
            false => entries.due.push(number),
        }
        entries.pending.push_back(PendingEntry { number, entry, command: entries.command });
        self.desk.counts.entries += 1;
        Ok(())
    }

    /// Where a target was when this player, in its last input, saw it. Bounded by the room's `rewind_ticks`.
    #[must_use]
    pub fn position_seen_by(&self, player: PlayerId, target: EntityId) -> Option<[f32; 2]> {
        let seen = self.seats.get(player)?.seen;
        self.world.rewind().position_at(target, seen.tick, f32::from(seen.fraction) / 256.0)
    }

    /// Tells a player where its entity really is, and which of its inputs that includes.
    pub fn correct(&mut self, player: PlayerId, entity: EntityId, position: [f32; 2], velocity: [f32; 2]) {
        let Some(seat) = self.seats.get(player) else { return };
        let vector = |[x, y]: [f32; 2]| Vector2 { x, y };
        let correction =
            Correction { entity, position: vector(position), velocity: vector(velocity), ack_seq: seat.input_ack };
        self.desk.counts.corrections += 1;
        self.deliver(player, ServerMessage::Correction(correction));
    }

    /// Books what was wrong with a movement, and corrects the player.
    pub fn correct_movement(&mut self, player: PlayerId, entity: EntityId, mover: &Mover, violation: Violation) {
        let counts = &mut self.desk.counts;
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

    /// The room's label, by which it is listed and found.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.desk.label
    }

    /// Changes the room's label.
    pub fn set_label(&mut self, label: impl Into<String>) {
        self.desk.label = label.into();
        self.desk.label_changed = true;
    }

    /// Ends the room after this tick.
    pub fn end(&mut self) {
        self.desk.ending = true;
    }

    pub(crate) fn deliver(&mut self, player: PlayerId, message: ServerMessage) {
        self.deliver_shared(player, &Arc::new(message));
    }

    pub(crate) fn deliver_to_all(&mut self, message: Arc<ServerMessage>) {
        for seat in self.seats.iter_mut() {
            self.desk.counts.events += 1;
            self.desk.counts.too_slow += u64::from(!seat.send(&message));
        }
    }

    fn deliver_shared(&mut self, player: PlayerId, message: &Arc<ServerMessage>) {
        if let Some(seat) = self.seats.get_mut(player) {
            self.desk.counts.events += 1;
            self.desk.counts.too_slow += u64::from(!seat.send(message));
        }
    }

    /// An event in its packed form; nothing if the game did not declare it.
    fn encode<E: Component>(&mut self, event: &E) -> Option<Arc<ServerMessage>> {
        let code = self.events.code::<E>();
        assert!(code.is_some(), "the event {0} is not declared: add .event::<{0}>() to Game::declare", E::NAME);
        let mut snapped = event.clone();
        snapped.snap();
        let mut writer = BitWriter::new();
        snapped.write_full(&mut writer);
        Some(self.event(code?, writer.to_bytes()))
    }

    /// The same for an event that was declared at run time.
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
        let body = GameBody::Packed { code, payload };
        Arc::new(ServerMessage::Event(Event { tick: self.world.tick(), sender: None, body }))
    }
}
