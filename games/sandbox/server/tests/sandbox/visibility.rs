//! Every client holds exactly its visible state, whenever it joins and whatever its view radius.

use crate::support::{Pilot, SPECTATOR, SandboxVariant, controls};
use aether::prelude::*;
use aether_sandbox_server::settings;

/// Every change is in the next snapshot, so that a client follows a world in motion.
fn room() -> Room<SandboxVariant> {
    let settings = RoomSettings { snapshot_hz: 40, rings: Vec::new(), snapshot_bytes_max: 20_000, ..settings() };
    Room::builder(SandboxVariant::default(), settings).seed(2).build().expect("the settings are valid")
}

fn tick(room: &mut Room<SandboxVariant>, pilots: &mut [Pilot]) {
    let tick = room.now().0;
    for (number, pilot) in pilots.iter_mut().enumerate() {
        pilot.steer(controls(tick, number as u32));
    }
    room.tick(&mut NoObserver);
    pilots.iter_mut().for_each(Pilot::receive);
}

#[test]
fn late_clients_converge_from_their_first_tick_on() {
    let mut room = room();
    let handle = room.handle();
    let mut pilots = vec![Pilot::join(&handle, "first", DeliveryOrder::Ordered)];
    pilots[0].stress(500);
    for number in 0..12 {
        for _ in 0..20 {
            tick(&mut room, &mut pilots);
            for pilot in &pilots {
                assert!(pilot.agrees(&room), "player {} at tick {}", pilot.player(), room.now());
            }
        }
        let order = if number % 2 == 0 { DeliveryOrder::Unordered } else { DeliveryOrder::Ordered };
        pilots.push(Pilot::join(&handle, &format!("late {number}"), order));
    }
}

#[test]
fn a_spectator_sees_the_whole_room() {
    let mut room = room();
    let handle = room.handle();
    let mut pilots: Vec<Pilot> =
        (0..6).map(|n| Pilot::join(&handle, &format!("pilot {n}"), DeliveryOrder::Unordered)).collect();
    pilots[0].stress(300);
    for _ in 0..50 {
        tick(&mut room, &mut pilots);
    }
    for order in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
        pilots.push(Pilot::join(&handle, SPECTATOR, order));
    }
    for _ in 0..100 {
        tick(&mut room, &mut pilots);
        for spectator in &pilots[6..] {
            assert_eq!(spectator.mirror.hash(), room.world().hash(), "at tick {}", room.now());
            assert_eq!(spectator.mirror.entities().count(), room.world().len());
        }
    }
    let seen = pilots[0].mirror.entities().count();
    assert!(seen < room.world().len() / 2, "a pilot sees only what is near: {seen} of {}", room.world().len());
}

#[test]
fn a_large_world_reaches_a_new_client_in_several_snapshots() {
    let settings = RoomSettings { snapshot_hz: 40, rings: Vec::new(), snapshot_bytes_max: 1_000, ..settings() };
    let mut room = Room::builder(SandboxVariant::default(), settings).seed(3).build().expect("the settings are valid");
    let handle = room.handle();
    let mut pilots = vec![Pilot::join(&handle, "first", DeliveryOrder::Ordered)];
    let stress = aether::wire::PlaygroundStress { seq: aether::wire::CommandSeq(1), count: 1_000, rotate: false };
    pilots[0].endpoint.push(aether::wire::ClientMessage::PlaygroundStress(stress)).expect("the inbox has room");
    tick(&mut room, &mut pilots);
    pilots.push(Pilot::join(&handle, SPECTATOR, DeliveryOrder::Unordered));
    tick(&mut room, &mut pilots);
    assert!(!pilots[1].agrees(&room), "it does not fit one snapshot");
    for _ in 0..40 {
        tick(&mut room, &mut pilots);
    }
    assert!(pilots[1].mirror.entities().count() > 1_000, "{}", pilots[1].mirror.entities().count());
}
