//! Checks on movement that clients propose.
//!
//! Most games do not need this: clients send inputs and the server moves the player. Where a client sends its own
//! movement, a [`Mover`] limits it to the [`MovementRules`]. On a violation, correct the client with
//! [`crate::Context::correct_movement`].

use aether_bits::StateHasher;
use aether_space::WorldBounds;
use aether_wire::InputSeq;

/// Limits of movement, in world units per tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MovementRules {
    /// Maximum speed. Default 5.
    pub speed_max: f32,
    /// Maximum change of the velocity from one tick to the next. Default 2.
    pub acceleration_max: f32,
    /// Distance from which a movement counts as a teleport and is rejected. Default 50.
    pub teleport_min: f32,
    /// Bounds of positions. Default -1000 to 1000.
    pub bounds: WorldBounds,
    /// Maximum number of movements at once after a pause; the average is limited to one per tick. Default 4.
    pub burst: u32,
}

impl Default for MovementRules {
    fn default() -> Self {
        MovementRules {
            speed_max: 5.0,
            acceleration_max: 2.0,
            teleport_min: 50.0,
            bounds: WorldBounds::default(),
            burst: 4,
        }
    }
}

/// Reason why a movement was limited or rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The movement is not a number, or infinite.
    NotFinite,
    /// The sequence number is not newer than the last one.
    Sequence,
    /// Too many movements arrived.
    Rate,
    /// The distance is a teleport.
    Teleport,
    /// The speed is above the maximum.
    Speed,
    /// The velocity changes too fast.
    Acceleration,
    /// The movement leaves the bounds.
    Bounds,
}

impl Violation {
    /// Returns the label of the metric.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Violation::NotFinite => "not_finite",
            Violation::Sequence => "sequence",
            Violation::Rate => "rate",
            Violation::Teleport => "teleport",
            Violation::Speed => "speed",
            Violation::Acceleration => "acceleration",
            Violation::Bounds => "bounds",
        }
    }
}

/// Position and velocity of one entity that its client moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mover {
    /// Position.
    pub position: [f32; 2],
    /// Velocity, in units per tick.
    pub velocity: [f32; 2],
    last_seq: InputSeq,
    credit: u32,
}

impl Mover {
    /// Returns a mover at rest.
    #[must_use]
    pub fn at(position: [f32; 2]) -> Self {
        Mover { position, velocity: [0.0; 2], last_seq: InputSeq(0), credit: 1 }
    }

    /// Returns the sequence number of the last movement.
    #[must_use]
    pub fn last_seq(&self) -> InputSeq {
        self.last_seq
    }

    /// Resets the sequence number: on a new connection, movements count from 1 again.
    pub fn resumed(&mut self) {
        self.last_seq = InputSeq(0);
    }

    /// Returns a mover with the state of another, for [`crate::Game::restore_capture`].
    #[must_use]
    pub fn restored(position: [f32; 2], velocity: [f32; 2], last_seq: InputSeq, credit: u32) -> Self {
        Mover { position, velocity, last_seq, credit }
    }

    /// Returns the number of movements that are allowed at this moment.
    #[must_use]
    pub fn credit(&self) -> u32 {
        self.credit
    }

    /// Adds the mover to the state hash of its game. Call it in [`crate::Game::hash`].
    pub fn hash_into(&self, hasher: &mut StateHasher) {
        for [x, y] in [self.position, self.velocity] {
            hasher.word(u64::from(x.to_bits()) << 32 | u64::from(y.to_bits()));
        }
        hasher.word(u64::from(self.last_seq.0) << 32 | u64::from(self.credit));
    }

    /// Grants the credit of a tick. Call it once per tick.
    pub fn refill(&mut self, rules: &MovementRules) {
        self.credit = (self.credit + 1).min(rules.burst.max(1));
    }

    /// Moves by `delta` as far as the rules allow. On an error, correct the client with
    /// [`crate::Context::correct_movement`].
    pub fn propose(&mut self, rules: &MovementRules, seq: InputSeq, delta: [f32; 2]) -> Result<(), Violation> {
        if !delta.iter().all(|component| component.is_finite()) {
            return Err(Violation::NotFinite);
        }
        if seq <= self.last_seq {
            return Err(Violation::Sequence);
        }
        self.last_seq = seq;
        self.credit = self.credit.checked_sub(1).ok_or(Violation::Rate)?;
        if length(delta) >= rules.teleport_min {
            self.velocity = [0.0; 2];
            return Err(Violation::Teleport);
        }
        let (slowed, too_fast) = shorten(delta, rules.speed_max);
        let change = [slowed[0] - self.velocity[0], slowed[1] - self.velocity[1]];
        let (change, too_sudden) = shorten(change, rules.acceleration_max);
        self.velocity = [self.velocity[0] + change[0], self.velocity[1] + change[1]];
        let mut outside = false;
        for axis in 0..2 {
            let wanted = self.position[axis] + self.velocity[axis];
            self.position[axis] = wanted.clamp(rules.bounds.min[axis], rules.bounds.max[axis]);
            if self.position[axis] != wanted {
                self.velocity[axis] = 0.0;
                outside = true;
            }
        }
        match (too_fast, too_sudden, outside) {
            (true, _, _) => Err(Violation::Speed),
            (_, true, _) => Err(Violation::Acceleration),
            (_, _, true) => Err(Violation::Bounds),
            _ => Ok(()),
        }
    }
}

fn length([x, y]: [f32; 2]) -> f32 {
    (x * x + y * y).sqrt()
}

/// Shortens a vector to a maximum length. Returns true if it was longer by more than a rounding error.
fn shorten(vector: [f32; 2], length_max: f32) -> ([f32; 2], bool) {
    let length = length(vector);
    if length <= length_max {
        return (vector, false);
    }
    let scale = length_max / length;
    ([vector[0] * scale, vector[1] * scale], length > length_max * 1.001)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rested() -> Mover {
        let mut mover = Mover::at([0.0, 0.0]);
        for _ in 0..8 {
            mover.refill(&MovementRules::default());
        }
        mover
    }

    #[test]
    fn each_kind_of_violation_is_distinguished() {
        let rules = MovementRules::default();
        let first = |delta| rested().propose(&rules, InputSeq(1), delta);
        assert_eq!(first([1.0, 1.0]), Ok(()));
        assert_eq!(first([f32::NAN, 0.0]), Err(Violation::NotFinite));
        assert_eq!(first([0.0, f32::INFINITY]), Err(Violation::NotFinite));
        assert_eq!(first([1e38, 1e38]), Err(Violation::Teleport));
        assert_eq!(first([50.0, 0.0]), Err(Violation::Teleport));
        assert_eq!(first([4.0, 0.0]), Err(Violation::Acceleration));
        assert_eq!(first([40.0, 0.0]), Err(Violation::Speed));
        assert_eq!(rested().propose(&rules, InputSeq(0), [1.0, 0.0]), Err(Violation::Sequence));
        let mut at_edge = Mover { position: [999.5, 0.0], ..rested() };
        assert_eq!(at_edge.propose(&rules, InputSeq(1), [1.0, 0.0]), Err(Violation::Bounds));
        assert_eq!(at_edge.position, [1000.0, 0.0]);
    }

    #[test]
    fn movements_beyond_one_per_tick_are_rejected_after_the_burst() {
        let rules = MovementRules::default();
        let mut mover = rested();
        let results: Vec<_> = (1..=6).map(|seq| mover.propose(&rules, InputSeq(seq), [0.1, 0.0])).collect();
        assert_eq!(results[..4], [Ok(()); 4]);
        assert_eq!(results[4..], [Err(Violation::Rate); 2]);
        mover.refill(&rules);
        assert_eq!(mover.propose(&rules, InputSeq(7), [0.1, 0.0]), Ok(()));
    }

    #[test]
    fn a_teleport_does_not_move() {
        let mut mover = rested();
        let _ = mover.propose(&MovementRules::default(), InputSeq(1), [500.0, 0.0]);
        assert_eq!(mover.position, [0.0, 0.0]);
    }

    proptest! {
        #[test]
        fn any_movements_stay_within_the_rules(deltas in proptest::collection::vec((any::<f32>(), any::<f32>()), 1..200)) {
            let rules = MovementRules::default();
            let mut mover = Mover::at([0.0, 0.0]);
            for (seq, (dx, dy)) in deltas.into_iter().enumerate() {
                let before = mover;
                mover.refill(&rules);
                let _ = mover.propose(&rules, InputSeq(seq as u32 + 1), [dx, dy]);
                let moved = [mover.position[0] - before.position[0], mover.position[1] - before.position[1]];
                prop_assert!(length(moved) <= rules.speed_max * 1.01);
                prop_assert!(mover.position.iter().all(|c| (-1000.0..=1000.0).contains(c)));
            }
        }
    }
}
