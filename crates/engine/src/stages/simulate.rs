//! Stage three: the game steps, and its world settles on the wire's grid.

use crate::game::Game;
use crate::observer::{Observer, Stage};
use crate::room::Room;

impl<G: Game> Room<G> {
    /// One step of the game.
    pub(crate) fn simulate(&mut self, observer: &mut impl Observer) {
        observer.stage(self.now(), Stage::Simulate);
        self.game.tick(&mut self.state.context());
        self.state.world.settle();
        self.state.desk.counts.spawns_refused += self.state.world.take_spawns_refused();
    }
}
