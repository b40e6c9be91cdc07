//! Predicted shot.

use aether_outpost_rules as rules;
use wasm_bindgen::prelude::wasm_bindgen;

/// A shot.
#[wasm_bindgen(js_name = "Shot")]
#[derive(Clone, Debug, PartialEq)]
pub struct WebShot {
    pub(crate) shot: rules::Shot,
}

#[wasm_bindgen(js_class = "Shot")]
impl WebShot {
    /// Creates a shot at a position in the direction of `aim`.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(x: f32, y: f32, aim: f32) -> WebShot {
        // The shooter does not matter: only the page that fired it sees it.
        WebShot { shot: rules::fire([x, y], aim, 0) }
    }

    /// Position along the first axis.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn x(&self) -> f32 {
        self.shot.position[0]
    }

    /// Position along the second axis.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn y(&self) -> f32 {
        self.shot.position[1]
    }

    /// Velocity along the first axis, in units a second.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn velocity_x(&self) -> f32 {
        self.shot.velocity[0]
    }

    /// Velocity along the second axis, in units a second.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn velocity_y(&self) -> f32 {
        self.shot.velocity[1]
    }
}
