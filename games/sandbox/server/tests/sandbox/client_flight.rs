//! Ships whose clients propose the movement.

use crate::support::Pilot;
use aether::prelude::*;
use aether::wire::{ClientMessage, InputSeq, MovementDelta};
use aether_sandbox_rules::{Controls, Ship};
use aether_sandbox_server::{NAME, Sandbox, settings};

const THRUST: Controls = Controls { thrust: true, left: false, right: false, fire: false };

/// A recorded room with one pilot. Movements and inputs are numbered separately.
struct Flight {
    room: Room<Sandbox>,
    pilot: Pilot,
    movements: u32,
}

impl Flight {
    fn new() -> Flight {
        let mut room = Room::builder(Sandbox::default(), settings()).seed(7).record(NAME).build().expect("it is valid");
        let pilot = Pilot::join(&room.handle(), "ann", DeliveryOrder::Ordered);
        room.tick(&mut NoObserver);
        Flight { room, pilot, movements: 0 }
    }

    fn ship(&self) -> (EntityId, &Ship) {
        self.room.world().each::<Ship>().next().expect("there is a ship")
    }

    fn propose(&mut self, [dx, dy]: [f32; 2]) {
        self.movements += 1;
        let seq = InputSeq(self.movements);
        let movement = MovementDelta { entity: self.ship().0, seq, dx, dy, ..MovementDelta::default() };
        self.pilot.endpoint.push(ClientMessage::MovementDelta(movement)).expect("the inbox has room");
    }

    fn tick(&mut self) {
        self.room.tick(&mut NoObserver);
        self.pilot.receive();
    }

    /// Distance that the ship has moved, around the edges of the world.
    fn distance(&self, from: [f32; 2]) -> f32 {
        let apart = |axis: usize| {
            let apart = (self.ship().1.position[axis] - from[axis]).abs();
            apart.min(2_000.0 - apart)
        };
        apart(0).hypot(apart(1))
    }
}

#[test]
fn controls_and_movements_together_are_not_faster_than_movements() {
    // Controls and movements in every tick, and in turns of different lengths.
    for (controls, movements) in [(1, 1), (1, 2), (2, 1), (3, 4), (8, 1), (40, 8)] {
        let mut flight = Flight::new();
        let mut travelled = 0.0;
        for tick in 0..400 {
            let before = flight.ship().1.position;
            let turn = tick % (controls + movements);
            if turn < movements || controls == 1 {
                (0..4).for_each(|_| flight.propose([5.0, 0.0]));
            }
            if turn >= movements || controls == 1 {
                flight.pilot.steer(THRUST);
            }
            flight.tick();
            travelled += flight.distance(before);
        }
        let limit = 400.0 * 5.0 + 4.0 * 5.0;
        assert!(travelled <= limit, "{controls} to {movements}: {travelled} units in 400 ticks, at most {limit}");
    }
}

#[test]
fn thrust_takes_over_from_movements_and_the_reverse() {
    let mut flight = Flight::new();
    flight.propose([2.0, 0.0]);
    flight.tick();
    let by_movement = flight.ship().1.position;
    (0..10).for_each(|_| flight.tick());
    assert_eq!(flight.ship().1.position, by_movement, "it does not glide while its client moves it");
    flight.pilot.steer(THRUST);
    (0..10).for_each(|_| flight.tick());
    assert!(flight.distance(by_movement) > 10.0, "it glides at the speed of the movement");
    flight.propose([0.0, 0.0]);
    flight.tick();
    let stopped = flight.ship().1.position;
    flight.tick();
    assert_eq!(flight.ship().1.position, stopped, "the next movement takes over again");
}

#[test]
fn a_recording_with_movements_replays_to_the_same_hashes() {
    let mut flight = Flight::new();
    let mut hashes = vec![flight.room.hash()];
    for tick in 0..200 {
        // Honest movements, violations, bursts and controls.
        match tick % 7 {
            0 | 3 => flight.propose([tick as f32 % 9.0, 1.0]),
            1 => (0..6).for_each(|_| flight.propose([0.3, -0.7])),
            4 => flight.propose([400.0, 0.0]),
            5 if tick % 2 == 0 => flight.pilot.steer(THRUST),
            _ => {}
        }
        flight.tick();
        hashes.push(flight.room.hash());
    }
    let totals = flight.room.totals();
    assert!(totals.movement_teleport > 0 && totals.movement_rate > 0, "{totals:?}");
    let recording = flight.room.recording().expect("it is recorded").clone();
    let mut replay = Replay::new(Sandbox::default(), settings(), &recording).expect("it is of this game");
    for (index, hash) in hashes.iter().enumerate() {
        assert_eq!(replay.step(), Ok(Some((Tick(index as u32 + 1), *hash))));
    }
}
