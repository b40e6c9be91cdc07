//! Core connected to a room with the sandbox's rules, over a simulated network.

use aether_bits::Replicate;
use aether_client::JoinOptions;
use aether_client_web::{ClientCore, PredictionRules};
use aether_replication::DeliveryOrder;
use aether_testkit::{Conditioner, Conditions, Delivery};
use aether_testkit_client::engine::{ConnectionEndpoint, JoinRequest, NoObserver, Room, RoomHandle};
use aether_testkit_client::rules::{Controls, Ship, step};
use aether_testkit_client::{FlightGame, settings};
use aether_wire::{ClientMessage, PlayerId, Pong, SchemaHash, ServerMessage, Welcome, encode_state_packet};
use std::time::Duration;

const FRAME: Duration = Duration::from_micros(16_667);
const STEP: Duration = Duration::from_millis(1);

/// Rules of the sandbox, called with rows like a script.
pub struct Sandbox;

impl PredictionRules for Sandbox {
    fn channel(&self) -> &str {
        "movement"
    }

    fn ignored(&self) -> &[String] {
        &[]
    }

    fn step(&self, state: &mut Vec<f64>, input: &[f64], seconds: f32) {
        let mut ship = ship_of(state);
        let [thrust, left, right, fire] = [0, 1, 2, 3].map(|key| input[key] != 0.0);
        step(&mut ship, Controls { thrust, left, right, fire }, seconds);
        *state = row_of(&ship);
    }
}

/// Converts a row to a ship.
pub fn ship_of(row: &[f64]) -> Ship {
    let pair = |at: usize| [row[at] as f32, row[at + 1] as f32];
    Ship { position: pair(0), velocity: pair(2), heading: row[4] as f32, hull: row[5] as i32, colour: row[6] as u8 }
}

/// Converts a ship to a row.
pub fn row_of(ship: &Ship) -> Vec<f64> {
    let Ship { position: [x, y], velocity: [vx, vy], heading, hull, colour } = ship;
    vec![
        f64::from(*x),
        f64::from(*y),
        f64::from(*vx),
        f64::from(*vy),
        f64::from(*heading),
        f64::from(*hull),
        f64::from(*colour),
    ]
}

/// Room with one core.
pub struct Scene {
    pub room: Room<FlightGame>,
    pub core: ClientCore<Sandbox>,
    pub player: Option<PlayerId>,
    /// Predicted states by input number.
    pub predicted: Vec<(u32, Ship)>,
    pub now: Duration,
    handle: RoomHandle,
    endpoint: ConnectionEndpoint,
    delivery_order: DeliveryOrder,
    is_welcomed: bool,
    has_said_hello: bool,
    frames: u32,
    ticked_at: Duration,
    framed_at: Duration,
    up: [Conditioner<Vec<u8>>; 2],
    down: [Conditioner<Vec<u8>>; 2],
}

impl Scene {
    pub fn new(rules: Option<Sandbox>, delivery_order: DeliveryOrder, conditions: Conditions, seed: u64) -> Self {
        let room = Room::builder(FlightGame::default(), settings()).seed(seed).build().expect("the settings are valid");
        let handle = room.handle();
        let endpoint = handle.join(JoinRequest::default(), delivery_order).expect("the mailbox is not full");
        let mut core = ClientCore::new(rules, JoinOptions::default(), seed);
        core.client.connected(delivery_order, Duration::ZERO);
        let datagrams = if delivery_order == DeliveryOrder::Ordered { Delivery::Stream } else { Delivery::Datagrams };
        let channels = |seed| {
            [Conditioner::new(conditions, Delivery::Stream, seed), Conditioner::new(conditions, datagrams, seed ^ 1)]
        };
        Scene {
            room,
            core,
            player: None,
            predicted: Vec::new(),
            now: Duration::ZERO,
            handle,
            endpoint,
            delivery_order,
            is_welcomed: false,
            has_said_hello: false,
            frames: 0,
            ticked_at: Duration::ZERO,
            framed_at: Duration::ZERO,
            up: channels(seed),
            down: channels(seed ^ 2),
        }
    }

    /// Adds a player that does nothing.
    pub fn join_observer(&self) -> ConnectionEndpoint {
        self.handle.join(JoinRequest::default(), DeliveryOrder::Ordered).expect("the mailbox is not full")
    }

    /// Sends a signal to the game.
    pub fn signal(&self, data: &[u8]) {
        let (sender, _receiver) = std::sync::mpsc::sync_channel(1);
        self.handle.signal(data.to_vec(), sender).expect("the mailbox is not full");
    }

    /// Runs for a while.
    pub fn run(&mut self, time: Duration, steering: fn(u32) -> Controls) {
        let until = self.now + time;
        while self.now < until {
            self.now += STEP;
            self.deliver();
            if self.now >= self.ticked_at + Duration::from_secs(1) / settings().tick_hz {
                self.ticked_at += Duration::from_secs(1) / settings().tick_hz;
                self.room.tick(&mut NoObserver);
                self.collect();
            }
            for channel in &mut self.down {
                while let Some(frame) = channel.pop(self.now) {
                    self.core.receive(&frame, self.now);
                }
            }
            if self.now >= self.framed_at + FRAME {
                self.framed_at += FRAME;
                self.frame(steering);
            }
        }
    }

    /// Server state after an input.
    pub fn flown(&self, seq: u32) -> Option<&Ship> {
        self.room.game().flown.get(&self.player?)?.get(seq as usize - 1)
    }

    /// Drawn rows of a channel: id and row of each entity.
    pub fn drawn(&self, channel: usize, len: usize) -> Vec<(f64, Vec<f64>)> {
        let mut out = Vec::new();
        self.core.draw(channel, &mut out);
        out.chunks_exact(2 + len).map(|chunk| (chunk[0], chunk[2..].to_vec())).collect()
    }

    fn deliver(&mut self) {
        for channel in &mut self.up {
            while let Some(frame) = channel.pop(self.now) {
                match ClientMessage::decode(&frame).expect("clients send valid messages") {
                    ClientMessage::Hello(_) => self.has_said_hello = true,
                    ClientMessage::SchemaRequest => {
                        let schema = ServerMessage::Schema(self.room.schema().to_bytes());
                        send(
                            &mut self.down[usize::from(self.delivery_order == DeliveryOrder::Ordered)],
                            self.now,
                            &schema,
                        );
                    }
                    ClientMessage::Ping(ping) => {
                        let (client_time, tick) = (ping.client_time, ping.tick);
                        let pong = Pong { client_time, tick, server_tick: self.room.now(), ..Pong::default() };
                        send(&mut self.down[1], self.now, &ServerMessage::Pong(pong));
                    }
                    message => drop(self.endpoint.push(message)),
                }
            }
        }
    }

    fn collect(&mut self) {
        let Some(Ok(player)) = self.endpoint.admission() else { return };
        self.player = Some(*player);
        let reliable = usize::from(self.delivery_order == DeliveryOrder::Ordered);
        if !self.is_welcomed && self.has_said_hello {
            self.is_welcomed = true;
            let welcome = Welcome {
                tick_hz: settings().tick_hz,
                snapshot_hz: settings().snapshot_hz,
                server_tick: self.room.now(),
                schema_hash: SchemaHash(self.room.schema().hash()),
                player: *player,
                ..Welcome::default()
            };
            send(&mut self.down[reliable], self.now, &ServerMessage::Welcome(welcome));
        }
        if !self.is_welcomed {
            return;
        }
        while let Some(message) = self.endpoint.next_reliable() {
            send(&mut self.down[reliable], self.now, &message);
        }
        while let Some(packet) = self.endpoint.next_state() {
            let mut frame = Vec::new();
            encode_state_packet(&packet, 0, &mut frame).expect("a packet fits its frame");
            let bytes = frame.len();
            self.down[1].push(self.now, frame, bytes);
        }
    }

    fn frame(&mut self, steering: fn(u32) -> Controls) {
        self.frames += 1;
        let Controls { thrust, left, right, fire } = steering(self.frames);
        self.core.set_input(&[thrust, left, right, fire].map(|key| f64::from(u8::from(key))));
        let before = self.core.client.last_input();
        let (up, now) = (&mut self.up, self.now);
        self.core.client.advance_frames(now, |frame, reliable| {
            up[usize::from(!reliable)].push(now, frame.to_vec(), frame.len());
        });
        if let Some(state) = self.core.client.predicted_state()
            && self.core.client.last_input() != before
        {
            self.predicted.push((self.core.client.last_input().0, ship_of(&state.row)));
        }
    }
}

fn send(channel: &mut Conditioner<Vec<u8>>, now: Duration, message: &ServerMessage) {
    let mut frame = Vec::new();
    message.encode(&mut frame).expect("the message can be encoded");
    let bytes = frame.len();
    channel.push(now, frame, bytes);
}

/// Returns the ship snapped by its type.
pub fn snapped(mut ship: Ship) -> Ship {
    ship.snap();
    ship
}
