//! Rooms of Asteroids, and state of their clients.

use aether::bits::DeltaBasis;
use aether::prelude::*;
use aether_asteroids_rules::{Asteroid, Controls, Ship, Standing, autopilot};
use aether_asteroids_server::{Asteroids, settings};

pub type Stage = Harness<Asteroids>;

/// Creates a room.
pub fn stage(seed: u64) -> Stage {
    let room = Room::builder(Asteroids::default(), settings()).seed(seed).build().expect("it is valid");
    Harness::new(room, 8)
}

/// Joins a client and waits for its ship.
pub fn join(stage: &mut Stage, name: &str) -> ClientNumber {
    let client = stage.join(name, DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.set_input(client, Some(&Controls::default()));
    stage.tick(5);
    client
}

/// Returns the number of a client's player.
pub fn number(stage: &Stage, client: ClientNumber) -> u32 {
    stage.client(client).player().expect("it has joined").0
}

/// Returns the ship of a client, as the room has it.
pub fn ship(stage: &Stage, client: ClientNumber) -> Option<Ship> {
    let player = number(stage, client);
    stage.room().world().each::<Ship>().find(|(_, ship)| ship.player == player).map(|(_, ship)| ship.clone())
}

/// Returns the state of a client's player, as the room has it.
pub fn standing(stage: &Stage, client: ClientNumber) -> Standing {
    let player = number(stage, client);
    let mut standings = stage.room().world().each::<Standing>();
    standings
        .find(|(_, standing)| standing.player == player)
        .map(|(_, standing)| standing.clone())
        .expect("it is in the room")
}

/// Returns all asteroids of the room.
pub fn asteroids(stage: &Stage) -> Vec<Asteroid> {
    stage.room().world().each::<Asteroid>().map(|(_, asteroid)| asteroid.clone()).collect()
}

/// Lets a client play by itself for one tick.
pub fn play(stage: &mut Stage, client: ClientNumber) {
    let controls = ship(stage, client).map_or(Controls::default(), |ship| autopilot(&ship, &asteroids(stage)));
    stage.set_input(client, Some(&controls));
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

/// Returns an input that differs from player to player and changes a few times a second.
pub fn any_controls(tick: u32, player: u32) -> Controls {
    let mut hasher = StateHasher::new(u64::from(tick / 20));
    hasher.word(u64::from(player));
    let bits = hasher.finish();
    Controls { turn: (bits % 3) as i8 - 1, thrust: bits >> 8 & 1 == 0, fire: bits >> 9 & 1 == 0 }
}
