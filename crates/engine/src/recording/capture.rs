//! [`RoomCapture`]: the exact state of a room between two ticks.

use super::RecordingError;
use super::bytes::{Reader, Writer};
use super::tick_input::{read_join_request, write_join_request};
use crate::builder::BuildError;
use crate::durable::{ENTRY_BYTES_MAX, EntryNumber, PendingEntry};
use crate::game::{Game, JoinRequest, Rejection};
use crate::players::RoomPlayer;
use crate::room::Room;
use aether_bits::Random;
use aether_wire::{CommandSeq, EntityId, ErrorCode, InputSeq, PlayerId, RequestId, Tick, ViewTick};

/// Maximum number of players or entries that are read: more than a room can have.
const LIST_MAX: u64 = 1 << 20;

/// Exact state of a room between two ticks. A replay that begins with it has the recorded hash at every tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomCapture {
    /// Last tick before the capture.
    pub tick: Tick,
    random: u64,
    next_player: PlayerId,
    next_request: RequestId,
    label: String,
    entries_applied: EntryNumber,
    entries_last: EntryNumber,
    entries: Vec<CapturedEntry>,
    players: Vec<CapturedPlayer>,
    world: Vec<u8>,
    game: Vec<u8>,
}

/// Journal entry whose outcome is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CapturedEntry {
    number: EntryNumber,
    entry: Vec<u8>,
    command: Option<(PlayerId, CommandSeq)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct CapturedPlayer {
    id: PlayerId,
    join: JoinRequest,
    possession: Option<EntityId>,
    input_ack: InputSeq,
    view_tick: ViewTick,
}

impl<G: Game> Room<G> {
    /// Returns the exact state of the room; none if the game has no [`Game::capture`]. Valid between two ticks.
    #[must_use]
    pub fn capture(&self) -> Option<RoomCapture> {
        let game = self.game.capture(&self.state.world)?;
        let output = &self.state.output;
        let entry = |pending: &PendingEntry| CapturedEntry {
            number: pending.number,
            entry: pending.entry.clone(),
            command: pending.command,
        };
        let player = |player: &RoomPlayer| CapturedPlayer {
            id: player.id,
            join: (*player.join).clone(),
            possession: player.possession,
            input_ack: player.input_ack,
            view_tick: player.view_tick,
        };
        Some(RoomCapture {
            tick: self.now(),
            random: self.state.random.state(),
            next_player: self.next_player,
            next_request: output.next_request,
            label: output.label.clone(),
            entries_applied: output.entries.applied,
            entries_last: output.entries.last,
            entries: output.entries.pending.iter().map(entry).collect(),
            players: self.state.players.iter().map(player).collect(),
            world: self.state.world.capture(),
            game,
        })
    }

    /// Restores the state of another room of this game. This one has not started.
    pub(crate) fn start_captured(&mut self, capture: &RoomCapture) -> Result<(), BuildError> {
        let damaged = |_| {
            BuildError::Checkpoint(Rejection::new(ErrorCode::BadValue, "the captured state of the room is damaged"))
        };
        self.state.world.restore_capture(&capture.world).map_err(damaged)?;
        self.state.random = Random::new(capture.random);
        self.next_player = capture.next_player;
        let output = &mut self.state.output;
        output.next_request = capture.next_request;
        output.label.clone_from(&capture.label);
        output.entries.applied = capture.entries_applied;
        output.entries.last = capture.entries_last;
        output.entries.pending = (capture.entries.iter().cloned())
            .map(|CapturedEntry { number, entry, command }| PendingEntry { number, entry, command })
            .collect();
        for CapturedPlayer { id, join, possession, input_ack, view_tick } in capture.players.iter().cloned() {
            // Player ids only grow. Skip entries of damaged data.
            if self.state.players.iter().last().is_some_and(|last| last.id >= id) {
                continue;
            }
            let player = RoomPlayer::new(id, join, None);
            self.state.players.push(RoomPlayer { possession, input_ack, view_tick, ..player });
        }
        self.game.restore_capture(&mut self.state.context(), &capture.game).map_err(BuildError::Checkpoint)?;
        // Writes of the game to fields that are not replicated are part of the captured tick.
        self.state.world.settle();
        Ok(())
    }
}

impl RoomCapture {
    pub(super) fn write(&self, writer: &mut Writer) {
        writer.number(u64::from(self.tick.0));
        writer.fixed(self.random);
        writer.number(u64::from(self.next_player.0));
        writer.number(u64::from(self.next_request.0));
        writer.text(&self.label);
        writer.number(self.entries_applied.0);
        writer.number(self.entries_last.0);
        writer.number(self.entries.len() as u64);
        for CapturedEntry { number, entry, command } in &self.entries {
            writer.number(number.0);
            writer.bytes(entry);
            let (player, seq) = command.unwrap_or((PlayerId(0), CommandSeq(0)));
            writer.raw(&[u8::from(command.is_some())]);
            writer.number(u64::from(player.0));
            writer.number(u64::from(seq.0));
        }
        writer.number(self.players.len() as u64);
        for CapturedPlayer { id, join, possession, input_ack, view_tick } in &self.players {
            writer.number(u64::from(id.0));
            write_join_request(join, writer);
            writer.raw(&[u8::from(possession.is_some())]);
            writer.number(possession.map_or(0, EntityId::to_bits));
            writer.number(u64::from(input_ack.0));
            writer.number(view_tick.to_bits());
        }
        writer.bytes(&self.world);
        writer.bytes(&self.game);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<RoomCapture, RecordingError> {
        let tick = Tick(reader.small()?);
        let random = reader.fixed()?;
        let (next_player, next_request) = (PlayerId(reader.small()?), RequestId(reader.small()?));
        let label = reader.text()?;
        let (entries_applied, entries_last) = (EntryNumber(reader.number()?), EntryNumber(reader.number()?));
        let mut entries = Vec::new();
        for _ in 0..reader.number_up_to(LIST_MAX)? {
            entries.push(CapturedEntry::read(reader)?);
        }
        let mut players = Vec::new();
        for _ in 0..reader.number_up_to(LIST_MAX)? {
            players.push(CapturedPlayer::read(reader)?);
        }
        let (world, game) = (reader.bytes()?, reader.bytes()?);
        Ok(RoomCapture {
            tick,
            random,
            next_player,
            next_request,
            label,
            entries_applied,
            entries_last,
            entries,
            players,
            world,
            game,
        })
    }
}

impl CapturedEntry {
    fn read(reader: &mut Reader<'_>) -> Result<CapturedEntry, RecordingError> {
        let (number, entry) = (EntryNumber(reader.number()?), reader.bytes()?);
        if entry.len() > ENTRY_BYTES_MAX {
            return Err(RecordingError::Damaged);
        }
        let has_command = reader.byte()? != 0;
        let command = (PlayerId(reader.small()?), CommandSeq(reader.small()?));
        Ok(CapturedEntry { number, entry, command: has_command.then_some(command) })
    }
}

impl CapturedPlayer {
    fn read(reader: &mut Reader<'_>) -> Result<CapturedPlayer, RecordingError> {
        let damaged = RecordingError::Damaged;
        let (id, join) = (PlayerId(reader.small()?), read_join_request(reader)?);
        let has_possession = reader.byte()? != 0;
        let entity = EntityId::from_bits(reader.number()?).ok_or(damaged)?;
        let input_ack = InputSeq(reader.small()?);
        let view_tick = ViewTick::from_bits(reader.number()?).ok_or(damaged)?;
        Ok(CapturedPlayer { id, join, possession: has_possession.then_some(entity), input_ack, view_tick })
    }
}
