//! Decisions of bots: flee larger eaters, chase smaller ones, otherwise seek food.

use aether::engine::Random;
use aether_arena_rules::{Dish, EDGE, SPLIT_MASS_MIN, Steer, radius};

/// View distance of a bot, beyond its own rim.
const VIEW_DISTANCE: f32 = 260.0;
/// Distance at which a bot flees from a larger eater.
const FLEE_DISTANCE: f32 = 140.0;
/// Distance of a prey at which a bot may split to catch it.
const SPLIT_DISTANCE: f32 = 220.0;
/// Distance at which a wandering target counts as reached.
const ARRIVAL_DISTANCE: f32 = 40.0;
/// Percentage of decisions in which a bot splits if it could catch a prey.
const SPLIT_PERCENT: u32 = 12;

/// Names of bots.
pub const NAMES: [&str; 16] = [
    "Amoeba",
    "Bacillus",
    "Comet",
    "Diatom",
    "Ember",
    "Flagellum",
    "Globule",
    "Halo",
    "Ion",
    "Jelly",
    "Krill",
    "Lichen",
    "Mote",
    "Nebula",
    "Orbit",
    "Plankton",
];

/// State of a bot that its decision uses.
#[derive(Clone, Copy, Debug)]
pub struct BotState {
    /// Its number.
    pub number: u32,
    /// Position of its heaviest blob.
    pub position: [f32; 2],
    /// Mass of that blob.
    pub mass: u32,
}

/// Next input of a bot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    pub steer: Steer,
    /// Target of its wandering from now on.
    pub wanders_to: [f32; 2],
}

/// Decides for a bot.
pub fn decide(me: BotState, dish: &Dish, pellets: &[[f32; 2]], wanders_to: [f32; 2], random: &mut Random) -> Decision {
    let mut away = [0.0f32; 2];
    let mut prey: Option<(f32, [f32; 2], u32)> = None;
    for (_, piece) in dish.alive().filter(|(_, piece)| piece.eater != me.number) {
        let (way, distance) = direction_to(me.position, piece.blob.position);
        let rim = distance - radius(piece.blob.mass);
        if outweighs(piece.blob.mass, me.mass) && rim < FLEE_DISTANCE {
            // Nearer eaters weigh more.
            let weight = 1.0 / rim.max(1.0);
            away = [away[0] - way[0] * weight, away[1] - way[1] * weight];
        } else if outweighs(me.mass, piece.blob.mass)
            && distance < VIEW_DISTANCE + radius(me.mass)
            && prey.is_none_or(|(nearest, _, _)| distance < nearest)
        {
            prey = Some((distance, way, piece.blob.mass));
        }
    }
    if away != [0.0; 2] {
        return going(from_edges(away, me.position), false, wanders_to);
    }
    if let Some((distance, way, mass)) = prey {
        let is_worth = me.mass >= 2 * SPLIT_MASS_MIN && outweighs(me.mass / 2, mass) && distance < SPLIT_DISTANCE;
        return going(way, is_worth && random.chance(SPLIT_PERCENT), wanders_to);
    }
    if let Some(food) = nearest(me.position, pellets) {
        return going(direction_to(me.position, food).0, false, wanders_to);
    }
    let (direction, distance) = direction_to(me.position, wanders_to);
    let wanders_to =
        if distance < ARRIVAL_DISTANCE { [(); 2].map(|()| random.between(-EDGE, EDGE) * 0.9) } else { wanders_to };
    going(direction, false, wanders_to)
}

fn going(aim: [f32; 2], split: bool, wanders_to: [f32; 2]) -> Decision {
    let length = (aim[0] * aim[0] + aim[1] * aim[1]).sqrt();
    let aim = if length > 0.0 { aim.map(|part| part / length) } else { aim };
    Decision { steer: Steer { aim, split }, wanders_to }
}

/// Returns whether the first mass could eat the second.
fn outweighs(one: u32, other: u32) -> bool {
    u64::from(one) * 4 >= u64::from(other) * 5
}

/// Bends a flight inwards near an edge, because a corner is a trap.
fn from_edges(away: [f32; 2], position: [f32; 2]) -> [f32; 2] {
    let strength = away[0].abs().max(away[1].abs());
    [0, 1].map(|axis| {
        let beyond = position[axis].abs() - (EDGE - FLEE_DISTANCE);
        if beyond > 0.0 {
            away[axis] - position[axis].signum() * strength * 2.0 * beyond / FLEE_DISTANCE
        } else {
            away[axis]
        }
    })
}

/// Returns the nearest visible pellet.
fn nearest(position: [f32; 2], pellets: &[[f32; 2]]) -> Option<[f32; 2]> {
    let distances = pellets.iter().map(|&pellet| (direction_to(position, pellet).1, pellet));
    let near = distances.filter(|(distance, _)| *distance < VIEW_DISTANCE);
    near.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, pellet)| pellet)
}

/// Returns the direction from one position to another, of length one, and the distance.
fn direction_to(from: [f32; 2], to: [f32; 2]) -> ([f32; 2], f32) {
    let offset = [to[0] - from[0], to[1] - from[1]];
    let distance = (offset[0] * offset[0] + offset[1] * offset[1]).sqrt();
    (if distance > 0.0 { offset.map(|part| part / distance) } else { [0.0; 2] }, distance)
}
