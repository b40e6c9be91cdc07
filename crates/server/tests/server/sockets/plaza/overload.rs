//! A room whose ticks take too long: what its clients and the metrics show.

use super::{Order, Plaza, Program, mirror, order_message, read_state, ships};
use aether_bits::{BitWriter, Replicate};
use aether_client::{Client, ClientGame, ClientSchemaBuilder, ClientSettings, ClientStats, JoinOptions, Predict};
use aether_client_native::{NativeClient, NativeClientSettings, TransportPreference};
use aether_engine::{OverloadLadder, RoomSettings};
use aether_replication::{DeliveryOrder, Mirror};
use aether_sandbox_rules::{Controls, Ship};
use aether_server::Server;
use aether_testkit_client::DrawnShip;
use aether_testkit_server::seeing_player::{guest, of_type};
use aether_testkit_server::{PROTOBUF, TestPlayer, TransportKind, until};
use aether_wire::{ClientMessage, ClientTime, EntityId, Ping, Pong, ServerMessage, Snapshot, Tick};
use std::time::Duration;

/// Time of a tick far above its budget of 25 ms.
const BURN_MS: u16 = 80;
/// Time of a tick that fits the slowest rate, 50 ms a tick, but is not calm there.
const HOLD_MS: u16 = 32;
/// Ticks in which the ladder must go up or down. Ten busy ticks lead a rung up, 60 calm ones a rung down.
const TICKS_MAX: u32 = 4_000;
/// Ticks for which the clocks are compared.
const COMPARED_TICKS: u32 = 60;

/// Client side of the game. It predicts nothing.
struct PlazaClient;

impl Predict for PlazaClient {
    type State = DrawnShip;
    type Input = Controls;

    fn step(&self, _state: &mut DrawnShip, _input: &Controls, _seconds: f32) {}

    fn snap(&self, state: &mut DrawnShip) {
        state.0.snap();
    }

    fn is_same(&self, a: &DrawnShip, b: &DrawnShip) -> bool {
        a == b
    }
}

impl ClientGame for PlazaClient {
    type Remote = DrawnShip;

    fn declare(&self, schema: ClientSchemaBuilder) -> ClientSchemaBuilder {
        schema.component::<Ship>().component::<super::Steps>().input::<Controls>().event::<Order>()
    }

    fn pack_input(&self, input: &Controls, writer: &mut BitWriter) {
        input.write_full(writer);
    }

    fn own_state(&self, mirror: &Mirror, entity: EntityId) -> Option<DrawnShip> {
        mirror.get::<Ship>(entity).cloned().map(DrawnShip)
    }

    fn remote_state(&self, mirror: &Mirror, entity: EntityId) -> Option<DrawnShip> {
        self.own_state(mirror, entity)
    }
}

/// A client core that plays in a thread of its own.
struct Playing {
    stats: tokio::sync::watch::Receiver<ClientStats>,
    stop: tokio::sync::oneshot::Sender<()>,
}

impl Playing {
    async fn start(program: &Program) -> Playing {
        let token = Some(guest(program.running.http).await);
        let options = JoinOptions { token, room: Some(of_type("plaza")), ..JoinOptions::default() };
        let mut client = Client::new(PlazaClient, ClientSettings::default(), options);
        client.set_input(Controls::default());
        let settings = NativeClientSettings {
            transport: TransportPreference::Only(TransportKind::WebSocket),
            ..NativeClientSettings::default()
        };
        let connector = super::connector(program.running.http);
        let mut native = NativeClient::new(client, connector, settings).expect("the thread starts");
        let (sender, stats) = tokio::sync::watch::channel(ClientStats::default());
        let (stop, mut stopped) = tokio::sync::oneshot::channel();
        tokio::task::spawn_blocking(move || {
            while stopped.try_recv() == Err(tokio::sync::oneshot::error::TryRecvError::Empty) {
                native.frame();
                let _ = sender.send(native.client().stats());
                std::thread::sleep(Duration::from_millis(8));
            }
        });
        Playing { stats, stop }
    }

    fn stats(&self) -> ClientStats {
        self.stats.borrow().clone()
    }
}

/// A player that looks at its room: pings it, and applies its state.
struct Observer {
    player: TestPlayer,
    shown: Mirror,
    pings: u64,
}

impl Observer {
    async fn order(&mut self, order: Order) {
        self.player.send(order_message(&order)).await;
    }

    /// Returns the answer to a ping, and the number of ships that were shown when it arrived. Then waits for the next
    /// state, so that pings stay within their rate.
    async fn look(&mut self) -> (Pong, usize) {
        self.pings += 1;
        let client_time = ClientTime(self.pings);
        self.player.send(ClientMessage::Ping(Ping { client_time, tick: Tick(0) })).await;
        let shown = &mut self.shown;
        let pong = self.player.wait("a pong", |message| match message {
            ServerMessage::Pong(pong) if pong.client_time == client_time => Some(pong),
            ServerMessage::Snapshot(Snapshot::Packed(packet)) => {
                shown.apply(&packet).expect("the packet is valid");
                None
            }
            _ => None,
        });
        let pong = pong.await;
        let visible = ships(&self.shown).len();
        read_state(&mut self.player, &mut self.shown).await;
        (pong, visible)
    }

    /// Looks until a condition holds, for a limited number of ticks. Returns the rungs in their order, each with its
    /// slowdown and the fewest ships that were shown on it.
    async fn watch(&mut self, what: &str, holds: impl Fn(&Pong) -> bool) -> Vec<(u32, u32, usize)> {
        let (first, _) = self.look().await;
        let mut rungs: Vec<(u32, u32, usize)> = Vec::new();
        loop {
            let (pong, visible) = self.look().await;
            match rungs.last_mut().filter(|last| last.0 == pong.overload_rung) {
                Some(last) => last.2 = last.2.min(visible),
                None => rungs.push((pong.overload_rung, pong.slowdown_percent, visible)),
            }
            if holds(&pong) {
                return rungs;
            }
            let ticks = pong.server_tick.0 - first.server_tick.0;
            assert!(ticks < TICKS_MAX, "{ticks} ticks without {what}: {rungs:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overloaded_room_does_less_in_order_tells_its_clients_and_recovers() {
    let settings = RoomSettings::default();
    let server = Server::new("overload", "1.0.0").game("plaza", settings.clone(), || Plaza::with_ships(70));
    let program = Program::start_server(server, |_| {}).await;
    let player = program.join(TransportKind::WebSocket, PROTOBUF, "plaza").await;
    let mut observer = Observer { player, shown: mirror(DeliveryOrder::Ordered, &settings), pings: 0 };
    let playing = Playing::start(&program).await;
    until("the client core has joined", || playing.stats().inputs > 0).await;
    let calm = observer.watch("all ships", |pong| pong.server_tick > Tick(60)).await;
    assert_eq!(calm, [(0, 0, 72)], "70 ships and two players are in sight");
    until("metrics", || metric(&program, RUNG) == Some(0.0) && metric(&program, TIME_RATE) == Some(1.0)).await;

    observer.order(Order { moves: true, burn_ms: BURN_MS }).await;
    let top = u32::from(OverloadLadder::RUNGS);
    let up = observer.watch("the highest rung", |pong| pong.overload_rung == top).await;
    let rungs: Vec<u32> = up.iter().map(|(rung, ..)| *rung).collect();
    assert!(rungs.ends_with(&[1, 2, 3, 4, 5, 6]), "one rung after the other: {up:?}");
    for (rung, slowdown, visible) in up {
        // First the rings slow down, then fewer ships are shown, then time slows down.
        assert!(rung > 2 || visible == 72, "rung {rung} shows {visible} ships");
        assert_eq!(
            slowdown,
            match rung {
                0..=4 => 0,
                5 => 25,
                _ => 50,
            },
            "on rung {rung}"
        );
    }
    observer.watch("fewer ships", |_| true).await;
    assert_eq!(ships(&observer.shown).len(), 32, "half of half of 128 ships");
    until("metrics of the overload", || {
        metric(&program, RUNG) == Some(f64::from(top)) && metric(&program, TIME_RATE) == Some(0.5)
    })
    .await;

    // At half speed this is neither too much nor calm, so the room stays there and its ticks are on time.
    observer.order(Order { moves: true, burn_ms: HOLD_MS }).await;
    until("the client core follows", || playing.stats().time_rate == 0.5 && playing.stats().overload_rung == top).await;
    compare_clocks(&mut observer, &playing).await;

    observer.order(Order { moves: true, burn_ms: 0 }).await;
    let down = observer.watch("recovery", |pong| pong.overload_rung == 0).await;
    assert!(down.is_sorted_by(|before, after| before.0 > after.0), "{down:?}");
    observer.watch("all ships again", |_| true).await;
    assert_eq!(ships(&observer.shown).len(), 72);
    until("the client core recovers", || playing.stats().time_rate == 1.0 && playing.stats().overload_rung == 0).await;
    until("metrics", || metric(&program, RUNG) == Some(0.0) && metric(&program, TIME_RATE) == Some(1.0)).await;
    let _ = playing.stop.send(());
    drop(observer);
    program.stop().await;
}

const RUNG: &str = "aether_overload_rung";
const TIME_RATE: &str = "aether_time_rate";

fn metric(program: &Program, name: &str) -> Option<f64> {
    program.metric(name, &["room_type=\"plaza\""])
}

/// Checks that the client core makes as many inputs as the slowed room makes ticks.
async fn compare_clocks(observer: &mut Observer, playing: &Playing) {
    // The clock has settled after some ticks at the new rate.
    let settled = observer.look().await.0.server_tick.0 + COMPARED_TICKS;
    let begun = loop {
        let (pong, _) = observer.look().await;
        if pong.server_tick.0 >= settled {
            break (pong.server_tick.0, playing.stats().inputs);
        }
    };
    loop {
        let (pong, _) = observer.look().await;
        let ticks = pong.server_tick.0 - begun.0;
        if ticks >= COMPARED_TICKS {
            let inputs = playing.stats().inputs - begun.1;
            let expected = f64::from(ticks) * 0.75..=f64::from(ticks) * 1.35;
            assert!(expected.contains(&(inputs as f64)), "{inputs} inputs in {ticks} ticks");
            return;
        }
    }
}
