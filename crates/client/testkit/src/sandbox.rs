//! Client side of the sandbox.

use aether_bits::{BitWriter, Replicate};
use aether_client::{Angle, ClientGame, ClientSchemaBuilder, Interpolate, Predict, wrapped_difference};
use aether_replication::Mirror;
use aether_sandbox_rules::{Controls, EDGE, Hit, Scoreboard, Ship, Shot, Thing, step, wrap};
use aether_wire::EntityId;

/// Drawn ship. The world wraps around.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnShip(pub Ship);

impl Interpolate for DrawnShip {
    fn moved(&self, from: &Self, to: &Self, fraction: f32) -> Self {
        let mut ship = self.0.clone();
        for axis in 0..2 {
            let difference = wrapped_difference(from.0.position[axis], to.0.position[axis], 2.0 * EDGE);
            ship.position[axis] = wrap(ship.position[axis] + difference * fraction);
        }
        ship.velocity = ship.velocity.moved(&from.0.velocity, &to.0.velocity, fraction);
        ship.heading = Angle(ship.heading).moved(&Angle(from.0.heading), &Angle(to.0.heading), fraction).0;
        DrawnShip(ship)
    }

    fn distance(&self, other: &Self) -> f32 {
        let difference = |axis: usize| wrapped_difference(self.0.position[axis], other.0.position[axis], 2.0 * EDGE);
        difference(0).hypot(difference(1))
    }
}

/// Client side of the sandbox.
pub struct SandboxClient;

impl Predict for SandboxClient {
    type State = DrawnShip;
    type Input = Controls;

    fn step(&self, state: &mut DrawnShip, input: &Controls, seconds: f32) {
        step(&mut state.0, *input, seconds);
    }

    fn snap(&self, state: &mut DrawnShip) {
        state.0.snap();
    }

    fn is_same(&self, a: &DrawnShip, b: &DrawnShip) -> bool {
        a.0.position == b.0.position && a.0.velocity == b.0.velocity && a.0.heading == b.0.heading
    }
}

impl ClientGame for SandboxClient {
    type Remote = DrawnShip;

    fn declare(&self, schema: ClientSchemaBuilder) -> ClientSchemaBuilder {
        schema
            .component::<Ship>()
            .component::<Thing>()
            .component::<Shot>()
            .component::<Scoreboard>()
            .input::<Controls>()
            .event::<Hit>()
    }

    fn pack_input(&self, input: &Controls, writer: &mut BitWriter) {
        input.write_full(writer);
    }

    fn own_state(&self, mirror: &Mirror, entity: EntityId) -> Option<DrawnShip> {
        mirror.get::<Ship>(entity).cloned().map(DrawnShip)
    }

    fn remote_state(&self, mirror: &Mirror, entity: EntityId) -> Option<DrawnShip> {
        self.own_state(mirror, entity)
    }
}
