//! A client and a server with a network between them, in virtual time.

use std::net::SocketAddr;
use std::time::Duration;

use aether_rudp::{Acceptor, Channel, Client, Connection, ConnectionId, Handshake, Settings};

use super::network::Link;
use super::pair::{CLIENT, SERVER, UNIX, grant, token_key};

/// Messages in the order of their arrival.
pub type Messages = Vec<(Channel, Vec<u8>)>;

/// A client, a server and the network between them.
pub struct World {
    pub now: Duration,
    pub acceptor: Acceptor,
    pub client: Client,
    pub client_address: SocketAddr,
    pub server: Option<Connection>,
    pub up: Link,
    pub down: Link,
    pub to_server: Messages,
    pub to_client: Messages,
    buffer: Vec<u8>,
}

impl World {
    pub fn new(up: Link, down: Link, settings: Settings) -> World {
        let now = Duration::from_secs(1);
        let key = token_key();
        let token = key.issue(&grant()).expect("randomness");
        World {
            now,
            acceptor: Acceptor::new(key, settings),
            client: Client::new(now, SERVER, &token, settings).expect("randomness"),
            client_address: CLIENT,
            server: None,
            up,
            down,
            to_server: Messages::new(),
            to_client: Messages::new(),
            buffer: Vec::new(),
        }
    }

    /// Passes time until a moment. Every datagram and every timer is handled at its time.
    pub fn run_until(&mut self, end: Duration) {
        loop {
            self.deliver();
            self.transmit();
            let timers = [self.client.next_timeout(), self.server.as_ref().and_then(Connection::next_timeout)];
            for timer in timers.into_iter().flatten() {
                assert!(timer > self.now, "a timer at {timer:?} had nothing to do at {:?}", self.now);
            }
            let arrivals = [self.up.next_arrival(), self.down.next_arrival()];
            let next = timers.into_iter().chain(arrivals).flatten().min();
            match next {
                Some(next) if next < end => self.now = next,
                _ => break,
            }
        }
        self.now = end;
    }

    /// The client's NAT device gives it another address.
    pub fn rebind(&mut self) {
        self.client_address.set_port(self.client_address.port() + 1);
    }

    fn deliver(&mut self) {
        while let Some(mut datagram) = self.up.receive(self.now) {
            let to_server = &mut self.to_server;
            let mut take = |channel, message: &[u8]| to_server.push((channel, message.to_vec()));
            match &mut self.server {
                Some(server) if ConnectionId::of(&datagram.bytes) == Some(server.id()) => {
                    let _ = server.handle(self.now, datagram.from, &mut datagram.bytes, &mut take);
                }
                _ => {
                    let answer = &mut self.buffer;
                    let outcome = self.acceptor.handle(self.now, UNIX, datagram.from, 0, &datagram.bytes, answer);
                    if let Handshake::Accepted(accepted) = outcome {
                        assert!(self.server.is_none(), "the token was used twice");
                        self.server = Some(accepted.connection);
                    }
                    assert!(answer.len() < datagram.bytes.len());
                    if !answer.is_empty() {
                        self.down.send(self.now, SERVER, datagram.from, answer);
                    }
                }
            }
        }
        while let Some(mut datagram) = self.down.receive(self.now) {
            if datagram.to == self.client_address {
                let to_client = &mut self.to_client;
                let mut take = |channel, message: &[u8]| to_client.push((channel, message.to_vec()));
                let _ = self.client.handle(self.now, SERVER, &mut datagram.bytes, &mut take);
            }
        }
    }

    fn transmit(&mut self) {
        self.buffer.clear();
        while let Some(to) = self.client.poll_transmit(self.now, &mut self.buffer) {
            self.up.send(self.now, self.client_address, to, &self.buffer);
            self.buffer.clear();
        }
        while let Some(to) = self.server.as_mut().and_then(|server| server.poll_transmit(self.now, &mut self.buffer)) {
            self.down.send(self.now, SERVER, to, &self.buffer);
            self.buffer.clear();
        }
    }
}
