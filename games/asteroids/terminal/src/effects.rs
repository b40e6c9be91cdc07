//! Explosions.

use crate::shapes::turned;
use aether::prelude::*;
use aether_asteroids_rules::{Explosion, ExplosionKind, wrapped};
use std::f32::consts::TAU;

/// Maximum number of particles.
const PARTICLES_MAX: usize = 600;
/// Share of its speed that a particle loses in a second.
const DRAG: f32 = 1.6;

/// Particle of an explosion.
#[derive(Clone, Debug)]
pub struct Particle {
    /// Current position.
    pub position: [f32; 2],
    velocity: [f32; 2],
    age: f32,
    life: f32,
    /// True for an explosion of a ship.
    pub is_hot: bool,
    /// Length of a piece of debris and its direction; zero for a dot.
    pub debris: (f32, f32),
}

/// All particles.
#[derive(Debug)]
pub struct Effects {
    /// The particles.
    pub particles: Vec<Particle>,
    random: Random,
}

impl Default for Effects {
    fn default() -> Self {
        Effects { particles: Vec::new(), random: Random::new(1) }
    }
}

impl Particle {
    /// Age as a share of its life, from 0 to 1.
    pub fn age(&self) -> f32 {
        (self.age / self.life).clamp(0.0, 1.0)
    }
}

impl Effects {
    /// Adds the particles of an explosion.
    pub fn explode(&mut self, explosion: &Explosion) {
        let (dots, debris, speed, life) = match explosion.kind {
            ExplosionKind::Large => (34, 0, 130.0, 1.0),
            ExplosionKind::Medium => (22, 0, 110.0, 0.8),
            ExplosionKind::Small => (14, 0, 90.0, 0.6),
            ExplosionKind::Ship => (46, 6, 190.0, 1.5),
        };
        for index in 0..dots + debris {
            let pace = speed * self.random.between(0.15, 1.0);
            let push = turned([pace, 0.0], self.random.unit() * TAU);
            let is_debris = index >= dots;
            let share = if is_debris { 0.4 } else { 1.0 };
            let debris = if is_debris { (14.0, self.random.unit() * TAU) } else { (0.0, 0.0) };
            self.particles.push(Particle {
                position: explosion.position,
                velocity: [0, 1].map(|axis| explosion.velocity[axis] * 0.6 + push[axis] * share),
                age: 0.0,
                life: life * self.random.between(0.5, 1.0),
                is_hot: explosion.kind == ExplosionKind::Ship,
                debris,
            });
        }
        let excess = self.particles.len().saturating_sub(PARTICLES_MAX);
        self.particles.drain(..excess);
    }

    /// Moves the particles and drops old ones.
    pub fn advance(&mut self, seconds: f32) {
        let remaining = (1.0 - DRAG * seconds).max(0.0);
        for particle in &mut self.particles {
            particle.position = wrapped([0, 1].map(|axis| particle.position[axis] + particle.velocity[axis] * seconds));
            particle.velocity = particle.velocity.map(|part| part * remaining);
            particle.age += seconds;
            particle.debris.1 += 2.0 * seconds;
        }
        self.particles.retain(|particle| particle.age < particle.life);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn particles_fade_and_are_bounded() {
        let mut effects = Effects::default();
        let explosion =
            Explosion { position: [1.0, 1.0], velocity: [0.0; 2], kind: ExplosionKind::Ship, by: 0, player: 1 };
        (0..100).for_each(|_| effects.explode(&explosion));
        assert_eq!(effects.particles.len(), PARTICLES_MAX);
        (0..200).for_each(|_| effects.advance(0.016));
        assert!(effects.particles.is_empty());
    }
}
