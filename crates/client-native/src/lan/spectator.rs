//! Watches a room by its multicast stream.

use std::net::SocketAddrV4;
use std::time::Duration;

use aether_bits::{Random, Schema};
use aether_replication::{Mirror, MirrorBuilder};
use aether_wire::lan::{KeyFrame, LAN_DATAGRAM_BYTES_MAX, LanOffer, LanWatch, OfferedStream, ServerKey};
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until, timeout};

use super::settings::LanSettings;
use super::sockets;
use super::spectator_error::SpectatorError;
use super::stream_reader::{MakeMirror, SpectatorStats, SpectatorUpdate, StreamReader};
use super::verify::{is_signed, nonce};

/// Time between two watches. The server ends a stream that nobody has asked for in a few of them.
const WATCH_INTERVAL: Duration = Duration::from_secs(2);

/// Number of watches before the server counts as gone.
const ATTEMPTS_MAX: u32 = 6;

/// Longest wait for an offer.
const OFFER_TIME_MAX: Duration = Duration::from_millis(500);

/// Longest time without a frame. A room sends a key frame each second.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Viewer of a room on the local network.
///
/// The server sends the stream of a room once, whatever the number of viewers. A viewer sees the whole room at the first
/// key frame, within a second. A lost frame is repaired by a later one, or by the next key frame. All frames are signed by
/// the key of the server.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use aether_client_native::{LanSettings, Spectator, find_servers};
/// use std::time::Duration;
///
/// let lan = LanSettings::default();
/// let servers = find_servers(&lan, "asteroids", Duration::from_millis(600)).await?;
/// let server = servers.first().ok_or("no server found")?;
/// let room = server.rooms.iter().find(|room| room.can_watch).ok_or("no room to watch")?;
/// let mut spectator = Spectator::open(&lan, server.key, &room.id).await?;
/// loop {
///     spectator.next().await?;
///     if let Some(world) = spectator.mirror() {
///         println!("tick {}: {} entities", world.tick().0, world.entities().count());
///     }
/// }
/// # }
/// ```
pub struct Spectator {
    settings: LanSettings,
    room: String,
    key: ServerKey,
    nonce: u64,
    requester: UdpSocket,
    listener: UdpSocket,
    group: SocketAddrV4,
    reader: StreamReader,
    watch_at: Instant,
    heard_at: Instant,
    packet: Vec<u8>,
    loss: Option<SimulatedLoss>,
}

/// Frames that are dropped on purpose.
struct SimulatedLoss {
    share: f64,
    random: Random,
}

impl Spectator {
    /// Asks a server for the stream of a room and joins its group. The mirror has values by name.
    pub async fn open(settings: &LanSettings, server: ServerKey, room: &str) -> Result<Self, SpectatorError> {
        Self::open_with(settings, server, room, |schema| Mirror::builder().described(schema)).await
    }

    /// Like [`Spectator::open`], with the components of a game in the mirror. `make_mirror` gets the schema of the room
    /// and declares them in its order.
    pub async fn open_with(
        settings: &LanSettings,
        server: ServerKey,
        room: &str,
        make_mirror: impl Fn(&Schema) -> MirrorBuilder + Send + 'static,
    ) -> Result<Self, SpectatorError> {
        let (requester, nonce) = (sockets::requester(settings)?, nonce()?);
        let watch = LanWatch { nonce, server: server.id(), room: room.to_owned() };
        let OfferedStream { stream, group } = request(&requester, settings, server, &watch).await?;
        let listener = sockets::listener(group, settings.interface)?;
        let make_mirror: MakeMirror = Box::new(make_mirror);
        let now = Instant::now();
        Ok(Self {
            settings: *settings,
            room: room.to_owned(),
            key: server,
            nonce,
            requester,
            listener,
            group,
            reader: StreamReader::new(server, stream, make_mirror),
            watch_at: now + WATCH_INTERVAL,
            heard_at: now,
            packet: vec![0; LAN_DATAGRAM_BYTES_MAX + 1],
            loss: None,
        })
    }

    /// Waits for the next change of the state. Cancel safe.
    pub async fn next(&mut self) -> Result<SpectatorUpdate, SpectatorError> {
        loop {
            let mut offer = [0; LAN_DATAGRAM_BYTES_MAX + 1];
            tokio::select! {
                received = self.listener.recv(&mut self.packet) => {
                    let length = received?;
                    if self.loss.as_mut().is_some_and(SimulatedLoss::drops) {
                        continue;
                    }
                    let frames = self.reader.stats.frames;
                    let update = self.reader.handle(&self.packet[..length]);
                    if self.reader.stats.frames > frames {
                        self.heard_at = Instant::now();
                    }
                    if let Some(update) = update {
                        return Ok(update);
                    }
                }
                received = self.requester.recv(&mut offer) => {
                    if let Ok(length) = received {
                        self.handle_offer(&offer[..length])?;
                    }
                }
                () = sleep_until(self.watch_at) => self.watch().await?,
            }
        }
    }

    /// Copy of the room's state, as of the last update. `None` before the first key frame. It is replaced at each key
    /// frame, with the same entities.
    #[must_use]
    pub fn mirror(&self) -> Option<&Mirror> {
        self.reader.shown().map(|shown| &shown.mirror)
    }

    /// Schema of the room. `None` before the first key frame.
    #[must_use]
    pub fn schema(&self) -> Option<&Schema> {
        self.reader.shown().map(|shown| &shown.schema)
    }

    /// Last key frame: type and rates of the room.
    #[must_use]
    pub fn key_frame(&self) -> Option<&KeyFrame> {
        self.reader.shown().map(|shown| &shown.key_frame)
    }

    /// Statistics of the stream.
    #[must_use]
    pub fn stats(&self) -> SpectatorStats {
        self.reader.stats
    }

    /// Drops a share of the frames from now on, for tests.
    pub fn simulate_loss(&mut self, share: f64, seed: u64) {
        self.loss = Some(SimulatedLoss { share, random: Random::new(seed) });
    }

    /// Repeats the watch, so that the server continues.
    async fn watch(&mut self) -> Result<(), SpectatorError> {
        if self.heard_at.elapsed() > SILENCE_MAX {
            return Err(SpectatorError::Ended);
        }
        self.watch_at = Instant::now() + WATCH_INTERVAL;
        let watch = LanWatch { nonce: self.nonce, server: self.key.id(), room: self.room.clone() };
        self.requester.send_to(&watch.encode(), self.settings.group).await?;
        Ok(())
    }

    /// Follows the server to another stream: it has restarted, or had ended this one.
    fn handle_offer(&mut self, packet: &[u8]) -> Result<(), SpectatorError> {
        let Some(offered) = read_offer(packet, self.key, self.nonce) else { return Ok(()) };
        let OfferedStream { stream, group } = offered?;
        if group != self.group {
            self.listener = sockets::listener(group, self.settings.interface)?;
            self.group = group;
        }
        if stream != self.reader.stream() {
            self.reader.restart(stream);
        }
        Ok(())
    }
}

impl SimulatedLoss {
    fn drops(&mut self) -> bool {
        f64::from(self.random.unit()) < self.share
    }
}

/// Sends a watch until the server answers.
async fn request(
    socket: &UdpSocket,
    settings: &LanSettings,
    key: ServerKey,
    watch: &LanWatch,
) -> Result<OfferedStream, SpectatorError> {
    let mut packet = [0; LAN_DATAGRAM_BYTES_MAX + 1];
    for _ in 0..ATTEMPTS_MAX {
        socket.send_to(&watch.encode(), settings.group).await?;
        let answer = async {
            loop {
                if let Ok(length) = socket.recv(&mut packet).await
                    && let Some(offered) = read_offer(&packet[..length], key, watch.nonce)
                {
                    return offered;
                }
            }
        };
        if let Ok(offered) = timeout(OFFER_TIME_MAX, answer).await {
            return offered;
        }
    }
    Err(SpectatorError::NoAnswer)
}

/// Returns the offer of a packet, if it is an answer of this server to the watch of this nonce.
fn read_offer(packet: &[u8], key: ServerKey, nonce: u64) -> Option<Result<OfferedStream, SpectatorError>> {
    let offer = LanOffer::decode(packet).ok().filter(|offer| offer.nonce == nonce && offer.key == key)?;
    is_signed(packet, &key).then(|| offer.stream.map_err(SpectatorError::Refused))
}
