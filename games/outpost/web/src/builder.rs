//! Who builds, and what would become of it.

use aether_outpost_rules::{self as rules, Builder, Grid};
use wasm_bindgen::prelude::wasm_bindgen;

/// What the rules of building ask about: the builder, and the people around.
#[wasm_bindgen]
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// Where the builder stands, along the first axis.
    pub x: f32,
    /// Where the builder stands, along the second.
    pub y: f32,
    /// What the builder has to build with.
    pub material: i32,
    /// How many structures of the builder stand.
    pub structures: u32,
    people: Vec<[f32; 2]>,
}

/// What a page shows under the pointer before anything is done.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preview {
    preview: rules::Preview,
}

#[wasm_bindgen]
impl Site {
    /// A builder in the middle of the world, with nothing.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Site {
        Site::default()
    }

    /// Says where people are who are near enough to matter, the builder among them: two numbers each.
    pub fn set_people(&mut self, places: &[f32]) {
        let (places, _) = places.as_chunks::<2>();
        self.people.clear();
        self.people.extend_from_slice(places);
    }
}

#[wasm_bindgen]
impl Preview {
    /// The column of the cell under the pointer; nothing outside of the world.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn column(&self) -> Option<u8> {
        self.preview.cell.map(|cell| cell.column)
    }

    /// The row of the cell under the pointer; nothing outside of the world.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn row(&self) -> Option<u8> {
        self.preview.cell.map(|cell| cell.row)
    }

    /// Why the server would refuse it, as a sentence; nothing if it would not.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn obstacle(&self) -> Option<String> {
        self.preview.obstacle.map(|obstacle| obstacle.sentence().to_owned())
    }
}

impl Site {
    pub(crate) fn builder<'a>(&'a self, surroundings: &'a Grid) -> Builder<'a, Grid> {
        let Site { x, y, material, structures, ref people } = *self;
        Builder { surroundings, place: [x, y], material, structures, people }
    }
}

impl Preview {
    pub(crate) fn of(preview: rules::Preview) -> Preview {
        Preview { preview }
    }
}
