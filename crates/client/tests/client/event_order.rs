//! Events are applied before the state of their tick, also where state can overtake them.

use aether_client::ClientEvent;
use aether_replication::DeliveryOrder;
use aether_testkit::Conditions;
use aether_testkit_client::engine::{Context, Game, GameSchemaBuilder};
use aether_testkit_client::rules::{Controls, Hit, Look, Scoreboard, Ship, Shot, Thing};
use aether_testkit_client::{Scene, network, settings};
use aether_wire::{EntityId, PlayerId, Tick};
use std::time::Duration;

/// Game that replaces a mine every few ticks and says so in the same tick.
#[derive(Default)]
struct Minefield {
    mine: Option<EntityId>,
    /// Ticks of the events since the first player joined.
    sent: Vec<Tick>,
}

impl Game for Minefield {
    type Input = Controls;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.component::<Ship>().component::<Thing>().component::<Shot>().component::<Scoreboard>().event::<Hit>()
    }

    fn join(&mut self, _room: &mut Context<'_>, _player: PlayerId) {
        self.sent.clear();
    }

    fn input(&mut self, _room: &mut Context<'_>, _player: PlayerId, _input: &Controls) {}

    fn tick(&mut self, room: &mut Context<'_>) {
        if !room.world.tick().0.is_multiple_of(6) {
            return;
        }
        if let Some(mine) = self.mine.take() {
            room.world.despawn(mine);
        }
        let thing = Thing { position: [5.0, 5.0], rotation: 0.0, look: Look::Rock, spin: 0.0 };
        self.mine = room.world.spawn(thing).ok();
        room.broadcast(&Hit { shooter: 0, target: 0, hull: 0 });
        self.sent.push(room.world.tick());
    }
}

/// Observations of a client in half a minute.
struct Run {
    /// Number of entities that entered or left before an event of their tick or an earlier one.
    overtaken: usize,
    events: usize,
    packets: u64,
    packets_held: u64,
    inputs_unacknowledged_max: usize,
}

fn run(seed: u64, conditions: Conditions, wait_max: Option<Duration>) -> Run {
    let mut scene = Scene::of(Minefield::default(), settings(), seed);
    let pilot = scene.join(DeliveryOrder::Unordered, conditions);
    if let Some(wait_max) = wait_max {
        scene.pilots[pilot].client.settings_mut().event_wait_max = wait_max;
    }
    let (mut overtaken, mut events) = (0, Vec::new());
    let mut inputs_unacknowledged_max = 0;
    for step in 0..30_000 {
        scene.step();
        for event in scene.pilots[pilot].client.events() {
            match event {
                ClientEvent::Game(event) => events.push(event.tick),
                ClientEvent::EntityEntered { tick, .. } | ClientEvent::EntityLeft { tick, .. } => {
                    let sent = scene.room.game().sent.iter().filter(|sent| **sent <= tick);
                    overtaken += usize::from(sent.count() > events.len());
                }
                _ => {}
            }
        }
        if step > 5_000 {
            let stats = scene.pilots[pilot].client.stats();
            inputs_unacknowledged_max = inputs_unacknowledged_max.max(stats.inputs_unacknowledged);
        }
    }
    assert!(events.is_sorted(), "events stay in order");
    let stats = scene.pilots[pilot].client.stats();
    assert_eq!(stats.faults, 0);
    let (packets, packets_held) = (stats.packets, stats.packets_held);
    Run { overtaken, events: events.len(), packets, packets_held, inputs_unacknowledged_max }
}

#[test]
fn state_waits_for_the_events_of_its_tick() {
    // A retransmission takes two latencies and the jitter, so few losses exceed the wait.
    for (latency_ms, loss) in [(0, 0.05), (20, 0.05), (50, 0.2)] {
        let patient = run(latency_ms + 1, network(latency_ms, loss), Some(Duration::from_secs(5)));
        let control = run(latency_ms + 1, network(latency_ms, loss), Some(Duration::ZERO));
        assert!(control.overtaken > 0, "{latency_ms} ms, {loss} lost: nothing was overtaken without waiting");
        assert_eq!(control.packets_held, 0);
        assert_eq!(patient.overtaken, 0, "{latency_ms} ms, {loss} lost");
        assert!(patient.packets_held > 0 && patient.events > 150, "{} events", patient.events);
        // Everything that waited was applied and acknowledged: the server sends as before.
        assert!(patient.packets * 10 > control.packets * 9, "{} of {} packets", patient.packets, control.packets);
    }
}

#[test]
fn the_wait_gives_way_when_the_stream_stalls() {
    // A lost stream packet arrives after a second or more.
    let conditions = Conditions { latency: Duration::from_millis(400), ..network(0, 0.1) };
    let usual = run(9, conditions, None);
    let endless = run(9, conditions, Some(Duration::from_secs(60)));
    assert_eq!(endless.overtaken, 0);
    assert!(usual.overtaken > 0, "the state did not wait for seconds");
    let (usual_max, endless_max) = (usual.inputs_unacknowledged_max, endless.inputs_unacknowledged_max);
    assert!(usual_max < endless_max, "{usual_max} inputs wait for state, {endless_max} without a bound");
    assert!(usual.packets_held > 0);
}

#[test]
fn nothing_waits_with_ordered_delivery() {
    let mut scene = Scene::of(Minefield::default(), settings(), 4);
    let pilot = scene.join(DeliveryOrder::Ordered, network(50, 0.2));
    scene.run(Duration::from_secs(10));
    assert_eq!(scene.pilots[pilot].client.stats().packets_held, 0);
}
