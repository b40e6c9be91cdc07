//! Spectators of a room: they get the state that everybody may see. They are no players, and the game does not know
//! them, so they change neither the state nor a recording.

use crate::connection::RoomEndpoint;
use crate::game::Rejection;
use crate::players::closing;
use crate::settings::RoomSettings;
use aether_replication::{ClientView, DeliveryOrder, DeltaCache, GatherBuffer, SendSettings, SnapshotContext};
use aether_space::InterestManager;
use aether_wire::{ClientMessage, CloseReason, ErrorCode, InputSeq};
use aether_world::World;
use std::task::Waker;

/// Maximum number of spectators of a room. One of them can serve a whole network.
pub const SPECTATORS_MAX: usize = 8;

/// All spectators of a room.
pub(crate) struct Spectators {
    spectators: Vec<Spectator>,
    send: SendSettings,
}

struct Spectator {
    connection: RoomEndpoint,
    view: ClientView,
}

impl Spectators {
    pub fn new(settings: &RoomSettings) -> Self {
        // The first snapshot has all entities, so that a viewer needs no second one: the largest budget, and no rings.
        let bytes_max = RoomSettings::SNAPSHOT_BYTES_MAX;
        let send = SendSettings { bytes_max, rings: Vec::new(), ..settings.send_settings() };
        Spectators { spectators: Vec::new(), send }
    }

    /// Adds a spectator, or rejects it if there are too many.
    pub fn add(&mut self, connection: RoomEndpoint) {
        if self.spectators.len() < SPECTATORS_MAX {
            self.spectators.push(Spectator { connection, view: ClientView::new(DeliveryOrder::Unordered) });
        } else {
            connection.reject(Rejection::new(ErrorCode::RoomFull, "the room has too many spectators; try again later"));
        }
    }

    /// Handles the acknowledgements, and removes spectators who are gone.
    pub fn receive(&mut self) {
        self.spectators.retain(|spectator| spectator.connection.loss_reason().is_none());
        for Spectator { connection, view } in &mut self.spectators {
            let mut remaining = connection.count_messages();
            while let Some(message) = connection.receive(&mut remaining) {
                if let ClientMessage::Ack(ack) = message {
                    view.acknowledge(ack);
                }
            }
        }
    }

    /// Updates what the spectators see: all entities without a restriction.
    pub fn update_views(&mut self, world: &World, ended: &[u32], everything: &mut InterestManager) {
        for Spectator { view, .. } in &mut self.spectators {
            view.update_visible(world.tick(), ended, |visible, changes| {
                everything.update_everyone(world.alive(), world.restricted(), visible, changes);
            });
        }
    }

    /// Builds a snapshot for every spectator who has taken the last one.
    pub fn send(&mut self, context: &SnapshotContext<'_>, deltas: &mut DeltaCache, gathered: &mut GatherBuffer) {
        let context = SnapshotContext { settings: &self.send, ring_stretch: 1, ..*context };
        for Spectator { connection, view } in &mut self.spectators {
            if connection.is_closed() {
                continue;
            }
            if connection.is_ready_for_state() {
                gathered.begin();
                view.gather(&context, deltas, gathered);
                view.assemble(&context, deltas, gathered, InputSeq(0), &mut &*connection);
            } else {
                view.defer(context.changed);
            }
        }
    }

    /// Adds the wakers of the connections with new output.
    pub fn take_wakers(&self, wakers: &mut Vec<Waker>) {
        wakers.extend(self.spectators.iter().filter_map(|spectator| spectator.connection.take_waker()));
    }

    /// Closes every connection.
    pub fn close(&mut self, reason: CloseReason) {
        for spectator in self.spectators.drain(..) {
            spectator.connection.close(closing(reason));
        }
    }
}
