//! Many rooms on a few threads.

use crate::game::Game;
use crate::observer::Observer;
use crate::pacer::TickPacer;
use crate::room::{Room, RoomStatus};
use aether_wire::CloseReason;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Monotonic time for the scheduler. The engine has no clock of its own.
pub trait MonotonicClock: Send + Sync + 'static {
    /// The time since some fixed moment; it never goes back.
    fn now(&self) -> Duration;
}

/// The number of a room in a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoomNumber(pub u64);

/// How a room ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoomExit {
    /// It was done.
    Finished,
    /// Its game panicked, and with what words.
    Panicked(String),
}

/// Runs rooms on tick threads: a room is pinned to the thread that had the least to do when it came.
pub struct Scheduler {
    lanes: Vec<LaneHandle>,
    clock: Arc<dyn MonotonicClock>,
    endings: Mutex<Receiver<(RoomNumber, RoomExit)>>,
    /// Held so that who waits for an ending waits, also after the threads are gone.
    _ended: Sender<(RoomNumber, RoomExit)>,
    next_room: AtomicU64,
}

/// What a room that has just come is expected to take of a second; the lane's next turn puts what it found in its place.
const LOAD_EXPECTED_US: u64 = 5_000;

struct LaneHandle {
    commands: Sender<Command>,
    /// What the lane's rooms take of a second, in microseconds.
    load_us: Arc<AtomicU64>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

enum Command {
    Add(RoomNumber, Box<dyn Ticking>),
    Stop,
}

impl Scheduler {
    /// Starts so many tick threads, at least one.
    #[must_use]
    pub fn new(threads: usize, clock: Arc<dyn MonotonicClock>) -> Self {
        let (ended, endings) = channel();
        let lanes = (0..threads.max(1))
            .map(|number| {
                let (commands, inbox) = channel();
                let load_us = Arc::new(AtomicU64::new(0));
                let lane = TickThread::new(Arc::clone(&clock), ended.clone(), Arc::clone(&load_us));
                let thread = std::thread::Builder::new().name(format!("tick-{number}"));
                let thread = thread.spawn(move || lane.run(&inbox)).expect("the system can start a thread");
                LaneHandle { commands, load_us, thread: Mutex::new(Some(thread)) }
            })
            .collect();
        Scheduler { lanes, clock, endings: Mutex::new(endings), _ended: ended, next_room: AtomicU64::new(0) }
    }

    /// Takes in a room, which begins to tick at once.
    pub fn add<G: Game>(&self, room: Room<G>, observer: impl Observer + Send + 'static) -> RoomNumber {
        let number = RoomNumber(self.next_room.fetch_add(1, Ordering::Relaxed));
        let settings = room.settings();
        let step = Duration::from_secs(1) / settings.tick_hz;
        // Rooms begin at different moments, so that their ticks spread over the step.
        let phase = step.mul_f64((number.0 as f64 * 0.618_033_988_749_895).fract());
        let pacer = TickPacer::new(settings.tick_hz, settings.catch_up_max, self.clock.now() + phase);
        let runner = Runner { room, observer, pacer, load: 0.0 };
        let lane = self.lanes.iter().min_by_key(|lane| lane.load_us.load(Ordering::Relaxed));
        if let Some(lane) = lane {
            // Counted at once, so that rooms which come together do not all go to one lane.
            lane.load_us.fetch_add(LOAD_EXPECTED_US, Ordering::Relaxed);
            let _ = lane.commands.send(Command::Add(number, Box::new(runner)));
        }
        number
    }

    /// Ends all rooms, each with its game told and its players given the reason, and then the threads.
    pub fn stop(&self) {
        for lane in &self.lanes {
            let _ = lane.commands.send(Command::Stop);
        }
        for lane in &self.lanes {
            let thread = lane.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(thread) = thread {
                // A lane's own panic has been reported; there is nothing to add here.
                let _ = thread.join();
            }
        }
    }

    /// The next room that ended, and how, if one did.
    #[must_use]
    pub fn next_ended(&self, wait: Duration) -> Option<(RoomNumber, RoomExit)> {
        let endings = self.endings.lock().unwrap_or_else(PoisonError::into_inner);
        endings.recv_timeout(wait).ok()
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A room of any game, with its pacer and its observer.
trait Ticking: Send {
    /// When it is due next.
    fn due_at(&self) -> Duration;
    /// Runs what is due.
    fn run_due(&mut self, clock: &dyn MonotonicClock) -> RoomStatus;
    /// Ends it because the server stops.
    fn stop(&mut self);
    /// Closes its connections after it failed.
    fn fail(&mut self);
    /// What it takes of a second.
    fn load(&self) -> f32;
}

struct Runner<G: Game, O> {
    room: Room<G>,
    observer: O,
    pacer: TickPacer,
    /// What a tick takes of its step, smoothed.
    load: f32,
}

impl<G: Game, O: Observer + Send> Ticking for Runner<G, O> {
    fn due_at(&self) -> Duration {
        self.pacer.next()
    }

    fn run_due(&mut self, clock: &dyn MonotonicClock) -> RoomStatus {
        let due = self.pacer.next();
        let mut now = clock.now();
        let steps = self.pacer.due(now);
        self.observer.ticks_dropped(steps.dropped);
        let mut status = RoomStatus::Running;
        for _ in 0..steps.run {
            self.observer.tick_started(now.saturating_sub(due));
            status = self.room.tick(&mut self.observer);
            let took = clock.now().saturating_sub(now);
            self.room.wake_connections();
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
        self.room.abandon(CloseReason::RoomFailed);
    }

    fn load(&self) -> f32 {
        self.load
    }
}

/// The rooms of one thread.
struct TickThread {
    /// By place; a place that is free is used again.
    rooms: Vec<Option<(RoomNumber, Box<dyn Ticking>)>>,
    free: Vec<usize>,
    /// When each room is due, and its place; the earliest is on top.
    agenda: BinaryHeap<Reverse<(Duration, usize)>>,
    clock: Arc<dyn MonotonicClock>,
    ended: Sender<(RoomNumber, RoomExit)>,
    load_us: Arc<AtomicU64>,
    /// What the rooms take of a second.
    load: f32,
}

/// How long a lane without rooms sleeps; a command wakes it at once.
const IDLE: Duration = Duration::from_secs(60);

impl TickThread {
    fn new(clock: Arc<dyn MonotonicClock>, ended: Sender<(RoomNumber, RoomExit)>, load_us: Arc<AtomicU64>) -> Self {
        let (rooms, free, agenda) = (Vec::new(), Vec::new(), BinaryHeap::new());
        TickThread { rooms, free, agenda, clock, ended, load_us, load: 0.0 }
    }

    fn run(mut self, inbox: &Receiver<Command>) {
        loop {
            let wait = self.turn().map_or(IDLE, |next| next.saturating_sub(self.clock.now()));
            // A busy lane still hears its commands.
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

    fn add(&mut self, number: RoomNumber, room: Box<dyn Ticking>) {
        let due = room.due_at();
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.rooms.push(None);
                self.rooms.len() - 1
            }
        };
        self.rooms[place] = Some((number, room));
        self.agenda.push(Reverse((due, place)));
    }

    /// Ends all rooms, each with its game told and its players given the reason.
    fn stop(self) {
        for (_, mut room) in self.rooms.into_iter().flatten() {
            let _ = catch_unwind(AssertUnwindSafe(move || room.stop()));
        }
    }

    /// Runs the rooms that are due, the one that has waited longest first, each at most once; tells when the next is.
    fn turn(&mut self) -> Option<Duration> {
        for _ in 0..self.agenda.len() {
            let &Reverse((due, place)) = self.agenda.peek()?;
            if due > self.clock.now() {
                break;
            }
            self.agenda.pop();
            self.run_room(place);
        }
        let rooms = self.rooms.len() - self.free.len();
        self.load_us.store((self.load.max(0.0) * 1e6) as u64 + rooms as u64, Ordering::Relaxed);
        self.agenda.peek().map(|Reverse((due, _))| *due)
    }

    fn run_room(&mut self, place: usize) {
        let Some((number, room)) = self.rooms[place].as_mut() else { return };
        let number = *number;
        let clock = &*self.clock;
        let load_before = room.load();
        // A room that panics ends alone: nothing but the room itself can have been left half done.
        let ending = match catch_unwind(AssertUnwindSafe(|| room.run_due(clock))) {
            Ok(RoomStatus::Running) => {
                self.load += room.load() - load_before;
                self.agenda.push(Reverse((room.due_at(), place)));
                return;
            }
            Ok(RoomStatus::Ended) => RoomExit::Finished,
            Err(panic) => {
                let _ = catch_unwind(AssertUnwindSafe(|| room.fail()));
                RoomExit::Panicked(words_of(&*panic))
            }
        };
        self.load -= load_before;
        let room = self.rooms[place].take();
        self.free.push(place);
        // A game may also panic while it is dropped.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(room)));
        let _ = self.ended.send((number, ending));
    }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
