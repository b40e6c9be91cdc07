//! Server that was found on the local network.

use std::collections::BTreeMap;
use std::net::IpAddr;

use aether_wire::lan::{LanAnswer, LanRoom, ServerKey};

use crate::address::ServerAddress;

/// Server that was found on the local network. The texts come from the server and contain no control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundServer {
    /// Address of its HTTP listener.
    pub address: ServerAddress,
    /// Public key, which is its identity on the local network. It stays the same after a restart.
    pub key: ServerKey,
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Room types that clients can join.
    pub room_types: Vec<String>,
    /// Public rooms.
    pub rooms: Vec<LanRoom>,
}

/// Answers of one server.
#[derive(Debug)]
pub(super) struct ServerAnswers {
    address: ServerAddress,
    /// Newest answer, without its rooms.
    newest: LanAnswer,
    /// Rooms by number.
    rooms: BTreeMap<u16, LanRoom>,
}

impl ServerAnswers {
    /// Begins with an answer from an address. `None` if its host name is malformed.
    pub fn new(answer: LanAnswer, source: IpAddr) -> Option<Self> {
        let scheme = if answer.is_secure { "https" } else { "http" };
        let host = match (answer.host.is_empty(), source) {
            (false, _) => answer.host.clone(),
            (true, IpAddr::V4(address)) => address.to_string(),
            (true, IpAddr::V6(address)) => format!("[{address}]"),
        };
        let address = format!("{scheme}://{host}:{}", answer.http_port).parse().ok()?;
        let mut answers = Self { address, newest: answer.clone(), rooms: BTreeMap::new() };
        answers.add(answer);
        Some(answers)
    }

    /// Adds an answer. Rooms of the same number are replaced.
    pub fn add(&mut self, mut answer: LanAnswer) {
        let rooms = std::mem::take(&mut answer.rooms);
        self.rooms.extend((answer.first_room..).zip(rooms));
        self.newest = answer;
    }

    /// Number of the first room that no answer had. `None` if all are known.
    pub fn next_room(&self) -> Option<u16> {
        (0..self.newest.rooms_total).find(|number| !self.rooms.contains_key(number))
    }

    pub fn finish(self) -> FoundServer {
        let LanAnswer { key, name, version, room_types, rooms_total, .. } = self.newest;
        let rooms = self.rooms.into_iter().filter(|(number, _)| *number < rooms_total).map(|(_, room)| room).collect();
        FoundServer { address: self.address, key, name, version, room_types, rooms }
    }
}
