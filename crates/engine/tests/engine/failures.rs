//! Games that panic, and the scheduler that keeps the others going.

use crate::support::{joiner, settings};
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

/// How long anything in these tests may take, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Replicate)]
struct Nothing {
    unused: bool,
}

/// Where the game breaks.
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
    /// A tick breaks once a signal has come.
    primed: bool,
}

impl Fragile {
    fn break_if(&self, weakness: Weakness) {
        assert!(self.weakness != weakness, "broke in {weakness:?}");
    }
}

impl Game for Fragile {
    type Input = Nothing;

    fn declare(declaration: GameSchemaBuilder) -> GameSchemaBuilder {
        declaration.component::<Nothing>()
    }

    fn join_attempt(&mut self, _room: &mut Context<'_>, joiner: &JoinRequest) -> Result<(), Rejection> {
        if joiner.name == "trigger" {
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

/// Time since the test began.
struct RunningClock(Instant);

impl MonotonicClock for RunningClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A clock that a test turns by hand, in milliseconds.
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
    // The panics of these tests are meant; their traces would only hide others.
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
    let link = room.handle.join(joiner(name), DeliveryOrder::Ordered).unwrap();
    wait_until("an admission", || link.admission().is_some());
    link
}

fn input() -> ClientMessage {
    let payloads = vec![InputPayload::Packed(InputBytes::new(&[0, 0]).unwrap())].into();
    ClientMessage::Inputs(Inputs { first_seq: InputSeq(1), payloads, ack: StateAck::NONE, view: ViewTick::default() })
}

/// Does what makes a game of that weakness break. Whoever joins for that is there as long as the link is kept.
fn provoke(weakness: Weakness, room: &Running, client: &ConnectionEndpoint) -> Option<ConnectionEndpoint> {
    match weakness {
        Weakness::None => {}
        Weakness::JoinAttempt | Weakness::Join => {
            return Some(room.handle.join(joiner("trigger"), DeliveryOrder::Ordered).unwrap());
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
fn a_room_whose_game_panics_ends_alone_and_its_players_are_told() {
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
        for link in [&ann, &ben] {
            assert_eq!(link.closing().unwrap().reason, CloseReason::RoomFailed, "in {weakness:?}");
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
fn who_is_at_the_door_when_a_room_fails_is_told_too() {
    let scheduler = scheduler(1);
    let fragile = start(&scheduler, Weakness::JoinAttempt);
    // All three come with one tick: the first is in, the second breaks the room, the third was never looked at.
    let links =
        ["ann", "trigger", "cleo"].map(|name| fragile.handle.join(joiner(name), DeliveryOrder::Ordered).unwrap());
    scheduler.next_ended(PATIENCE).unwrap();
    let told = links.map(|link| link.closing().is_some() || link.admission().is_some_and(Result::is_err));
    assert_eq!(told, [true; 3], "who is neither refused nor closed would wait for ever");
}

#[test]
fn a_game_that_panics_while_it_is_put_away_harms_no_other_room() {
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
fn a_room_that_is_done_is_reported_as_finished() {
    let scheduler = scheduler(2);
    let rooms = [(); 3].map(|()| start(&scheduler, Weakness::None));
    let ann = enter(&rooms[1], "ann");
    rooms[1].handle.end().unwrap();
    assert_eq!(scheduler.next_ended(PATIENCE), Some((rooms[1].number, RoomExit::Finished)));
    assert_eq!(ann.closing().unwrap().reason, CloseReason::RoomEnded);
    assert_eq!(scheduler.next_ended(Duration::ZERO), None);
}

#[test]
fn whoever_waits_for_an_ending_waits_also_after_the_threads_are_gone() {
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
fn ticks_follow_the_clock_and_what_is_missed_beyond_the_bound_is_dropped_and_counted() {
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
    // Two seconds pass at once: forty ticks were due, eight are made up for.
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
    assert_eq!(Arc::strong_count(&room.tally.ticks), 1, "the room is gone");
    assert_eq!(room.tally.ticks(), ticks);
}
