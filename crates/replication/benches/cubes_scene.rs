//! A seeded scene of cubes: one large cube is driven through a field of 900 small ones.
//!
//! The scene exists to produce the deltas of a real physics game, so the cubes are [rigid bodies](crate::rigid_body).

use crate::rigid_body::{Body, Contact, Vector, collide, collide_with_ground, wake_touched};
use crate::support::Random;

/// The player's cube, which is index 0, and 900 small cubes.
pub const CUBE_COUNT: usize = 901;
/// Simulation steps in a second.
pub const TICKS_PER_SECOND: u32 = 60;
/// Length of a step, in seconds.
pub const SECONDS_PER_TICK: f32 = 1.0 / TICKS_PER_SECOND as f32;

const GRAVITY: f32 = 9.81;
const SOLVER_PASSES: usize = 12;
const SMALL_HALF_METRES: f32 = 0.2;
const PLAYER_HALF_METRES: f32 = 0.75;

/// Replicated state of a cube; `z` points up, the rotation is `[x, y, z, w]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubeState {
    /// Centre, in metres.
    pub position: [f32; 3],
    /// A unit quaternion.
    pub rotation: [f32; 4],
}

/// The simulation.
pub struct CubesScene {
    bodies: Vec<Body>,
    contacts: Vec<Contact>,
    sweep_order: Vec<usize>,
    random: Random,
    tick: u32,
    waypoint: Vector,
    cruise_speed: f32,
}

impl CubesScene {
    /// Builds the field: 25 × 25 single cubes, and around it stacks and walls of the other 275.
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut bodies = vec![Body::new(Vector::new(-16.0, -16.0, PLAYER_HALF_METRES), PLAYER_HALF_METRES)];
        for row in 0..25 {
            for column in 0..25 {
                let jitter = Vector::new(random.within(-0.1, 0.1), random.within(-0.1, 0.1), 0.0);
                let place = Vector::new(column as f32 - 12.0, row as f32 - 12.0, SMALL_HALF_METRES);
                bodies.push(Body::new(place + jitter, SMALL_HALF_METRES));
            }
        }
        for wall in 0..11 {
            for brick in 0..25 {
                let (column, layer) = ((brick % 5) as f32, (brick / 5) as f32);
                let place = Vector::new(
                    (wall % 4) as f32 * 7.0 - 10.5 + column * 0.42,
                    (wall / 4) as f32 * 8.0 - 8.5,
                    SMALL_HALF_METRES * (1.0 + 2.0 * layer),
                );
                bodies.push(Body::new(place, SMALL_HALF_METRES));
            }
        }
        debug_assert_eq!(bodies.len(), CUBE_COUNT);
        let sweep_order = (0..bodies.len()).collect();
        Self { bodies, contacts: Vec::new(), sweep_order, random, tick: 0, waypoint: Vector::ZERO, cruise_speed: 5.0 }
    }

    /// Advances the simulation by one tick.
    pub fn step(&mut self) {
        self.drive_player();
        self.push_or_pull();
        for body in self.bodies.iter_mut().filter(|body| body.awake()) {
            body.velocity.z -= GRAVITY * SECONDS_PER_TICK;
        }
        self.find_contacts();
        for contact in &mut self.contacts {
            contact.prepare(&self.bodies);
        }
        for _ in 0..SOLVER_PASSES {
            for contact in &mut self.contacts {
                contact.solve(&mut self.bodies);
            }
        }
        for body in &mut self.bodies {
            body.integrate();
        }
        self.tick += 1;
    }

    /// The state of every cube, in a fixed order.
    pub fn states(&self) -> impl Iterator<Item = CubeState> + '_ {
        self.bodies.iter().map(|body| CubeState {
            position: [body.position.x, body.position.y, body.position.z],
            rotation: body.rotation,
        })
    }

    /// Accelerates the player towards a waypoint and picks another when it is reached.
    fn drive_player(&mut self) {
        let player = &mut self.bodies[0];
        let mut way = self.waypoint - player.position;
        way.z = 0.0;
        let distance = way.length();
        if distance < 2.0 || self.tick.is_multiple_of(5 * TICKS_PER_SECOND) {
            self.waypoint = Vector::new(self.random.within(-14.0, 14.0), self.random.within(-14.0, 14.0), 0.0);
            self.cruise_speed = self.random.within(2.0, 9.0);
            return;
        }
        let mut change = way * (self.cruise_speed / distance) - player.velocity;
        change.z = 0.0;
        let acceleration_max = 15.0 * SECONDS_PER_TICK;
        let scale = (acceleration_max / change.length().max(1e-6)).min(1.0);
        let change = change * scale;
        player.velocity += change;
        // The drive grips above the centre, so the player tumbles over its edges as it goes.
        player.spin += Vector::new(-change.y, change.x, 0.0) * (0.8 / PLAYER_HALF_METRES);
        player.still_ticks = 0;
    }

    /// In every ten seconds, the player throws the cubes around it away once and for two seconds
    /// draws them in.
    fn push_or_pull(&mut self) {
        const REACH_METRES: f32 = 4.0;
        let phase = self.tick % (10 * TICKS_PER_SECOND);
        let (strength, lift) = match phase {
            240..252 => (50.0, 45.0),
            400..520 => (-22.0, 4.0),
            _ => return,
        };
        let centre = self.bodies[0].position;
        for body in &mut self.bodies[1..] {
            let away = body.position - centre;
            let distance = away.length();
            if distance < REACH_METRES {
                let fade = 1.0 - distance / REACH_METRES;
                let mut acceleration = away * (strength * fade / distance.max(0.1));
                acceleration.z += lift * fade;
                body.velocity += acceleration * SECONDS_PER_TICK;
                body.still_ticks = 0;
            }
        }
    }

    fn find_contacts(&mut self) {
        self.contacts.clear();
        let bodies = &mut self.bodies;
        self.sweep_order.sort_by(|a, b| bodies[*a].left().total_cmp(&bodies[*b].left()));
        for (place, &first) in self.sweep_order.iter().enumerate() {
            if bodies[first].awake() {
                collide_with_ground(first, &bodies[first], &mut self.contacts);
            }
            let right = bodies[first].position.x + bodies[first].radius();
            for &second in &self.sweep_order[place + 1..] {
                if bodies[second].left() > right {
                    break;
                }
                if !(bodies[first].awake() || bodies[second].awake()) || !bodies[first].near(&bodies[second]) {
                    continue;
                }
                let found_before = self.contacts.len();
                let pair = (first.min(second), first.max(second));
                collide(pair, bodies, &mut self.contacts);
                if self.contacts.len() > found_before {
                    wake_touched(bodies, first, second);
                }
            }
        }
    }
}
