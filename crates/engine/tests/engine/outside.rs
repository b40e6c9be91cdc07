//! Wakers, stats and the mailbox of a room.

use crate::support::{Scene, join_request, settings};
use aether_engine::RoomSettings;
use aether_engine::recording::Recording;
use aether_replication::DeliveryOrder;
use aether_wire::{CloseReason, Tick};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

/// Counts wakeups.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Bell {
    fn rings(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

#[test]
fn a_connection_is_woken_after_the_tick_with_its_output() {
    let mut scene = Scene::new(settings());
    let bell = Arc::new(Bell::default());
    let endpoint = scene.handle.join(join_request("ann"), DeliveryOrder::Ordered).unwrap();
    endpoint.register_waker(&Waker::from(Arc::clone(&bell)));
    scene.tick();
    assert_eq!(bell.rings(), 0, "a tick makes no system calls");
    scene.room.wake_connections();
    assert_eq!(bell.rings(), 1, "the admission, the possession and the state cause one wakeup");
    assert!(endpoint.admission().is_some() && endpoint.has_output());
    scene.room.wake_connections();
    assert_eq!(bell.rings(), 0, "there is no second wakeup for the same output");
}

#[test]
fn a_connection_is_woken_when_it_is_closed() {
    let mut scene = Scene::new(settings());
    let ann = scene.join("ann");
    let bell = Arc::new(Bell::default());
    ann.endpoint.register_waker(&Waker::from(Arc::clone(&bell)));
    let player = ann.player;
    scene.next(move |room| room.kick(player));
    scene.ticks(2);
    scene.room.wake_connections();
    assert!(bell.rings() > 0);
    assert_eq!(ann.closed(), Some(CloseReason::Kicked));
}

#[test]
fn a_rejected_join_is_woken_too() {
    let mut scene = Scene::new(RoomSettings { players_max: 1, ..settings() });
    let _ann = scene.join("ann");
    let bell = Arc::new(Bell::default());
    let late = scene.handle.join(join_request("late"), DeliveryOrder::Ordered).unwrap();
    late.register_waker(&Waker::from(Arc::clone(&bell)));
    scene.tick();
    assert_eq!(bell.rings(), 1);
    assert!(late.admission().unwrap().is_err());
}

#[test]
fn a_handle_returns_the_stats_and_label() {
    let mut scene = Scene::new(settings());
    assert_eq!(scene.handle.stats().tick, Tick::ZERO);
    let _ann = scene.join("ann");
    scene.spawn_at([1.0, 1.0]);
    scene.next(|room| room.set_label("duel"));
    scene.tick();
    let stats = scene.handle.stats();
    assert_eq!(stats.tick, scene.room.now());
    assert_eq!((stats.players, stats.entities as usize), (1, scene.room.world().len()));
    assert_eq!(&*scene.handle.label(), "duel");
    assert_eq!(scene.handle.schema().hash(), scene.room.schema().hash());
}

#[test]
fn a_room_that_ended_accepts_no_messages() {
    let mut scene = Scene::new(settings());
    assert!(scene.handle.is_open());
    scene.handle.end().unwrap();
    scene.tick();
    assert!(!scene.handle.is_open());
    let endpoint = scene.handle.join(join_request("late"), DeliveryOrder::Ordered).unwrap();
    assert_eq!(endpoint.closing().map(|closing| closing.reason), Some(CloseReason::RoomFailed));
}

#[test]
fn the_recording_sink_is_called_when_the_room_is_dropped() {
    use aether_engine::{NoObserver, Room};
    let (sender, receiver) = std::sync::mpsc::channel();
    let game = crate::support::Yard::default();
    let sink = Box::new(move |recording: Recording| sender.send(recording).unwrap());
    let mut room = Room::builder(game, settings()).record("yard").recording_sink(sink).build().unwrap();
    for _ in 0..5 {
        room.tick(&mut NoObserver);
    }
    drop(room);
    assert_eq!(receiver.recv().unwrap().ticks(), 5);
}

#[test]
fn a_client_that_is_gone_before_the_tick_does_not_join() {
    let mut scene = Scene::new(RoomSettings { resume_ticks: 100, ..settings() });
    drop(scene.handle.join(join_request("hasty"), DeliveryOrder::Ordered).unwrap());
    scene.ticks(2);
    assert_eq!(scene.room.players(), 0);
    assert_eq!(scene.totals().joins, 0);
}
