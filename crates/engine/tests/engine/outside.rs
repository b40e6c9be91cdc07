//! What those outside a room can know and are told.

use crate::support::{Scene, joiner, settings};
use aether_engine::RoomSettings;
use aether_engine::recording::Recording;
use aether_replication::DeliveryOrder;
use aether_wire::{CloseReason, Tick};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

/// Counts how often a link is woken.
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
fn a_link_is_woken_after_the_tick_that_has_something_for_it() {
    let mut scene = Scene::new(settings());
    let bell = Arc::new(Bell::default());
    let link = scene.handle.join(joiner("ann"), DeliveryOrder::Ordered).unwrap();
    link.register_waker(&Waker::from(Arc::clone(&bell)));
    scene.tick();
    assert_eq!(bell.rings(), 0, "a tick makes no system calls");
    scene.room.wake_connections();
    assert_eq!(bell.rings(), 1, "the admission, the possession and the state are one piece of news");
    assert!(link.admission().is_some() && link.has_output());
    scene.room.wake_connections();
    assert_eq!(bell.rings(), 0, "nobody is woken twice for the same");
}

#[test]
fn a_link_is_woken_by_the_end_of_its_place() {
    let mut scene = Scene::new(settings());
    let ann = scene.join("ann");
    let bell = Arc::new(Bell::default());
    ann.link.register_waker(&Waker::from(Arc::clone(&bell)));
    let player = ann.player;
    scene.next(move |room| room.kick(player));
    scene.ticks(2);
    scene.room.wake_connections();
    assert!(bell.rings() > 0);
    assert_eq!(ann.closed(), Some(CloseReason::Kicked));
}

#[test]
fn who_is_refused_is_woken_too() {
    let mut scene = Scene::new(RoomSettings { players_max: 1, ..settings() });
    let _ann = scene.join("ann");
    let bell = Arc::new(Bell::default());
    let late = scene.handle.join(joiner("late"), DeliveryOrder::Ordered).unwrap();
    late.register_waker(&Waker::from(Arc::clone(&bell)));
    scene.tick();
    assert_eq!(bell.rings(), 1);
    assert!(late.admission().unwrap().is_err());
}

#[test]
fn a_handle_shows_the_room_s_figures_and_label() {
    let mut scene = Scene::new(settings());
    assert_eq!(scene.handle.stats().tick, Tick::ZERO);
    let _ann = scene.join("ann");
    scene.spawn_at([1.0, 1.0]);
    scene.next(|room| room.set_label("duel"));
    scene.tick();
    let figures = scene.handle.stats();
    assert_eq!(figures.tick, scene.room.now());
    assert_eq!((figures.players, figures.entities as usize), (1, scene.room.world().len()));
    assert_eq!(&*scene.handle.label(), "duel");
    assert_eq!(scene.handle.schema().hash(), scene.room.schema().hash());
}

#[test]
fn a_room_that_ended_takes_no_letters() {
    let mut scene = Scene::new(settings());
    assert!(scene.handle.is_open());
    scene.handle.end().unwrap();
    scene.tick();
    assert!(!scene.handle.is_open());
    let link = scene.handle.join(joiner("late"), DeliveryOrder::Ordered).unwrap();
    assert_eq!(link.closing().map(|closing| closing.reason), Some(CloseReason::RoomFailed));
}

#[test]
fn a_recording_is_handed_over_when_the_room_is_gone() {
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
fn who_is_gone_before_the_tick_takes_no_place() {
    let mut scene = Scene::new(RoomSettings { resume_ticks: 100, ..settings() });
    drop(scene.handle.join(joiner("hasty"), DeliveryOrder::Ordered).unwrap());
    scene.ticks(2);
    assert_eq!(scene.room.players(), 0);
    assert_eq!(scene.totals().joins, 0);
}
