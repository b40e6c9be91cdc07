//! Rooms of Arena, and state of their clients.

use aether::bits::DeltaBasis;
use aether::prelude::*;
use aether_arena_rules::{Blob, Label, Pellet, Steer};
use aether_arena_server::{Arena, settings};

pub type Stage = Harness<Arena>;

/// Creates a room that bots fill up to `eaters_min` eaters.
pub fn stage(eaters_min: u32) -> Stage {
    let room = Room::builder(Arena::with_eaters(eaters_min), settings()).seed(7).build().expect("it is valid");
    Harness::new(room, 8)
}

/// Joins a client that plays at once, because its input is not zero.
pub fn join(stage: &mut Stage, name: &str, order: DeliveryOrder, conditions: Conditions) -> ClientNumber {
    let client = stage.join(name, order, conditions);
    stage.set_input(client, Some(&Steer { aim: [0.0078125, 0.0], split: false }));
    client
}

/// Returns the number of a client's eater.
pub fn number(stage: &Stage, client: ClientNumber) -> u32 {
    stage.client(client).player().expect("it has joined").0
}

/// Returns the blobs of an eater, heaviest first.
pub fn blobs(stage: &Stage, eater: u32) -> Vec<Blob> {
    let world = stage.room().world();
    let own = world.each::<Label>().filter(|(_, label)| label.eater == eater);
    let mut blobs: Vec<Blob> = own.filter_map(|(entity, _)| world.get::<Blob>(entity).cloned()).collect();
    blobs.sort_by_key(|blob| std::cmp::Reverse(blob.mass));
    blobs
}

/// Returns all components of a type that a client sees.
pub fn all_seen<C: Component>(stage: &Stage, client: ClientNumber) -> Vec<C> {
    let index = stage.room().schema().components.iter().position(|component| component.name == C::NAME);
    let index = index.expect("it is declared");
    let mirror = stage.client(client).mirror();
    let values = mirror.entities().filter_map(|entity| mirror.value(entity, index));
    let typed = values.map(|(kind, value)| {
        let mut writer = BitWriter::new();
        kind.write_delta(DeltaBasis::new(&kind.initial()), value, &mut writer).expect("it was read");
        C::read_full(&mut BitReader::new(&writer.to_bytes())).expect("it was written")
    });
    typed.collect()
}

/// Returns the events of a type that a client received.
pub fn events<E: Component>(stage: &Stage, client: ClientNumber) -> Vec<E> {
    let code = stage.room().schema().events.iter().position(|event| event.name == E::NAME);
    let read = |body: &GameBody| match body {
        GameBody::Packed { code: of, payload } if code == Some(usize::from(*of)) => {
            E::read_full(&mut BitReader::new(payload)).ok()
        }
        _ => None,
    };
    stage.client(client).received().events.iter().filter_map(|event| read(&event.body)).collect()
}

/// Returns the input that steers towards a position.
pub fn towards(from: [f32; 2], to: [f32; 2]) -> Steer {
    let offset = [to[0] - from[0], to[1] - from[1]];
    let length = (offset[0] * offset[0] + offset[1] * offset[1]).sqrt().max(1.0);
    Steer { aim: offset.map(|part| part / length), split: false }
}

/// Lets a client eat until it has the given mass.
pub fn grow(stage: &mut Stage, client: ClientNumber, mass: u32) {
    let eater = number(stage, client);
    let mut food: Option<[f32; 2]> = None;
    for _ in 0..4_000 {
        let Some(own) = blobs(stage, eater).into_iter().next() else { panic!("it was eaten") };
        if own.mass >= mass {
            return;
        }
        let distance_squared = |position: [f32; 2]| {
            let (dx, dy) = (position[0] - own.position[0], position[1] - own.position[1]);
            dx * dx + dy * dy
        };
        let positions = all_seen::<Pellet>(stage, client).into_iter().map(|pellet| pellet.position);
        let positions: Vec<[f32; 2]> = positions.collect();
        // Keeps its target: switching between two equally near pellets would reach neither.
        let nearest = || positions.iter().copied().min_by(|a, b| distance_squared(*a).total_cmp(&distance_squared(*b)));
        food = food.filter(|food| positions.contains(food)).or_else(nearest);
        stage.set_input(client, Some(&towards(own.position, food.unwrap_or([0.0; 2]))));
        stage.tick(1);
    }
    panic!("it did not grow to {mass}");
}

/// Returns an input that differs from player to player and changes a few times a second.
pub fn steer(tick: u32, player: u32) -> Steer {
    let mut hasher = StateHasher::new(u64::from(tick / 8));
    hasher.word(u64::from(player));
    let bits = hasher.finish();
    let share = |shift: u32| (bits >> shift & 0xff) as f32 / 127.5 - 1.0;
    Steer { aim: [share(0), share(8)], split: bits >> 16 & 7 == 0 }
}
