//! The players of a room.

use crate::connection::RoomEndpoint;
use crate::context::Viewpoint;
use crate::game::JoinRequest;
use aether_replication::{ClientView, DeliveryOrder, GatherBuffer};
use aether_wire::{CloseReason, Closing, EntityId, InputBytes, InputSeq, PlayerId, ServerMessage, Tick, ViewTick};
use std::collections::VecDeque;
use std::sync::Arc;

/// Inputs of one player that wait for their tick; the oldest gives way.
pub const INPUT_QUEUE_MAX: usize = 32;
/// So many bursts of inputs are saved up while none come: a network that stalls for that long costs the player nothing,
/// and nobody can save up more time than that.
const CREDIT_BURSTS: u32 = 4;
/// A player whose inputs are dropped this often, less one a tick, is closed.
pub const INPUT_DROPS_MAX: u32 = 256;

/// One player.
#[derive(Debug)]
pub struct RoomPlayer {
    pub id: PlayerId,
    pub joiner: JoinRequest,
    pub connection: Option<RoomEndpoint>,
    pub view: ClientView,
    pub inputs: InputQueue,
    /// The last input that was applied.
    pub input_ack: InputSeq,
    /// What the player was seeing when it made that input.
    pub seen: ViewTick,
    pub possession: Option<EntityId>,
    pub sight: Viewpoint,
    pub team: Option<u8>,
    /// Set when the player is to leave at the next tick.
    pub leaving: Option<CloseReason>,
    /// When the connection was lost, if it is.
    pub detached_at: Option<Tick>,
    /// Whether a snapshot is built for this player now.
    pub served: bool,
    pub gathered: GatherBuffer,
}

/// All players, in the order in which they came.
#[derive(Debug, Default)]
pub struct RoomPlayers {
    seats: Vec<RoomPlayer>,
}

/// One input as it waits.
#[derive(Clone, Copy, Debug)]
pub struct PendingInput {
    pub seq: InputSeq,
    pub view: ViewTick,
    pub bytes: InputBytes,
}

/// A player's inputs: each once, in order, and no more than the budget allows.
#[derive(Debug, Default)]
pub struct InputQueue {
    pending: VecDeque<PendingInput>,
    newest: InputSeq,
    /// How many may be applied: one for every tick's share that was not used yet.
    credit: u32,
    /// How many of them in this tick.
    turn: u32,
    drops: u32,
}

/// What became of an input that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOutcome {
    Yes,
    Repeated,
    /// It waits, but the oldest one had to go.
    OldestDropped,
}

impl InputQueue {
    /// Takes in an input.
    pub fn push(&mut self, input: PendingInput) -> QueueOutcome {
        if input.seq <= self.newest {
            return QueueOutcome::Repeated;
        }
        self.newest = input.seq;
        let full = self.pending.len() >= INPUT_QUEUE_MAX;
        if full {
            self.pending.pop_front();
            self.drops += 1;
        }
        self.pending.push_back(input);
        if full { QueueOutcome::OldestDropped } else { QueueOutcome::Yes }
    }

    /// Grants a tick's credit.
    pub fn refill(&mut self, per_tick: u32, burst: u32) {
        self.credit = (self.credit + per_tick).min(burst.max(per_tick) * CREDIT_BURSTS);
        self.turn = burst.max(per_tick);
        self.drops = self.drops.saturating_sub(1);
    }

    /// The next input, if there is one and credit for it.
    pub fn pop(&mut self) -> Option<PendingInput> {
        if self.credit == 0 || self.turn == 0 {
            return None;
        }
        let input = self.pending.pop_front()?;
        self.credit -= 1;
        self.turn -= 1;
        Some(input)
    }

    /// Gives up the oldest for which there is no credit, so that they do not make all later ones late; tells how many.
    /// A burst may always wait.
    pub fn trim(&mut self, burst: u32) -> u32 {
        let excess = self.pending.len().saturating_sub(self.credit.max(burst) as usize);
        self.pending.drain(..excess);
        self.drops += excess as u32;
        excess as u32
    }

    /// Whether the player sends far more than it may.
    pub fn is_flooding(&self) -> bool {
        self.drops > INPUT_DROPS_MAX
    }
}

impl RoomPlayer {
    pub fn new(id: PlayerId, joiner: JoinRequest, connection: Option<(DeliveryOrder, RoomEndpoint)>) -> RoomPlayer {
        let link = connection.as_ref().map_or(DeliveryOrder::Ordered, |(link, _)| *link);
        RoomPlayer {
            id,
            joiner,
            connection: connection.map(|(_, end)| end),
            view: ClientView::new(link),
            inputs: InputQueue::default(),
            input_ack: InputSeq(0),
            seen: ViewTick::default(),
            possession: None,
            sight: Viewpoint::Possession,
            team: None,
            leaving: None,
            detached_at: None,
            served: false,
            gathered: GatherBuffer::default(),
        }
    }

    /// Sends a reliable message; a link that has too many waiting is closed. False if it was.
    pub fn send(&mut self, message: &Arc<ServerMessage>) -> bool {
        let Some(connection) = &self.connection else { return true };
        if connection.is_closed() || connection.send(Arc::clone(message)) {
            return true;
        }
        connection.close(closing(CloseReason::TooSlow));
        false
    }
}

/// The message that ends a connection.
pub fn closing(reason: CloseReason) -> Closing {
    Closing { reason, text: sentence(reason).to_owned(), deadline_ms: 0, may_resume: false }
}

/// What a person reads when a connection ends.
fn sentence(reason: CloseReason) -> &'static str {
    match reason {
        CloseReason::Left => "You left the room.",
        CloseReason::Shutdown => "The server stops.",
        CloseReason::Moved => "The room moves to another server.",
        CloseReason::RoomEnded => "The room has ended.",
        CloseReason::RoomFailed => "The room has failed; it was a fault of the server.",
        CloseReason::SessionEnded => "Your session has ended; sign in again.",
        CloseReason::Replaced => "You connected from somewhere else.",
        CloseReason::Kicked => "You were removed from the room.",
        CloseReason::TimedOut => "Nothing was heard from you for too long.",
        CloseReason::TooSlow => "Your connection does not keep up.",
        CloseReason::Flooded => "You sent too much.",
        CloseReason::ProtocolViolation => "Your client broke the protocol.",
        CloseReason::Unauthenticated => "You did not sign in in time.",
        CloseReason::Unknown => "The connection ends.",
    }
}

impl RoomPlayers {
    pub fn get(&self, id: PlayerId) -> Option<&RoomPlayer> {
        let at = self.seats.binary_search_by_key(&id, |seat| seat.id).ok()?;
        self.seats.get(at)
    }

    pub fn get_mut(&mut self, id: PlayerId) -> Option<&mut RoomPlayer> {
        let at = self.seats.binary_search_by_key(&id, |seat| seat.id).ok()?;
        self.seats.get_mut(at)
    }

    /// Adds a player, whose number is above all others.
    pub fn push(&mut self, seat: RoomPlayer) {
        debug_assert!(self.seats.last().is_none_or(|last| last.id < seat.id));
        self.seats.push(seat);
    }

    pub fn remove(&mut self, id: PlayerId) -> Option<RoomPlayer> {
        let at = self.seats.binary_search_by_key(&id, |seat| seat.id).ok()?;
        Some(self.seats.remove(at))
    }

    pub fn len(&self) -> usize {
        self.seats.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &RoomPlayer> {
        self.seats.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut RoomPlayer> {
        self.seats.iter_mut()
    }

    pub fn as_mut_slice(&mut self) -> &mut [RoomPlayer] {
        &mut self.seats
    }
}
