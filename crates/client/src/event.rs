//! Events of a client, for the game.

use crate::EndReason;
use aether_wire::{Ack, Closing, Correction, ErrorNotice, Event, Manifest, Possession, Tick, Welcome};
use std::collections::VecDeque;

/// Largest number of queued events. If the game does not read them, the oldest are dropped.
const EVENTS_MAX: usize = 1_024;

/// Event of a client. Events are in the order in which the server's messages arrived.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// The client joined a room.
    Joined {
        /// Welcome of the room.
        welcome: Box<Welcome>,
        /// True if the client resumed its player.
        resumed: bool,
    },
    /// The player possesses another entity.
    Possession(Possession),
    /// The game sent an event. [`crate::Client::read_event`] unpacks it.
    Game(Event),
    /// The server answered a command.
    Answer(Ack),
    /// The server reported an error.
    Error(ErrorNotice),
    /// The server corrected a movement that the client proposed.
    Correction(Correction),
    /// The world was cleared.
    Cleared(Tick),
    /// The server's manifest.
    Manifest(Manifest),
    /// The server is about to close the connection.
    Closing(Closing),
    /// The connection was lost; the client reconnects by itself.
    Lost,
    /// The client closed for good.
    Closed(EndReason),
}

/// Queue of events for the game.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    events: VecDeque<ClientEvent>,
}

impl EventQueue {
    /// Adds an event. Returns false if the oldest was dropped for it.
    pub fn push(&mut self, event: ClientEvent) -> bool {
        let is_full = self.events.len() == EVENTS_MAX;
        if is_full {
            self.events.pop_front();
        }
        self.events.push_back(event);
        !is_full
    }

    /// Removes and returns all events.
    pub fn drain(&mut self) -> impl Iterator<Item = ClientEvent> {
        self.events.drain(..)
    }
}
