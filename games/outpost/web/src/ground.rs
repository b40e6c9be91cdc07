//! Ground with its structures.

use crate::{Site, Steering, Walker, WebPreview, WebShot};
use aether_outpost_rules::{self as rules, Cell, StructureGrid};
use wasm_bindgen::prelude::wasm_bindgen;

/// Kinds of structures, with the names and the order of the wire.
#[wasm_bindgen(js_name = "Kind")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StructureKind {
    /// Stops players and shots.
    Wall,
    /// Lets players through, stops shots.
    Door,
    /// Stops players, lets shots through.
    Fence,
    /// Stops players and shots, and shoots at everyone but its builder.
    Turret,
}

/// Structures by cell.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Ground {
    grid: StructureGrid,
}

#[wasm_bindgen]
impl Ground {
    /// Creates empty ground.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Ground {
        Ground::default()
    }

    /// Removes all structures.
    pub fn clear(&mut self) {
        self.grid = StructureGrid::default();
    }

    /// Sets or clears the structure at a position. Does nothing outside the world.
    pub fn set(&mut self, x: f32, y: f32, kind: Option<StructureKind>) {
        if let Some(cell) = Cell::at([x, y]) {
            self.grid.set(cell, kind.map(StructureKind::rule));
        }
    }

    /// Moves a player by one step. Returns whether it shot.
    pub fn walk(&self, walker: &mut Walker, steering: &Steering, seconds: f32) -> bool {
        let mut player = walker.player();
        let stride = rules::walk(&mut player, &steering.controls(), &self.grid, seconds);
        walker.set(&player);
        stride.fired
    }

    /// Moves a shot by one step. Returns whether it has ended.
    pub fn fly(&self, shot: &mut WebShot, seconds: f32) -> bool {
        rules::fly(&mut shot.shot, &self.grid, seconds).is_over
    }

    /// Previews building at the pointer.
    #[must_use]
    pub fn preview(&self, site: &Site, x: f32, y: f32, kind: StructureKind) -> WebPreview {
        WebPreview::of(rules::preview(&site.builder(&self.grid), [x, y], kind.rule()))
    }

    /// Previews removing the structure at the pointer; `is_own` is true if the builder built it.
    #[must_use]
    pub fn preview_removal(&self, site: &Site, x: f32, y: f32, is_own: bool) -> WebPreview {
        let cell = Cell::at([x, y]);
        let outcome = cell.ok_or(rules::Obstacle::Outside);
        let outcome = outcome.and_then(|cell| rules::can_remove(&site.builder(&self.grid), cell, is_own));
        WebPreview::of(rules::Preview { cell, obstacle: outcome.err() })
    }
}

impl StructureKind {
    /// Converts to the kind of the rules.
    pub(crate) fn rule(self) -> rules::Kind {
        match self {
            StructureKind::Wall => rules::Kind::Wall,
            StructureKind::Door => rules::Kind::Door,
            StructureKind::Fence => rules::Kind::Fence,
            StructureKind::Turret => rules::Kind::Turret,
        }
    }
}
