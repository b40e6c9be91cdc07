//! An overloaded room on a tick thread, in virtual time.

use super::*;
use crate::context::Context;
use crate::game::JoinRequest;
use crate::observer::NoObserver;
use crate::overload::OverloadLadder;
use crate::schema::GameSchemaBuilder;
use crate::settings::RoomSettings;
use aether_bits::Replicate;
use aether_replication::{DeliveryOrder, Mirror, UpdateRing};
use aether_wire::{EntityId, PlayerId, Tick};
use std::sync::atomic::AtomicU64;

/// Time in nanoseconds that moves only when a game or a test moves it.
#[derive(Default)]
struct VirtualClock(AtomicU64);

impl VirtualClock {
    fn advance(&self, time: Duration) {
        self.0.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }
}

impl MonotonicClock for VirtualClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "movement", position = position)]
struct Body {
    #[replicate(range = -1000.0..=1000.0, step = 0.01)]
    position: [f32; 2],
}

#[derive(Clone, Debug, PartialEq, Replicate)]
struct Nothing {
    unused: bool,
}

/// Bodies that move in every tick. A tick takes as long as the switch says.
struct Burning {
    clock: Arc<VirtualClock>,
    burn_us: Arc<AtomicU64>,
}

impl Game for Burning {
    type Input = Nothing;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.component::<Body>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        for number in 0..BODIES {
            room.world.spawn(Body { position: [number as f32, 0.0] }).expect("the room is not full");
        }
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let own = room.world.spawn(Body { position: [0.0, 0.0] }).expect("the room is not full");
        room.possess(player, own);
    }

    fn input(&mut self, _: &mut Context<'_>, _: PlayerId, _: &Nothing) {}

    fn tick(&mut self, room: &mut Context<'_>) {
        let y = (room.tick().0 % 100) as f32 * 0.1;
        room.world.each_mut(|_, body: &mut Body| body.position[1] = y);
        self.clock.advance(Duration::from_micros(self.burn_us.load(Ordering::Relaxed)));
    }
}

/// Bodies in the room: more than the ladder shows on its third rung.
const BODIES: u32 = 90;
/// Budget of a tick.
const STEP: Duration = Duration::from_millis(25);

/// An overloaded room with one client.
struct Scene {
    thread: TickThread,
    clock: Arc<VirtualClock>,
    burn_us: Arc<AtomicU64>,
    handle: crate::handle::RoomHandle,
    endpoint: crate::connection::ConnectionEndpoint,
    mirror: Mirror,
    /// Time that the thread sleeps until.
    next: Duration,
}

impl Scene {
    fn new() -> Scene {
        let (clock, burn_us) = (Arc::new(VirtualClock::default()), Arc::new(AtomicU64::new(0)));
        let rings = vec![UpdateRing { distance: 30.0, interval: 1 }, UpdateRing { distance: 200.0, interval: 1 }];
        let settings = RoomSettings { snapshot_hz: 40, rings, ..RoomSettings::default() };
        let game = Burning { clock: Arc::clone(&clock), burn_us: Arc::clone(&burn_us) };
        let room = Room::builder(game, settings.clone()).build().expect("the settings are valid");
        let handle = room.handle();
        let endpoint = handle.join(JoinRequest::default(), DeliveryOrder::Ordered).expect("the mailbox is not full");
        let pacer = TickPacer::new(settings.tick_hz, settings.catch_up_max, Duration::ZERO);
        let (exit_sender, _) = channel();
        let mut thread = TickThread::new(Arc::clone(&clock) as _, Arc::new(WakeEach), exit_sender, Arc::default());
        thread.add(RoomNumber(0), Box::new(Runner { room, observer: NoObserver, pacer, load: 0.0 }));
        let mirror = Mirror::builder().component::<Body>().build(DeliveryOrder::Ordered, settings.seconds_per_tick());
        Scene { thread, clock, burn_us, handle, endpoint, mirror, next: Duration::ZERO }
    }

    /// Sets the time that each tick takes.
    fn burn(&self, time: Duration) {
        self.burn_us.store(time.as_micros() as u64, Ordering::Relaxed);
    }

    /// Runs the due ticks of the thread's next turn, and reads the client's state.
    fn turn(&mut self) {
        let before = self.tick();
        self.clock.advance(self.next.saturating_sub(self.clock.now()));
        self.next = self.thread.turn().expect("the room runs");
        assert!(self.tick() > before, "a turn at the due time runs a tick");
        while let Some(packet) = self.endpoint.next_state() {
            self.mirror.apply(&packet).expect("the packet is valid");
        }
    }

    /// Runs turns until the room is on a rung, for a limited number of ticks.
    fn until_rung(&mut self, rung: u8) {
        let first = self.tick();
        while self.rung() != rung {
            self.turn();
            assert!(self.tick().0 - first.0 < 1_000, "1,000 ticks without rung {rung}, on {}", self.rung());
        }
    }

    /// Returns the number of state packets in which a body has moved, of those of the next 40 ticks.
    fn moves(&mut self, x: f32) -> u32 {
        let is_there =
            |mirror: &Mirror, entity: &EntityId| mirror.get::<Body>(*entity).is_some_and(|body| body.position[0] == x);
        let entity =
            self.mirror.entities().filter(|entity| is_there(&self.mirror, entity)).last().expect("it is shown");
        let last = self.tick().0 + 40;
        let mut moves = 0;
        while self.tick().0 < last {
            let before = self.mirror.get::<Body>(entity).cloned();
            self.turn();
            moves += u32::from(self.mirror.get::<Body>(entity).cloned() != before);
        }
        moves
    }

    fn rung(&self) -> u8 {
        self.handle.stats().overload as u8
    }

    fn tick(&self) -> Tick {
        self.handle.stats().tick
    }

    fn visible(&self) -> usize {
        self.mirror.entities().count()
    }
}

/// Returns the virtual time since `time`. The steps of a slowed room are rounded to nanoseconds.
fn ms_since(scene: &Scene, time: Duration) -> u128 {
    (scene.clock.now() - time).as_millis()
}

#[test]
fn an_overloaded_room_climbs_the_ladder_in_order_and_recovers() {
    let mut scene = Scene::new();
    (0..100).for_each(|_| scene.turn());
    assert_eq!((scene.rung(), scene.visible()), (0, BODIES as usize + 1));
    assert_eq!((scene.moves(10.0), scene.moves(60.0)), (40, 40));

    // Each rung is held by ticks that are neither busy nor calm, so that its effect can be seen.
    let busy = STEP.mul_f32(0.9);
    let mut climbed = Vec::new();
    for rung in 1..=OverloadLadder::RUNGS {
        let slowdown = f32::from(100 - scene.handle.stats().slowdown_percent as u8) / 100.0;
        scene.burn(busy.div_f32(slowdown));
        scene.until_rung(rung);
        let stats = scene.handle.stats();
        scene.burn(STEP.mul_f32(0.65 * 100.0 / (100 - stats.slowdown_percent) as f32));
        (0..40).for_each(|_| scene.turn());
        assert_eq!(scene.rung(), rung, "the rung is held");
        let (near, far) = (scene.moves(10.0), if scene.visible() > 70 { scene.moves(60.0) } else { 0 });
        climbed.push((near, far, scene.visible(), stats.slowdown_percent));
    }
    let all = BODIES as usize + 1;
    assert_eq!(
        climbed,
        [(40, 20, all, 0), (40, 10, all, 0), (40, 0, 64, 0), (40, 0, 32, 0), (40, 0, 32, 25), (40, 0, 32, 50)],
        "rings slow down, then fewer bodies are shown, then time slows down"
    );

    // At half speed, a tick takes two steps.
    let (tick, time) = (scene.tick(), scene.clock.now());
    (0..100).for_each(|_| scene.turn());
    assert_eq!((scene.tick().0 - tick.0, ms_since(&scene, time)), (100, (100 * 2 * STEP).as_millis()));

    scene.burn(Duration::from_millis(1));
    scene.until_rung(0);
    (0..10).for_each(|_| scene.turn());
    assert_eq!((scene.visible(), scene.handle.stats().slowdown_percent), (all, 0));
    assert_eq!((scene.moves(10.0), scene.moves(60.0)), (40, 40));
    let time = scene.clock.now();
    (0..100).for_each(|_| scene.turn());
    assert_eq!(ms_since(&scene, time), (100 * STEP).as_millis(), "time runs at its normal speed");
}

#[test]
fn a_room_far_above_its_budget_goes_to_the_highest_rung_and_drops_ticks() {
    let mut scene = Scene::new();
    scene.burn(10 * STEP);
    let mut rungs = vec![0];
    while scene.rung() < OverloadLadder::RUNGS {
        scene.turn();
        // A turn runs up to eight missed ticks, so it climbs at most one rung.
        rungs.extend((scene.rung() != rungs[rungs.len() - 1]).then_some(scene.rung()));
        assert!(scene.tick().0 < 200, "{rungs:?}");
    }
    assert_eq!(rungs, [0, 1, 2, 3, 4, 5, 6]);
    scene.burn(Duration::ZERO);
    scene.until_rung(0);
}
