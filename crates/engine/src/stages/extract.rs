//! Stage 4: collects what changed and updates what each player sees.

use crate::context::Viewpoint;
use crate::game::Game;
use crate::observer::RoomCounts;
use crate::players::{RoomPlayer, RoomPlayers};
use crate::settings::RoomSettings;
use crate::spectators::Spectators;
use aether_space::{Grid, IndexKind, InterestManager, InterestSettings, Quadtree, SlotSet, SpatialIndex, Viewer};
use aether_world::{Visibility, World};

/// Changes since the last snapshot, interest managers and scratch memory.
pub(crate) struct Extraction {
    /// Slots that changed since the last snapshot.
    pub changed: SlotSet,
    /// Slots whose entity was despawned since the last snapshot.
    ended: Vec<u32>,
    interest: Option<(RoomIndex, InterestManager)>,
    everything: InterestManager,
    hidden: SlotSet,
    nobody: SlotSet,
}

/// Spatial index of a room. An enum, so that each query is compiled for its index.
enum RoomIndex {
    Grid(Grid),
    Quadtree(Quadtree),
}

impl RoomIndex {
    fn new(settings: &RoomSettings, interest: &InterestSettings) -> Self {
        match settings.index {
            IndexKind::Grid => {
                let grid = Grid::new(settings.bounds, interest.outer_radius());
                RoomIndex::Grid(grid.expect("the settings were validated"))
            }
            IndexKind::Quadtree => RoomIndex::Quadtree(Quadtree::new()),
        }
    }
}

impl Extraction {
    pub fn new(settings: &RoomSettings) -> Self {
        let everything =
            InterestManager::new(InterestSettings::default()).expect("the default interest settings are valid");
        let mut extraction = Extraction {
            changed: SlotSet::new(),
            ended: Vec::new(),
            interest: None,
            everything,
            hidden: SlotSet::new(),
            nobody: SlotSet::new(),
        };
        extraction.set_nearest_max(settings, settings.interest.and_then(|interest| interest.nearest_max));
        extraction
    }

    /// Sets the maximum number of entities that a player sees.
    pub fn set_nearest_max(&mut self, settings: &RoomSettings, nearest_max: Option<usize>) {
        self.interest = settings.interest.map(|interest| {
            let index = RoomIndex::new(settings, &interest);
            let interest = InterestManager::new(InterestSettings { nearest_max, ..interest });
            (index, interest.expect("the settings were validated"))
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
    /// Decides about entities with game visibility.
    pub game: &'a G,
    /// World after this tick.
    pub world: &'a World,
    /// Rate of snapshots.
    pub settings: &'a RoomSettings,
}

impl<G: Game> ExtractStage<'_, G> {
    /// Adds the changes of this tick. Before a snapshot, updates what each player and spectator sees.
    pub fn run(
        self,
        extraction: &mut Extraction,
        players: &mut RoomPlayers,
        spectators: &mut Spectators,
        counts: &mut RoomCounts,
    ) {
        extraction.note(self.world);
        if !self.world.tick().0.is_multiple_of(self.settings.ticks_per_snapshot()) {
            return;
        }
        extraction.ended.sort_unstable();
        extraction.ended.dedup();
        match &mut extraction.interest {
            Some((RoomIndex::Grid(grid), _)) => grid.rebuild(self.world.points()),
            Some((RoomIndex::Quadtree(quadtree), _)) => quadtree.rebuild(self.world.points()),
            None => {}
        }
        let is_spatial = extraction.interest.is_some();
        for player in players.iter_mut() {
            if player.connection.as_ref().is_some_and(|connection| !connection.is_closed()) {
                update_view(player, self.world, self.game, extraction);
                counts.interest_queries += u64::from(is_spatial && player.viewpoint != Viewpoint::Everything);
            }
        }
        spectators.update_views(self.world, &extraction.ended, &mut extraction.everything);
        extraction.ended.clear();
    }
}

fn update_view<G: Game>(player: &mut RoomPlayer, world: &World, game: &G, extraction: &mut Extraction) {
    let Extraction { interest, everything, hidden, nobody, ended, .. } = extraction;
    let hidden = match world.restricted().is_empty() {
        true => &*nobody,
        false => {
            hidden.clear();
            hidden.extend(world.restricted().iter().filter(|&slot| !can_see(player, slot, world, game)));
            &*hidden
        }
    };
    let center = match player.viewpoint {
        Viewpoint::Possession => player.possession.and_then(|entity| world.position(entity)),
        Viewpoint::At(place) => Some(place),
        Viewpoint::Everything => None,
    };
    player.view.center = center;
    player.view.update_visible(world.tick(), ended, |visible, changes| match interest {
        Some((index, interest)) if player.viewpoint != Viewpoint::Everything => {
            let viewer = Viewer { center, always: world.without_position(), hidden };
            match index {
                RoomIndex::Grid(grid) => interest.update(grid, &viewer, visible, changes),
                RoomIndex::Quadtree(quadtree) => interest.update(quadtree, &viewer, visible, changes),
            }
        }
        _ => everything.update_everyone(world.alive(), hidden, visible, changes),
    });
}

fn can_see<G: Game>(player: &RoomPlayer, slot: u32, world: &World, game: &G) -> bool {
    match world.visibility_at(slot) {
        Visibility::Everyone => true,
        Visibility::Owner => world.owner_at(slot) == Some(player.id),
        Visibility::Team(team) => player.team == Some(team),
        Visibility::Game => world.entity_at(slot).is_some_and(|entity| game.can_see(world, player.id, entity)),
    }
}
