//! A tick wakes all connections with new output together.

use crate::support::{join_request, settings};
use aether_engine::{ConnectionEndpoint, ConnectionWaking, MonotonicClock, NoObserver, Room, RoomSettings, Scheduler};
use aether_replication::DeliveryOrder;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

const CONNECTIONS: usize = 40;

/// Counts its calls.
#[derive(Default)]
struct Task {
    woken: AtomicUsize,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, Ordering::SeqCst);
    }
}

/// Notes the number of connections of each batch, and wakes them.
#[derive(Default)]
struct Batches(Mutex<Vec<usize>>);

impl ConnectionWaking for Batches {
    fn wake(&self, wakers: &mut Vec<Waker>) {
        self.0.lock().unwrap().push(wakers.len());
        wakers.drain(..).for_each(Waker::wake);
    }
}

struct RunningClock(Instant);

impl MonotonicClock for RunningClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "no {what} within a minute");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_connections_of_a_tick_are_woken_in_one_batch() {
    let batches = Arc::new(Batches::default());
    let scheduler = Scheduler::with_waking(1, Arc::new(RunningClock(Instant::now())), &(Arc::clone(&batches) as _));
    let room =
        Room::builder(crate::support::Yard::default(), RoomSettings { tick_hz: 100, snapshot_hz: 100, ..settings() });
    let room = room.build().unwrap();
    let handle = room.handle();
    let endpoints: Vec<ConnectionEndpoint> = (0..CONNECTIONS)
        .map(|number| handle.join(join_request(&format!("player {number}")), DeliveryOrder::Ordered).unwrap())
        .collect();
    let tasks: Vec<Arc<Task>> = endpoints.iter().map(|_| Arc::new(Task::default())).collect();
    for (endpoint, task) in endpoints.iter().zip(&tasks) {
        endpoint.register_waker(&Waker::from(Arc::clone(task)));
    }
    // All joins are in the mailbox, so that one tick admits all players.
    scheduler.add(room, NoObserver);
    wait_until("wake-up", || tasks.iter().all(|task| task.woken.load(Ordering::SeqCst) > 0));
    scheduler.stop();
    assert_eq!(*batches.0.lock().unwrap(), [CONNECTIONS], "one batch, and no connection twice");
    assert!(tasks.iter().all(|task| task.woken.load(Ordering::SeqCst) == 1));
    assert!(endpoints.iter().all(ConnectionEndpoint::has_output), "the welcome state waits");
}

#[test]
fn a_connection_without_output_is_not_woken_and_has_none() {
    let mut room = Room::builder(crate::support::Yard::default(), settings()).build().unwrap();
    let handle = room.handle();
    let endpoint = handle.join(join_request("ann"), DeliveryOrder::Ordered).unwrap();
    let mut wakers = Vec::new();
    assert!(!endpoint.has_output());
    room.tick(&mut NoObserver);
    while let Some(packet) = endpoint.next_state() {
        endpoint.recycle(packet);
    }
    while endpoint.next_reliable().is_some() {}
    assert!(!endpoint.has_output(), "all output is taken");
    room.take_wakers(&mut wakers);
    assert!(wakers.is_empty(), "no waker is registered");
    // Nothing moves, so that the next snapshots are empty.
    let task = Arc::new(Task::default());
    endpoint.register_waker(&Waker::from(Arc::clone(&task)));
    room.tick(&mut NoObserver);
    room.take_wakers(&mut wakers);
    assert_eq!((wakers.len(), endpoint.has_output()), (0, false));
    drop(room);
    assert_eq!(task.woken.load(Ordering::SeqCst), 1, "the end of the room");
    assert!(endpoint.has_output() && endpoint.closing().is_some());
}
