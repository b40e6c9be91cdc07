//! Flight of a ship whose client proposes the movement.

use aether::prelude::*;
use aether::wire::MovementDelta;
use aether_sandbox_rules::Ship;

/// Movement of one ship by its client.
///
/// A tick is flown either by controls or by proposals, never by both: only ticks of the latter grant credit for
/// proposals. So a client that sends both is not faster than one that only proposes.
pub struct ClientFlight {
    /// Checks the proposals.
    pub mover: Mover,
    /// True while the ship follows proposals. Thrust or a turn ends this; the next proposal starts it again.
    pub is_active: bool,
}

impl ClientFlight {
    /// Returns the flight of a ship before the first proposal.
    pub fn new(ship: &Ship) -> Self {
        ClientFlight { mover: Mover::at(ship.position), is_active: false }
    }

    /// Moves a ship as far as the rules allow.
    pub fn propose(
        &mut self,
        ship: &mut Ship,
        movement: &MovementDelta,
        rules: &MovementRules,
        seconds_per_tick: f32,
    ) -> Result<(), Violation> {
        if !self.is_active {
            self.is_active = true;
            self.mover.velocity = ship.velocity.map(|speed| speed * seconds_per_tick);
        }
        self.mover.position = ship.position;
        let result = self.mover.propose(rules, movement.seq, [movement.dx, movement.dy]);
        let [x, y] = self.mover.velocity;
        ship.position = self.mover.position;
        ship.velocity = [x / seconds_per_tick, y / seconds_per_tick];
        if [x, y] != [0.0; 2] {
            ship.heading = aether::libm::atan2f(y, x);
        }
        result
    }

    /// Stops the ship, which has a new position.
    pub fn stop(&mut self) {
        self.mover.velocity = [0.0; 2];
    }
}
