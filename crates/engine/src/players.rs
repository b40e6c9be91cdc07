//! The players of a room.

use crate::connection::RoomEndpoint;
use crate::context::Viewpoint;
use crate::game::JoinRequest;
use aether_replication::{ClientView, DeliveryOrder};
use aether_wire::{CloseReason, Closing, EntityId, InputBytes, InputSeq, PlayerId, ServerMessage, Tick, ViewTick};
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum length of a player's input queue. Beyond it, the oldest input is dropped.
pub const INPUT_QUEUE_MAX: usize = 32;
/// Maximum credit, in bursts, that a player saves while no inputs arrive. A network stall of that length drops no
/// inputs, and no player can save more.
const CREDIT_BURSTS: u32 = 4;
/// Dropped inputs, minus one per tick, after which a player is closed as flooding.
pub const INPUT_DROPS_MAX: u32 = 256;

/// A player of a room.
#[derive(Debug)]
pub struct RoomPlayer {
    pub id: PlayerId,
    /// In memory of its own, because ticks rarely read it.
    pub join: Box<JoinRequest>,
    pub connection: Option<RoomEndpoint>,
    pub view: ClientView,
    pub inputs: InputQueue,
    /// Sequence number of the last applied input.
    pub input_ack: InputSeq,
    /// Tick that the client displayed when it sent that input.
    pub view_tick: ViewTick,
    pub possession: Option<EntityId>,
    pub viewpoint: Viewpoint,
    pub team: Option<u8>,
    /// Set if the player leaves at the next tick.
    pub leaving: Option<CloseReason>,
    /// Tick at which the connection was lost.
    pub detached_at: Option<Tick>,
    /// True if the current snapshot is built for this player.
    pub is_served: bool,
}

/// All players, ordered by id, which is the order of joining.
#[derive(Debug, Default)]
pub struct RoomPlayers {
    players: Vec<RoomPlayer>,
}

/// An input in the queue.
#[derive(Clone, Copy, Debug)]
pub struct PendingInput {
    pub seq: InputSeq,
    pub view: ViewTick,
    pub bytes: InputBytes,
}

/// Inputs of a player: each once, in order, and limited by a credit.
#[derive(Debug, Default)]
pub struct InputQueue {
    pending: VecDeque<PendingInput>,
    newest: InputSeq,
    /// Inputs that may be applied: unused shares of past ticks.
    credit: u32,
    /// Inputs that may still be applied in this tick.
    tick_credit: u32,
    drops: u32,
}

/// Outcome of [`InputQueue::push`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOutcome {
    Queued,
    Repeated,
    /// The input is queued; the oldest one was dropped.
    OldestDropped,
}

impl InputQueue {
    /// Queues an input.
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
        if full { QueueOutcome::OldestDropped } else { QueueOutcome::Queued }
    }

    /// Grants the credit of a tick.
    pub fn refill(&mut self, per_tick: u32, burst: u32) {
        self.credit = (self.credit + per_tick).min(burst.max(per_tick) * CREDIT_BURSTS);
        self.tick_credit = burst.max(per_tick);
        self.drops = self.drops.saturating_sub(1);
    }

    /// Returns the next input if the credit allows one.
    pub fn pop(&mut self) -> Option<PendingInput> {
        if self.credit == 0 || self.tick_credit == 0 {
            return None;
        }
        let input = self.pending.pop_front()?;
        if self.pending.is_empty() {
            // Starts again at the first place, so that the others are never in the cache.
            self.pending.clear();
        }
        self.credit -= 1;
        self.tick_credit -= 1;
        Some(input)
    }

    /// Drops the oldest inputs that have no credit, so that later ones are not delayed. A burst may always wait.
    /// Returns the number of dropped inputs.
    pub fn trim(&mut self, burst: u32) -> u32 {
        let excess = self.pending.len().saturating_sub(self.credit.max(burst) as usize);
        self.pending.drain(..excess);
        self.drops += excess as u32;
        excess as u32
    }

    /// Returns true if the player sends far more inputs than allowed.
    pub fn is_flooding(&self) -> bool {
        self.drops > INPUT_DROPS_MAX
    }
}

impl RoomPlayer {
    pub fn new(id: PlayerId, join: JoinRequest, connection: Option<(DeliveryOrder, RoomEndpoint)>) -> RoomPlayer {
        let order = connection.as_ref().map_or(DeliveryOrder::Ordered, |(order, _)| *order);
        RoomPlayer {
            id,
            join: Box::new(join),
            connection: connection.map(|(_, endpoint)| endpoint),
            view: ClientView::new(order),
            inputs: InputQueue::default(),
            input_ack: InputSeq(0),
            view_tick: ViewTick::default(),
            possession: None,
            viewpoint: Viewpoint::Possession,
            team: None,
            leaving: None,
            detached_at: None,
            is_served: false,
        }
    }

    /// Sends a reliable message. If too many are queued, closes the connection and returns false.
    pub fn send(&mut self, message: &Arc<ServerMessage>) -> bool {
        let Some(connection) = &self.connection else { return true };
        if connection.is_closed() || connection.send(Arc::clone(message)) {
            return true;
        }
        connection.close(closing(CloseReason::TooSlow));
        false
    }
}

/// Returns the message that closes a connection.
pub fn closing(reason: CloseReason) -> Closing {
    Closing { reason, text: sentence(reason).to_owned(), deadline_ms: 0, may_resume: false }
}

/// Sentence for the player.
fn sentence(reason: CloseReason) -> &'static str {
    match reason {
        CloseReason::Left => "You left the room.",
        CloseReason::Shutdown => "The server stops.",
        CloseReason::Moved => "The room moves to another server.",
        CloseReason::RoomEnded => "The room has ended.",
        CloseReason::RoomFailed => "The room failed because of an error on the server.",
        CloseReason::SessionEnded => "Your session has ended; sign in again.",
        CloseReason::Replaced => "You connected from another client.",
        CloseReason::Kicked => "You were removed from the room.",
        CloseReason::TimedOut => "Your client sent nothing for too long.",
        CloseReason::TooSlow => "Your connection does not keep up.",
        CloseReason::Flooded => "You sent too much.",
        CloseReason::ProtocolViolation => "Your client broke the protocol.",
        CloseReason::Unauthenticated => "You did not sign in in time.",
        CloseReason::Unknown => "The connection ends.",
    }
}

impl RoomPlayers {
    pub fn get(&self, id: PlayerId) -> Option<&RoomPlayer> {
        self.players.get(self.index(id)?)
    }

    pub fn get_mut(&mut self, id: PlayerId) -> Option<&mut RoomPlayer> {
        let at = self.index(id)?;
        self.players.get_mut(at)
    }

    /// Returns the index of a player. Ids are given without gaps, so the place is known as long as nobody has left.
    #[inline]
    fn index(&self, id: PlayerId) -> Option<usize> {
        let guess = id.0.checked_sub(self.players.first()?.id.0)? as usize;
        match self.players.get(guess) {
            Some(player) if player.id == id => Some(guess),
            _ => self.players.binary_search_by_key(&id, |player| player.id).ok(),
        }
    }

    /// Adds a player. Its id must be above all others.
    pub fn push(&mut self, player: RoomPlayer) {
        debug_assert!(self.players.last().is_none_or(|last| last.id < player.id));
        self.players.push(player);
    }

    pub fn remove(&mut self, id: PlayerId) -> Option<RoomPlayer> {
        let at = self.index(id)?;
        Some(self.players.remove(at))
    }

    pub fn len(&self) -> usize {
        self.players.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &RoomPlayer> {
        self.players.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut RoomPlayer> {
        self.players.iter_mut()
    }

    pub fn as_mut_slice(&mut self) -> &mut [RoomPlayer] {
        &mut self.players
    }
}
