//! A room and a real client with frames and a network, in virtual time.

use aether::client::{Client, ClientSettings, JoinOptions};
use aether::engine::ConnectionEndpoint;
use aether::prelude::*;
use aether::wire::{ClientMessage, Pong, SchemaHash, ServerMessage, Token, Welcome, encode_state_packet};
use aether_asteroids::AsteroidsClient;
use aether_asteroids_rules::{Controls, Ship};
use aether_asteroids_server::{Asteroids, settings};
use std::time::Duration;

/// A frame of a display.
const FRAME: Duration = Duration::from_micros(16_667);
/// Resolution of the virtual time.
const STEP: Duration = Duration::from_millis(1);

/// A room with one client.
pub struct Flight {
    pub client: Client<AsteroidsClient>,
    /// Input by the number of the frame.
    pub controls: fn(u32) -> Controls,
    /// Entity of the client at the last look.
    pub last_entity: Option<EntityId>,
    room: Room<Asteroids>,
    order: DeliveryOrder,
    endpoint: ConnectionEndpoint,
    is_welcomed: bool,
    has_sent_hello: bool,
    frames: u32,
    framed_at: Duration,
    ticked_at: Duration,
    now: Duration,
    up: [Conditioner<Vec<u8>>; 2],
    down: [Conditioner<Vec<u8>>; 2],
}

impl Flight {
    pub fn new(order: DeliveryOrder, conditions: Conditions) -> Flight {
        let room = Room::builder(Asteroids::default(), settings()).seed(5).build().expect("the settings are valid");
        let request = JoinRequest { user: "ann".to_owned(), name: "ann".to_owned(), ..JoinRequest::default() };
        let endpoint = room.handle().join(request, order).expect("the mailbox has room");
        let login = JoinOptions { token: Some(Token::new("login")), ..JoinOptions::default() };
        let mut client = Client::new(AsteroidsClient, ClientSettings::default(), login);
        client.connected(order, Duration::ZERO);
        let datagrams = if order == DeliveryOrder::Ordered { Delivery::Stream } else { Delivery::Datagrams };
        let networks =
            |seed| [Delivery::Stream, datagrams].map(|delivery| Conditioner::new(conditions, delivery, seed));
        Flight {
            client,
            controls: |_| Controls::default(),
            last_entity: None,
            room,
            order,
            endpoint,
            is_welcomed: false,
            has_sent_hello: false,
            frames: 0,
            framed_at: Duration::ZERO,
            ticked_at: Duration::ZERO,
            now: Duration::ZERO,
            up: networks(1),
            down: networks(2),
        }
    }

    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.step();
        }
    }

    /// Returns the ship, as the room has it.
    pub fn ship(&self) -> Option<&Ship> {
        self.room.world().get::<Ship>(self.client.own_entity()?)
    }

    fn step(&mut self) {
        self.now += STEP;
        self.deliver();
        let interval = Duration::from_secs(1) / self.room.settings().tick_hz;
        if self.now >= self.ticked_at + interval {
            self.ticked_at += interval;
            self.room.tick(&mut NoObserver);
            self.collect();
        }
        self.frame();
    }

    fn welcome(&self, player: PlayerId) -> Welcome {
        let settings = self.room.settings();
        Welcome {
            player,
            tick_hz: settings.tick_hz,
            snapshot_hz: settings.snapshot_hz,
            server_tick: self.room.now(),
            schema_hash: SchemaHash(self.room.schema().hash()),
            ..Welcome::default()
        }
    }

    /// Delivers messages to the server. The connection answers hellos and pings itself.
    fn deliver(&mut self) {
        for network in &mut self.up {
            while let Some(frame) = network.pop(self.now) {
                match ClientMessage::decode(&frame).expect("client messages can be decoded") {
                    ClientMessage::Hello(_) => self.has_sent_hello = true,
                    ClientMessage::Ping(ping) => {
                        let server_tick = self.room.now();
                        let pong =
                            Pong { client_time: ping.client_time, tick: ping.tick, server_tick, ..Pong::default() };
                        send(&mut self.down[1], self.now, &ServerMessage::Pong(pong));
                    }
                    message => drop(self.endpoint.push(message)),
                }
            }
        }
    }

    /// Sends the room's messages to the client. With ordered delivery all use one stream.
    fn collect(&mut self) {
        let Some(Ok(player)) = self.endpoint.admission() else { return };
        let player = *player;
        let reliable = usize::from(self.order == DeliveryOrder::Ordered);
        if !self.is_welcomed {
            if !self.has_sent_hello {
                return;
            }
            self.is_welcomed = true;
            let welcome = self.welcome(player);
            send(&mut self.down[reliable], self.now, &ServerMessage::Welcome(welcome));
        }
        while let Some(message) = self.endpoint.next_reliable() {
            send(&mut self.down[reliable], self.now, &message);
        }
        while let Some(packet) = self.endpoint.next_state() {
            let mut frame = Vec::new();
            encode_state_packet(&packet, 0, &mut frame).expect("a packet fits its frame");
            self.endpoint.recycle(packet);
            let bytes = frame.len();
            self.down[1].push(self.now, frame, bytes);
        }
    }

    /// Receives messages, and runs a frame of the game.
    fn frame(&mut self) {
        for network in &mut self.down {
            while let Some(frame) = network.pop(self.now) {
                self.client.receive_frame(&frame, self.now);
            }
        }
        if self.now < self.framed_at + FRAME {
            return;
        }
        self.framed_at += FRAME;
        self.frames += 1;
        self.client.set_input((self.controls)(self.frames));
        let (up, now) = (&mut self.up, self.now);
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
