//! Games that panic. The scheduler keeps running the other rooms.

use crate::support::{join_request, settings};
use aether_bits::Replicate;
use aether_engine::{
    ConnectionEndpoint, Context, Game, GameSchemaBuilder, JoinRequest, MonotonicClock, Observer, PlayerMessage,
    Rejection, Room, RoomCounts, RoomExit, RoomHandle, RoomNumber, RoomSettings, Scheduler,
};
use aether_replication::DeliveryOrder;
use aether_wire::{
    ClientMessage, CloseReason, CommandSeq, GameBody, GameMessage, InputBytes, InputPayload, InputSeq, Inputs,
    PlayerId, StateAck, Tick, ViewTick,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once, mpsc};
use std::time::{Duration, Instant};

/// Timeout of anything in these tests, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Replicate)]
struct Nothing {
    unused: bool,
}

/// Callback in which the game panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weakness {
    None,
    JoinAttempt,
    Join,
    Input,
    Message,
    Signal,
    Tick,
    Leave,
    Terminate,
    Drop,
}

impl Drop for Fragile {
    fn drop(&mut self) {
        self.break_if(Weakness::Drop);
    }
}

struct Fragile {
    weakness: Weakness,
    /// A tick panics after a signal.
    primed: bool,
}

impl Fragile {
    fn break_if(&self, weakness: Weakness) {
        assert!(self.weakness != weakness, "broke in {weakness:?}");
    }
}

impl Game for Fragile {
    type Input = Nothing;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.component::<Nothing>()
    }

    fn join_attempt(&mut self, _room: &mut Context<'_>, request: &JoinRequest) -> Result<(), Rejection> {
        if request.name == "trigger" {
            self.break_if(Weakness::JoinAttempt);
        }
        Ok(())
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        if room.name(player) == Some("trigger") {
            self.break_if(Weakness::Join);
        }
    }

    fn leave(&mut self, _room: &mut Context<'_>, _player: PlayerId, _reason: CloseReason) {
        self.break_if(Weakness::Leave);
    }

    fn input(&mut self, _room: &mut Context<'_>, _player: PlayerId, _input: &Nothing) {
        self.break_if(Weakness::Input);
    }

    fn message(
        &mut self,
        _room: &mut Context<'_>,
        _player: PlayerId,
        _message: &PlayerMessage<'_>,
    ) -> Result<(), Rejection> {
        self.break_if(Weakness::Message);
        Ok(())
    }

    fn signal(&mut self, _room: &mut Context<'_>, _data: &[u8]) -> Vec<u8> {
        self.break_if(Weakness::Signal);
        self.primed = true;
        Vec::new()
    }

    fn tick(&mut self, _room: &mut Context<'_>) {
        if self.primed {
            self.break_if(Weakness::Tick);
        }
    }

    fn terminate(&mut self, _room: &mut Context<'_>) {
        self.break_if(Weakness::Terminate);
    }
}

/// Clock that starts at zero.
struct RunningClock(Instant);

impl MonotonicClock for RunningClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Clock that a test advances by hand, in milliseconds.
#[derive(Default)]
struct HandClock(AtomicU64);

impl MonotonicClock for HandClock {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// Counts ticks and drops.
#[derive(Clone, Default)]
struct Tally {
    ticks: Arc<AtomicU64>,
    dropped: Arc<AtomicU64>,
}

impl Tally {
    fn ticks(&self) -> u64 {
        self.ticks.load(Ordering::SeqCst)
    }
}

impl Observer for Tally {
    fn tick_finished(&mut self, _tick: Tick, _counts: &RoomCounts) {
        self.ticks.fetch_add(1, Ordering::SeqCst);
    }

    fn ticks_dropped(&mut self, ticks: u32) {
        self.dropped.fetch_add(u64::from(ticks), Ordering::SeqCst);
    }
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn scheduler(threads: usize) -> Scheduler {
    static QUIET: Once = Once::new();
    // The panics of these tests are expected; their traces would hide others.
    QUIET.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !std::thread::current().name().is_some_and(|name| name.starts_with("tick-")) {
                usual(panic);
            }
        }));
    });
    Scheduler::new(threads, Arc::new(RunningClock(Instant::now())))
}

struct Running {
    number: RoomNumber,
    handle: RoomHandle,
    tally: Tally,
}

fn start(scheduler: &Scheduler, weakness: Weakness) -> Running {
    let settings = RoomSettings { tick_hz: 128, snapshot_hz: 128, ..settings() };
    let room = Room::builder(Fragile { weakness, primed: false }, settings).build().unwrap();
    let (handle, tally) = (room.handle(), Tally::default());
    Running { number: scheduler.add(room, tally.clone()), handle, tally }
}

fn enter(room: &Running, name: &str) -> ConnectionEndpoint {
    let endpoint = room.handle.join(join_request(name), DeliveryOrder::Ordered).unwrap();
    wait_until("an admission", || endpoint.admission().is_some());
    endpoint
}

fn input() -> ClientMessage {
    let payloads = vec![InputPayload::Packed(InputBytes::new(&[0, 0]).unwrap())].into();
    ClientMessage::Inputs(Inputs { first_seq: InputSeq(1), payloads, ack: StateAck::NONE, view: ViewTick::default() })
}

/// Triggers the panic. A client that joins for it stays connected while the endpoint is alive.
fn provoke(weakness: Weakness, room: &Running, client: &ConnectionEndpoint) -> Option<ConnectionEndpoint> {
    match weakness {
        Weakness::None => {}
        Weakness::JoinAttempt | Weakness::Join => {
            return Some(room.handle.join(join_request("trigger"), DeliveryOrder::Ordered).unwrap());
        }
        Weakness::Input => client.push(input()).unwrap(),
        Weakness::Message => {
            let body = GameBody::Packed { code: 0, payload: Vec::new() };
            client.push(ClientMessage::Game(GameMessage { seq: CommandSeq(1), body })).unwrap();
        }
        Weakness::Signal | Weakness::Tick => {
            let (sender, _) = mpsc::sync_channel(1);
            room.handle.signal(Vec::new(), sender).unwrap();
        }
        Weakness::Leave => client.push(ClientMessage::Leave).unwrap(),
        Weakness::Terminate | Weakness::Drop => room.handle.end().unwrap(),
    }
    None
}

#[test]
fn a_panic_ends_only_its_room_and_closes_its_connections() {
    use Weakness::{Input, Join, JoinAttempt, Leave, Message, Signal, Terminate, Tick};
    for weakness in [JoinAttempt, Join, Input, Message, Signal, Tick, Leave, Terminate] {
        // One thread, so that the healthy room shares it with the one that fails.
        let scheduler = scheduler(1);
        let healthy = start(&scheduler, Weakness::None);
        let fragile = start(&scheduler, weakness);
        let fine = enter(&healthy, "fine");
        let [ann, ben] = ["ann", "ben"].map(|name| enter(&fragile, name));
        let _trigger = provoke(weakness, &fragile, &ann);
        let ending = scheduler.next_ended(PATIENCE).unwrap();
        assert_eq!(ending, (fragile.number, RoomExit::Panicked(format!("broke in {weakness:?}"))));
        for endpoint in [&ann, &ben] {
            assert_eq!(endpoint.closing().unwrap().reason, CloseReason::RoomFailed, "in {weakness:?}");
        }
        let (ticks, dead) = (healthy.tally.ticks(), fragile.tally.ticks());
        wait_until("a further tick of the healthy room", || healthy.tally.ticks() > ticks + 3);
        assert!(fine.closing().is_none());
        assert_eq!(fragile.tally.ticks(), dead);
        let late = enter(&healthy, "late");
        assert!(late.admission().unwrap().is_ok());
    }
}

#[test]
fn a_join_is_closed_too_if_the_room_fails_in_that_tick() {
    let scheduler = scheduler(1);
    let fragile = start(&scheduler, Weakness::JoinAttempt);
    // All three are in one tick: the first joins, the second panics the room, the third is not handled.
    let endpoints =
        ["ann", "trigger", "cleo"].map(|name| fragile.handle.join(join_request(name), DeliveryOrder::Ordered).unwrap());
    scheduler.next_ended(PATIENCE).unwrap();
    let notified =
        endpoints.map(|endpoint| endpoint.closing().is_some() || endpoint.admission().is_some_and(Result::is_err));
    assert_eq!(notified, [true; 3], "a join that is neither rejected nor closed would wait forever");
}

#[test]
fn a_game_that_panics_when_dropped_harms_no_other_room() {
    let scheduler = scheduler(1);
    let healthy = start(&scheduler, Weakness::None);
    let fragile = start(&scheduler, Weakness::Drop);
    let ann = enter(&fragile, "ann");
    provoke(Weakness::Drop, &fragile, &ann);
    wait_until("the room's end", || ann.closing().is_some());
    let ticks = healthy.tally.ticks();
    wait_until("a further tick of the healthy room", || healthy.tally.ticks() > ticks + 3);
}

#[test]
fn a_room_that_ended_is_reported_as_finished() {
    let scheduler = scheduler(2);
    let rooms = [(); 3].map(|()| start(&scheduler, Weakness::None));
    let ann = enter(&rooms[1], "ann");
    rooms[1].handle.end().unwrap();
    assert_eq!(scheduler.next_ended(PATIENCE), Some((rooms[1].number, RoomExit::Finished)));
    assert_eq!(ann.closing().unwrap().reason, CloseReason::RoomEnded);
    assert_eq!(scheduler.next_ended(Duration::ZERO), None);
}

#[test]
fn next_ended_waits_even_after_the_threads_have_stopped() {
    const WAIT: Duration = Duration::from_millis(50);
    let scheduler = scheduler(1);
    scheduler.stop();
    let began = std::time::Instant::now();
    assert_eq!(scheduler.next_ended(WAIT), None);
    assert!(began.elapsed() >= WAIT, "it would take a whole core to ask again and again");
}

#[test]
fn every_room_of_many_ticks_on_a_few_threads() {
    let scheduler = scheduler(2);
    let rooms: Vec<_> = (0..20).map(|_| start(&scheduler, Weakness::None)).collect();
    wait_until("ten ticks of every room", || rooms.iter().all(|room| room.tally.ticks() >= 10));
}

#[test]
fn ticks_follow_the_clock_and_missed_ticks_beyond_the_bound_are_dropped_and_counted() {
    let clock = Arc::new(HandClock::default());
    let scheduler = Scheduler::new(1, Arc::clone(&clock) as Arc<dyn MonotonicClock>);
    let room = Room::builder(Fragile { weakness: Weakness::None, primed: false }, settings()).build().unwrap();
    let tally = Tally::default();
    scheduler.add(room, tally.clone());
    wait_until("the first tick", || tally.ticks() == 1);
    for step in 1..=5 {
        clock.0.store(step * 50 + 1, Ordering::SeqCst);
        wait_until("a tick", || tally.ticks() == 1 + step);
    }
    // Two seconds pass at once: forty ticks are due, eight are caught up.
    clock.0.store(251 + 2_000, Ordering::SeqCst);
    wait_until("the catch-up", || tally.ticks() == 6 + 8);
    assert_eq!(tally.dropped.load(Ordering::SeqCst), 32);
    clock.0.store(251 + 2_050, Ordering::SeqCst);
    wait_until("the next tick", || tally.ticks() == 6 + 8 + 1);
    assert_eq!(tally.dropped.load(Ordering::SeqCst), 32);
}

#[test]
fn a_scheduler_that_is_dropped_stops_its_threads() {
    let scheduler = scheduler(2);
    let room = start(&scheduler, Weakness::None);
    wait_until("a tick", || room.tally.ticks() > 0);
    drop(scheduler);
    let ticks = room.tally.ticks();
    assert_eq!(Arc::strong_count(&room.tally.ticks), 1, "the room has ended");
    assert_eq!(room.tally.ticks(), ticks);
}
