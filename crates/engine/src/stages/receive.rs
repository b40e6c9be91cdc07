//! Stage one: what came in since the last tick becomes the agenda.

use crate::connection::RoomEndpoint;
use crate::game::{PlaygroundCommand, Rejection};
use crate::handle::{MAILBOX_MAX, Mailbox, MailboxMessage};
use crate::observer::RoomCounts;
use crate::recording::TickInput;
use crate::request::Answer;
use crate::room::TickOutput;
use crate::seat::{InputQueue, PendingInput, QueueOutcome, RoomPlayer, RoomPlayers, closing};
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
    /// Read: joins, resumes, answers and signals from outside.
    pub mailbox: &'a Mailbox,
    /// Read: the rates of inputs, and how long a place is kept.
    pub settings: &'a RoomSettings,
    /// Read: the last tick.
    pub tick: Tick,
    /// Read: true if the room can be there again after it ended.
    pub is_durable: bool,
    /// Written: every player's queues, views and connection.
    pub seats: &'a mut RoomPlayers,
    /// Written: what failed at once is taken out, and counts are added.
    pub desk: &'a mut TickOutput,
    /// Written: what takes effect this tick, in order.
    pub agenda: &'a mut Vec<TickInput>,
    /// Written: the connections of those who are about to join.
    pub arrivals: &'a mut VecDeque<(PlayerId, DeliveryOrder, RoomEndpoint)>,
    /// Written: who waits for the answer to a signal.
    pub replies: &'a mut VecDeque<SyncSender<Vec<u8>>>,
    /// Written: the number of the player who came last.
    pub next_player: &'a mut PlayerId,
}

impl ReceiveStage<'_> {
    /// Fills the agenda: letters first, in the order in which they came, then every player's messages, in the order of
    /// players and of their sequence.
    pub fn run(mut self) {
        self.agenda.clear();
        self.open_letters();
        let per_tick = self.settings.inputs_per_tick;
        let burst = self.settings.inputs_burst;
        let resume_ticks = self.settings.resume_ticks;
        let now = self.tick;
        for seat in self.seats.iter_mut() {
            // Asked before the messages are read: whoever says goodbye and goes at once is still heard.
            let lost = seat.connection.as_ref().and_then(RoomEndpoint::lost);
            let mut intake = Intake { seat, agenda: self.agenda, counts: &mut self.desk.counts };
            intake.messages();
            if lost.is_some() {
                seat.connection = None;
                seat.detached_at = Some(now);
            }
            if seat.detached_at.is_some_and(|since| now.since(since) >= resume_ticks) {
                let reason = if resume_ticks == 0 { lost.unwrap_or(CloseReason::Left) } else { CloseReason::TimedOut };
                seat.leaving.get_or_insert(reason);
            }
            seat.inputs.refill(per_tick, burst);
            while let Some(PendingInput { seq, view, bytes }) = seat.inputs.pop() {
                self.agenda.push(TickInput::Input { player: seat.id, seq, view, bytes });
            }
            self.desk.counts.inputs_dropped += u64::from(seat.inputs.trim(burst));
            if seat.inputs.is_flooding() {
                seat.leaving.get_or_insert(CloseReason::Flooded);
            }
            if let Some(reason) = seat.leaving {
                self.agenda.push(TickInput::Leave { player: seat.id, reason });
            }
        }
    }

    fn open_letters(&mut self) {
        for id in self.desk.requests_refused.drain(..) {
            let text = "too many requests of this room wait for an answer";
            self.agenda.push(TickInput::Answer { id, answer: Answer::Failed(text.to_owned()) });
        }
        for number in self.desk.entries.due.drain(..) {
            self.agenda.push(TickInput::Committed { number, refused: None });
        }
        // The mailbox is bounded, but others may fill it while this room empties it.
        for _ in 0..MAILBOX_MAX {
            let Some(letter) = self.mailbox.letters.pop() else { return };
            match letter {
                // Whoever is gone already would only take a place that nobody can come back to.
                MailboxMessage::Join(_, _, end) if end.lost().is_some() => {}
                MailboxMessage::Join(joiner, link, end) => {
                    self.next_player.0 += 1;
                    self.arrivals.push_back((*self.next_player, link, end));
                    self.agenda.push(TickInput::Join { player: *self.next_player, joiner });
                }
                MailboxMessage::Resume(player, link, end) => self.resume(player, link, end),
                MailboxMessage::Answer(id, answer) => {
                    self.desk.requests_waiting = self.desk.requests_waiting.saturating_sub(1);
                    self.agenda.push(TickInput::Answer { id, answer });
                }
                MailboxMessage::Committed(number, outcome) => {
                    self.agenda.push(TickInput::Committed { number, refused: outcome.err() });
                }
                MailboxMessage::Signal(data, reply) => {
                    self.replies.push_back(reply);
                    self.agenda.push(TickInput::Signal { data });
                }
                MailboxMessage::End => {
                    self.desk.ending = true;
                    self.desk.parks = self.is_durable;
                }
                MailboxMessage::Lost => self.desk.lost = true,
            }
        }
    }

    /// A new connection for a player who is still in.
    fn resume(&mut self, player: PlayerId, link: DeliveryOrder, end: RoomEndpoint) {
        let Some(seat) = self.seats.get_mut(player).filter(|seat| seat.leaving.is_none()) else {
            end.refuse(Rejection::new(ErrorCode::ResumeRefused, "the player is no longer in the room"));
            return;
        };
        if let Some(before) = seat.connection.take() {
            before.close(closing(CloseReason::Replaced));
        }
        end.admit(player);
        let focus = seat.view.focus;
        seat.connection = Some(end);
        seat.detached_at = None;
        seat.inputs = InputQueue::default();
        seat.view = ClientView::new(link);
        seat.view.focus = focus;
        self.agenda.push(TickInput::Resume { player });
        if let Some(entity) = seat.possession {
            let possession = ServerMessage::Possession(Possession { tick: self.tick, entity });
            seat.send(&Arc::new(possession));
        }
    }
}

/// Sorts one player's messages.
struct Intake<'a> {
    seat: &'a mut RoomPlayer,
    agenda: &'a mut Vec<TickInput>,
    counts: &'a mut RoomCounts,
}

impl Intake<'_> {
    fn messages(&mut self) {
        // Counted first: the inbox's other end may fill it while this one empties it, and to look whether there is one
        // more would touch memory that has nothing to say.
        let Some(mut waiting) = self.seat.connection.as_ref().map(RoomEndpoint::waiting) else { return };
        while let Some(message) = self.seat.connection.as_ref().and_then(|link| link.receive(&mut waiting)) {
            self.message(message);
        }
    }

    fn message(&mut self, message: ClientMessage) {
        let player = self.seat.id;
        match message {
            ClientMessage::Inputs(inputs) => self.inputs(&inputs),
            ClientMessage::Ack(ack) => self.acknowledge(ack),
            ClientMessage::Game(message) => match message.body {
                GameBody::Packed { code, payload } => {
                    self.counts.messages += 1;
                    self.agenda.push(TickInput::Message { player, seq: message.seq, code, payload });
                }
                GameBody::Named { .. } => self.counts.unexpected += 1,
            },
            ClientMessage::MovementDelta(movement) => self.agenda.push(TickInput::Movement { player, movement }),
            ClientMessage::SpawnRequest(request) => self.agenda.push(TickInput::SpawnRequest { player, request }),
            ClientMessage::PlaygroundSpawn(spawn) => self.playground(spawn.seq, PlaygroundCommand::Spawn(spawn)),
            ClientMessage::PlaygroundClear(clear) => self.playground(clear.seq, PlaygroundCommand::Clear),
            ClientMessage::PlaygroundStress(stress) => {
                self.playground(stress.seq, PlaygroundCommand::Stress { count: stress.count, rotate: stress.rotate });
            }
            ClientMessage::Leave => {
                self.seat.leaving.get_or_insert(CloseReason::Left);
            }
            ClientMessage::Heartbeat => {}
            // The connection answers these itself.
            ClientMessage::Hello(_)
            | ClientMessage::Ping(_)
            | ClientMessage::ManifestRequest
            | ClientMessage::SchemaRequest
            | ClientMessage::Fragment(_) => self.counts.unexpected += 1,
        }
    }

    fn playground(&mut self, seq: CommandSeq, command: PlaygroundCommand) {
        self.agenda.push(TickInput::Playground { player: self.seat.id, seq, command });
    }

    fn inputs(&mut self, inputs: &Inputs) {
        self.acknowledge(inputs.ack);
        for (seq, payload) in inputs.iter() {
            // Named fields are packed by the connection, which knows the schema.
            let InputPayload::Packed(bytes) = payload else {
                self.counts.unexpected += 1;
                continue;
            };
            match self.seat.inputs.push(PendingInput { seq, view: inputs.view, bytes: *bytes }) {
                QueueOutcome::Yes => {}
                QueueOutcome::Repeated => self.counts.inputs_repeated += 1,
                QueueOutcome::OldestDropped => self.counts.inputs_dropped += 1,
            }
        }
    }

    fn acknowledge(&mut self, ack: StateAck) {
        self.seat.view.acknowledge(ack);
    }
}
