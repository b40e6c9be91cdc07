//! Stage three: the game steps, and its world settles on the wire's grid.

use crate::game::Game;
use crate::room::RoomState;

/// Writes the game, and all that it can reach.
pub(crate) fn simulate<G: Game>(game: &mut G, state: &mut RoomState) {
    game.tick(&mut state.context());
    state.world.settle();
    state.desk.counts.spawns_refused += state.world.take_spawns_refused();
}
