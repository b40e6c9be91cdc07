//! Two endpoints with an adversary between them, who drops, repeats, reorders, alters and invents datagrams: reliable
//! messages arrive once, the ordered ones in order, and all of them once the adversary is gone.

#![no_main]

use std::net::SocketAddr;
use std::time::Duration;

use aether_rudp::{Channel, Connection, ConnectionState, Settings};
use libfuzzer_sys::fuzz_target;

const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9);

/// Datagrams under way that the adversary keeps at most.
const UNDER_WAY_MAX: usize = 256;

/// One endpoint, and what it sent and received.
struct End {
    connection: Connection,
    sent: [Vec<Vec<u8>>; 2],
    received: [Vec<Vec<u8>>; 2],
}

struct World {
    now: Duration,
    address: SocketAddr,
    client: End,
    server: End,
    /// Datagrams to the client or to the server, with their sender.
    under_way: Vec<(bool, SocketAddr, Vec<u8>)>,
}

fuzz_target!(|actions: Vec<(u8, u8, u16)>| {
    let now = Duration::from_secs(1);
    let (client, server) = Connection::insecure_pair(now, CLIENT, SERVER, Settings::default());
    let end = |connection| End { connection, sent: Default::default(), received: Default::default() };
    let mut world = World { now, address: CLIENT, client: end(client), server: end(server), under_way: Vec::new() };
    for (action, choice, number) in actions {
        world.act(action, choice, number);
        world.check();
    }
    world.heal();
});

impl World {
    fn act(&mut self, action: u8, choice: u8, number: u16) {
        let chosen = usize::from(choice) % self.under_way.len().max(1);
        match action % 9 {
            0 => self.end(choice & 1 == 0).send(choice & 2 == 0, number),
            1 => {
                self.now += Duration::from_millis(u64::from(number) % 300);
                self.transmit();
            }
            2 => self.address.set_port(1 + (self.address.port() + 1) % 8),
            3 => {
                let bytes = vec![choice; usize::from(number) % 1_300];
                let from = if choice & 1 == 0 { SERVER } else { self.address };
                self.deliver((choice & 1 == 0, from, bytes));
            }
            _ if self.under_way.is_empty() => {}
            4 | 5 => {
                let datagram = self.under_way.remove(chosen);
                self.deliver(datagram);
            }
            6 => drop(self.under_way.remove(chosen)),
            7 => self.deliver(self.under_way[chosen].clone()),
            _ => {
                let mut datagram = self.under_way[chosen].clone();
                let position = usize::from(number >> 3) % datagram.2.len();
                datagram.2[position] ^= 1 << (number % 8);
                let before = self.received();
                self.deliver(datagram);
                assert_eq!(self.received(), before, "an altered datagram was believed");
            }
        }
    }

    /// Delivers everything, in order, until both sides have all.
    fn heal(&mut self) {
        for _ in 0..2_000 {
            self.transmit();
            for datagram in std::mem::take(&mut self.under_way) {
                self.deliver(datagram);
            }
            self.now += Duration::from_millis(5);
            if self.is_delivered() {
                break;
            }
        }
        self.check();
        // A silence in virtual time that was long enough ends the connection; then the prefix is all that holds.
        if [&self.client, &self.server].iter().all(|end| end.connection.state() == ConnectionState::Open) {
            assert_eq!(self.client.sent[0], self.server.received[0]);
            assert_eq!(self.server.sent[0], self.client.received[0]);
            assert_eq!(self.client.sent[1].len(), self.server.received[1].len());
            assert_eq!(self.server.sent[1].len(), self.client.received[1].len());
        }
    }

    fn is_delivered(&self) -> bool {
        let is_empty = |end: &End| end.connection.backlog_bytes() + end.connection.unacknowledged_bytes() == 0;
        is_empty(&self.client) && is_empty(&self.server)
    }

    fn check(&self) {
        for (from, to) in [(&self.client, &self.server), (&self.server, &self.client)] {
            assert!(from.sent[0].starts_with(&to.received[0]), "ordered messages are a prefix");
            let mut unordered = to.received[1].clone();
            unordered.sort();
            let count = unordered.len();
            unordered.dedup();
            assert_eq!(unordered.len(), count, "unordered messages arrive once");
            assert!(unordered.iter().all(|message| from.sent[1].contains(message)));
        }
    }

    fn transmit(&mut self) {
        for is_client in [true, false] {
            let mut out = Vec::new();
            let now = self.now;
            while self.end(is_client).connection.poll_transmit(now, &mut out).is_some() {
                let from = if is_client { self.address } else { SERVER };
                if self.under_way.len() < UNDER_WAY_MAX {
                    self.under_way.push((!is_client, from, out.clone()));
                }
                out.clear();
            }
        }
    }

    fn deliver(&mut self, (to_client, from, mut bytes): (bool, SocketAddr, Vec<u8>)) {
        let now = self.now;
        let End { connection, received, .. } = self.end(to_client);
        let _ = connection.handle(now, from, &mut bytes, &mut |channel, message| {
            received[usize::from(channel == Channel::ReliableUnordered)].push(message.to_vec());
        });
    }

    fn received(&self) -> usize {
        [&self.client, &self.server].iter().flat_map(|end| &end.received).map(Vec::len).sum()
    }

    fn end(&mut self, is_client: bool) -> &mut End {
        if is_client { &mut self.client } else { &mut self.server }
    }
}

impl End {
    fn send(&mut self, is_ordered: bool, length: u16) {
        let sent = &mut self.sent[usize::from(!is_ordered)];
        let mut message = (sent.len() as u32).to_be_bytes().to_vec();
        message.resize(4 + usize::from(length) % 8_192, 0);
        let channel = if is_ordered { Channel::ReliableOrdered } else { Channel::ReliableUnordered };
        if self.connection.send(channel, &message).is_ok() {
            sent.push(message);
        }
    }
}
