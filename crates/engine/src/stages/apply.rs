//! Stage two: what is on the agenda takes effect.

use crate::connection::RoomEndpoint;
use crate::context::Context;
use crate::declaration::PlayerMessage;
use crate::durable::{EntryNumber, PendingEntry};
use crate::game::{Game, JoinRequest, PlaygroundCommand, Rejection};
use crate::observer::{AuditEvent, Observer};
use crate::recording::TickInput;
use crate::room::RoomState;
use crate::seat::{RoomPlayer, closing};
use aether_replication::DeliveryOrder;
use aether_wire::limits::STRESS_ENTITIES_MAX;
use aether_wire::{
    Ack, Cleared, CloseReason, CommandError, CommandSeq, ErrorCode, InputBytes, InputSeq, PlayerId, ServerMessage,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// Parts of the room that the stage reads and writes.
pub(crate) struct ApplyStage<'a, G> {
    /// Written: the game, which is told what happens.
    pub game: &'a mut G,
    /// Written: all that the game can reach.
    pub state: &'a mut RoomState,
    /// Taken: the connections of those who join.
    pub arrivals: &'a mut VecDeque<(PlayerId, DeliveryOrder, RoomEndpoint)>,
    /// Taken: who waits for the answer to a signal.
    pub replies: &'a mut VecDeque<SyncSender<Vec<u8>>>,
}

impl<G: Game> ApplyStage<'_, G> {
    /// Works the agenda off.
    pub fn run(mut self, agenda: &[TickInput], observer: &mut impl Observer) {
        for happening in agenda {
            self.happen(happening, observer);
        }
    }

    fn happen(&mut self, happening: &TickInput, observer: &mut impl Observer) {
        match happening {
            TickInput::Join { player, joiner } => self.join(*player, joiner),
            TickInput::Leave { player, reason } => self.leave(*player, *reason),
            TickInput::Resume { player } => {
                if let Some(seat) = self.state.seats.get_mut(*player) {
                    // Inputs are numbered per connection, as packets are.
                    seat.input_ack = InputSeq(0);
                    self.state.desk.entries.forget_commands_of(*player);
                    self.game.resumed(&mut self.state.context(), *player);
                }
            }
            TickInput::Input { player, seq, view, bytes } => {
                if let Some(seat) = self.state.seats.get_mut(*player) {
                    seat.input_ack = seat.input_ack.max(*seq);
                    seat.seen = *view;
                    self.input(*player, bytes);
                }
            }
            TickInput::Message { player, seq, code, payload } => self.message(*player, *seq, (*code, payload)),
            TickInput::Movement { player, movement } => {
                if let Some(seat) = self.state.seats.get_mut(*player) {
                    // Movements are numbered with the inputs, so a correction names the last of either.
                    seat.input_ack = seat.input_ack.max(movement.seq);
                    let result = self.game.movement(&mut self.state.context(), *player, movement);
                    self.state.desk.counts.refused += u64::from(result.is_err());
                }
            }
            TickInput::SpawnRequest { player, request } => {
                if self.state.seats.get(*player).is_some() {
                    self.begin_command(*player, request.seq);
                    let result = self.game.spawn_request(&mut self.state.context(), *player, request);
                    self.end_command(*player, request.seq, result);
                }
            }
            TickInput::Playground { player, seq, command } => self.playground(*player, *seq, command, observer),
            TickInput::Answer { id, answer } => self.game.answer(&mut self.state.context(), *id, answer),
            TickInput::Committed { number, refused } => self.committed(*number, refused.as_deref()),
            TickInput::Signal { data } => {
                let reply = self.game.signal(&mut self.state.context(), data);
                if let Some(sender) = self.replies.pop_front() {
                    // Whoever asked may have stopped waiting.
                    let _ = sender.try_send(reply);
                }
            }
        }
    }

    fn join(&mut self, player: PlayerId, joiner: &JoinRequest) {
        if self.state.seats.iter().last().is_some_and(|last| last.id >= player) {
            // Numbers only grow; a recording that says otherwise is damaged.
            return;
        }
        let arrival = self.arrivals.pop_front_if(|(waiting, _, _)| *waiting == player);
        let full = self.state.seats.len() >= self.state.settings.players_max;
        let result = match full {
            true => Err(Rejection::new(ErrorCode::RoomFull, "the room has no place left")),
            false => self.game.join_attempt(&mut self.state.context(), joiner),
        };
        if let Err(refusal) = result {
            self.state.desk.counts.joins_refused += 1;
            if let Some((_, _, end)) = arrival {
                end.refuse(refusal);
            }
            return;
        }
        self.state.desk.counts.joins += 1;
        if let Some((_, _, end)) = &arrival {
            end.admit(player);
        }
        self.state.seats.push(RoomPlayer::new(player, joiner.clone(), arrival.map(|(_, link, end)| (link, end))));
        self.game.join(&mut self.state.context(), player);
    }

    fn leave(&mut self, player: PlayerId, reason: CloseReason) {
        if self.state.seats.get(player).is_none() {
            return;
        }
        self.game.leave(&mut self.state.context(), player, reason);
        self.state.desk.counts.leaves += 1;
        // Beyond the queue's end nobody has listened for a long time.
        let _ = self.state.desk.outlet.departures.push((player, reason));
        self.state.desk.news = true;
        let Some(seat) = self.state.seats.remove(player) else { return };
        if let Some(entity) = seat.possession
            && self.state.world.owner(entity) == Some(player)
        {
            self.state.world.despawn(entity);
        }
        if let Some(connection) = seat.connection {
            connection.close(closing(reason));
        }
    }

    fn input(&mut self, player: PlayerId, bytes: &InputBytes) {
        match self.game.packed_input(&mut self.state.context(), player, bytes.as_slice()) {
            Ok(()) => self.state.desk.counts.inputs += 1,
            Err(_) => self.state.desk.counts.decode_errors += 1,
        }
    }

    fn message(&mut self, player: PlayerId, seq: CommandSeq, (code, payload): (u16, &[u8])) {
        if self.state.seats.get(player).is_none() {
            return;
        }
        self.begin_command(player, seq);
        let RoomState { world, random, seats, desk, events, settings, .. } = &mut *self.state;
        let message = PlayerMessage { code, payload, events };
        let result = self.game.message(&mut Context { world, random, seats, desk, events, settings }, player, &message);
        self.end_command(player, seq, result);
    }

    fn playground(
        &mut self,
        player: PlayerId,
        seq: CommandSeq,
        command: &PlaygroundCommand,
        observer: &mut impl Observer,
    ) {
        let Some(seat) = self.state.seats.get(player) else { return };
        let allowed = seat.joiner.permissions.playground;
        observer.audit(&AuditEvent { player, user: &seat.joiner.user, action: command.name(), allowed });
        self.begin_command(player, seq);
        let result = match (allowed, command) {
            (false, _) => {
                self.state.desk.counts.unprivileged += 1;
                Err(Rejection::new(ErrorCode::Forbidden, "playground commands need a role that has the permission"))
            }
            (true, PlaygroundCommand::Stress { count, .. }) if *count > STRESS_ENTITIES_MAX => {
                Err(Rejection::new(ErrorCode::BadValue, "a stress test spawns at most 1000 entities"))
            }
            (true, _) => self.game.playground(&mut self.state.context(), player, command),
        };
        let cleared = result.is_ok() && *command == PlaygroundCommand::Clear;
        self.end_command(player, seq, result);
        if cleared {
            self.clear();
        }
    }

    /// Empties the world and lets everyone join anew.
    fn clear(&mut self) {
        let all: Vec<_> = self.state.world.entities().collect();
        for entity in all {
            self.state.world.despawn(entity);
        }
        let tick = self.state.world.tick();
        self.state.context().deliver_to_all(Arc::new(ServerMessage::Cleared(Cleared { tick })));
        let players: Vec<_> = self.state.seats.iter().map(|seat| seat.id).collect();
        for player in players {
            if let Some(seat) = self.state.seats.get_mut(player) {
                seat.possession = None;
                seat.view.focus = None;
            }
            self.game.join(&mut self.state.context(), player);
        }
    }

    /// What became of an entry. The command that caused it has its answer when all of its entries are stored, or one is not.
    fn committed(&mut self, number: EntryNumber, refused: Option<&str>) {
        let Some(PendingEntry { entry, command, .. }) = self.state.desk.entries.resolve(number) else { return };
        let result = match refused {
            None => {
                self.game.committed(&mut self.state.context(), &entry);
                Ok(())
            }
            Some(why) => {
                self.state.desk.counts.entries_refused += 1;
                self.game.uncommitted(&mut self.state.context(), &entry);
                Err(Rejection::new(ErrorCode::Unavailable, format!("it could not be stored, so it is not done: {why}")))
            }
        };
        let Some((player, seq)) = command else { return };
        if result.is_err() {
            self.state.desk.entries.forget_command((player, seq));
        }
        if !self.state.desk.entries.awaits((player, seq)) {
            self.acknowledge_command(player, seq, result);
        }
    }

    fn begin_command(&mut self, player: PlayerId, seq: CommandSeq) {
        self.state.desk.entries.command = Some((player, seq));
    }

    /// Answers a command, unless it waits for entries to be stored.
    fn end_command(&mut self, player: PlayerId, seq: CommandSeq, result: Result<(), Rejection>) {
        let entries = &mut self.state.desk.entries;
        entries.command = None;
        if result.is_err() {
            entries.forget_command((player, seq));
        }
        if !entries.awaits((player, seq)) {
            self.acknowledge_command(player, seq, result);
        }
    }

    fn acknowledge_command(&mut self, player: PlayerId, seq: CommandSeq, result: Result<(), Rejection>) {
        self.state.desk.counts.refused += u64::from(result.is_err());
        if seq == CommandSeq(0) {
            // Zero asks for no answer.
            return;
        }
        let error = result.err().map(|Rejection { code, message }| CommandError { code, message });
        self.state.context().deliver(player, ServerMessage::Ack(Ack { seq, error }));
    }
}
