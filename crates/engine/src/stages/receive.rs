//! Stage 1: turns everything that arrived since the last tick into tick inputs.

use crate::connection::RoomEndpoint;
use crate::game::{PlaygroundCommand, Rejection};
use crate::handle::{MAILBOX_MAX, Mailbox, MailboxMessage};
use crate::observer::RoomCounts;
use crate::players::{InputQueue, PendingInput, QueueOutcome, RoomPlayer, RoomPlayers, closing};
use crate::recording::TickInput;
use crate::request::Answer;
use crate::room::TickOutput;
use crate::settings::RoomSettings;
use aether_replication::{ClientView, DeliveryOrder};
use aether_wire::{
    ClientMessage, CloseReason, CommandSeq, ErrorCode, GameBody, InputPayload, Inputs, PlayerId, Possession,
    ServerMessage, StateAck, Tick,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// Parts of the room that the stage reads and writes.
pub(crate) struct ReceiveStage<'a> {
    /// Read: joins, resumes, answers and signals.
    pub mailbox: &'a Mailbox,
    /// Read: input rates, and the time in which a player may resume.
    pub settings: &'a RoomSettings,
    /// Read: the last tick.
    pub tick: Tick,
    /// Read: true if the room can be rebuilt after it ended.
    pub is_durable: bool,
    /// Written: queues, views and connections of the players.
    pub players: &'a mut RoomPlayers,
    /// Written: failed requests are taken out, and counts are added.
    pub output: &'a mut TickOutput,
    /// Written: the tick inputs, in order.
    pub tick_inputs: &'a mut Vec<TickInput>,
    /// Written: the endpoints of the joins.
    pub pending_joins: &'a mut VecDeque<(PlayerId, DeliveryOrder, RoomEndpoint)>,
    /// Written: senders for the replies to signals.
    pub replies: &'a mut VecDeque<SyncSender<Vec<u8>>>,
    /// Written: the id of the newest player.
    pub next_player: &'a mut PlayerId,
}

impl ReceiveStage<'_> {
    /// Collects the tick inputs: first the mailbox in its order, then the messages of each player in the order of
    /// players and sequence numbers.
    pub fn run(mut self) {
        self.tick_inputs.clear();
        self.receive_mailbox();
        let per_tick = self.settings.inputs_per_tick;
        let burst = self.settings.inputs_burst;
        let resume_ticks = self.settings.resume_ticks;
        let now = self.tick;
        for player in self.players.iter_mut() {
            // Read before the messages: a client may send a leave and disconnect at once.
            let lost = player.connection.as_ref().and_then(RoomEndpoint::loss_reason);
            let mut intake = Intake { player, tick_inputs: self.tick_inputs, counts: &mut self.output.counts };
            intake.messages();
            if lost.is_some() {
                player.connection = None;
                player.detached_at = Some(now);
            }
            if player.detached_at.is_some_and(|since| now.since(since) >= resume_ticks) {
                let reason = if resume_ticks == 0 { lost.unwrap_or(CloseReason::Left) } else { CloseReason::TimedOut };
                player.leaving.get_or_insert(reason);
            }
            player.inputs.refill(per_tick, burst);
            while let Some(PendingInput { seq, view, bytes }) = player.inputs.pop() {
                self.tick_inputs.push(TickInput::Input { player: player.id, seq, view, bytes });
            }
            self.output.counts.inputs_dropped += u64::from(player.inputs.trim(burst));
            if player.inputs.is_flooding() {
                player.leaving.get_or_insert(CloseReason::Flooded);
            }
            if let Some(reason) = player.leaving {
                self.tick_inputs.push(TickInput::Leave { player: player.id, reason });
            }
        }
    }

    fn receive_mailbox(&mut self) {
        for id in self.output.requests_refused.drain(..) {
            let text = "too many requests of this room are pending; try again later";
            self.tick_inputs.push(TickInput::Answer { id, answer: Answer::Failed(text.to_owned()) });
        }
        for number in self.output.entries.due.drain(..) {
            self.tick_inputs.push(TickInput::Committed { number, error: None });
        }
        let mut reloads = 0;
        // The mailbox is bounded, but other threads may refill it meanwhile.
        for _ in 0..MAILBOX_MAX {
            let Some(message) = self.mailbox.messages.pop() else { return };
            match message {
                // A client that is gone would only take a place that nobody can resume.
                MailboxMessage::Join(_, _, endpoint) if endpoint.loss_reason().is_some() => {}
                MailboxMessage::Join(request, order, endpoint) => {
                    self.next_player.0 += 1;
                    self.pending_joins.push_back((*self.next_player, order, endpoint));
                    self.tick_inputs.push(TickInput::Join { player: *self.next_player, request });
                }
                MailboxMessage::Resume(player, session, order, endpoint) => {
                    self.resume((player, session), order, endpoint);
                }
                MailboxMessage::Reload(code) => {
                    self.tick_inputs.insert(reloads, TickInput::Reload { code });
                    reloads += 1;
                }
                MailboxMessage::Permissions(player, permissions) => {
                    self.tick_inputs.push(TickInput::Permissions { player, permissions });
                }
                MailboxMessage::Remove(player, reason) => {
                    if let Some(room_player) = self.players.get_mut(player) {
                        room_player.leaving.get_or_insert(reason);
                    }
                }
                MailboxMessage::Answer(id, answer) => {
                    self.output.requests_waiting = self.output.requests_waiting.saturating_sub(1);
                    self.tick_inputs.push(TickInput::Answer { id, answer });
                }
                MailboxMessage::Committed(number, outcome) => {
                    self.tick_inputs.push(TickInput::Committed { number, error: outcome.err() });
                }
                MailboxMessage::Signal(data, reply) => {
                    self.replies.push_back(reply);
                    self.tick_inputs.push(TickInput::Signal { data });
                }
                MailboxMessage::End => {
                    self.output.is_ending = true;
                    self.output.is_unloading = self.is_durable;
                }
                MailboxMessage::Control(control) => self.output.controls.push(control),
                MailboxMessage::LeaseLost => self.output.lease_lost = true,
            }
        }
    }

    /// Connects a player of the room to a new connection.
    fn resume(&mut self, (player, session): (PlayerId, Option<String>), order: DeliveryOrder, endpoint: RoomEndpoint) {
        let Some(room_player) = self.players.get_mut(player).filter(|room_player| room_player.leaving.is_none()) else {
            endpoint.reject(Rejection::new(ErrorCode::ResumeRefused, "the player is no longer in the room"));
            return;
        };
        if let Some(before) = room_player.connection.take() {
            before.close(closing(CloseReason::Replaced));
        }
        endpoint.admit(player);
        let focus = room_player.view.focus;
        room_player.connection = Some(endpoint);
        room_player.detached_at = None;
        room_player.inputs = InputQueue::default();
        room_player.view = ClientView::new(order);
        room_player.view.focus = focus;
        self.tick_inputs.push(TickInput::Resume { player, session });
        if let Some(entity) = room_player.possession {
            let possession = ServerMessage::Possession(Possession { tick: self.tick, entity });
            room_player.send(&Arc::new(possession));
        }
    }
}

/// Turns the messages of one player into tick inputs.
struct Intake<'a> {
    player: &'a mut RoomPlayer,
    tick_inputs: &'a mut Vec<TickInput>,
    counts: &'a mut RoomCounts,
}

impl Intake<'_> {
    fn messages(&mut self) {
        // Counted first: the connection may refill the inbox meanwhile, and checking for one more would touch cold
        // memory.
        let Some(mut remaining) = self.player.connection.as_ref().map(RoomEndpoint::count_messages) else { return };
        while let Some(message) = self.player.connection.as_ref().and_then(|endpoint| endpoint.receive(&mut remaining))
        {
            self.message(message);
        }
    }

    fn message(&mut self, message: ClientMessage) {
        let player = self.player.id;
        match message {
            // Not moved: it is large, and every client sends one per tick.
            ClientMessage::Inputs(ref inputs) => self.inputs(inputs),
            ClientMessage::Ack(ack) => self.acknowledge(ack),
            ClientMessage::Game(message) => match message.body {
                GameBody::Packed { code, payload } => {
                    self.counts.messages += 1;
                    self.tick_inputs.push(TickInput::Message { player, seq: message.seq, code, payload });
                }
                GameBody::Named { .. } => self.counts.unexpected += 1,
            },
            ClientMessage::MovementDelta(movement) => self.tick_inputs.push(TickInput::Movement { player, movement }),
            ClientMessage::SpawnRequest(request) => self.tick_inputs.push(TickInput::SpawnRequest { player, request }),
            ClientMessage::PlaygroundSpawn(spawn) => self.playground(spawn.seq, PlaygroundCommand::Spawn(spawn)),
            ClientMessage::PlaygroundClear(clear) => self.playground(clear.seq, PlaygroundCommand::Clear),
            ClientMessage::PlaygroundStress(stress) => {
                self.playground(stress.seq, PlaygroundCommand::Stress { count: stress.count, rotate: stress.rotate });
            }
            ClientMessage::Leave => {
                self.player.leaving.get_or_insert(CloseReason::Left);
            }
            ClientMessage::Heartbeat => {}
            // The connection handles these itself.
            ClientMessage::Hello(_)
            | ClientMessage::Ping(_)
            | ClientMessage::ManifestRequest
            | ClientMessage::SchemaRequest
            | ClientMessage::Fragment(_) => self.counts.unexpected += 1,
        }
    }

    fn playground(&mut self, seq: CommandSeq, command: PlaygroundCommand) {
        self.tick_inputs.push(TickInput::Playground { player: self.player.id, seq, command });
    }

    fn inputs(&mut self, inputs: &Inputs) {
        self.acknowledge(inputs.ack);
        for (seq, payload) in inputs.iter() {
            // The connection packs named fields, because it knows the schema.
            let InputPayload::Packed(bytes) = payload else {
                self.counts.unexpected += 1;
                continue;
            };
            match self.player.inputs.push(PendingInput { seq, view: inputs.view, bytes: *bytes }) {
                QueueOutcome::Queued => {}
                QueueOutcome::Repeated => self.counts.inputs_repeated += 1,
                QueueOutcome::OldestDropped => self.counts.inputs_dropped += 1,
            }
        }
    }

    fn acknowledge(&mut self, ack: StateAck) {
        self.player.view.acknowledge(ack);
    }
}
