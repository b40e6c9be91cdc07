//! Rigid cubes: they collide by separating axes, contacts are solved by sequential impulses with friction, and bodies
//! at rest sleep until another touches them.
//!
//! Only addition, multiplication, division and square roots are used, so every platform computes the same states.

use crate::cubes_scene::{SECONDS_PER_TICK, TICKS_PER_SECOND};
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

const FRICTION: f32 = 0.5;
const RESTITUTION: f32 = 0.2;
const DENSITY: f32 = 15.0;
const SPEED_MAX: f32 = 20.0;
const SPIN_MAX: f32 = 20.0;
/// Penetration that is tolerated, so that resting contacts persist instead of flickering.
const SLOP_METRES: f32 = 0.005;
/// Below these speeds (m/s and rad/s) for half a second, a body falls asleep.
const SLEEP_SPEED: f32 = 0.08;
const SLEEP_SPIN: f32 = 0.15;
const SLEEP_TICKS: u32 = TICKS_PER_SECOND / 2;
/// Speed above which a body wakes sleeping bodies that it touches. The gap to the sleep speeds prevents a heap from
/// waking itself forever.
const WAKE_SPEED: f32 = 0.25;
const GROUND: usize = usize::MAX;

#[derive(Clone, Copy, Debug)]
pub struct Body {
    pub position: Vector,
    pub rotation: [f32; 4],
    pub velocity: Vector,
    /// Angular velocity in rad/s, in world space.
    pub spin: Vector,
    /// Columns of the rotation matrix, updated with `rotation`.
    axes: [Vector; 3],
    half_metres: f32,
    inverse_mass: f32,
    /// A cube's inertia is the same about every axis, so one number is the whole tensor.
    inverse_inertia: f32,
    pub still_ticks: u32,
}

impl Body {
    pub fn new(position: Vector, half_metres: f32) -> Self {
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

    pub fn awake(&self) -> bool {
        self.still_ticks < SLEEP_TICKS
    }

    /// The radius of the sphere around the cube.
    pub fn radius(&self) -> f32 {
        self.half_metres * 1.732_051
    }

    pub fn left(&self) -> f32 {
        self.position.x - self.radius()
    }

    pub fn near(&self, other: &Self) -> bool {
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

    pub fn integrate(&mut self) {
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
pub struct Contact {
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

    /// Sets the separation speed: enough to undo the penetration slowly, and a bounce after a fast impact.
    pub fn prepare(&mut self, bodies: &[Body]) {
        let approach = -self.relative_velocity(bodies).dot(self.normal);
        let push_out = (self.depth_metres - SLOP_METRES).max(0.0) * 0.2 / SECONDS_PER_TICK;
        let bounce = if approach > 1.0 { RESTITUTION * approach } else { 0.0 };
        self.target_speed = push_out.min(3.0).max(bounce);
    }

    pub fn solve(&mut self, bodies: &mut [Body]) {
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

pub fn wake_touched(bodies: &mut [Body], first: usize, second: usize) {
    for (mover, sleeper) in [(first, second), (second, first)] {
        let stirs = bodies[mover].velocity.length() > WAKE_SPEED
            || bodies[mover].spin.length() * bodies[mover].half_metres > WAKE_SPEED;
        if bodies[mover].awake() && stirs {
            bodies[sleeper].still_ticks = 0;
        }
    }
}

pub fn collide_with_ground(index: usize, body: &Body, contacts: &mut Vec<Contact>) {
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
pub fn collide(pair: (usize, usize), bodies: &[Body], contacts: &mut Vec<Contact>) {
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

/// Clips the incident cube's facing side against the reference side. Returns the points under it with their depths.
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
    let mut checkpoint = Vec::with_capacity(polygon.len() + 1);
    for (index, &point) in polygon.iter().enumerate() {
        let next = polygon[(index + 1) % polygon.len()];
        let here = (point - origin).dot(normal) - offset;
        let there = (next - origin).dot(normal) - offset;
        if here <= 0.0 {
            checkpoint.push(point);
        }
        if (here < 0.0) != (there < 0.0) && here != there {
            checkpoint.push(point + (next - point) * (here / (here - there)));
        }
    }
    checkpoint
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
pub struct Vector {
    pub x: f32,
    pub y: f32,
    pub z: f32,
}

impl Vector {
    pub const ZERO: Self = Self::new(0.0, 0.0, 0.0);

    pub const fn new(x: f32, y: f32, z: f32) -> Self {
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

    pub fn length(self) -> f32 {
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
