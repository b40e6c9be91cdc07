//! Real clients of Outpost, with frames and networks, in virtual time.

use aether::client::{Client, ClientSettings, JoinOptions};
use aether::engine::ConnectionEndpoint;
use aether::prelude::*;
use aether::wire::{ClientMessage, Pong, SchemaHash, ServerMessage, Token, Welcome, encode_state_packet};
use aether_outpost_client as outpost_client;
use aether_outpost_rules::{Controls, Player};
use aether_outpost_server::{Outpost, settings};
use std::time::Duration;

/// A frame of a display.
const FRAME: Duration = Duration::from_micros(16_667);
/// Resolution of the virtual time.
const STEP: Duration = Duration::from_millis(1);

/// A room and its clients.
pub struct Scene {
    pub room: Room<Outpost>,
    pub walkers: Vec<Walker>,
    now: Duration,
    ticked_at: Duration,
}

/// A client and its network.
pub struct Walker {
    pub client: Client<outpost_client::OutpostClient>,
    /// Input by the number of the frame.
    pub steering: fn(u32) -> Controls,
    pub player: Option<PlayerId>,
    order: DeliveryOrder,
    endpoint: ConnectionEndpoint,
    is_welcomed: bool,
    has_sent_hello: bool,
    frames: u32,
    framed_at: Duration,
    up: [Conditioner<Vec<u8>>; 2],
    down: [Conditioner<Vec<u8>>; 2],
}

impl Scene {
    pub fn new() -> Scene {
        let room = Room::builder(Outpost::default(), settings()).seed(5).build().expect("the settings are valid");
        Scene { room, walkers: Vec::new(), now: Duration::ZERO, ticked_at: Duration::ZERO }
    }

    /// Joins a client. Returns its index.
    pub fn join(&mut self, order: DeliveryOrder, conditions: Conditions) -> usize {
        let name = format!("player {}", self.walkers.len());
        let request =
            JoinRequest { user: name.clone(), name, permissions: Permissions::default(), ..JoinRequest::default() };
        let endpoint = self.room.handle().join(request, order).expect("the mailbox has room");
        let login = JoinOptions { token: Some(Token::new("login")), ..JoinOptions::default() };
        let mut client = Client::new(outpost_client::OutpostClient::default(), ClientSettings::default(), login);
        client.connected(order, self.now);
        let datagrams = if order == DeliveryOrder::Ordered { Delivery::Stream } else { Delivery::Datagrams };
        let seed = self.walkers.len() as u64 * 4;
        let networks =
            |seed| [Delivery::Stream, datagrams].map(|delivery| Conditioner::new(conditions, delivery, seed));
        self.walkers.push(Walker {
            client,
            steering: |_| Controls::default(),
            player: None,
            order,
            endpoint,
            is_welcomed: false,
            has_sent_hello: false,
            frames: 0,
            framed_at: self.now,
            up: networks(seed),
            down: networks(seed + 1),
        });
        self.walkers.len() - 1
    }

    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.step();
        }
    }

    /// Returns a player, as the room has it.
    pub fn player(&self, walker: usize) -> &Player {
        let entity = self.walkers[walker].client.own_entity().expect("it has a body");
        self.room.world().get::<Player>(entity).expect("it has a body")
    }

    fn step(&mut self) {
        self.now += STEP;
        let now = self.now;
        let welcome = self.welcome();
        for walker in &mut self.walkers {
            walker.deliver(now, &welcome);
        }
        let interval = Duration::from_secs(1) / self.room.settings().tick_hz;
        if now >= self.ticked_at + interval {
            self.ticked_at += interval;
            self.room.tick(&mut NoObserver);
            let welcome = self.welcome();
            self.walkers.iter_mut().for_each(|walker| walker.collect(now, &welcome));
        }
        self.walkers.iter_mut().for_each(|walker| walker.frame(now));
    }

    fn welcome(&self) -> Welcome {
        let settings = self.room.settings();
        Welcome {
            tick_hz: settings.tick_hz,
            snapshot_hz: settings.snapshot_hz,
            server_tick: self.room.now(),
            schema_hash: SchemaHash(self.room.schema().hash()),
            ..Welcome::default()
        }
    }
}

impl Walker {
    /// Delivers messages to the server. The connection answers hellos and pings itself.
    fn deliver(&mut self, now: Duration, welcome: &Welcome) {
        for network in &mut self.up {
            while let Some(frame) = network.pop(now) {
                match ClientMessage::decode(&frame).expect("client messages can be decoded") {
                    ClientMessage::Hello(_) => self.has_sent_hello = true,
                    ClientMessage::Ping(ping) => {
                        let server_tick = welcome.server_tick;
                        let pong =
                            Pong { client_time: ping.client_time, tick: ping.tick, server_tick, ..Pong::default() };
                        send(&mut self.down[1], now, &ServerMessage::Pong(pong));
                    }
                    message => drop(self.endpoint.push(message)),
                }
            }
        }
    }

    /// Sends the room's messages to the client. With ordered delivery all use one stream.
    fn collect(&mut self, now: Duration, welcome: &Welcome) {
        let Some(Ok(player)) = self.endpoint.admission() else { return };
        self.player = Some(*player);
        let reliable = usize::from(self.order == DeliveryOrder::Ordered);
        if !self.is_welcomed {
            if !self.has_sent_hello {
                return;
            }
            self.is_welcomed = true;
            let welcome = Welcome { player: *player, ..welcome.clone() };
            send(&mut self.down[reliable], now, &ServerMessage::Welcome(welcome));
        }
        while let Some(message) = self.endpoint.next_reliable() {
            send(&mut self.down[reliable], now, &message);
        }
        while let Some(packet) = self.endpoint.next_state() {
            let mut frame = Vec::new();
            encode_state_packet(&packet, 0, &mut frame).expect("a packet fits its frame");
            self.endpoint.recycle(packet);
            let bytes = frame.len();
            self.down[1].push(now, frame, bytes);
        }
    }

    /// Receives messages, and runs a frame of the game.
    fn frame(&mut self, now: Duration) {
        for network in &mut self.down {
            while let Some(frame) = network.pop(now) {
                self.client.receive_frame(&frame, now);
            }
        }
        if now < self.framed_at + FRAME {
            return;
        }
        self.framed_at += FRAME;
        self.frames += 1;
        self.client.set_input((self.steering)(self.frames));
        let up = &mut self.up;
        self.client.advance_frames(now, |frame, reliable| {
            up[usize::from(!reliable)].push(now, frame.to_vec(), frame.len());
        });
    }
}

fn send(network: &mut Conditioner<Vec<u8>>, now: Duration, message: &ServerMessage) {
    let mut frame = Vec::new();
    message.encode(&mut frame).expect("server messages can be encoded");
    let bytes = frame.len();
    network.push(now, frame, bytes);
}
