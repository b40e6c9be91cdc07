//! Clients that do not read.

use crate::support::{Call, Chat, Client, Crate, Scene, joiner, settings};
use aether_engine::RoomSettings;
use aether_engine::connection::{INBOX_MAX, RELIABLE_MAX, STATE_PACKETS_MAX};
use aether_replication::DeliveryOrder;
use aether_wire::{ClientMessage, CloseReason};

fn bustle(scene: &mut Scene, ticks: u32, clients: &mut [&mut Client]) {
    for _ in 0..ticks {
        scene.next(|room| {
            room.world.each_mut::<Crate>(|_, body| body.position[1] += 0.5);
            // Something comes and something goes, every tick.
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
fn state_is_not_queued_for_who_does_not_read_and_comes_fresh_afterwards() {
    for link in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
        let mut scene = busy_scene();
        let mut slow = scene.join_as(joiner("slow"), link);
        let mut ann = scene.join("ann");
        let skipped = scene.totals().snapshots_skipped;
        bustle(&mut scene, 300, &mut [&mut ann]);
        assert!(scene.totals().snapshots_skipped - skipped >= 299, "all but the first were skipped");
        assert_eq!(slow.closed(), None);
        assert!(scene.agrees_with(&ann));
        let packets = slow.read();
        assert!(packets <= 10, "{packets} packets waited");
        assert_eq!(slow.mirror.tick().0, 2, "what waited is the one snapshot from before");
        bustle(&mut scene, 3, &mut [&mut ann, &mut slow]);
        assert_eq!(slow.mirror.tick(), scene.room.now());
        assert!(scene.agrees_with(&slow), "after reading again it has what it may see, over {link:?}");
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
fn what_changed_once_while_nobody_read_is_not_forgotten() {
    for link in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
        let mut scene = Scene::new(settings());
        let mut slow = scene.join_as(joiner("slow"), link);
        let [moved, ended] = [1.0, 2.0].map(|y| scene.spawn_at([10.0, y]));
        scene.play(30, &mut [&mut slow]);
        assert!(scene.agrees_with(&slow));
        // Something keeps the queue full; the rest changes behind it.
        scene.put(moved, [11.0, 1.0]);
        scene.tick();
        scene.put(moved, [12.0, 1.0]);
        scene.next(move |room| assert!(room.world.despawn(ended)));
        let spawned = scene.spawn_at([10.0, 3.0]);
        scene.ticks(5);
        slow.read();
        assert_eq!(slow.place(moved), Some([11.0, 1.0]));
        scene.play(1, &mut [&mut slow]);
        assert_eq!(slow.place(moved), Some([12.0, 1.0]), "over {link:?}");
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
fn who_lets_reliable_messages_pile_up_is_closed_and_the_others_are_not() {
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
fn an_inbox_that_is_full_says_so_and_a_tick_empties_it() {
    let mut scene = Scene::new(settings());
    let ann = scene.join("ann");
    (0..INBOX_MAX).for_each(|_| ann.send(ClientMessage::Heartbeat));
    assert!(ann.link.push(ClientMessage::Heartbeat).is_err());
    scene.tick();
    (0..INBOX_MAX).for_each(|_| ann.send(ClientMessage::Heartbeat));
}

#[test]
fn silent_clients_on_an_unordered_link_cost_no_growing_memory_and_heal() {
    let mut scene = busy_scene();
    let mut deaf = scene.join_as(joiner("deaf"), DeliveryOrder::Unordered);
    // It takes packets off the queue, but they are lost and never acknowledged.
    for _ in 0..600 {
        bustle(&mut scene, 1, &mut []);
        while deaf.link.next_state().is_some() {}
    }
    bustle(&mut scene, 40, &mut [&mut deaf]);
    assert!(scene.agrees_with(&deaf));
}
