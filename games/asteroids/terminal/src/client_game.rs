//! Client side of the game: prediction, and interpolation across the seam.

use aether::prelude::*;
use aether_asteroids_rules::{
    Asteroid, Controls, Explosion, HighScores, Ship, Shot, Standing, Wave, offset, steer, wrapped,
};

/// The game on a client.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsteroidsClient;

/// Own ship, which is predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnShip(pub Ship);

/// Entity that moves, as it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Drawn {
    /// Ship of a player.
    Ship(Ship),
    /// Asteroid.
    Asteroid(Asteroid),
    /// Shot.
    Shot(Shot),
}

impl Drawn {
    fn position(&self) -> [f32; 2] {
        match self {
            Drawn::Ship(ship) => ship.position,
            Drawn::Asteroid(asteroid) => asteroid.position,
            Drawn::Shot(shot) => shot.position,
        }
    }
}

impl Interpolate for OwnShip {
    fn moved(&self, from: &Self, to: &Self, fraction: f32) -> Self {
        OwnShip(moved_ship(&self.0, &from.0, &to.0, fraction))
    }

    fn distance(&self, other: &Self) -> f32 {
        distance(self.0.position, other.0.position)
    }
}

impl Interpolate for Drawn {
    fn moved(&self, from: &Self, to: &Self, fraction: f32) -> Self {
        let position = moved_position(self.position(), from.position(), to.position(), fraction);
        match (self, from, to) {
            (Drawn::Ship(ship), Drawn::Ship(from), Drawn::Ship(to)) => {
                Drawn::Ship(moved_ship(ship, from, to, fraction))
            }
            (Drawn::Asteroid(asteroid), ..) => Drawn::Asteroid(Asteroid { position, ..asteroid.clone() }),
            (Drawn::Shot(shot), ..) => Drawn::Shot(Shot { position, ..shot.clone() }),
            (Drawn::Ship(_), ..) => self.clone(),
        }
    }

    fn distance(&self, other: &Self) -> f32 {
        distance(self.position(), other.position())
    }
}

impl Predict for AsteroidsClient {
    type State = OwnShip;
    type Input = Controls;

    fn step(&self, state: &mut OwnShip, input: &Controls, _seconds: f32) {
        steer(&mut state.0, input);
    }

    fn snap(&self, state: &mut OwnShip) {
        state.0.snap();
    }

    fn is_same(&self, OwnShip(a): &OwnShip, OwnShip(b): &OwnShip) -> bool {
        // Only the server decides about the protection.
        *a == Ship { is_protected: a.is_protected, ..b.clone() }
    }
}

impl ClientGame for AsteroidsClient {
    type Remote = Drawn;

    fn declare(&self, declaration: ClientSchemaBuilder) -> ClientSchemaBuilder {
        declaration
            .component::<Ship>()
            .component::<Asteroid>()
            .component::<Shot>()
            .component::<Standing>()
            .component::<Wave>()
            .component::<HighScores>()
            .input::<Controls>()
            .event::<Explosion>()
    }

    fn pack_input(&self, input: &Controls, writer: &mut BitWriter) {
        input.write_full(writer);
    }

    fn own_state(&self, mirror: &Mirror, entity: EntityId) -> Option<OwnShip> {
        mirror.get::<Ship>(entity).cloned().map(OwnShip)
    }

    fn remote_state(&self, mirror: &Mirror, entity: EntityId) -> Option<Drawn> {
        let ship = || mirror.get::<Ship>(entity).cloned().map(Drawn::Ship);
        let asteroid = || mirror.get::<Asteroid>(entity).cloned().map(Drawn::Asteroid);
        let shot = || mirror.get::<Shot>(entity).cloned().map(Drawn::Shot);
        ship().or_else(asteroid).or_else(shot)
    }
}

fn moved_ship(ship: &Ship, from: &Ship, to: &Ship, fraction: f32) -> Ship {
    Ship {
        position: moved_position(ship.position, from.position, to.position, fraction),
        velocity: ship.velocity.moved(&from.velocity, &to.velocity, fraction),
        heading: Angle(ship.heading).moved(&Angle(from.heading), &Angle(to.heading), fraction).0,
        ..ship.clone()
    }
}

/// Moves a position by a share of the shortest way between two others, which may lead across the seam.
fn moved_position(position: [f32; 2], from: [f32; 2], to: [f32; 2], fraction: f32) -> [f32; 2] {
    let way = offset(from, to);
    wrapped([0, 1].map(|axis| position[axis] + way[axis] * fraction))
}

fn distance(from: [f32; 2], to: [f32; 2]) -> f32 {
    let [x, y] = offset(from, to);
    (x * x + y * y).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aether_asteroids_rules::{AsteroidSize, HEIGHT, WIDTH};

    fn asteroid(position: [f32; 2]) -> Drawn {
        Drawn::Asteroid(Asteroid::at(position, [60.0, 0.0], AsteroidSize::Large))
    }

    #[test]
    fn interpolation_takes_the_short_way_across_the_seam() {
        let (before, after) = (asteroid([WIDTH - 6.0, 10.0]), asteroid([4.0, HEIGHT - 10.0]));
        assert!(before.distance(&after) < 30.0, "they are near each other");
        let positions = [0.25, 0.5, 0.75].map(|fraction| before.between(&after, fraction).position());
        assert_eq!(positions, [[WIDTH - 3.5, 5.0], [WIDTH - 1.0, 0.0], [1.5, HEIGHT - 5.0]]);
    }

    #[test]
    fn motion_continues_across_the_seam_when_it_is_extrapolated() {
        let (before, newest) = (asteroid([WIDTH - 20.0, 500.0]), asteroid([WIDTH - 10.0, 500.0]));
        assert_eq!(newest.moved(&before, &newest, 2.0).position(), [10.0, 500.0]);
    }

    #[test]
    fn a_correction_across_the_seam_is_smoothed_on_the_short_way() {
        let ship = |x: f32| OwnShip(Ship::at([x, 100.0], 1));
        let (displayed, corrected) = (ship(WIDTH - 4.0), ship(4.0));
        assert_eq!(displayed.distance(&corrected), 8.0);
        let shown = corrected.moved(&corrected, &displayed, 0.75);
        assert_eq!(shown.0.position, [WIDTH - 2.0, 100.0]);
    }

    #[test]
    fn protection_is_no_prediction_error() {
        let ship = Ship::at([1.0, 1.0], 1);
        let protected = Ship { is_protected: true, ..ship.clone() };
        let moved = Ship::at([2.0, 1.0], 1);
        assert!(AsteroidsClient.is_same(&OwnShip(ship.clone()), &OwnShip(protected)));
        assert!(!AsteroidsClient.is_same(&OwnShip(ship), &OwnShip(moved)));
    }
}
