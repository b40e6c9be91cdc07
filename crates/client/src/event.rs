//! Events of a client, for the game.

use crate::EndReason;
use aether_wire::{Ack, Closing, Correction, EntityId, ErrorNotice, Event, Manifest, Possession, Tick, Welcome};
use std::collections::VecDeque;

/// Largest number of queued events. If the game does not read them, the oldest are dropped. It is twice the default of
/// [`ClientSettings::entities_max`](crate::ClientSettings::entities_max): all entities may leave and others enter
/// between two frames.
const EVENTS_MAX: usize = 32_768;

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
    /// An entity entered the view: it was spawned in sight, or came into sight. It is drawn once the displayed time
    /// reaches this tick. After [`ClientEvent::Joined`] the view is empty, and everything in sight enters again.
    EntityEntered {
        /// Tick of the state that contained it first.
        tick: Tick,
        /// The entity.
        entity: EntityId,
    },
    /// An entity left the view: it was despawned, or is out of sight. The server does not tell which. Each entity that
    /// entered leaves at most once before it enters again.
    EntityLeft {
        /// Tick of the state that it was missing from.
        tick: Tick,
        /// The entity.
        entity: EntityId,
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
