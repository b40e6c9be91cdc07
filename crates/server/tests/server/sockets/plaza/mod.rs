//! Room types of a program: their settings, index, encodings and threads, and an overloaded room.

mod encodings;
mod overload;
mod packets;
mod settings;
mod threads;

use super::runtime_game::{config, connector};
use aether_bits::{BitWriter, Random, Replicate};
use aether_engine::authority::Mover;
use aether_engine::{Context, Game, GameSchemaBuilder, PlayerMessage, Rejection, RoomSettings};
use aether_replication::{DeliveryOrder, Mirror};
use aether_sandbox_rules::{Controls, Ship};
use aether_server::config::Config;
use aether_server::{RunningServer, Server};
use aether_testkit_server::seeing_player::{guest, hello, of_type};
use aether_testkit_server::{Encoding, TestPlayer, TransportKind};
use aether_wire::{
    ClientMessage, CommandSeq, EntityId, ErrorNotice, GameBody, GameMessage, MovementDelta, PlayerId, ServerMessage,
    Snapshot, Tick,
};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Distance between two neighbouring ships. 40 of them are within the first update ring of a plain room type.
const SPACING: f32 = 2.4;
/// Distance that a ship may be away from its place.
const ROAM: f32 = 1.0;

/// Number of steps that the ships have made. Every player sees it.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "plaza")]
struct Steps {
    count: u32,
}

/// Switches of the room, set by a message of any player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Replicate)]
#[replicate(channel = "plaza")]
struct Order {
    /// True if the ships move.
    moves: bool,
    /// Time that each tick takes at least.
    burn_ms: u16,
}

/// Ships in a row along the x axis, each of which roams around its place. All rooms move them alike.
struct Plaza {
    ships: u32,
    order: Order,
    random: Random,
    movers: BTreeMap<PlayerId, Mover>,
}

impl Plaza {
    fn with_ships(ships: u32) -> Plaza {
        Plaza { ships, order: Order::default(), random: Random::new(7), movers: BTreeMap::new() }
    }
}

impl Game for Plaza {
    type Input = Controls;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.component::<Ship>().component::<Steps>().event::<Order>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        // In a small room, only the first ships fit.
        let _ = room.world.spawn(Steps { count: 0 });
        for number in 1..=self.ships {
            let _ = room.world.spawn(ship_at([number as f32 * SPACING, 0.0]));
        }
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        if let Ok(ship) = room.world.spawn(ship_at([0.0; 2])) {
            room.possess(player, ship);
            self.movers.insert(player, Mover::at([0.0; 2]));
        }
    }

    fn input(&mut self, _room: &mut Context<'_>, _player: PlayerId, _input: &Controls) {}

    fn movement(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        movement: &MovementDelta,
    ) -> Result<(), Rejection> {
        let rules = room.settings().movement;
        let Some(mover) = self.movers.get_mut(&player) else { return Ok(()) };
        if let Err(violation) = mover.propose(&rules, movement.seq, [movement.dx, movement.dy]) {
            room.correct_movement(player, movement.entity, mover, violation);
        }
        Ok(())
    }

    fn message(&mut self, _: &mut Context<'_>, _: PlayerId, message: &PlayerMessage<'_>) -> Result<(), Rejection> {
        if let Some(Ok(order)) = message.read::<Order>() {
            self.order = order;
        }
        Ok(())
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        let rules = room.settings().movement;
        self.movers.values_mut().for_each(|mover| mover.refill(&rules));
        if self.order.moves {
            let seconds = room.seconds_per_tick();
            let random = &mut self.random;
            room.world.each_mut(|_, steps: &mut Steps| steps.count += 1);
            room.world.each_mut(|_, ship: &mut Ship| roam(ship, random, seconds));
        }
        std::thread::sleep(Duration::from_millis(self.order.burn_ms.into()));
    }
}

fn ship_at(position: [f32; 2]) -> Ship {
    Ship { position, velocity: [0.0; 2], heading: 0.0, hull: 100, colour: 0 }
}

/// Moves a ship with a random acceleration. Its velocity and its heading change in every step.
fn roam(ship: &mut Ship, random: &mut Random, seconds: f32) {
    let home = [(ship.position[0] / SPACING).round() * SPACING, 0.0];
    for (axis, home) in home.into_iter().enumerate() {
        let away = ship.position[axis] - home;
        let back = if away.abs() > ROAM / 2.0 { -away } else { 0.0 };
        ship.velocity[axis] = (ship.velocity[axis] * 0.9 + random.between(-1.0, 1.0) + back).clamp(-8.0, 8.0);
        let moved = ship.position[axis] + ship.velocity[axis] * seconds;
        ship.position[axis] = moved.clamp(home - ROAM, home + ROAM);
    }
    ship.heading += random.between(-0.3, 0.3);
}

/// A running program with room types of the game.
struct Program {
    running: RunningServer,
    folder: PathBuf,
}

impl Program {
    /// Starts a program with these room types, each with its number of ships.
    async fn start(types: &[(&'static str, RoomSettings, u32)], change: impl FnOnce(&mut Config)) -> Program {
        let mut server = Server::new("plaza", "1.0.0");
        for (name, settings, ships) in types {
            let ships = *ships;
            server = server.game(*name, settings.clone(), move || Plaza::with_ships(ships));
        }
        Program::start_server(server, change).await
    }

    async fn start_server(server: Server, change: impl FnOnce(&mut Config)) -> Program {
        let (mut config, folder) = config();
        change(&mut config);
        Program { running: server.start(config).await.unwrap_or_else(|error| panic!("{error}")), folder }
    }

    async fn join(&self, transport: TransportKind, encoding: Encoding, room_type: &str) -> TestPlayer {
        let joined = self.try_join(transport, encoding, room_type).await;
        joined.unwrap_or_else(|notice| panic!("join rejected: {notice:?}"))
    }

    async fn try_join(
        &self,
        transport: TransportKind,
        encoding: Encoding,
        room_type: &str,
    ) -> Result<TestPlayer, ErrorNotice> {
        let hello = hello(guest(self.running.http).await, of_type(room_type));
        TestPlayer::join(&connector(self.running.http).encoding(encoding), transport, &hello).await
    }

    /// Returns the value at `/metrics` of the first series with these labels, as they are written there.
    fn metric(&self, name: &str, labels: &[&str]) -> Option<f64> {
        let text = self.running.registry().render();
        let mut series = text.lines().filter_map(|line| line.rsplit_once(' '));
        let is_wanted = |series: &str| {
            let (found, found_labels) = series.split_once('{').unwrap_or((series, ""));
            found == name && labels.iter().all(|label| found_labels.contains(label))
        };
        series.find(|(series, _)| is_wanted(series)).and_then(|(_, value)| value.parse().ok())
    }

    /// Returns the number of events of a kind in rooms of a type.
    fn events(&self, room_type: &str, kind: &str) -> f64 {
        let labels = [format!("room_type=\"{room_type}\""), format!("kind=\"{kind}\"")];
        self.metric("aether_room_events_total", &[&labels[0], &labels[1]]).expect("every kind is counted")
    }

    async fn stop(self) {
        self.running.stop(Duration::ZERO).await;
        let _ = std::fs::remove_dir_all(self.folder);
    }
}

fn mirror(order: DeliveryOrder, settings: &RoomSettings) -> Mirror {
    Mirror::builder().component::<Ship>().component::<Steps>().build(order, settings.seconds_per_tick())
}

fn order_message(order: &Order) -> ClientMessage {
    let mut writer = BitWriter::new();
    order.write_full(&mut writer);
    let body = GameBody::Packed { code: 0, payload: writer.to_bytes() };
    ClientMessage::Game(GameMessage { seq: CommandSeq(0), body })
}

/// Applies the next state packet. Returns its tick.
async fn read_state(player: &mut TestPlayer, mirror: &mut Mirror) -> Tick {
    let packet = player
        .wait("a state packet", |message| match message {
            ServerMessage::Snapshot(Snapshot::Packed(packet)) => Some(packet),
            _ => None,
        })
        .await;
    mirror.apply(&packet).expect("the packet is valid");
    mirror.tick()
}

/// Reads state until a condition holds.
async fn until_state(player: &mut TestPlayer, mirror: &mut Mirror, what: &str, holds: impl Fn(&Mirror) -> bool) {
    for _ in 0..1_000 {
        read_state(player, mirror).await;
        if holds(mirror) {
            return;
        }
    }
    panic!("1,000 state packets without {what}");
}

/// Returns the visible ships by entity.
fn ships(mirror: &Mirror) -> BTreeMap<EntityId, &Ship> {
    mirror.entities().filter_map(|entity| Some((entity, mirror.get::<Ship>(entity)?))).collect()
}

/// Returns the number of steps that the shown state includes.
fn steps(mirror: &Mirror) -> Option<u32> {
    mirror.entities().find_map(|entity| mirror.get::<Steps>(entity)).map(|steps| steps.count)
}
