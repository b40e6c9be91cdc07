//! The ground, and what stands on it.

use crate::{Preview, Shot, Site, Steering, Walker};
use aether_outpost_rules::{self as rules, Cell, Grid};
use wasm_bindgen::prelude::wasm_bindgen;

/// The kinds of structures, by the names and in the order of the wire.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Stops everything.
    Wall,
    /// Lets people through, and stops shots.
    Door,
    /// Stops people, and lets shots over.
    Fence,
    /// Stops everything, and shoots at everyone but its builder.
    Turret,
}

/// What stands where.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Ground {
    grid: Grid,
}

#[wasm_bindgen]
impl Ground {
    /// Ground on which nothing stands.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Ground {
        Ground::default()
    }

    /// Takes everything away.
    pub fn clear(&mut self) {
        self.grid = Grid::default();
    }

    /// Puts a structure where its middle is, or takes away what stands there. Outside of the world nothing happens.
    pub fn set(&mut self, x: f32, y: f32, kind: Option<Kind>) {
        if let Some(cell) = Cell::at([x, y]) {
            self.grid.set(cell, kind.map(Kind::rule));
        }
    }

    /// Moves a player on by one step; whether it shot.
    pub fn walk(&self, walker: &mut Walker, steering: &Steering, seconds: f32) -> bool {
        let mut player = walker.player();
        let stride = rules::walk(&mut player, &steering.controls(), &self.grid, seconds);
        walker.set(&player);
        stride.fired
    }

    /// Moves a shot on by one step; whether it is over.
    pub fn fly(&self, shot: &mut Shot, seconds: f32) -> bool {
        rules::fly(&mut shot.shot, &self.grid, seconds).is_over
    }

    /// What would become of building a kind under the pointer.
    #[must_use]
    pub fn preview(&self, site: &Site, x: f32, y: f32, kind: Kind) -> Preview {
        Preview::of(rules::preview(&site.builder(&self.grid), [x, y], kind.rule()))
    }

    /// What would become of taking down what stands under the pointer; `is_own` says whether the builder built it.
    #[must_use]
    pub fn preview_removal(&self, site: &Site, x: f32, y: f32, is_own: bool) -> Preview {
        let cell = Cell::at([x, y]);
        let outcome = cell.ok_or(rules::Obstacle::Outside);
        let outcome = outcome.and_then(|cell| rules::can_remove(&site.builder(&self.grid), cell, is_own));
        Preview::of(rules::Preview { cell, obstacle: outcome.err() })
    }
}

impl Kind {
    /// As the rules have it.
    pub(crate) fn rule(self) -> rules::Kind {
        match self {
            Kind::Wall => rules::Kind::Wall,
            Kind::Door => rules::Kind::Door,
            Kind::Fence => rules::Kind::Fence,
            Kind::Turret => rules::Kind::Turret,
        }
    }
}
