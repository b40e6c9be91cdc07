//! Server of discovery, which starts the streams.

use super::metrics::MulticastMetrics;
use super::rooms::LanRooms;
use super::settings::MulticastSettings;
use super::signer::ServerSigner;
use super::sockets;
use super::sources::RequestSources;
use super::stream::{LastWatch, RoomStream, StreamOutput};
use aether_metrics::Registry;
use aether_wire::lan::{
    LAN_DATAGRAM_BYTES_MAX, LAN_ROOM_ID_BYTES_MAX, LAN_ROOMS_MAX, LanAnswer, LanDecodeError, LanOffer, LanQuery,
    LanRoom, LanWatch, OfferedStream, StreamRefusal, is_answer,
};
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::Instant;

/// Requests after which other tasks have their turn.
const REQUESTS_AT_ONCE: u32 = 32;

/// Answers those who look for servers and rooms on the local network, and streams rooms to spectators.
pub struct MulticastServer {
    settings: MulticastSettings,
    signer: Arc<ServerSigner>,
    rooms: Arc<dyn LanRooms>,
    receiver: UdpSocket,
    sender: Arc<UdpSocket>,
    metrics: MulticastMetrics,
    sources: RequestSources,
    /// Streams by room id.
    streams: BTreeMap<String, RunningStream>,
    started: Instant,
}

/// Stream that runs as a task, which ends with it.
struct RunningStream {
    /// Number among the groups.
    number: u8,
    offer: OfferedStream,
    watch: Arc<LastWatch>,
    task: JoinHandle<()>,
}

impl Drop for RunningStream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl MulticastServer {
    /// Joins the group of discovery.
    pub fn bind(
        settings: MulticastSettings,
        signer: ServerSigner,
        rooms: Arc<dyn LanRooms>,
        registry: &Registry,
    ) -> io::Result<MulticastServer> {
        Ok(MulticastServer {
            receiver: sockets::receiver(&settings)?,
            sender: Arc::new(sockets::sender(&settings)?),
            settings,
            signer: Arc::new(signer),
            rooms,
            metrics: MulticastMetrics::new(registry),
            sources: RequestSources::new(),
            streams: BTreeMap::new(),
            started: Instant::now(),
        })
    }

    /// Serves until the future is dropped, which also ends the streams.
    pub async fn run(mut self) {
        let mut buffer = vec![0; LAN_DATAGRAM_BYTES_MAX + 1];
        let mut announce_at = Instant::now();
        let mut requests = 0;
        loop {
            let request = tokio::select! {
                received = self.receiver.recv_from(&mut buffer) => received.ok(),
                () = tokio::time::sleep_until(announce_at), if !self.settings.announce_interval.is_zero() => {
                    announce_at = Instant::now() + self.settings.announce_interval;
                    self.announce().await;
                    continue;
                }
            };
            self.remove_ended();
            match request {
                Some((length, source)) => self.handle(&buffer[..length], source).await,
                // An error of an earlier packet, such as an unreachable port.
                None => yield_now().await,
            }
            requests += 1;
            if requests % REQUESTS_AT_ONCE == 0 {
                yield_now().await;
            }
        }
    }

    /// Handles a packet that was sent to the group.
    async fn handle(&mut self, packet: &[u8], source: SocketAddr) {
        if is_answer(packet) {
            return; // An announcement, of this server or another one.
        }
        if !self.sources.allow(source.ip(), self.started.elapsed()) {
            return self.metrics.limited.inc();
        }
        let answer = match LanQuery::decode(packet) {
            Ok(query) => {
                self.metrics.queries.inc();
                self.answer(&query)
            }
            Err(LanDecodeError::Foreign) => match LanWatch::decode(packet) {
                Ok(watch) => {
                    self.metrics.watches.inc();
                    self.offer(&watch)
                }
                Err(error) => return self.metrics.count_bad(error),
            },
            Err(error) => return self.metrics.count_bad(error),
        };
        if let Some(mut answer) = answer {
            self.signer.sign(&mut answer);
            debug_assert!(answer.len() <= packet.len(), "an answer is never longer than its request");
            self.send(&answer, source).await;
        }
    }

    /// Returns the answer to a query; none if nothing here matches it.
    fn answer(&self, query: &LanQuery) -> Option<Vec<u8>> {
        let key = self.signer.key();
        if query.server != 0 && query.server != key.id() {
            return None;
        }
        let mut rooms = self.listed_rooms();
        if !query.wants_server(&self.settings.name) {
            rooms.retain(|room| room.matches(&query.name));
            if rooms.is_empty() {
                return None;
            }
        }
        rooms.truncate(LAN_ROOMS_MAX);
        let rooms_total = rooms.len() as u16;
        let first_room = query.first_room.min(rooms_total);
        let rooms = rooms.split_off(usize::from(first_room));
        Some(self.description(query.nonce, (rooms_total, first_room, rooms)).encode().0)
    }

    fn description(&self, nonce: u64, (rooms_total, first_room, rooms): (u16, u16, Vec<LanRoom>)) -> LanAnswer {
        LanAnswer {
            nonce,
            key: self.signer.key(),
            http_port: self.settings.http_port,
            is_secure: self.settings.is_secure,
            host: self.settings.host.clone(),
            name: self.settings.name.clone(),
            version: self.settings.version.clone(),
            room_types: self.rooms.room_types(),
            rooms_total,
            first_room,
            rooms,
        }
    }

    fn listed_rooms(&self) -> Vec<LanRoom> {
        let mut rooms = self.rooms.rooms();
        rooms.retain(|room| room.id.len() <= LAN_ROOM_ID_BYTES_MAX);
        for room in &mut rooms {
            room.can_watch = self.settings.spectate.contains(&room.room_type);
        }
        rooms
    }

    /// Sends a description to the group, without being asked.
    async fn announce(&self) {
        let mut rooms = self.listed_rooms();
        rooms.truncate(LAN_ROOMS_MAX);
        let (mut packet, _) = self.description(0, (rooms.len() as u16, 0, rooms)).encode();
        self.signer.sign(&mut packet);
        self.send(&packet, self.settings.group.into()).await;
    }

    /// Returns the offer that answers a watch, and starts the stream if it does not run. None for another server.
    fn offer(&mut self, watch: &LanWatch) -> Option<Vec<u8>> {
        let key = self.signer.key();
        if watch.server != key.id() {
            return None;
        }
        let stream = self.find_stream(&watch.room);
        Some(LanOffer { nonce: watch.nonce, key, stream }.encode())
    }

    fn find_stream(&mut self, room: &str) -> Result<OfferedStream, StreamRefusal> {
        let now = self.started.elapsed();
        if let Some(running) = self.streams.get(room) {
            running.watch.note(now);
            return Ok(running.offer);
        }
        let room = self.rooms.find(room).ok_or(StreamRefusal::NotOffered)?;
        if !self.settings.spectate.contains(&room.room_type) {
            return Err(StreamRefusal::NotOffered);
        }
        let is_free = |number: &u8| self.streams.values().all(|running| running.number != *number);
        let number = (0..self.settings.streams_max).find(is_free).ok_or(StreamRefusal::TooMany)?;
        let stream = random_number().ok_or(StreamRefusal::TooMany)?;
        let group = self.settings.stream_group(number);
        let (watch, offer) = (Arc::new(LastWatch::default()), OfferedStream { stream, group });
        watch.note(now);
        let output = StreamOutput {
            socket: Arc::clone(&self.sender),
            signer: Arc::clone(&self.signer),
            stream,
            group,
            metrics: self.metrics.clone(),
        };
        let id = room.id.clone();
        let task = tokio::spawn(RoomStream::new(room, output).run(self.started, Arc::clone(&watch)));
        self.streams.insert(id, RunningStream { number, offer, watch, task });
        self.metrics.streams.set(self.streams.len() as f64);
        Ok(offer)
    }

    fn remove_ended(&mut self) {
        self.streams.retain(|_, running| !running.task.is_finished());
        self.metrics.streams.set(self.streams.len() as f64);
    }

    async fn send(&self, packet: &[u8], to: SocketAddr) {
        // Bounded, because the system may make a sender wait.
        let sent = tokio::time::timeout(Duration::from_millis(100), self.sender.send_to(packet, to)).await;
        if !matches!(sent, Ok(Ok(_))) {
            self.metrics.not_sent.inc();
        }
    }
}

/// Random number for a stream; none if the system has no random bytes.
fn random_number() -> Option<u64> {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(u64::from_le_bytes(bytes))
}
