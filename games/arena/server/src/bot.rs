//! How bots decide: they flee the larger, chase the smaller, and otherwise seek food.

use aether_arena_rules::{Dish, EDGE, SPLIT_MASS_MIN, Steer, radius};
use aether_engine::Random;

/// How far a bot sees beyond its own rim.
const SIGHT: f32 = 260.0;
/// How near something larger may come before a bot flees.
const FEAR: f32 = 140.0;
/// How near a prey must be for a bot to split for it.
const LUNGE: f32 = 220.0;
/// Whoever is this close to where it wandered wanders on.
const ARRIVED: f32 = 40.0;
/// In so many of a hundred decisions, a bot that could lunge does.
const LUNGE_PERCENT: u32 = 12;

/// The names that bots take.
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

/// What a bot knows of itself.
#[derive(Clone, Copy, Debug)]
pub struct Myself {
    /// Its number.
    pub number: u32,
    /// Where its heaviest blob is.
    pub place: [f32; 2],
    /// What that weighs.
    pub mass: u32,
}

/// What a bot does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    pub steer: Steer,
    /// Where it wanders from now on.
    pub wanders_to: [f32; 2],
}

/// Decides for a bot.
pub fn decide(me: Myself, dish: &Dish, pellets: &[[f32; 2]], wanders_to: [f32; 2], random: &mut Random) -> Decision {
    let mut away = [0.0f32; 2];
    let mut prey: Option<(f32, [f32; 2], u32)> = None;
    for (_, piece) in dish.alive().filter(|(_, piece)| piece.eater != me.number) {
        let (way, distance) = way(me.place, piece.blob.position);
        let rim = distance - radius(piece.blob.mass);
        if outweighs(piece.blob.mass, me.mass) && rim < FEAR {
            // The nearer, the more it counts.
            let weight = 1.0 / rim.max(1.0);
            away = [away[0] - way[0] * weight, away[1] - way[1] * weight];
        } else if outweighs(me.mass, piece.blob.mass)
            && distance < SIGHT + radius(me.mass)
            && prey.is_none_or(|(nearest, _, _)| distance < nearest)
        {
            prey = Some((distance, way, piece.blob.mass));
        }
    }
    if away != [0.0; 2] {
        return going(from_edges(away, me.place), false, wanders_to);
    }
    if let Some((distance, way, mass)) = prey {
        let is_worth = me.mass >= 2 * SPLIT_MASS_MIN && outweighs(me.mass / 2, mass) && distance < LUNGE;
        return going(way, is_worth && random.chance(LUNGE_PERCENT), wanders_to);
    }
    if let Some(food) = nearest(me.place, pellets) {
        return going(way(me.place, food).0, false, wanders_to);
    }
    let (direction, distance) = way(me.place, wanders_to);
    let wanders_to = if distance < ARRIVED { [(); 2].map(|()| random.between(-EDGE, EDGE) * 0.9) } else { wanders_to };
    going(direction, false, wanders_to)
}

fn going(aim: [f32; 2], split: bool, wanders_to: [f32; 2]) -> Decision {
    let length = (aim[0] * aim[0] + aim[1] * aim[1]).sqrt();
    let aim = if length > 0.0 { aim.map(|part| part / length) } else { aim };
    Decision { steer: Steer { aim, split }, wanders_to }
}

/// Whether the first could eat the second.
fn outweighs(one: u32, other: u32) -> bool {
    u64::from(one) * 4 >= u64::from(other) * 5
}

/// Who flees into a corner is caught there: near an edge, flight bends inwards.
fn from_edges(away: [f32; 2], place: [f32; 2]) -> [f32; 2] {
    let strength = away[0].abs().max(away[1].abs());
    [0, 1].map(|axis| {
        let beyond = place[axis].abs() - (EDGE - FEAR);
        if beyond > 0.0 { away[axis] - place[axis].signum() * strength * 2.0 * beyond / FEAR } else { away[axis] }
    })
}

/// The nearest pellet in sight.
fn nearest(place: [f32; 2], pellets: &[[f32; 2]]) -> Option<[f32; 2]> {
    let distances = pellets.iter().map(|&pellet| (way(place, pellet).1, pellet));
    let near = distances.filter(|(distance, _)| *distance < SIGHT);
    near.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, pellet)| pellet)
}

/// The direction from one place to another, of length one, and how far it is.
fn way(from: [f32; 2], to: [f32; 2]) -> ([f32; 2], f32) {
    let way = [to[0] - from[0], to[1] - from[1]];
    let distance = (way[0] * way[0] + way[1] * way[1]).sqrt();
    (if distance > 0.0 { way.map(|part| part / distance) } else { [0.0; 2] }, distance)
}
