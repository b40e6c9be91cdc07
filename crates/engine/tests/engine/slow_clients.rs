//! Clients that do not read.

use crate::support::{Call, Chat, Client, Crate, Scene, join_request, settings};
use aether_engine::RoomSettings;
use aether_engine::connection::{INBOX_MAX, RELIABLE_MAX, STATE_PACKETS_MAX};
use aether_replication::DeliveryOrder;
use aether_wire::{ClientMessage, CloseReason};

fn bustle(scene: &mut Scene, ticks: u32, clients: &mut [&mut Client]) {
    for _ in 0..ticks {
        scene.next(|room| {
            room.world.each_mut::<Crate>(|_, body| body.position[1] += 0.5);
            // An entity is spawned and one despawned, every tick.
            let oldest = room.world.each::<Crate>().map(|(id, _)| id).find(|&id| room.world.owner(id).is_none());
            if let Some(oldest) = oldest {
                room.world.despawn(oldest);
            }
            let _ = room.world.spawn(Crate { position: [15.0, 0.0], velocity: [0.0; 2] });
        });
        scene.play(1, clients);
    }
}

fn busy_scene() -> Scene {
    let mut scene = Scene::new(settings());
    for step in 0..100 {
        scene.next(move |room| {
            let _ = room.world.spawn(Crate { position: [step as f32, 5.0], velocity: [0.0; 2] });
        });
    }
    scene.tick();
    scene
}

#[test]
fn state_is_not_queued_for_a_client_that_does_not_read() {
    for order in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
        let mut scene = busy_scene();
        let mut slow = scene.join_as(join_request("slow"), order);
        let mut ann = scene.join("ann");
        let skipped = scene.totals().snapshots_skipped;
        bustle(&mut scene, 300, &mut [&mut ann]);
        assert!(scene.totals().snapshots_skipped - skipped >= 299, "all but the first were skipped");
        assert_eq!(slow.closed(), None);
        assert!(scene.agrees_with(&ann));
        let packets = slow.read();
        assert!(packets <= 10, "{packets} packets waited");
        assert_eq!(slow.mirror.tick().0, 2, "only the snapshot from before was queued");
        bustle(&mut scene, 3, &mut [&mut ann, &mut slow]);
        assert_eq!(slow.mirror.tick(), scene.room.now());
        assert!(scene.agrees_with(&slow), "after reading again it has what it may see, over {order:?}");
    }
}

#[test]
fn a_client_that_reads_now_and_then_always_gets_the_newest() {
    let mut scene = busy_scene();
    let mut slow = scene.join("slow");
    slow.read();
    for pause in [1, 2, 7, 30, 70, 200] {
        bustle(&mut scene, pause, &mut []);
        slow.read();
        bustle(&mut scene, 1, &mut [&mut slow]);
        assert_eq!(slow.mirror.tick(), scene.room.now());
        assert!(scene.agrees_with(&slow), "after a pause of {pause} ticks");
    }
}

#[test]
fn a_change_while_the_client_did_not_read_is_sent_later() {
    for order in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
        let mut scene = Scene::new(settings());
        let mut slow = scene.join_as(join_request("slow"), order);
        let [moved, ended] = [1.0, 2.0].map(|y| scene.spawn_at([10.0, y]));
        scene.play(30, &mut [&mut slow]);
        assert!(scene.agrees_with(&slow));
        // One change keeps the queue full; the others happen behind it.
        scene.put(moved, [11.0, 1.0]);
        scene.tick();
        scene.put(moved, [12.0, 1.0]);
        scene.next(move |room| assert!(room.world.despawn(ended)));
        let spawned = scene.spawn_at([10.0, 3.0]);
        scene.ticks(5);
        slow.read();
        assert_eq!(slow.place(moved), Some([11.0, 1.0]));
        scene.play(1, &mut [&mut slow]);
        assert_eq!(slow.place(moved), Some([12.0, 1.0]), "over {order:?}");
        assert!(slow.mirror.contains(spawned) && !slow.mirror.contains(ended));
        assert!(scene.agrees_with(&slow));
    }
}

#[test]
fn the_largest_snapshot_fits_the_queue() {
    let settings = RoomSettings {
        entities_max: 20_000,
        interest: None,
        snapshot_bytes_max: RoomSettings::SNAPSHOT_BYTES_MAX,
        ..settings()
    };
    let mut scene = Scene::new(settings);
    scene.next(|room| {
        for step in 0..19_000 {
            let position = [(step % 1_000) as f32 - 500.0, (step / 7) as f32 / 10.0];
            room.world.spawn(Crate { position, velocity: [step as f32 % 50.0, 1.0] }).unwrap();
        }
    });
    scene.tick();
    let mut ann = scene.join("ann");
    let packets = ann.read();
    assert!((2..=STATE_PACKETS_MAX).contains(&packets), "{packets}");
    scene.play(20, &mut [&mut ann]);
    assert!(scene.agrees_with(&ann));
}

#[test]
fn a_full_reliable_queue_closes_only_its_client() {
    let mut scene = Scene::new(settings());
    let slow = scene.join("slow");
    let mut ann = scene.join("ann");
    ann.read();
    let mut sent = 0;
    while slow.closed().is_none() {
        scene.next(|room| room.broadcast(&Chat { text: "news".to_owned() }));
        scene.play(1, &mut [&mut ann]);
        sent += 1;
        assert!(sent <= RELIABLE_MAX, "the queue has no end");
    }
    assert_eq!(slow.closed(), Some(CloseReason::TooSlow));
    assert_eq!(sent, RELIABLE_MAX, "its possession was the first");
    assert_eq!(scene.totals().too_slow, 1);
    scene.play(2, &mut [&mut ann]);
    assert_eq!((scene.room.players(), ann.closed()), (1, None));
    assert_eq!(ann.chats().len(), RELIABLE_MAX);
    assert!(scene.agrees_with(&ann));
}

#[test]
fn the_game_learns_that_a_player_was_too_slow() {
    let mut scene = Scene::new(settings());
    let slow = scene.join("slow");
    scene.next(|room| (0..=RELIABLE_MAX).for_each(|_| room.broadcast(&Chat { text: "news".to_owned() })));
    scene.ticks(2);
    assert_eq!(slow.closed(), Some(CloseReason::TooSlow));
    assert_eq!(scene.room.game().calls.last(), Some(&Call::Leave(slow.player, CloseReason::TooSlow)));
}

#[test]
fn a_full_inbox_is_an_error_and_a_tick_empties_it() {
    let mut scene = Scene::new(settings());
    let ann = scene.join("ann");
    (0..INBOX_MAX).for_each(|_| ann.send(ClientMessage::Heartbeat));
    assert!(ann.endpoint.push(ClientMessage::Heartbeat).is_err());
    scene.tick();
    (0..INBOX_MAX).for_each(|_| ann.send(ClientMessage::Heartbeat));
}

#[test]
fn unordered_clients_that_never_acknowledge_use_bounded_memory_and_recover() {
    let mut scene = busy_scene();
    let mut deaf = scene.join_as(join_request("deaf"), DeliveryOrder::Unordered);
    // It takes packets, but they are lost and never acknowledged.
    for _ in 0..600 {
        bustle(&mut scene, 1, &mut []);
        while deaf.endpoint.next_state().is_some() {}
    }
    bustle(&mut scene, 40, &mut [&mut deaf]);
    assert!(scene.agrees_with(&deaf));
}
