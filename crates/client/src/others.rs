//! Everything in view that the player does not steer.

use crate::slots::GrowingSlotSet;
use crate::{ClientGame, ClientSettings, EntityTrack, TrackSampling};
use aether_replication::{AppliedPacket, Mirror};
use aether_wire::{EntityId, PacketSeq, Tick};
use std::collections::BTreeMap;

/// The tracks of all entities in view.
pub(crate) struct RemoteEntities<G: ClientGame> {
    followed: BTreeMap<EntityId, Followed<G::Remote>>,
    slots: GrowingSlotSet,
}

struct Followed<S> {
    track: EntityTrack<S>,
    /// The last packet that spoke of it.
    sequence: PacketSeq,
}

impl<G: ClientGame> RemoteEntities<G> {
    pub fn new() -> Self {
        RemoteEntities { followed: BTreeMap::new(), slots: GrowingSlotSet::default() }
    }

    /// Takes in what a packet brought. False if the server shows more than the client follows.
    pub fn take(
        &mut self,
        (game, settings): (&G, &ClientSettings),
        mirror: &Mirror,
        applied: &AppliedPacket,
        known: Tick,
    ) -> bool {
        for &entity in mirror.left() {
            let too_many = self.followed.len() > settings.entities_max;
            if too_many {
                // What comes and goes without end is not shown to its end.
                self.followed.remove(&entity);
            } else if let Some(followed) = self.followed.get_mut(&entity) {
                followed.track.leave(applied.tick);
            }
        }
        for &entity in mirror.entered() {
            self.slots.add(entity);
            let followed = self
                .followed
                .entry(entity)
                .or_insert_with(|| Followed { track: EntityTrack::default(), sequence: PacketSeq(0) });
            followed.track.enter();
        }
        if self.slots.len() > settings.entities_max {
            return false;
        }
        for &entity in mirror.entered().iter().chain(mirror.updated()) {
            let Some(followed) = self.followed.get_mut(&entity) else { continue };
            followed.sequence = applied.sequence;
            if let Some(state) = game.remote_state(mirror, entity) {
                followed.track.push(applied.tick, state, known);
            }
        }
        true
    }

    /// The last packet that spoke of an entity.
    pub fn sequence(&self, entity: EntityId) -> Option<PacketSeq> {
        self.followed.get(&entity).map(|followed| followed.sequence)
    }

    /// What is to be drawn of one entity.
    pub fn one(&self, entity: EntityId, sampling: &TrackSampling) -> Option<G::Remote> {
        self.followed.get(&entity)?.track.sample(sampling)
    }

    /// Drops what is no longer needed to show this tick and later ones.
    pub fn prune(&mut self, view: f64) {
        self.followed.retain(|_, followed| {
            followed.track.prune(view);
            !followed.track.is_over(view)
        });
    }

    /// What is to be drawn.
    pub fn shown(&self, own: Option<EntityId>, sampling: TrackSampling) -> impl Iterator<Item = (EntityId, G::Remote)> {
        self.followed
            .iter()
            .filter(move |(entity, _)| Some(**entity) != own)
            .filter_map(move |(&entity, followed)| Some((entity, followed.track.sample(&sampling)?)))
    }
}
