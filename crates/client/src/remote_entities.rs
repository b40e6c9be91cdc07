//! Tracks of all visible entities.

use crate::slot_set::GrowingSlotSet;
use crate::{ClientGame, ClientSettings, EntityTrack, TrackSampling};
use aether_replication::{AppliedPacket, Mirror};
use aether_wire::{EntityId, PacketSeq, Tick};
use std::collections::BTreeMap;

/// Tracks of all visible entities.
pub(crate) struct RemoteEntities<G: ClientGame> {
    tracked: BTreeMap<EntityId, TrackedEntity<G::Remote>>,
    slots: GrowingSlotSet,
}

struct TrackedEntity<S> {
    track: EntityTrack<S>,
    /// Last packet that contained the entity.
    last_packet: PacketSeq,
}

impl<G: ClientGame> RemoteEntities<G> {
    pub fn new() -> Self {
        RemoteEntities { tracked: BTreeMap::new(), slots: GrowingSlotSet::default() }
    }

    /// Handles the changes of an applied packet. Returns false if the server sends more entities than the limit.
    pub fn handle_packet(
        &mut self,
        (game, settings): (&G, &ClientSettings),
        mirror: &Mirror,
        applied: &AppliedPacket,
        previous_tick: Tick,
    ) -> bool {
        for &entity in mirror.left() {
            let too_many = self.tracked.len() > settings.entities_max;
            if too_many {
                // Beyond the limit an entity is removed at once instead of at the displayed tick.
                self.tracked.remove(&entity);
            } else if let Some(tracked) = self.tracked.get_mut(&entity) {
                tracked.track.leave(applied.tick);
            }
        }
        for &entity in mirror.entered() {
            self.slots.add(entity);
            let tracked = self
                .tracked
                .entry(entity)
                .or_insert_with(|| TrackedEntity { track: EntityTrack::default(), last_packet: PacketSeq(0) });
            tracked.track.enter();
        }
        if self.slots.len() > settings.entities_max {
            return false;
        }
        for &entity in mirror.entered().iter().chain(mirror.updated()) {
            let Some(tracked) = self.tracked.get_mut(&entity) else { continue };
            tracked.last_packet = applied.sequence;
            if let Some(state) = game.remote_state(mirror, entity) {
                tracked.track.push(applied.tick, state, previous_tick);
            }
        }
        true
    }

    /// Last packet that contained an entity.
    pub fn last_packet(&self, entity: EntityId) -> Option<PacketSeq> {
        self.tracked.get(&entity).map(|tracked| tracked.last_packet)
    }

    /// State of one entity to draw.
    pub fn sample(&self, entity: EntityId, sampling: &TrackSampling) -> Option<G::Remote> {
        self.tracked.get(&entity)?.track.sample(sampling)
    }

    /// Drops states that are older than needed to display this tick.
    pub fn prune(&mut self, display_tick: f64) {
        self.tracked.retain(|_, tracked| {
            tracked.track.prune(display_tick);
            !tracked.track.has_ended(display_tick)
        });
    }

    /// States of all entities except `own` to draw.
    pub fn displayed(
        &self,
        own: Option<EntityId>,
        sampling: TrackSampling,
    ) -> impl Iterator<Item = (EntityId, G::Remote)> {
        self.tracked
            .iter()
            .filter(move |(entity, _)| Some(**entity) != own)
            .filter_map(move |(&entity, tracked)| Some((entity, tracked.track.sample(&sampling)?)))
    }
}
