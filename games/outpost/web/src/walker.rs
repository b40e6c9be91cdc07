//! A player who walks.

use aether_outpost_rules::{Controls, Player};
use wasm_bindgen::prelude::wasm_bindgen;

/// A player, as it is predicted.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Walker {
    /// Where it is, along the first axis.
    pub x: f32,
    /// Where it is, along the second.
    pub y: f32,
    /// Units a second, along the first axis.
    pub velocity_x: f32,
    /// Units a second, along the second.
    pub velocity_y: f32,
    /// Where it aims, in radians.
    pub aim: f32,
    /// How many steps until it can shoot again.
    pub reload: u8,
}

/// What a player does in one step.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Steering {
    /// Where it walks, and how fast, along the first axis.
    pub push_x: f32,
    /// Where it walks, and how fast, along the second.
    pub push_y: f32,
    /// Where it aims, in radians.
    pub aim: f32,
    /// Shoot.
    pub fire: bool,
}

#[wasm_bindgen]
impl Walker {
    /// Someone at rest in the middle of the world.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Walker {
        Walker::default()
    }
}

#[wasm_bindgen]
impl Steering {
    /// Nothing.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Steering {
        Steering::default()
    }
}

impl Walker {
    pub(crate) fn player(&self) -> Player {
        let Walker { x, y, velocity_x, velocity_y, aim, reload } = *self;
        Player { position: [x, y], velocity: [velocity_x, velocity_y], aim, reload }
    }

    pub(crate) fn set(&mut self, player: &Player) {
        let Player { position: [x, y], velocity: [velocity_x, velocity_y], aim, reload } = *player;
        *self = Walker { x, y, velocity_x, velocity_y, aim, reload };
    }
}

impl Steering {
    pub(crate) fn controls(&self) -> Controls {
        Controls { push: [self.push_x, self.push_y], aim: self.aim, fire: self.fire }
    }
}
