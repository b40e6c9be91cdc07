//! Stage 2: applies the tick inputs.

use crate::connection::RoomEndpoint;
use crate::context::Context;
use crate::durable::{EntryNumber, PendingEntry};
use crate::game::{Game, JoinRequest, PlaygroundCommand, Rejection};
use crate::observer::{AuditEvent, Observer};
use crate::players::{RoomPlayer, closing};
use crate::recording::TickInput;
use crate::room::RoomState;
use crate::schema::PlayerMessage;
use aether_replication::DeliveryOrder;
use aether_wire::limits::STRESS_ENTITIES_MAX;
use aether_wire::{
    Ack, Cleared, CloseReason, CommandError, CommandSeq, ErrorCode, ErrorNotice, InputBytes, InputSeq, PlayerId,
    ServerMessage,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// Parts of the room that the stage reads and writes.
pub(crate) struct ApplyStage<'a, G> {
    /// Written: the game, which handles the tick inputs.
    pub game: &'a mut G,
    /// Written: everything that the game can reach.
    pub state: &'a mut RoomState,
    /// Taken: the endpoints of the joins.
    pub pending_joins: &'a mut VecDeque<(PlayerId, DeliveryOrder, RoomEndpoint)>,
    /// Taken: senders for the replies to signals.
    pub replies: &'a mut VecDeque<SyncSender<Vec<u8>>>,
}

impl<G: Game> ApplyStage<'_, G> {
    /// Applies the tick inputs in order.
    pub fn run(mut self, tick_inputs: &[TickInput], observer: &mut impl Observer) {
        for tick_input in tick_inputs {
            self.apply(tick_input, observer);
        }
    }

    fn apply(&mut self, tick_input: &TickInput, observer: &mut impl Observer) {
        match tick_input {
            TickInput::Join { player, request } => self.join(*player, request),
            TickInput::Leave { player, reason } => self.leave(*player, *reason),
            TickInput::Resume { player, session } => {
                if let Some(room_player) = self.state.players.get_mut(*player) {
                    if let Some(session) = session {
                        room_player.join.session.clone_from(session);
                    }
                    // Sequence numbers of inputs restart on every connection, as those of packets do.
                    room_player.input_ack = InputSeq(0);
                    self.state.output.entries.forget_commands_of(*player);
                    self.game.resumed(&mut self.state.context(), *player);
                }
            }
            TickInput::Input { player, seq, view, bytes } => {
                if let Some(room_player) = self.state.players.get_mut(*player) {
                    room_player.input_ack = room_player.input_ack.max(*seq);
                    room_player.view_tick = *view;
                    self.input(*player, bytes);
                }
            }
            TickInput::Message { player, seq, code, payload } => self.message(*player, *seq, (*code, payload)),
            TickInput::Movement { player, movement } => {
                if let Some(room_player) = self.state.players.get_mut(*player) {
                    // Movements share the numbers of inputs, so a correction names the last of either.
                    room_player.input_ack = room_player.input_ack.max(movement.seq);
                    let result = self.game.movement(&mut self.state.context(), *player, movement);
                    if let Err(Rejection { code, message }) = result {
                        self.state.output.counts.refused += 1;
                        let notice = ErrorNotice { code, message, fatal: false };
                        self.state.context().deliver(*player, ServerMessage::Error(notice));
                    }
                }
            }
            TickInput::SpawnRequest { player, request } => {
                if self.state.players.get(*player).is_some() {
                    self.begin_command(*player, request.seq);
                    let result = self.game.spawn_request(&mut self.state.context(), *player, request);
                    self.end_command(*player, request.seq, result);
                }
            }
            TickInput::Playground { player, seq, command } => self.playground(*player, *seq, command, observer),
            TickInput::Permissions { player, permissions } => {
                if let Some(room_player) = self.state.players.get_mut(*player) {
                    room_player.join.permissions = *permissions;
                }
            }
            TickInput::Answer { id, answer } => self.game.answer(&mut self.state.context(), *id, answer),
            TickInput::Committed { number, error } => self.committed(*number, error.as_deref()),
            TickInput::Reload { code } => self.game.reload(&mut self.state.context(), code),
            TickInput::Signal { data } => {
                let reply = self.game.signal(&mut self.state.context(), data);
                if let Some(sender) = self.replies.pop_front() {
                    // The caller may have stopped waiting.
                    let _ = sender.try_send(reply);
                }
            }
        }
    }

    fn join(&mut self, player: PlayerId, request: &JoinRequest) {
        if self.state.players.iter().last().is_some_and(|last| last.id >= player) {
            // Player ids only grow. A recording that says otherwise is damaged.
            return;
        }
        let joining = self.pending_joins.pop_front_if(|(waiting, _, _)| *waiting == player);
        let full = self.state.players.len() >= self.state.settings.players_max;
        let result = match full {
            true => Err(Rejection::new(ErrorCode::RoomFull, "the room is full")),
            false => self.game.join_attempt(&mut self.state.context(), request),
        };
        if let Err(rejection) = result {
            self.state.output.counts.joins_refused += 1;
            if let Some((_, _, endpoint)) = joining {
                endpoint.reject(rejection);
            }
            return;
        }
        self.state.output.counts.joins += 1;
        if let Some((_, _, endpoint)) = &joining {
            endpoint.admit(player);
        }
        self.state.players.push(RoomPlayer::new(
            player,
            request.clone(),
            joining.map(|(_, order, endpoint)| (order, endpoint)),
        ));
        self.game.join(&mut self.state.context(), player);
    }

    fn leave(&mut self, player: PlayerId, reason: CloseReason) {
        if self.state.players.get(player).is_none() {
            return;
        }
        self.game.leave(&mut self.state.context(), player, reason);
        self.state.output.counts.leaves += 1;
        // A full queue means that nobody takes departures any more.
        let _ = self.state.output.shared.departures.push((player, reason));
        self.state.output.wake_pending = true;
        let Some(room_player) = self.state.players.remove(player) else { return };
        if let Some(entity) = room_player.possession
            && self.state.world.owner(entity) == Some(player)
        {
            self.state.world.despawn(entity);
        }
        if let Some(connection) = room_player.connection {
            connection.close(closing(reason));
        }
    }

    fn input(&mut self, player: PlayerId, bytes: &InputBytes) {
        match self.game.packed_input(&mut self.state.context(), player, bytes.as_slice()) {
            Ok(()) => self.state.output.counts.inputs += 1,
            Err(_) => self.state.output.counts.decode_errors += 1,
        }
    }

    fn message(&mut self, player: PlayerId, seq: CommandSeq, (code, payload): (u16, &[u8])) {
        if self.state.players.get(player).is_none() {
            return;
        }
        self.begin_command(player, seq);
        let RoomState { world, random, players, output, events, settings, started_ms, .. } = &mut *self.state;
        let message = PlayerMessage { code, payload, events };
        let started_ms = *started_ms;
        let mut room = Context { world, random, players, output, events, settings, started_ms };
        let result = self.game.message(&mut room, player, &message);
        self.end_command(player, seq, result);
    }

    fn playground(
        &mut self,
        player: PlayerId,
        seq: CommandSeq,
        command: &PlaygroundCommand,
        observer: &mut impl Observer,
    ) {
        let Some(room_player) = self.state.players.get(player) else { return };
        let allowed = room_player.join.permissions.playground;
        observer.audit(&AuditEvent { player, user: &room_player.join.user, action: command.name(), allowed });
        self.begin_command(player, seq);
        let result = match (allowed, command) {
            (false, _) => {
                self.state.output.counts.unprivileged += 1;
                Err(Rejection::new(
                    ErrorCode::Forbidden,
                    "playground commands need a role with the `playground` permission",
                ))
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

    /// Despawns all entities and calls [`Game::join`] for every player.
    fn clear(&mut self) {
        let all: Vec<_> = self.state.world.entities().collect();
        for entity in all {
            self.state.world.despawn(entity);
        }
        let tick = self.state.world.tick();
        self.state.context().deliver_to_all(Arc::new(ServerMessage::Cleared(Cleared { tick })));
        let players: Vec<_> = self.state.players.iter().map(|room_player| room_player.id).collect();
        for player in players {
            if let Some(room_player) = self.state.players.get_mut(player) {
                room_player.possession = None;
                room_player.view.focus = None;
            }
            self.game.join(&mut self.state.context(), player);
        }
    }

    /// Handles the outcome of an entry. The command that caused it is answered when all of its entries are stored, or
    /// one failed.
    fn committed(&mut self, number: EntryNumber, error: Option<&str>) {
        let Some(PendingEntry { entry, command, .. }) = self.state.output.entries.resolve(number) else { return };
        let result = match error {
            None => {
                self.game.committed(&mut self.state.context(), &entry);
                Ok(())
            }
            Some(why) => {
                self.state.output.counts.entries_refused += 1;
                self.game.uncommitted(&mut self.state.context(), &entry);
                Err(Rejection::new(
                    ErrorCode::Unavailable,
                    format!("the action was not done because it could not be stored: {why}"),
                ))
            }
        };
        let Some((player, seq)) = command else { return };
        if result.is_err() {
            self.state.output.entries.forget_command((player, seq));
        }
        if !self.state.output.entries.has_pending((player, seq)) {
            self.acknowledge_command(player, seq, result);
        }
    }

    fn begin_command(&mut self, player: PlayerId, seq: CommandSeq) {
        self.state.output.entries.command = Some((player, seq));
    }

    /// Answers a command, unless it waits for entries.
    fn end_command(&mut self, player: PlayerId, seq: CommandSeq, result: Result<(), Rejection>) {
        let entries = &mut self.state.output.entries;
        entries.command = None;
        if result.is_err() {
            entries.forget_command((player, seq));
        }
        if !entries.has_pending((player, seq)) {
            self.acknowledge_command(player, seq, result);
        }
    }

    fn acknowledge_command(&mut self, player: PlayerId, seq: CommandSeq, result: Result<(), Rejection>) {
        self.state.output.counts.refused += u64::from(result.is_err());
        if seq == CommandSeq(0) {
            // Commands with the number zero are not answered.
            return;
        }
        let error = result.err().map(|Rejection { code, message }| CommandError { code, message });
        self.state.context().deliver(player, ServerMessage::Ack(Ack { seq, error }));
    }
}
