//! What happened, for the game.

use crate::EndReason;
use aether_wire::{Ack, Closing, Correction, ErrorNotice, Event, Manifest, Possession, Tick, Welcome};
use std::collections::VecDeque;

/// Events that wait for the game. One that does not take them loses the oldest.
const EVENTS_MAX: usize = 1_024;

/// Something that happened. Events come in the order in which the server's messages arrived.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// The client is in a room.
    Joined {
        /// What the server says of the room.
        welcome: Box<Welcome>,
        /// Whether it is back as the player that it was before.
        resumed: bool,
    },
    /// The player steers another entity.
    Possession(Possession),
    /// The game says something. [`crate::Client::read`] unpacks it.
    Game(Event),
    /// A command was answered.
    Answer(Ack),
    /// Something was refused.
    Error(ErrorNotice),
    /// A game that lets clients propose movement says where the own entity really is.
    Correction(Correction),
    /// The world was cleared.
    Cleared(Tick),
    /// The server's manifest.
    Manifest(Manifest),
    /// The server is about to end the connection.
    Closing(Closing),
    /// The connection was lost; the client comes back by itself.
    Lost,
    /// It is over.
    Closed(EndReason),
}

/// Events that wait for the game.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    waiting: VecDeque<ClientEvent>,
}

impl EventQueue {
    /// Adds an event. False if the oldest had to go for it.
    pub fn push(&mut self, event: ClientEvent) -> bool {
        let is_full = self.waiting.len() == EVENTS_MAX;
        if is_full {
            self.waiting.pop_front();
        }
        self.waiting.push_back(event);
        !is_full
    }

    /// Hands them all out.
    pub fn drain(&mut self) -> impl Iterator<Item = ClientEvent> {
        self.waiting.drain(..)
    }
}
