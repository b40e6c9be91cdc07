//! Builder and preview for the page.

use aether_outpost_rules::{self as rules, Builder, StructureGrid};
use wasm_bindgen::prelude::wasm_bindgen;

/// Builder and people around it, for the rules of building.
#[wasm_bindgen]
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// Position of the builder along the first axis.
    pub x: f32,
    /// Position of the builder along the second axis.
    pub y: f32,
    /// Material of the builder.
    pub material: i32,
    /// Number of structures of the builder.
    pub structures: u32,
    people: Vec<[f32; 2]>,
}

/// Preview of an action at the pointer.
#[wasm_bindgen(js_name = "Preview")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WebPreview {
    preview: rules::Preview,
}

#[wasm_bindgen]
impl Site {
    /// Creates a builder at the origin, with nothing.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Site {
        Site::default()
    }

    /// Sets the positions of nearby people, including the builder: two numbers each.
    pub fn set_people(&mut self, positions: &[f32]) {
        let (positions, _) = positions.as_chunks::<2>();
        self.people.clear();
        self.people.extend_from_slice(positions);
    }
}

#[wasm_bindgen(js_class = "Preview")]
impl WebPreview {
    /// Column of the cell at the pointer, or undefined outside the world.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn column(&self) -> Option<u8> {
        self.preview.cell.map(|cell| cell.column)
    }

    /// Row of the cell at the pointer, or undefined outside the world.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn row(&self) -> Option<u8> {
        self.preview.cell.map(|cell| cell.row)
    }

    /// Reason for a rejection by the server, as a sentence, or undefined if it is allowed.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn obstacle(&self) -> Option<String> {
        self.preview.obstacle.map(|obstacle| obstacle.sentence().to_owned())
    }
}

impl Site {
    pub(crate) fn builder<'a>(&'a self, surroundings: &'a StructureGrid) -> Builder<'a, StructureGrid> {
        let Site { x, y, material, structures, ref people } = *self;
        Builder { surroundings, position: [x, y], material, structures, people }
    }
}

impl WebPreview {
    pub(crate) fn of(preview: rules::Preview) -> WebPreview {
        WebPreview { preview }
    }
}
