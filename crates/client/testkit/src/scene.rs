//! A room and clients, step by step.

use crate::{Drawn, Flight, Sandbox, settings, zigzag};
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

/// A frame of a display.
const FRAME: Duration = Duration::from_micros(16_667);
/// How fine time is.
const STEP: Duration = Duration::from_millis(1);
/// The reliable way of one direction, and the other.
type Ways = [Conditioner<Vec<u8>>; 2];

/// A room, its clients and the networks between, in virtual time.
pub struct Scene<G: Game> {
    /// The room.
    pub room: Room<G>,
    /// Its clients, in the order in which they joined.
    pub pilots: Vec<Pilot>,
    /// The time since the beginning.
    pub now: Duration,
    handle: RoomHandle,
    ticked_at: Duration,
    seed: u64,
}

/// One client and its network.
pub struct Pilot {
    /// The client itself.
    pub client: Client<Sandbox>,
    /// The player that it is, once it was let in.
    pub player: Option<PlayerId>,
    /// How it steers, by the number of the frame.
    pub steering: fn(u32) -> Controls,
    /// What it predicted for its inputs on the current connection.
    pub predicted: Vec<(InputSeq, Ship)>,
    /// What it said first on its connections.
    pub hellos: Vec<Hello>,
    /// How many frames it has drawn.
    pub frames: u32,
    link: DeliveryOrder,
    end: Option<ConnectionEndpoint>,
    is_welcomed: bool,
    framed_at: Duration,
    up: Ways,
    down: Ways,
}

impl Scene<Flight> {
    /// A room of [`Flight`]. The same seed gives the same run.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Scene::of(Flight::default(), settings(), seed)
    }

    /// What the server made of a player's input.
    #[must_use]
    pub fn flown(&self, pilot: usize, seq: InputSeq) -> Option<&Ship> {
        self.room.game().flown.get(&self.pilots[pilot].player?)?.get(seq.0 as usize - 1)
    }
}

impl<G: Game> Scene<G> {
    /// A room of any game with the sandbox's components and input.
    #[must_use]
    pub fn of(game: G, settings: RoomSettings, seed: u64) -> Self {
        let room = Room::builder(game, settings).seed(seed).build().expect("the settings are valid");
        let (handle, pilots) = (room.handle(), Vec::new());
        Scene { room, pilots, now: Duration::ZERO, handle, ticked_at: Duration::ZERO, seed }
    }

    /// Lets a client join; tells its number.
    pub fn join(&mut self, link: DeliveryOrder, conditions: Conditions) -> usize {
        let name = format!("pilot {}", self.pilots.len());
        let joiner =
            JoinRequest { user: name.clone(), name, permissions: Permissions::default(), metadata: Vec::new() };
        let end = self.handle.join(joiner, link).expect("the mailbox has place");
        let token = Some(Token::new("login"));
        let mut client = Client::new(Sandbox, ClientSettings::default(), JoinOptions { token, room: None });
        client.connected(link, self.now);
        let [up, down] = self.network(link, conditions);
        self.pilots.push(Pilot {
            client,
            player: None,
            steering: zigzag,
            predicted: Vec::new(),
            hellos: Vec::new(),
            frames: 0,
            link,
            end: Some(end),
            is_welcomed: false,
            framed_at: self.now,
            up,
            down,
        });
        self.pilots.len() - 1
    }

    /// Lets someone join whose connection the test reads by itself.
    pub fn watch(&mut self) -> ConnectionEndpoint {
        self.handle.join(JoinRequest::default(), DeliveryOrder::Unordered).expect("the mailbox has place")
    }

    /// Takes a client's connection away.
    pub fn disconnect(&mut self, pilot: usize) {
        let pilot = &mut self.pilots[pilot];
        pilot.end = None;
        pilot.client.disconnected(self.now);
    }

    /// Gives a client a new connection to its player.
    pub fn resume(&mut self, pilot: usize, link: DeliveryOrder, conditions: Conditions) {
        let [up, down] = self.network(link, conditions);
        let player = self.pilots[pilot].player.expect("it was in");
        let end = self.handle.resume(player, link).expect("the mailbox has place");
        let pilot = &mut self.pilots[pilot];
        (pilot.up, pilot.down, pilot.end, pilot.link) = (up, down, Some(end), link);
        pilot.is_welcomed = false;
        pilot.predicted.clear();
        pilot.client.connected(link, self.now);
    }

    /// Lets time pass.
    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.step();
        }
    }

    /// One step of time: messages arrive, the room ticks, clients draw.
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

    /// Tells the game something from outside.
    pub fn signal(&mut self, data: &[u8]) {
        let (sender, _receiver) = std::sync::mpsc::sync_channel(1);
        self.handle.signal(data.to_vec(), sender).expect("the mailbox has place");
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

    fn network(&mut self, link: DeliveryOrder, conditions: Conditions) -> [Ways; 2] {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let datagrams = if link == DeliveryOrder::Ordered { Delivery::Stream } else { Delivery::Datagrams };
        let of = |delivery, seed| Conditioner::new(conditions, delivery, seed);
        let up = [of(Delivery::Stream, self.seed), of(datagrams, self.seed ^ 1)];
        [up, [of(Delivery::Stream, self.seed ^ 2), of(datagrams, self.seed ^ 3)]]
    }
}

impl Pilot {
    /// What arrived at the server. The connection answers hellos and pings by itself.
    fn deliver(&mut self, now: Duration, tick: Tick) {
        let Some(end) = &self.end else { return };
        for way in &mut self.up {
            while let Some(frame) = way.pop(now) {
                match ClientMessage::decode(&frame).expect("clients write what can be read") {
                    ClientMessage::Hello(hello) => self.hellos.push(hello),
                    ClientMessage::Ping(ping) => {
                        let pong =
                            Pong { client_time: ping.client_time, tick: ping.tick, server_tick: tick, hold_us: 0 };
                        send(&mut self.down[1], now, &ServerMessage::Pong(pong));
                    }
                    message => drop(end.push(message)),
                }
            }
        }
    }

    /// Takes what the room has for the client. On an ordered link it all goes one way.
    fn collect(&mut self, now: Duration, welcome: &Welcome) {
        let Some(end) = &self.end else { return };
        let Some(Ok(player)) = end.admission() else { return };
        self.player = Some(*player);
        let reliable = usize::from(self.link == DeliveryOrder::Ordered);
        if !self.is_welcomed && !self.hellos.is_empty() {
            self.is_welcomed = true;
            let welcome = Welcome { player: *player, ..welcome.clone() };
            send(&mut self.down[reliable], now, &ServerMessage::Welcome(welcome));
        }
        if !self.is_welcomed {
            return;
        }
        while let Some(message) = end.next_reliable() {
            send(&mut self.down[reliable], now, &message);
        }
        while let Some(packet) = end.next_state() {
            let mut frame = Vec::new();
            encode_state_packet(&packet, &mut frame).expect("a packet fits its frame");
            end.recycle(packet);
            let bytes = frame.len();
            self.down[1].push(now, frame, bytes);
        }
    }

    fn receive(&mut self, now: Duration) {
        for way in &mut self.down {
            while let Some(frame) = way.pop(now) {
                self.client.receive_frame(&frame, now);
            }
        }
    }

    /// What a game does each frame.
    fn frame(&mut self, now: Duration) {
        self.frames += 1;
        self.client.set_input((self.steering)(self.frames));
        let (up, before) = (&mut self.up, self.client.last_input());
        let is_connected = self.end.is_some();
        self.client.advance_frames(now, |frame, reliable| {
            if is_connected {
                up[usize::from(!reliable)].push(now, frame.to_vec(), frame.len());
            }
        });
        if let Some(Drawn(ship)) = self.client.predicted_state()
            && self.client.last_input() != before
        {
            self.predicted.push((self.client.last_input(), ship.clone()));
        }
    }
}

fn send(way: &mut Conditioner<Vec<u8>>, now: Duration, message: &ServerMessage) {
    let mut frame = Vec::new();
    message.encode(&mut frame).expect("servers write what can be written");
    let bytes = frame.len();
    way.push(now, frame, bytes);
}

/// A network with this delay and loss, and with jitter, doubles and overtaking.
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

/// The networks that everything has to work over.
pub fn networks() -> impl Iterator<Item = (u64, f32)> {
    [0, 50, 100, 200, 300].into_iter().flat_map(|latency_ms| [0.0, 0.05, 0.2].map(|loss| (latency_ms, loss)))
}
