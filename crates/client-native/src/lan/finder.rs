//! Finds servers on the local network.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use aether_wire::lan::{LAN_DATAGRAM_BYTES_MAX, LanAnswer, LanQuery, ServerKey};
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout_at};

use super::found_server::{FoundServer, ServerAnswers};
use super::settings::LanSettings;
use super::sockets;
use super::verify::{is_signed, nonce};

/// Time after which the query is repeated: packets may be lost.
const QUERY_INTERVAL: Duration = Duration::from_millis(500);

/// Largest number of servers. The answers of others are ignored.
const SERVERS_MAX: usize = 256;

/// Finds the servers of the local network whose name, or the type, code or label of one of their rooms, contains `name`;
/// all if it is empty. Takes all of `time`, because nobody knows how many will answer; half a second is enough in most
/// networks.
///
/// ```no_run
/// # async fn example() -> std::io::Result<()> {
/// use aether_client_native::{LanSettings, find_servers};
/// use std::time::Duration;
///
/// for server in find_servers(&LanSettings::default(), "asteroids", Duration::from_millis(600)).await? {
///     println!("{} at {}: {} rooms", server.name, server.address, server.rooms.len());
/// }
/// # Ok(())
/// # }
/// ```
pub async fn find_servers(settings: &LanSettings, name: &str, time: Duration) -> io::Result<Vec<FoundServer>> {
    let end = Instant::now() + time;
    let mut finder = Finder::open(settings, name)?;
    let mut query_at = Instant::now();
    while Instant::now() < end {
        if Instant::now() >= query_at {
            finder.ask(0, 0).await?;
            query_at = Instant::now() + QUERY_INTERVAL;
        }
        if let Ok(received) = timeout_at(end.min(query_at), finder.receive()).await {
            received?;
        }
    }
    Ok(finder.servers.into_values().map(ServerAnswers::finish).collect())
}

struct Finder {
    settings: LanSettings,
    name: String,
    nonce: u64,
    requester: UdpSocket,
    /// Receives announcements. `None` if the port is taken by a program that does not share it.
    listener: Option<UdpSocket>,
    servers: BTreeMap<ServerKey, ServerAnswers>,
}

impl Finder {
    fn open(settings: &LanSettings, name: &str) -> io::Result<Self> {
        Ok(Self {
            settings: *settings,
            name: name.to_owned(),
            nonce: nonce()?,
            requester: sockets::requester(settings)?,
            listener: sockets::listener(settings.group, settings.interface).ok(),
            servers: BTreeMap::new(),
        })
    }

    /// Sends the query, for the rooms of a server from a number.
    async fn ask(&self, server: u64, first_room: u16) -> io::Result<()> {
        let query = LanQuery { nonce: self.nonce, server, first_room, name: self.name.clone() };
        self.requester.send_to(&query.encode(), self.settings.group).await?;
        Ok(())
    }

    /// Waits for a packet and handles it.
    async fn receive(&mut self) -> io::Result<()> {
        let (mut answer, mut announcement) = ([0; LAN_DATAGRAM_BYTES_MAX + 1], [0; LAN_DATAGRAM_BYTES_MAX + 1]);
        let (packet, source) = tokio::select! {
            received = self.requester.recv_from(&mut answer) => received.map(|(length, from)| (&answer[..length], from)),
            received = receive_some(self.listener.as_ref(), &mut announcement) => {
                received.map(|(length, from)| (&announcement[..length], from))
            }
        }?;
        let Some(decoded) = self.accept(packet) else { return Ok(()) };
        let (key, nonce) = (decoded.key, decoded.nonce);
        if let Some(known) = self.servers.get_mut(&key) {
            known.add(decoded);
        } else if self.servers.len() < SERVERS_MAX {
            self.servers.extend(ServerAnswers::new(decoded, source.ip()).map(|answers| (key, answers)));
        }
        match self.servers.get(&key).and_then(ServerAnswers::next_room) {
            Some(next) if nonce == self.nonce => self.ask(key.id(), next).await,
            _ => Ok(()),
        }
    }

    /// Returns an answer to this search, or an announcement that matches it, if it is signed by its key.
    fn accept(&self, packet: &[u8]) -> Option<LanAnswer> {
        let answer = LanAnswer::decode(packet).ok()?;
        let query = LanQuery { name: self.name.clone(), ..LanQuery::default() };
        let is_wanted = match answer.nonce {
            // The list of an announcement has another order than that of an answer to a name.
            0 => self.name.is_empty() || query.wants_server(&answer.name),
            nonce => nonce == self.nonce,
        };
        (is_wanted && is_signed(packet, &answer.key)).then_some(answer)
    }
}

async fn receive_some(socket: Option<&UdpSocket>, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
    match socket {
        Some(socket) => socket.recv_from(buffer).await,
        None => std::future::pending().await,
    }
}
