//! Spatial queries of a game, now and as a client saw the world, over a real socket.

use super::runtime_game::{config, connector};
use aether_bits::{BitReader, BitWriter, Replicate};
use aether_engine::{Context, Game, GameSchemaBuilder, RoomSettings};
use aether_replication::{DeliveryOrder, Mirror};
use aether_server::Server;
use aether_testkit_server::seeing_player::{guest, hello, of_type};
use aether_testkit_server::{PROTOBUF, TestPlayer, TransportKind};
use aether_wire::{
    ClientMessage, Event, GameBody, InputBytes, InputPayload, InputSeq, Inputs, PlayerId, ServerMessage, Snapshot,
    StateAck, Tick, ViewTick,
};
use std::time::Duration;

/// Height of the target.
const HEIGHT: f32 = 5.0;

/// A target that is at x = tick in every tick.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(position = position)]
struct Target {
    #[replicate(range = -10000.0..=10000.0, step = 0.5)]
    position: [f32; 3],
}

#[derive(Clone, Debug, PartialEq, Replicate)]
struct Aim {
    #[replicate(range = -10000.0..=10000.0, step = 0.5)]
    x: f32,
}

/// Targets found around the aim.
#[derive(Clone, Debug, PartialEq, Replicate)]
struct Report {
    now: u8,
    seen: u8,
    seen_above: u8,
    hit_by_ray: u8,
    #[replicate(range = -10000.0..=10000.0, step = 0.5)]
    nearest_x: f32,
}

struct Range;

impl Game for Range {
    type Input = Aim;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.component::<Target>().event::<Report>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        room.world.spawn(Target { position: [0.0, 0.0, HEIGHT] }).expect("the room has slots");
    }

    fn join(&mut self, _room: &mut Context<'_>, _player: PlayerId) {}

    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, aim: &Aim) {
        let mut found = Vec::new();
        room.world.query().with::<Target>().near([aim.x, 0.0], 0.25, &mut found);
        let now = found.len() as u8;
        let seen_query = room.query_seen_by(player).expect("the room stores past positions");
        seen_query.with::<Target>().near([aim.x, 0.0, HEIGHT], 0.25, &mut found);
        let seen = found.len() as u8;
        seen_query.in_rect([aim.x - 0.25, -1.0, HEIGHT + 1.0], [aim.x + 0.25, 1.0, HEIGHT + 2.0], &mut found);
        let seen_above = found.len() as u8;
        seen_query.ray([aim.x, -10.0, HEIGHT], [0.0, 1.0, 0.0], 20.0, 0.25, &mut found);
        let hit_by_ray = found.len() as u8;
        seen_query.nearest([0.0, 0.0], f32::INFINITY, 1, &mut found);
        let nearest_x = found.first().map_or(-1.0, |found| found.position[0]);
        room.send(player, &Report { now, seen, seen_above, hit_by_ray, nearest_x });
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        let x = room.tick().0 as f32;
        room.world.each_mut(|_, target: &mut Target| target.position[0] = x);
    }
}

/// Waits for a state with at least this tick.
async fn tick(player: &mut TestPlayer, mirror: &mut Mirror, at_least: Tick) -> Tick {
    loop {
        let packet = player
            .wait("a snapshot", |message| match message {
                ServerMessage::Snapshot(Snapshot::Packed(packet)) => Some(packet),
                _ => None,
            })
            .await;
        mirror.apply(&packet).expect("the server's packets can be read");
        if mirror.tick() >= at_least {
            return mirror.tick();
        }
    }
}

/// Sends an aim with the time that the client displays, and returns the report.
async fn aim(player: &mut TestPlayer, seq: u32, x: f32, view: ViewTick) -> Report {
    let mut writer = BitWriter::new();
    Aim { x }.write_full(&mut writer);
    let payloads = vec![InputPayload::Packed(InputBytes::new(&writer.to_bytes()).expect("it is short"))].into();
    let (first_seq, ack) = (InputSeq(seq), StateAck::NONE);
    player.send(ClientMessage::Inputs(Inputs { first_seq, payloads, ack, view })).await;
    player
        .wait("a report", |message| match message {
            ServerMessage::Event(Event { body: GameBody::Packed { payload, .. }, .. }) => {
                Some(Report::read_full(&mut BitReader::new(&payload)).expect("the event is a report"))
            }
            _ => None,
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_game_finds_a_target_where_a_client_saw_it() {
    let (config, folder) = config();
    let settings = RoomSettings {
        tick_hz: 20,
        snapshot_hz: 20,
        interest: None,
        rings: Vec::new(),
        // Longer than the test takes on a busy machine.
        rewind_ticks: 1_000,
        ..RoomSettings::default()
    };
    let server = Server::new("range", "1.0.0").game("range", settings, || Range);
    let running = server.start(config).await.expect("it starts");
    let connector = connector(running.http).encoding(PROTOBUF);
    let hello = hello(guest(running.http).await, of_type("range"));
    let mut player = TestPlayer::join(&connector, TransportKind::WebSocket, &hello).await.expect("the room is open");
    let mut mirror = Mirror::builder().component::<Target>().build(DeliveryOrder::Ordered, 0.05);
    let seen = tick(&mut player, &mut mirror, Tick(5)).await;
    tick(&mut player, &mut mirror, Tick(seen.0 + 3)).await;
    let x = seen.0 as f32;
    let found = Report { now: 0, seen: 1, seen_above: 0, hit_by_ray: 1, nearest_x: x };
    assert_eq!(aim(&mut player, 1, x, ViewTick { tick: seen, fraction: 0 }).await, found);
    // Half a tick later, the client shows the target between two states.
    let found = Report { nearest_x: x + 0.5, ..found };
    assert_eq!(aim(&mut player, 2, x + 0.5, ViewTick { tick: seen, fraction: 128 }).await, found);
    let missed = Report { seen: 0, hit_by_ray: 0, ..found };
    assert_eq!(aim(&mut player, 3, x, ViewTick { tick: seen, fraction: 128 }).await, missed);
    drop(player);
    running.stop(Duration::ZERO).await;
    let _ = std::fs::remove_dir_all(folder);
}
