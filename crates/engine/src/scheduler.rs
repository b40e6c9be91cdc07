//! [`Scheduler`]: runs many rooms on a few threads.

use crate::game::Game;
use crate::observer::Observer;
use crate::pacer::TickPacer;
use crate::room::{Room, RoomStatus};
use crate::waking::{ConnectionWaking, WakeEach};
use aether_wire::CloseReason;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::thread::JoinHandle;
use std::time::Duration;

/// Monotonic clock of the scheduler. The engine has no clock of its own.
pub trait MonotonicClock: Send + Sync + 'static {
    /// Returns the time since a fixed moment. It never goes back.
    fn now(&self) -> Duration;
}

/// Number of a room in a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoomNumber(pub u64);

/// Outcome of a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoomExit {
    /// The room ended normally.
    Finished,
    /// The game panicked, with this message.
    Panicked(String),
    /// The game failed, with the text of [`Context::fail`](crate::Context::fail).
    Failed(String),
}

/// Runs rooms on tick threads. A room is pinned to the thread with the least load when it is added.
pub struct Scheduler {
    threads: Vec<TickThreadHandle>,
    clock: Arc<dyn MonotonicClock>,
    exits: Mutex<Receiver<(RoomNumber, RoomExit)>>,
    /// Keeps the channel open, so that `next_ended` waits even after the threads have stopped.
    _exit_sender: Sender<(RoomNumber, RoomExit)>,
    next_room: AtomicU64,
}

/// Expected load of a new room, in microseconds per second. The next turn of the thread replaces it with the measured
/// load.
const LOAD_EXPECTED_US: u64 = 5_000;

struct TickThreadHandle {
    commands: Sender<Command>,
    /// Time that the thread's rooms take, in microseconds per second.
    load_us: Arc<AtomicU64>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

enum Command {
    Add(RoomNumber, Box<dyn ScheduledRoom>),
    Stop,
}

impl Scheduler {
    /// Starts tick threads, at least one. They wake connections one after the other.
    #[must_use]
    pub fn new(threads: usize, clock: Arc<dyn MonotonicClock>) -> Self {
        Scheduler::with_waking(threads, clock, &(Arc::new(WakeEach) as _))
    }

    /// Starts tick threads, at least one, that wake connections this way.
    #[must_use]
    pub fn with_waking(threads: usize, clock: Arc<dyn MonotonicClock>, waking: &Arc<dyn ConnectionWaking>) -> Self {
        let (exit_sender, exits) = channel();
        let threads = (0..threads.max(1))
            .map(|number| {
                let (commands, inbox) = channel();
                let load_us = Arc::new(AtomicU64::new(0));
                let waking = Arc::clone(waking);
                let tick_thread =
                    TickThread::new(Arc::clone(&clock), waking, exit_sender.clone(), Arc::clone(&load_us));
                let thread = std::thread::Builder::new().name(format!("tick-{number}"));
                let thread = thread.spawn(move || tick_thread.run(&inbox)).expect("failed to spawn a tick thread");
                TickThreadHandle { commands, load_us, thread: Mutex::new(Some(thread)) }
            })
            .collect();
        Scheduler { threads, clock, exits: Mutex::new(exits), _exit_sender: exit_sender, next_room: AtomicU64::new(0) }
    }

    /// Adds a room, which starts to tick at once.
    pub fn add<G: Game>(&self, room: Room<G>, observer: impl Observer + Send + 'static) -> RoomNumber {
        let number = RoomNumber(self.next_room.fetch_add(1, Ordering::Relaxed));
        let settings = room.settings();
        let step = Duration::from_secs(1) / settings.tick_hz;
        // Rooms start at different phases, so that their ticks spread over the step.
        let phase = step.mul_f64((number.0 as f64 * 0.618_033_988_749_895).fract());
        let pacer = TickPacer::new(settings.tick_hz, settings.catch_up_max, self.clock.now() + phase);
        let runner = Runner { room, observer, pacer, load: 0.0 };
        let tick_thread = self.threads.iter().min_by_key(|tick_thread| tick_thread.load_us.load(Ordering::Relaxed));
        if let Some(tick_thread) = tick_thread {
            // Counted at once, so that rooms added together spread over the threads.
            tick_thread.load_us.fetch_add(LOAD_EXPECTED_US, Ordering::Relaxed);
            let _ = tick_thread.commands.send(Command::Add(number, Box::new(runner)));
        }
        number
    }

    /// Ends all rooms with the reason `shutdown` and stops the threads.
    pub fn stop(&self) {
        for tick_thread in &self.threads {
            let _ = tick_thread.commands.send(Command::Stop);
        }
        for tick_thread in &self.threads {
            let thread = tick_thread.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(thread) = thread {
                // The panic hook has reported a panic of the thread.
                let _ = thread.join();
            }
        }
    }

    /// Returns the next room that ended and its outcome. Waits up to `wait`.
    #[must_use]
    pub fn next_ended(&self, wait: Duration) -> Option<(RoomNumber, RoomExit)> {
        let exits = self.exits.lock().unwrap_or_else(PoisonError::into_inner);
        exits.recv_timeout(wait).ok()
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A room of any game with its pacer and observer.
trait ScheduledRoom: Send {
    /// Returns the time at which the next tick is due.
    fn due_at(&self) -> Duration;
    /// Runs the ticks that are due. After each, wakes the connections; `wakers` is scratch memory.
    fn run_due_ticks(
        &mut self,
        clock: &dyn MonotonicClock,
        waking: &dyn ConnectionWaking,
        wakers: &mut Vec<Waker>,
    ) -> RoomStatus;
    /// Ends the room because the server stops.
    fn stop(&mut self);
    /// Closes the connections after a panic.
    fn fail(&mut self);
    /// Returns the outcome of a room that has ended.
    fn exit(&self) -> RoomExit;
    /// Returns the share of time that the room takes.
    fn load(&self) -> f32;
}

struct Runner<G: Game, O> {
    room: Room<G>,
    observer: O,
    pacer: TickPacer,
    /// Share of a step that a tick takes, smoothed.
    load: f32,
}

impl<G: Game, O: Observer + Send> ScheduledRoom for Runner<G, O> {
    fn due_at(&self) -> Duration {
        self.pacer.next()
    }

    fn run_due_ticks(
        &mut self,
        clock: &dyn MonotonicClock,
        waking: &dyn ConnectionWaking,
        wakers: &mut Vec<Waker>,
    ) -> RoomStatus {
        let due = self.pacer.next();
        let mut now = clock.now();
        let due_ticks = self.pacer.due(now);
        self.observer.ticks_dropped(due_ticks.dropped);
        let mut status = RoomStatus::Running;
        for _ in 0..due_ticks.run {
            self.observer.tick_started(now.saturating_sub(due));
            status = self.room.tick(&mut self.observer);
            let took = clock.now().saturating_sub(now);
            self.room.take_wakers(wakers);
            if !wakers.is_empty() {
                waking.wake(wakers);
            }
            now += took;
            let share = took.as_secs_f32() / self.pacer.step().as_secs_f32();
            self.load += (share - self.load) * 0.1;
            self.room.set_load(self.load);
            self.room.publish_tick_time(self.pacer.step().mul_f32(self.load));
            self.pacer.set_rate(self.room.overload().time_rate());
            if status == RoomStatus::Ended {
                break;
            }
        }
        status
    }

    fn stop(&mut self) {
        self.room.end(CloseReason::Shutdown);
    }

    fn fail(&mut self) {
        self.room.close_connections(CloseReason::RoomFailed);
    }

    fn exit(&self) -> RoomExit {
        self.room.failure().map_or(RoomExit::Finished, |text| RoomExit::Failed(text.to_owned()))
    }

    fn load(&self) -> f32 {
        self.load
    }
}

/// State of one tick thread.
struct TickThread {
    /// Rooms by index. Free indices are reused.
    rooms: Vec<Option<(RoomNumber, Box<dyn ScheduledRoom>)>>,
    free: Vec<usize>,
    /// Due time and index of each room; the earliest is on top.
    due_rooms: BinaryHeap<Reverse<(Duration, usize)>>,
    clock: Arc<dyn MonotonicClock>,
    waking: Arc<dyn ConnectionWaking>,
    /// Scratch memory: connections to wake.
    wakers: Vec<Waker>,
    exit_sender: Sender<(RoomNumber, RoomExit)>,
    load_us: Arc<AtomicU64>,
    /// Share of time that the rooms take.
    load: f32,
}

/// Sleep of a thread without rooms. A command wakes it at once.
const IDLE: Duration = Duration::from_secs(60);

impl TickThread {
    fn new(
        clock: Arc<dyn MonotonicClock>,
        waking: Arc<dyn ConnectionWaking>,
        exit_sender: Sender<(RoomNumber, RoomExit)>,
        load_us: Arc<AtomicU64>,
    ) -> Self {
        let (rooms, free, due_rooms, wakers) = (Vec::new(), Vec::new(), BinaryHeap::new(), Vec::new());
        TickThread { rooms, free, due_rooms, clock, waking, wakers, exit_sender, load_us, load: 0.0 }
    }

    fn run(mut self, inbox: &Receiver<Command>) {
        loop {
            let wait = self.turn().map_or(IDLE, |next| next.saturating_sub(self.clock.now()));
            // A busy thread still receives commands.
            let command = if wait.is_zero() {
                inbox.try_recv().map_err(|error| error == TryRecvError::Disconnected)
            } else {
                inbox.recv_timeout(wait).map_err(|error| error == RecvTimeoutError::Disconnected)
            };
            match command {
                Ok(Command::Add(number, room)) => self.add(number, room),
                Ok(Command::Stop) | Err(true) => return self.stop(),
                Err(false) => {}
            }
        }
    }

    fn add(&mut self, number: RoomNumber, room: Box<dyn ScheduledRoom>) {
        let due = room.due_at();
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.rooms.push(None);
                self.rooms.len() - 1
            }
        };
        self.rooms[index] = Some((number, room));
        self.due_rooms.push(Reverse((due, index)));
    }

    /// Ends all rooms with the reason `shutdown`.
    fn stop(self) {
        for (_, mut room) in self.rooms.into_iter().flatten() {
            let _ = catch_unwind(AssertUnwindSafe(move || room.stop()));
        }
    }

    /// Runs each room that is due once, the most overdue first. Returns the time at which the next is due.
    fn turn(&mut self) -> Option<Duration> {
        for _ in 0..self.due_rooms.len() {
            let &Reverse((due, index)) = self.due_rooms.peek()?;
            if due > self.clock.now() {
                break;
            }
            self.due_rooms.pop();
            self.run_room(index);
        }
        let rooms = self.rooms.len() - self.free.len();
        self.load_us.store((self.load.max(0.0) * 1e6) as u64 + rooms as u64, Ordering::Relaxed);
        self.due_rooms.peek().map(|Reverse((due, _))| *due)
    }

    fn run_room(&mut self, index: usize) {
        let Some((number, room)) = self.rooms[index].as_mut() else { return };
        let number = *number;
        let (clock, waking, wakers) = (&*self.clock, &*self.waking, &mut self.wakers);
        let load_before = room.load();
        // A panic ends only its room: no other state can be left inconsistent.
        let exit = match catch_unwind(AssertUnwindSafe(|| room.run_due_ticks(clock, waking, wakers))) {
            Ok(RoomStatus::Running) => {
                self.load += room.load() - load_before;
                self.due_rooms.push(Reverse((room.due_at(), index)));
                return;
            }
            Ok(RoomStatus::Ended) => room.exit(),
            Err(panic) => {
                let _ = catch_unwind(AssertUnwindSafe(|| room.fail()));
                RoomExit::Panicked(panic_message(&*panic))
            }
        };
        self.load -= load_before;
        let room = self.rooms[index].take();
        self.free.push(index);
        // The game may also panic when it is dropped.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(room)));
        let _ = self.exit_sender.send((number, exit));
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panic without a message".to_owned())
}

#[cfg(test)]
mod tests;
