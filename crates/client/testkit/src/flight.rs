//! Game with the sandbox's rules.

use aether_bits::{Replicate, StateHasher};
use aether_engine::{Context, Game, RoomSettings};
use aether_sandbox_rules::{Controls, Hit, Look, Scoreboard, Ship, Shot, Thing, step};
use aether_wire::{EntityId, PlayerId};
use std::collections::BTreeMap;

/// Signal that pushes every ship aside.
pub const PUSH: &[u8] = b"push";
/// Signal that sinks every ship.
pub const SINK: &[u8] = b"sink";

/// Ships moved by the sandbox's rules, one step per input.
#[derive(Default)]
pub struct FlightGame {
    /// Number of rotating things, so that a snapshot takes several packets.
    pub crowd: u32,
    /// State of each player's ship after each input on the current connection.
    pub flown: BTreeMap<PlayerId, Vec<Ship>>,
}

impl Game for FlightGame {
    type Input = Controls;

    fn declare(schema: aether_engine::GameSchemaBuilder) -> aether_engine::GameSchemaBuilder {
        schema.component::<Ship>().component::<Thing>().component::<Shot>().component::<Scoreboard>().event::<Hit>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        for number in 0..self.crowd {
            let position = [number as f32 - 500.0, 40.0];
            let thing = Thing { position, rotation: 0.0, look: Look::Rock, spin: 1.0 + number as f32 / 100.0 };
            room.world.spawn(thing).expect("the world is not full");
        }
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let position = [player.0 as f32 * 30.0 - 60.0, 0.0];
        let ship = Ship { position, velocity: [0.0; 2], heading: 0.0, hull: 100, colour: 0 };
        let entity = room.world.spawn(ship).expect("the world is not full");
        room.possess(player, entity);
    }

    fn resumed(&mut self, _room: &mut Context<'_>, player: PlayerId) {
        self.flown.remove(&player);
    }

    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, input: &Controls) {
        let seconds = room.seconds_per_tick();
        let Some(ship) = room.possession(player).and_then(|ship| room.world.get_mut::<Ship>(ship)) else { return };
        step(ship, *input, seconds);
        ship.snap();
        self.flown.entry(player).or_default().push(ship.clone());
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        let seconds = room.seconds_per_tick();
        room.world.each_mut(|_, thing: &mut Thing| thing.rotation += thing.spin * seconds);
    }

    /// Pushes every ship aside, or sinks them.
    fn signal(&mut self, room: &mut Context<'_>, data: &[u8]) -> Vec<u8> {
        if data == SINK {
            let ships: Vec<EntityId> = room.world.entities().collect();
            for ship in ships {
                room.world.despawn(ship);
            }
        }
        room.world.each_mut(|_, ship: &mut Ship| {
            ship.position = [ship.position[0] + 12.0, ship.position[1] - 8.0];
            ship.velocity[1] += 15.0;
        });
        Vec::new()
    }
}

/// Settings of the sandbox's rooms, with full visibility and resume.
#[must_use]
pub fn settings() -> RoomSettings {
    RoomSettings { interest: None, rings: Vec::new(), resume_ticks: 400, ..aether_sandbox_server::settings() }
}

/// Changes the course a few times per second, at random.
#[must_use]
pub fn zigzag(frame: u32) -> Controls {
    let bits = StateHasher::new(u64::from(frame / 11)).finish();
    let is_set = |bit: u64| bits >> bit & 1 == 1;
    Controls { thrust: is_set(0) || is_set(1), left: is_set(2), right: is_set(3), fire: false }
}

/// Flies at full speed in alternating curves.
#[must_use]
pub fn serpentine(frame: u32) -> Controls {
    let left = (frame / 50).is_multiple_of(2);
    Controls { thrust: true, left, right: !left, fire: false }
}
