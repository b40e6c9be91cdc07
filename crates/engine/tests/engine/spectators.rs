//! Spectators: they see what everybody may see, and the game does not know them.

use crate::support::{Crate, Scene, Scoreboard, Secret, settings};
use aether_engine::{ConnectionEndpoint, NoObserver, SPECTATORS_MAX};
use aether_replication::{DeliveryOrder, Mirror};
use aether_wire::{ClientMessage, CloseReason, PlayerId};
use aether_world::Visibility;

fn mirror() -> Mirror {
    let builder = Mirror::builder().component::<Crate>().component::<Secret>().component::<Scoreboard>();
    builder.build(DeliveryOrder::Unordered, settings().seconds_per_tick())
}

fn packets(spectator: &ConnectionEndpoint) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| spectator.next_state()).collect()
}

#[test]
fn a_spectator_sees_all_that_is_not_restricted_and_is_no_player() {
    let mut scene = Scene::new(settings());
    let _ann = scene.join("ann");
    let far = scene.spawn_at([900.0, -900.0]);
    let hidden = scene.spawn_at([12.0, 0.0]);
    scene.now(move |room| room.world.set_visibility(hidden, Visibility::Team(1)));
    let spectator = scene.handle.spectate().unwrap();
    scene.tick();
    let mut mirror = mirror();
    for packet in packets(&spectator) {
        mirror.apply(&packet).unwrap();
    }
    assert!(mirror.contains(far) && !mirror.contains(hidden));
    let world = scene.room.world();
    assert!(world.each::<Secret>().all(|(secret, _)| !mirror.contains(secret)), "secrets are for their owners");
    let shown = mirror.entities().map(|entity| entity.slot).collect::<Vec<_>>();
    assert_eq!(mirror.hash(), world.hash_of(shown.into_iter()));
    assert_eq!(scene.room.players(), 1);
}

#[test]
fn after_an_acknowledged_first_snapshot_every_later_packet_stands_alone() {
    let mut scene = Scene::new(settings());
    let moving = scene.spawn_at([0.0, 0.0]);
    let spectator = scene.handle.spectate().unwrap();
    scene.tick();
    let mut lossy = mirror();
    for packet in packets(&spectator) {
        lossy.apply(&packet).unwrap();
    }
    spectator.push(ClientMessage::Ack(lossy.acknowledgement())).unwrap();
    for step in 1..=55 {
        scene.put(moving, [step as f32, 0.0]);
        scene.tick();
        let sent = packets(&spectator);
        // Most packets are lost, and the others are enough.
        if step % 7 == 0 {
            for packet in &sent {
                lossy.apply(packet).unwrap();
            }
            let shown = lossy.get::<Crate>(moving).unwrap();
            assert_eq!(shown.position, scene.room.world().get::<Crate>(moving).unwrap().position, "step {step}");
        }
    }
}

#[test]
fn a_recording_is_the_same_with_spectators() {
    let hash_with = |spectators: usize| {
        let mut scene = Scene::new(settings());
        let _ann = scene.join("ann");
        let _kept: Vec<_> = (0..spectators).map(|_| scene.handle.spectate().unwrap()).collect();
        scene.ticks(20);
        (scene.room.hash(), scene.room.recording().unwrap().to_bytes())
    };
    assert_eq!(hash_with(0), hash_with(2));
}

#[test]
fn too_many_spectators_are_rejected_and_those_who_are_gone_make_room() {
    let mut scene = Scene::new(settings());
    let mut kept: Vec<_> = (0..SPECTATORS_MAX).map(|_| scene.handle.spectate().unwrap()).collect();
    let late = scene.handle.spectate().unwrap();
    scene.ticks(2);
    assert!(matches!(late.admission(), Some(Err(_))));
    kept.pop();
    scene.tick();
    let next = scene.handle.spectate().unwrap();
    scene.tick();
    assert!(next.admission().is_none() && !packets(&next).is_empty());
}

#[test]
fn spectators_are_closed_with_the_room() {
    let mut scene = Scene::new(settings());
    let spectator = scene.handle.spectate().unwrap();
    scene.ticks(2);
    // Messages other than acknowledgements are ignored.
    spectator.push(ClientMessage::Leave).unwrap();
    scene.tick();
    assert!(spectator.closing().is_none());
    scene.handle.end().unwrap();
    scene.room.tick(&mut NoObserver);
    assert_eq!(spectator.closing().unwrap().reason, CloseReason::RoomEnded);
    assert_eq!(scene.room.hash_seen_by(PlayerId(1)), None);
}
