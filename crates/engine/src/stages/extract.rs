//! Stage four: what changed, and who sees it.

use crate::context::Viewpoint;
use crate::game::Game;
use crate::seat::{RoomPlayer, RoomPlayers};
use crate::settings::RoomSettings;
use aether_space::{Grid, InterestManager, InterestSettings, SlotSet, SpatialIndex, Viewer};
use aether_world::{Visibility, World};

/// What is gathered between snapshots, and scratch memory.
pub(crate) struct Extraction {
    /// The slots that changed since the last snapshot.
    pub changed: SlotSet,
    /// The slots whose entity ended since the last snapshot.
    ended: Vec<u32>,
    sight: Option<(Grid, InterestManager)>,
    everything: InterestManager,
    hidden: SlotSet,
    nobody: SlotSet,
}

impl Extraction {
    pub fn new(settings: &RoomSettings) -> Self {
        let everything = InterestManager::new(InterestSettings::default()).expect("the defaults are valid");
        let mut extraction = Extraction {
            changed: SlotSet::new(),
            ended: Vec::new(),
            sight: None,
            everything,
            hidden: SlotSet::new(),
            nobody: SlotSet::new(),
        };
        extraction.set_nearest_max(settings, settings.interest.and_then(|interest| interest.nearest_max));
        extraction
    }

    /// Sets how many a player sees at most.
    pub fn set_nearest_max(&mut self, settings: &RoomSettings, nearest_max: Option<usize>) {
        self.sight = settings.interest.map(|interest| {
            let grid = Grid::new(settings.bounds, interest.outer_radius());
            let interest = InterestManager::new(InterestSettings { nearest_max, ..interest });
            (grid.expect("the settings were validated"), interest.expect("the settings were validated"))
        });
    }

    fn note(&mut self, world: &World) {
        self.changed.union_with(world.changed());
        for entity in world.despawned() {
            self.changed.remove(entity.slot);
            self.ended.push(entity.slot);
        }
    }
}

/// Parts of the room that the stage reads.
pub(crate) struct ExtractStage<'a, G> {
    /// Asked who may see what.
    pub game: &'a G,
    /// The state after this tick.
    pub world: &'a World,
    /// The rate of snapshots.
    pub settings: &'a RoomSettings,
}

impl<G: Game> ExtractStage<'_, G> {
    /// Notes what changed in `extraction`; before a snapshot, updates what every player sees.
    pub fn run(self, extraction: &mut Extraction, seats: &mut RoomPlayers) {
        extraction.note(self.world);
        if !self.world.tick().0.is_multiple_of(self.settings.ticks_per_snapshot()) {
            return;
        }
        extraction.ended.sort_unstable();
        extraction.ended.dedup();
        if let Some((grid, _)) = &mut extraction.sight {
            grid.rebuild(self.world.points());
        }
        for seat in seats.iter_mut() {
            if seat.connection.as_ref().is_some_and(|connection| !connection.is_closed()) {
                look(seat, self.world, self.game, extraction);
            }
        }
        extraction.ended.clear();
    }
}

fn look<G: Game>(seat: &mut RoomPlayer, world: &World, game: &G, extraction: &mut Extraction) {
    let Extraction { sight, everything, hidden, nobody, ended, .. } = extraction;
    let hidden = match world.restricted().is_empty() {
        true => &*nobody,
        false => {
            hidden.clear();
            hidden.extend(world.restricted().iter().filter(|&slot| !may_see(seat, slot, world, game)));
            &*hidden
        }
    };
    let center = match seat.sight {
        Viewpoint::Possession => seat.possession.and_then(|entity| world.position(entity)),
        Viewpoint::At(place) => Some(place),
        Viewpoint::Everything => None,
    };
    seat.view.center = center;
    seat.view.update_visible(world.tick(), ended, |visible, changes| match sight {
        Some((grid, interest)) if seat.sight != Viewpoint::Everything => {
            let viewer = Viewer { center, always: world.without_position(), hidden };
            interest.update(grid, &viewer, visible, changes);
        }
        _ => everything.update_everyone(world.alive(), hidden, visible, changes),
    });
}

fn may_see<G: Game>(seat: &RoomPlayer, slot: u32, world: &World, game: &G) -> bool {
    match world.visibility_at(slot) {
        Visibility::Everyone => true,
        Visibility::Owner => world.owner_at(slot) == Some(seat.id),
        Visibility::Team(team) => seat.team == Some(team),
        Visibility::Game => world.entity_at(slot).is_some_and(|entity| game.can_see(world, seat.id, entity)),
    }
}
