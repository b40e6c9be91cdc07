//! The measures of the world, so that a page draws it as the rules have it.

use crate::Kind;
use aether_outpost_rules as rules;
use wasm_bindgen::prelude::wasm_bindgen;

/// The measures of the world, in units unless they say something else.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measures {
    /// The world ends here on every side.
    pub edge: f32,
    /// The side of a cell.
    pub cell: f32,
    /// Half the width of a player.
    pub radius: f32,
    /// How far from themselves players build.
    pub reach: f32,
    /// Nothing is built within this distance of the middle.
    pub spawn_area: f32,
    /// How far a turret shoots.
    pub turret_reach: f32,
    /// How many steps a player waits between two shots.
    pub reload_steps: u8,
    /// What a player has when whole.
    pub health_max: i32,
    /// The most material that a player carries.
    pub material_max: i32,
    /// The most structures of one player.
    pub structures_max: u32,
    /// How many characters there are to choose from.
    pub appearances: u8,
    /// Simulation steps a second.
    pub tick_hz: u32,
}

/// The measures of the world.
#[wasm_bindgen]
#[must_use]
pub fn measures() -> Measures {
    Measures {
        edge: rules::EDGE,
        cell: rules::CELL,
        radius: rules::RADIUS,
        reach: rules::REACH,
        spawn_area: rules::SPAWN_AREA,
        turret_reach: rules::TURRET_REACH,
        reload_steps: rules::RELOAD_STEPS,
        health_max: rules::HEALTH_MAX,
        material_max: rules::MATERIAL_MAX,
        structures_max: rules::STRUCTURES_PER_PLAYER_MAX,
        appearances: rules::APPEARANCES,
        tick_hz: rules::TICK_HZ,
    }
}

/// What it takes to build one of a kind.
#[wasm_bindgen]
#[must_use]
pub fn cost(kind: Kind) -> i32 {
    kind.rule().cost()
}

/// What a new one of a kind has.
#[wasm_bindgen]
#[must_use]
pub fn health(kind: Kind) -> i32 {
    kind.rule().health()
}
