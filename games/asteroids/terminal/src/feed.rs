//! Short messages about what happened.

use crate::scene::Scene;
use aether_asteroids_rules::{Explosion, ExplosionKind};
use std::collections::VecDeque;

/// Time for which a message is shown, in seconds.
const SECONDS: f32 = 5.0;
/// Maximum number of messages.
const MESSAGES_MAX: usize = 4;

/// Recent messages.
#[derive(Debug, Default)]
pub struct Feed {
    messages: VecDeque<(String, f32)>,
}

impl Feed {
    /// Adds a message if an explosion destroyed a ship.
    pub fn add(&mut self, explosion: &Explosion, scene: &Scene) {
        if explosion.kind != ExplosionKind::Ship {
            return;
        }
        let name = |player: u32| match scene.standing_of(player) {
            Some(standing) if standing.player == scene.player => "you".to_owned(),
            Some(standing) => standing.name.clone(),
            None => "somebody".to_owned(),
        };
        let text = match explosion.by {
            0 => format!("{} hit an asteroid", name(explosion.player)),
            by => format!("{} shot {}", name(by), name(explosion.player)),
        };
        self.messages.push_back((text, SECONDS));
        while self.messages.len() > MESSAGES_MAX {
            self.messages.pop_front();
        }
    }

    /// Lets time pass.
    pub fn advance(&mut self, seconds: f32) {
        for (_, left) in &mut self.messages {
            *left -= seconds;
        }
        self.messages.retain(|(_, left)| *left > 0.0);
    }

    /// Messages, oldest first.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.messages.iter().map(|(text, _)| text.as_str())
    }
}
