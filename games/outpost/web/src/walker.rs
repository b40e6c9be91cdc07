//! Walking player.

use aether_outpost_rules::{Controls, Player};
use wasm_bindgen::prelude::wasm_bindgen;

/// Predicted state of a player.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Walker {
    /// Position along the first axis.
    pub x: f32,
    /// Position along the second axis.
    pub y: f32,
    /// Velocity along the first axis, in units a second.
    pub velocity_x: f32,
    /// Velocity along the second axis, in units a second.
    pub velocity_y: f32,
    /// Aim in radians.
    pub aim: f32,
    /// Steps until it can shoot again.
    pub reload: u8,
}

/// Input of one step.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Steering {
    /// Walking direction and speed along the first axis.
    pub push_x: f32,
    /// Walking direction and speed along the second axis.
    pub push_y: f32,
    /// Aim in radians.
    pub aim: f32,
    /// True to shoot.
    pub fire: bool,
}

#[wasm_bindgen]
impl Walker {
    /// Creates a player at rest at the origin.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Walker {
        Walker::default()
    }
}

#[wasm_bindgen]
impl Steering {
    /// Creates an input that does nothing.
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
