//! A seeded rigid-body scene: one large cube is driven through a field of 900 small ones.
//!
//! The scene exists to produce the deltas of a real physics game, so it is a real, if small, rigid
//! body simulation: boxes collide by separating axes, contacts are solved by sequential impulses
//! with friction, and bodies that come to rest sleep until something touches them. It uses only
//! addition, multiplication, division and square roots, so every platform computes the same states.

use std::ops::{Add, AddAssign, Mul, Neg, Sub};

/// The player's cube, which is index 0, and 900 small cubes.
pub const CUBE_COUNT: usize = 901;
/// Simulation steps in a second.
pub const TICKS_PER_SECOND: u32 = 60;

const SECONDS_PER_TICK: f32 = 1.0 / TICKS_PER_SECOND as f32;
const GRAVITY: f32 = 9.81;
const FRICTION: f32 = 0.5;
const RESTITUTION: f32 = 0.2;
const SOLVER_PASSES: usize = 12;
const SMALL_HALF_METRES: f32 = 0.2;
const PLAYER_HALF_METRES: f32 = 0.75;
const DENSITY: f32 = 15.0;
const SPEED_MAX: f32 = 20.0;
const SPIN_MAX: f32 = 20.0;
/// Penetration that is tolerated, so that resting contacts persist instead of flickering.
const SLOP_METRES: f32 = 0.005;
/// Below these speeds (m/s and rad/s) for half a second, a body falls asleep.
const SLEEP_SPEED: f32 = 0.08;
const SLEEP_SPIN: f32 = 0.15;
const SLEEP_TICKS: u32 = TICKS_PER_SECOND / 2;
/// A body wakes the sleepers that it touches when it moves faster than this; the distance to the
/// sleep speeds keeps a heap from waking itself forever.
const WAKE_SPEED: f32 = 0.25;
const GROUND: usize = usize::MAX;

/// What is replicated of a cube; `z` points up, the rotation is `[x, y, z, w]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubeState {
    /// The centre in metres.
    pub position: [f32; 3],
    /// A unit quaternion.
    pub rotation: [f32; 4],
}

/// The simulation.
#[derive(Clone, Debug)]
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
                let jitter = Vector::new(random.range(-0.1, 0.1), random.range(-0.1, 0.1), 0.0);
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
            self.waypoint = Vector::new(self.random.range(-14.0, 14.0), self.random.range(-14.0, 14.0), 0.0);
            self.cruise_speed = self.random.range(2.0, 9.0);
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

#[derive(Clone, Copy, Debug)]
struct Body {
    position: Vector,
    rotation: [f32; 4],
    velocity: Vector,
    /// Angular velocity in rad/s, in world space.
    spin: Vector,
    /// The columns of the rotation matrix, kept in step with `rotation`.
    axes: [Vector; 3],
    half_metres: f32,
    inverse_mass: f32,
    /// A cube's inertia is the same about every axis, so one number is the whole tensor.
    inverse_inertia: f32,
    still_ticks: u32,
}

impl Body {
    fn new(position: Vector, half_metres: f32) -> Self {
        let side = 2.0 * half_metres;
        let mass = DENSITY * side * side * side;
        Self {
            position,
            rotation: [0.0, 0.0, 0.0, 1.0],
            velocity: Vector::ZERO,
            spin: Vector::ZERO,
            axes: axes_of([0.0, 0.0, 0.0, 1.0]),
            half_metres,
            inverse_mass: 1.0 / mass,
            inverse_inertia: 6.0 / (mass * side * side),
            still_ticks: SLEEP_TICKS,
        }
    }

    fn awake(&self) -> bool {
        self.still_ticks < SLEEP_TICKS
    }

    /// The radius of the sphere around the cube.
    fn radius(&self) -> f32 {
        self.half_metres * 1.732_051
    }

    fn left(&self) -> f32 {
        self.position.x - self.radius()
    }

    fn near(&self, other: &Self) -> bool {
        let reach = self.radius() + other.radius();
        let apart = other.position - self.position;
        apart.dot(apart) < reach * reach
    }

    fn velocity_at(&self, arm: Vector) -> Vector {
        self.velocity + self.spin.cross(arm)
    }

    fn apply(&mut self, impulse: Vector, arm: Vector) {
        if self.awake() {
            self.velocity += impulse * self.inverse_mass;
            self.spin += arm.cross(impulse) * self.inverse_inertia;
        }
    }

    fn integrate(&mut self) {
        if !self.awake() {
            return;
        }
        self.velocity = (self.velocity * 0.999).clamped(SPEED_MAX);
        self.spin = (self.spin * 0.995).clamped(SPIN_MAX);
        let still = self.velocity.length() < SLEEP_SPEED && self.spin.length() < SLEEP_SPIN;
        self.still_ticks = if still { self.still_ticks + 1 } else { 0 };
        if !self.awake() {
            self.velocity = Vector::ZERO;
            self.spin = Vector::ZERO;
            return;
        }
        self.position += self.velocity * SECONDS_PER_TICK;
        self.rotation = rotated(self.rotation, self.spin * (0.5 * SECONDS_PER_TICK));
        self.axes = axes_of(self.rotation);
    }
}

#[derive(Clone, Copy, Debug)]
struct Contact {
    first: usize,
    /// The other body, or [`GROUND`].
    second: usize,
    point: Vector,
    /// Points from the first body to the second.
    normal: Vector,
    depth_metres: f32,
    target_speed: f32,
    normal_impulse: f32,
    tangents: [Vector; 2],
    tangent_impulses: [f32; 2],
}

impl Contact {
    fn new(pair: (usize, usize), point: Vector, normal: Vector, depth_metres: f32) -> Self {
        let helper = if normal.x.abs() < 0.7 { Vector::new(1.0, 0.0, 0.0) } else { Vector::new(0.0, 1.0, 0.0) };
        let tangent = normal.cross(helper).normalized();
        Self {
            first: pair.0,
            second: pair.1,
            point,
            normal,
            depth_metres,
            target_speed: 0.0,
            normal_impulse: 0.0,
            tangents: [tangent, normal.cross(tangent)],
            tangent_impulses: [0.0; 2],
        }
    }

    /// Fixes the speed at which the bodies shall part: enough to undo the penetration slowly, and
    /// a bounce when they met fast.
    fn prepare(&mut self, bodies: &[Body]) {
        let approach = -self.relative_velocity(bodies).dot(self.normal);
        let push_out = (self.depth_metres - SLOP_METRES).max(0.0) * 0.2 / SECONDS_PER_TICK;
        let bounce = if approach > 1.0 { RESTITUTION * approach } else { 0.0 };
        self.target_speed = push_out.min(3.0).max(bounce);
    }

    fn solve(&mut self, bodies: &mut [Body]) {
        let speed = self.relative_velocity(bodies).dot(self.normal);
        let wanted = (self.target_speed - speed) * self.effective_mass(bodies, self.normal);
        let total = (self.normal_impulse + wanted).max(0.0);
        let change = total - self.normal_impulse;
        self.normal_impulse = total;
        self.apply(bodies, self.normal * change);

        let limit = FRICTION * self.normal_impulse;
        for side in 0..2 {
            let tangent = self.tangents[side];
            let slide = self.relative_velocity(bodies).dot(tangent);
            let wanted = -slide * self.effective_mass(bodies, tangent);
            let total = (self.tangent_impulses[side] + wanted).clamp(-limit, limit);
            let change = total - self.tangent_impulses[side];
            self.tangent_impulses[side] = total;
            self.apply(bodies, tangent * change);
        }
    }

    /// The velocity of the second body at the contact, seen from the first.
    fn relative_velocity(&self, bodies: &[Body]) -> Vector {
        let first = &bodies[self.first];
        let own = first.velocity_at(self.point - first.position);
        match bodies.get(self.second) {
            Some(second) => second.velocity_at(self.point - second.position) - own,
            None => -own,
        }
    }

    fn effective_mass(&self, bodies: &[Body], direction: Vector) -> f32 {
        let yielding = |body: &Body| {
            if !body.awake() {
                return 0.0;
            }
            let turn = (self.point - body.position).cross(direction);
            body.inverse_mass + body.inverse_inertia * turn.dot(turn)
        };
        let sum = yielding(&bodies[self.first]) + bodies.get(self.second).map_or(0.0, yielding);
        if sum > 0.0 { 1.0 / sum } else { 0.0 }
    }

    fn apply(&self, bodies: &mut [Body], impulse: Vector) {
        let first = &mut bodies[self.first];
        first.apply(-impulse, self.point - first.position);
        if let Some(second) = bodies.get_mut(self.second) {
            second.apply(impulse, self.point - second.position);
        }
    }
}

fn wake_touched(bodies: &mut [Body], first: usize, second: usize) {
    for (mover, sleeper) in [(first, second), (second, first)] {
        let stirs = bodies[mover].velocity.length() > WAKE_SPEED
            || bodies[mover].spin.length() * bodies[mover].half_metres > WAKE_SPEED;
        if bodies[mover].awake() && stirs {
            bodies[sleeper].still_ticks = 0;
        }
    }
}

fn collide_with_ground(index: usize, body: &Body, contacts: &mut Vec<Contact>) {
    if body.position.z > body.radius() {
        return;
    }
    for corner in 0..8 {
        let mut point = body.position;
        for (axis, direction) in body.axes.iter().enumerate() {
            let side = if corner >> axis & 1 == 1 { 1.0 } else { -1.0 };
            point += *direction * (side * body.half_metres);
        }
        if point.z < 0.0 {
            let down = Vector::new(0.0, 0.0, -1.0);
            contacts.push(Contact::new((index, GROUND), point, down, -point.z));
        }
    }
}

/// Finds the axis of least penetration of two cubes and the points where they touch.
fn collide(pair: (usize, usize), bodies: &[Body], contacts: &mut Vec<Contact>) {
    let (a, b) = (&bodies[pair.0], &bodies[pair.1]);
    let apart = b.position - a.position;
    let extent = |body: &Body, axis: Vector| -> f32 {
        let sum: f32 = body.axes.iter().map(|own| own.dot(axis).abs()).sum();
        body.half_metres * sum
    };
    let gap = |axis: Vector| apart.dot(axis).abs() - extent(a, axis) - extent(b, axis);

    let mut face = (f32::MIN, Vector::ZERO, true);
    for (of_first, body) in [(true, a), (false, b)] {
        for axis in body.axes {
            let gap = gap(axis);
            if gap > 0.0 {
                return;
            }
            // The small advantage keeps the reference face from alternating between the cubes.
            if gap > face.0 + 1e-4 {
                face = (gap, axis, of_first);
            }
        }
    }
    let mut edge = (f32::MIN, Vector::ZERO, 0, 0);
    for (i, axis_a) in a.axes.iter().enumerate() {
        for (j, axis_b) in b.axes.iter().enumerate() {
            let across = axis_a.cross(*axis_b);
            let length = across.length();
            if length < 0.05 {
                continue;
            }
            let axis = across * (1.0 / length);
            let gap = gap(axis);
            if gap > 0.0 {
                return;
            }
            if gap > edge.0 {
                edge = (gap, axis, i, j);
            }
        }
    }
    let towards_b = |axis: Vector| if apart.dot(axis) < 0.0 { -axis } else { axis };
    if edge.0 > 0.9 * face.0 + 0.002 {
        let normal = towards_b(edge.1);
        let point = edges_meet((a, edge.2), (b, edge.3), normal);
        contacts.push(Contact::new(pair, point, normal, -edge.0));
    } else {
        let normal = towards_b(face.1);
        let (reference, incident, outward) = if face.2 { (a, b, normal) } else { (b, a, -normal) };
        for (point, depth) in faces_meet(reference, incident, outward) {
            contacts.push(Contact::new(pair, point, normal, depth));
        }
    }
}

/// The middle of the shortest line between the two supporting edges.
fn edges_meet(first: (&Body, usize), second: (&Body, usize), normal: Vector) -> Vector {
    let middle = |(body, along): (&Body, usize), towards: Vector| {
        let mut point = body.position;
        for (axis, direction) in body.axes.iter().enumerate() {
            if axis != along {
                let side = if direction.dot(towards) < 0.0 { -1.0 } else { 1.0 };
                point += *direction * (side * body.half_metres);
            }
        }
        point
    };
    let (start_a, start_b) = (middle(first, normal), middle(second, -normal));
    let (along_a, along_b) = (first.0.axes[first.1], second.0.axes[second.1]);
    let between = start_b - start_a;
    let cosine = along_a.dot(along_b);
    let scale = 1.0 / (1.0 - cosine * cosine).max(1e-4);
    let on_a = (between.dot(along_a) - cosine * between.dot(along_b)) * scale;
    let on_b = (cosine * between.dot(along_a) - between.dot(along_b)) * scale;
    (start_a + along_a * on_a + start_b + along_b * on_b) * 0.5
}

/// Clips the incident cube's facing side against the reference side; gives the points that lie
/// under it, with their depths.
fn faces_meet(reference: &Body, incident: &Body, outward: Vector) -> Vec<(Vector, f32)> {
    let facing = (0..3)
        .max_by(|&i, &j| {
            let along = |axis: usize| incident.axes[axis].dot(outward).abs();
            along(i).total_cmp(&along(j))
        })
        .expect("a cube has three axes");
    let inward = if incident.axes[facing].dot(outward) > 0.0 { -1.0 } else { 1.0 };
    let half = incident.half_metres;
    let centre = incident.position + incident.axes[facing] * (inward * half);
    let u = incident.axes[(facing + 1) % 3] * half;
    let v = incident.axes[(facing + 2) % 3] * half;
    let mut polygon = vec![centre + u + v, centre - u + v, centre - u - v, centre + u - v];
    for axis in reference.axes {
        if axis.dot(outward).abs() > 0.9 {
            continue;
        }
        for plane in [axis, -axis] {
            polygon = clip(&polygon, reference.position, plane, reference.half_metres);
        }
    }
    polygon
        .into_iter()
        .filter_map(|point| {
            let depth = reference.half_metres - (point - reference.position).dot(outward);
            (depth > 0.0).then_some((point, depth))
        })
        .collect()
}

/// Keeps the part of a polygon that lies behind a plane.
fn clip(polygon: &[Vector], origin: Vector, normal: Vector, offset: f32) -> Vec<Vector> {
    let mut kept = Vec::with_capacity(polygon.len() + 1);
    for (index, &point) in polygon.iter().enumerate() {
        let next = polygon[(index + 1) % polygon.len()];
        let here = (point - origin).dot(normal) - offset;
        let there = (next - origin).dot(normal) - offset;
        if here <= 0.0 {
            kept.push(point);
        }
        if (here < 0.0) != (there < 0.0) && here != there {
            kept.push(point + (next - point) * (here / (here - there)));
        }
    }
    kept
}

/// Turns a rotation by a small vector of half angles.
fn rotated([x, y, z, w]: [f32; 4], half: Vector) -> [f32; 4] {
    let turned = [
        x + half.x * w + half.y * z - half.z * y,
        y + half.y * w + half.z * x - half.x * z,
        z + half.z * w + half.x * y - half.y * x,
        w - half.x * x - half.y * y - half.z * z,
    ];
    let length = turned.iter().map(|part| part * part).sum::<f32>().sqrt();
    turned.map(|part| part / length)
}

fn axes_of([x, y, z, w]: [f32; 4]) -> [Vector; 3] {
    [
        Vector::new(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)),
        Vector::new(2.0 * (x * y - z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + x * w)),
        Vector::new(2.0 * (x * z + y * w), 2.0 * (y * z - x * w), 1.0 - 2.0 * (x * x + y * y)),
    ]
}

#[derive(Clone, Copy, Debug)]
struct Vector {
    x: f32,
    y: f32,
    z: f32,
}

impl Vector {
    const ZERO: Self = Self::new(0.0, 0.0, 0.0);

    const fn new(x: f32, y: f32, z: f32) -> Self {
        Self { x, y, z }
    }

    fn dot(self, other: Self) -> f32 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    fn cross(self, other: Self) -> Self {
        Self::new(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )
    }

    fn length(self) -> f32 {
        self.dot(self).sqrt()
    }

    fn normalized(self) -> Self {
        self * (1.0 / self.length())
    }

    fn clamped(self, length_max: f32) -> Self {
        self * (length_max / self.length().max(length_max))
    }
}

impl Add for Vector {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.x + other.x, self.y + other.y, self.z + other.z)
    }
}

impl Sub for Vector {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(self.x - other.x, self.y - other.y, self.z - other.z)
    }
}

impl Mul<f32> for Vector {
    type Output = Self;
    fn mul(self, factor: f32) -> Self {
        Self::new(self.x * factor, self.y * factor, self.z * factor)
    }
}

impl Neg for Vector {
    type Output = Self;
    fn neg(self) -> Self {
        self * -1.0
    }
}

impl AddAssign for Vector {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// SplitMix64, so that the scene needs no crate.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn range(&mut self, low: f32, high: f32) -> f32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^= word >> 31;
        low + (high - low) * ((word >> 40) as f32 / (1u64 << 24) as f32)
    }
}
