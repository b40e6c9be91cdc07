//! A shot that a page draws before the server tells of it.

use aether_outpost_rules as rules;
use wasm_bindgen::prelude::wasm_bindgen;

/// A shot.
#[wasm_bindgen]
#[derive(Clone, Debug, PartialEq)]
pub struct Shot {
    pub(crate) shot: rules::Shot,
}

#[wasm_bindgen]
impl Shot {
    /// The shot that leaves a muzzle at a place, in the direction of `aim`.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(x: f32, y: f32, aim: f32) -> Shot {
        // Whose it is does not matter here: only those who fired it see it.
        Shot { shot: rules::fire([x, y], aim, 0) }
    }

    /// Where it is, along the first axis.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn x(&self) -> f32 {
        self.shot.position[0]
    }

    /// Where it is, along the second.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn y(&self) -> f32 {
        self.shot.position[1]
    }

    /// Units a second, along the first axis.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn velocity_x(&self) -> f32 {
        self.shot.velocity[0]
    }

    /// Units a second, along the second.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn velocity_y(&self) -> f32 {
        self.shot.velocity[1]
    }
}
