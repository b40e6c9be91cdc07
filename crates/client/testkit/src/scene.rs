//! Room with clients, simulated step by step.

use crate::{DrawnShip, FlightGame, SandboxClient, settings, zigzag};
use aether_client::{Client, ClientSettings, JoinOptions};
use aether_engine::{ConnectionEndpoint, Game, JoinRequest, NoObserver, Permissions, Room, RoomHandle, RoomSettings};
use aether_replication::DeliveryOrder;
use aether_sandbox_rules::{Controls, Ship};
use aether_testkit::{Conditioner, Conditions, Delivery};
use aether_wire::{
    ClientMessage, Hello, InputSeq, PlayerId, Pong, SchemaHash, ServerMessage, Tick, Token, Welcome,
    encode_state_packet,
};
use std::time::Duration;

/// Duration of a display frame.
const FRAME: Duration = Duration::from_micros(16_667);
/// Resolution of the simulated time.
const STEP: Duration = Duration::from_millis(1);
/// Reliable and unreliable channel of one direction.
type Channels = [Conditioner<Vec<u8>>; 2];

/// Room with its clients and the networks between them, in virtual time.
pub struct Scene<G: Game> {
    /// Room under test.
    pub room: Room<G>,
    /// Clients in the order in which they joined.
    pub pilots: Vec<Pilot>,
    /// Virtual time since the start.
    pub now: Duration,
    handle: RoomHandle,
    ticked_at: Duration,
    seed: u64,
}

/// Client with its network.
pub struct Pilot {
    /// Client core.
    pub client: Client<SandboxClient>,
    /// Player of the client, once it has joined.
    pub player: Option<PlayerId>,
    /// Returns the input of a frame, by its number.
    pub steering: fn(u32) -> Controls,
    /// Predicted states by input, on the current connection.
    pub predicted: Vec<(InputSeq, Ship)>,
    /// Hellos sent on all connections.
    pub hellos: Vec<Hello>,
    /// Number of frames drawn.
    pub frames: u32,
    delivery_order: DeliveryOrder,
    endpoint: Option<ConnectionEndpoint>,
    is_welcomed: bool,
    /// Number of tick messages sent on the current connection.
    tick_messages: u32,
    framed_at: Duration,
    up: Channels,
    down: Channels,
}

impl Scene<FlightGame> {
    /// Creates a room of [`FlightGame`]. The same seed gives the same run.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Scene::of(FlightGame::default(), settings(), seed)
    }

    /// Server state of a pilot's ship after an input.
    #[must_use]
    pub fn flown(&self, pilot: usize, seq: InputSeq) -> Option<&Ship> {
        self.room.game().flown.get(&self.pilots[pilot].player?)?.get(seq.0 as usize - 1)
    }
}

impl<G: Game> Scene<G> {
    /// Creates a room of any game with the sandbox's components and input.
    #[must_use]
    pub fn of(game: G, settings: RoomSettings, seed: u64) -> Self {
        let room = Room::builder(game, settings).seed(seed).build().expect("the settings are valid");
        let (handle, pilots) = (room.handle(), Vec::new());
        Scene { room, pilots, now: Duration::ZERO, handle, ticked_at: Duration::ZERO, seed }
    }

    /// Adds a client and returns its index.
    pub fn join(&mut self, delivery_order: DeliveryOrder, conditions: Conditions) -> usize {
        let name = format!("pilot {}", self.pilots.len());
        let request =
            JoinRequest { user: name.clone(), name, permissions: Permissions::default(), ..JoinRequest::default() };
        let endpoint = self.handle.join(request, delivery_order).expect("the mailbox is not full");
        let token = Some(Token::new("login"));
        let mut client =
            Client::new(SandboxClient, ClientSettings::default(), JoinOptions { token, ..JoinOptions::default() });
        client.connected(delivery_order, self.now);
        let [up, down] = self.network(delivery_order, conditions);
        self.pilots.push(Pilot {
            client,
            player: None,
            steering: zigzag,
            predicted: Vec::new(),
            hellos: Vec::new(),
            frames: 0,
            delivery_order,
            endpoint: Some(endpoint),
            is_welcomed: false,
            tick_messages: 0,
            framed_at: self.now,
            up,
            down,
        });
        self.pilots.len() - 1
    }

    /// Adds a player whose endpoint the test reads by itself.
    pub fn join_observer(&mut self) -> ConnectionEndpoint {
        self.handle.join(JoinRequest::default(), DeliveryOrder::Unordered).expect("the mailbox is not full")
    }

    /// Cuts the connection of a client.
    pub fn disconnect(&mut self, pilot: usize) {
        let pilot = &mut self.pilots[pilot];
        pilot.endpoint = None;
        pilot.client.disconnected(self.now);
    }

    /// Reconnects a client to its player.
    pub fn resume(&mut self, pilot: usize, delivery_order: DeliveryOrder, conditions: Conditions) {
        let [up, down] = self.network(delivery_order, conditions);
        let player = self.pilots[pilot].player.expect("the client has joined");
        let endpoint = self.handle.resume(player, delivery_order).expect("the mailbox is not full");
        let pilot = &mut self.pilots[pilot];
        (pilot.up, pilot.down, pilot.endpoint, pilot.delivery_order) = (up, down, Some(endpoint), delivery_order);
        pilot.is_welcomed = false;
        pilot.tick_messages = 0;
        pilot.predicted.clear();
        pilot.client.connected(delivery_order, self.now);
    }

    /// Runs for a while.
    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.step();
        }
    }

    /// Runs one step: messages arrive, the room ticks, clients draw.
    pub fn step(&mut self) {
        self.now += STEP;
        let (now, tick) = (self.now, self.room.now());
        for pilot in &mut self.pilots {
            pilot.deliver(now, tick);
        }
        let interval = Duration::from_secs(1) / self.room.settings().tick_hz;
        if self.now >= self.ticked_at + interval {
            self.ticked_at += interval;
            self.room.tick(&mut NoObserver);
            let welcome = self.welcome();
            for pilot in &mut self.pilots {
                pilot.collect(now, &welcome);
            }
        }
        for pilot in &mut self.pilots {
            pilot.receive(now);
            if now >= pilot.framed_at + FRAME {
                pilot.framed_at += FRAME;
                pilot.frame(now);
            }
        }
    }

    /// Sends a signal to the game.
    pub fn signal(&mut self, data: &[u8]) {
        let (sender, _receiver) = std::sync::mpsc::sync_channel(1);
        self.handle.signal(data.to_vec(), sender).expect("the mailbox is not full");
    }

    fn welcome(&self) -> Welcome {
        let settings = self.room.settings();
        Welcome {
            tick_hz: settings.tick_hz,
            snapshot_hz: settings.snapshot_hz,
            server_tick: self.room.now(),
            schema_hash: SchemaHash(self.room.schema().hash()),
            resume_token: Some(Token::new(format!("resume at {}", self.room.now()))),
            ..Welcome::default()
        }
    }

    fn network(&mut self, delivery_order: DeliveryOrder, conditions: Conditions) -> [Channels; 2] {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let datagrams = if delivery_order == DeliveryOrder::Ordered { Delivery::Stream } else { Delivery::Datagrams };
        let of = |delivery, seed| Conditioner::new(conditions, delivery, seed);
        let up = [of(Delivery::Stream, self.seed), of(datagrams, self.seed ^ 1)];
        [up, [of(Delivery::Stream, self.seed ^ 2), of(datagrams, self.seed ^ 3)]]
    }
}

impl Pilot {
    /// Handles messages that arrived at the server. Hellos and pings are answered here.
    fn deliver(&mut self, now: Duration, tick: Tick) {
        let Some(endpoint) = &self.endpoint else { return };
        for channel in &mut self.up {
            while let Some(frame) = channel.pop(now) {
                match ClientMessage::decode(&frame).expect("clients send valid messages") {
                    ClientMessage::Hello(hello) => self.hellos.push(hello),
                    ClientMessage::Ping(ping) => {
                        let pong = Pong {
                            client_time: ping.client_time,
                            tick: ping.tick,
                            server_tick: tick,
                            ..Pong::default()
                        };
                        send(&mut self.down[1], now, &ServerMessage::Pong(pong));
                    }
                    message => drop(endpoint.push(message)),
                }
            }
        }
    }

    /// Sends the room's messages to the client. With ordered delivery all of them use one channel.
    fn collect(&mut self, now: Duration, welcome: &Welcome) {
        let Some(endpoint) = &self.endpoint else { return };
        let Some(Ok(player)) = endpoint.admission() else { return };
        self.player = Some(*player);
        let reliable = usize::from(self.delivery_order == DeliveryOrder::Ordered);
        if !self.is_welcomed && !self.hellos.is_empty() {
            self.is_welcomed = true;
            let welcome = Welcome { player: *player, ..welcome.clone() };
            send(&mut self.down[reliable], now, &ServerMessage::Welcome(welcome));
        }
        if !self.is_welcomed {
            return;
        }
        while let Some(message) = endpoint.next_reliable() {
            self.tick_messages += u32::from(message.is_tick_message());
            send(&mut self.down[reliable], now, &message);
        }
        while let Some(packet) = endpoint.next_state() {
            let mut frame = Vec::new();
            encode_state_packet(&packet, self.tick_messages, &mut frame).expect("a packet fits its frame");
            endpoint.recycle(packet);
            let bytes = frame.len();
            self.down[1].push(now, frame, bytes);
        }
    }

    fn receive(&mut self, now: Duration) {
        for channel in &mut self.down {
            while let Some(frame) = channel.pop(now) {
                self.client.receive_frame(&frame, now);
            }
        }
    }

    /// Runs one frame of the game loop.
    fn frame(&mut self, now: Duration) {
        self.frames += 1;
        self.client.set_input((self.steering)(self.frames));
        let (up, before) = (&mut self.up, self.client.last_input());
        let is_connected = self.endpoint.is_some();
        self.client.advance_frames(now, |frame, reliable| {
            if is_connected {
                up[usize::from(!reliable)].push(now, frame.to_vec(), frame.len());
            }
        });
        if let Some(DrawnShip(ship)) = self.client.predicted_state()
            && self.client.last_input() != before
        {
            self.predicted.push((self.client.last_input(), ship.clone()));
        }
    }
}

fn send(channel: &mut Conditioner<Vec<u8>>, now: Duration, message: &ServerMessage) {
    let mut frame = Vec::new();
    message.encode(&mut frame).expect("the message can be encoded");
    let bytes = frame.len();
    channel.push(now, frame, bytes);
}

/// Network with this latency and loss, and with jitter, duplication and reordering.
#[must_use]
pub fn network(latency_ms: u64, loss: f32) -> Conditions {
    Conditions {
        latency: Duration::from_millis(latency_ms),
        jitter: Duration::from_millis(30),
        loss,
        duplication: 0.02,
        reordering: 0.05,
        bandwidth: None,
    }
}

/// Latency and loss of all networks that tests run over.
pub fn networks() -> impl Iterator<Item = (u64, f32)> {
    [0, 50, 100, 200, 300].into_iter().flat_map(|latency_ms| [0.0, 0.05, 0.2].map(|loss| (latency_ms, loss)))
}
