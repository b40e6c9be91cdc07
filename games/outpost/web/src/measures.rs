//! Constants of the rules, for drawing.

use crate::StructureKind;
use aether_outpost_rules as rules;
use wasm_bindgen::prelude::wasm_bindgen;

/// Constants of the rules, in units unless stated otherwise.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measures {
    /// Edge of the world on every side.
    pub edge: f32,
    /// Side length of a cell.
    pub cell: f32,
    /// Half the width of a player.
    pub radius: f32,
    /// Build distance.
    pub reach: f32,
    /// Radius around the center in which nothing can be built.
    pub spawn_area: f32,
    /// Range of a turret.
    pub turret_reach: f32,
    /// Number of steps between two shots of a player.
    pub reload_steps: u8,
    /// Maximum health of a player.
    pub health_max: i32,
    /// Maximum material of a player.
    pub material_max: i32,
    /// Maximum number of structures of one player.
    pub structures_max: u32,
    /// Number of characters to choose from.
    pub appearances: u8,
    /// Ticks per second.
    pub tick_hz: u32,
}

/// Returns the constants of the rules.
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

/// Returns the material cost of a kind.
#[wasm_bindgen]
#[must_use]
pub fn cost(kind: StructureKind) -> i32 {
    kind.rule().cost()
}

/// Returns the initial health of a kind.
#[wasm_bindgen]
#[must_use]
pub fn health(kind: StructureKind) -> i32 {
    kind.rule().health()
}
