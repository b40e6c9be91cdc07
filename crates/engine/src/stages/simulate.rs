//! Stage 3: steps the game and snaps the world to the grid of the wire.

use crate::game::Game;
use crate::room::RoomState;

/// Steps the game and settles the world.
pub(crate) fn simulate<G: Game>(game: &mut G, state: &mut RoomState) {
    game.tick(&mut state.context());
    state.world.settle();
    state.output.counts.spawns_refused += state.world.take_rejected_spawns();
}
