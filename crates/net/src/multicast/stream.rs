//! Stream of a room: key frames, and state packets between them.

use super::metrics::MulticastMetrics;
use super::rooms::SpectatedRoom;
use super::signer::ServerSigner;
use aether_engine::ConnectionEndpoint;
use aether_replication::{BASELINE_AGE_MAX, DeliveryOrder, Mirror};
use aether_wire::lan::{FrameBody, KeyFrame, StreamFrame, key_frame_parts};
use aether_wire::{ClientMessage, SchemaHash, Tick};
use std::future::poll_fn;
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until};

/// Longest time between two key frames: the longest wait of a late viewer, or of one that has lost a part.
pub const KEY_FRAME_INTERVAL_MAX: Duration = Duration::from_secs(1);
/// A stream ends when nobody has asked for it for this long. Viewers ask every two seconds.
pub const WATCH_TIME_MAX: Duration = Duration::from_secs(7);
/// Time after which a key frame is sent a second time: a burst of loss is often over by then.
const SECOND_COPY_AFTER: Duration = Duration::from_millis(40);
/// Time after which a room that does not answer is asked again.
const RETRY_AFTER: Duration = Duration::from_millis(250);
/// Packets after which a key frame is acknowledged: fewer than an acknowledgement covers.
const ACKNOWLEDGED_AT_ONCE: usize = 32;

/// Sockets and numbers of a stream.
pub struct StreamOutput {
    /// Sends the frames.
    pub socket: Arc<UdpSocket>,
    /// Signs the frames.
    pub signer: Arc<ServerSigner>,
    /// Number of the stream.
    pub stream: u64,
    /// Group that the frames go to.
    pub group: SocketAddrV4,
    /// Metrics of the server.
    pub metrics: MulticastMetrics,
}

/// Time of the last watch, in milliseconds since the server started.
#[derive(Debug, Default)]
pub struct LastWatch(AtomicU64);

impl LastWatch {
    /// Notes a watch.
    pub fn note(&self, now: Duration) {
        self.0.fetch_max(now.as_millis() as u64, Ordering::Relaxed);
    }

    /// Returns true if nobody watches any more.
    fn is_over(&self, now: Duration) -> bool {
        now.saturating_sub(Duration::from_millis(self.0.load(Ordering::Relaxed))) > WATCH_TIME_MAX
    }
}

/// Stream of a room.
pub struct RoomStream {
    room: SpectatedRoom,
    output: StreamOutput,
    epoch: u32,
    sequence: u32,
    /// Spectator whose key frame was sent; its state packets are streamed.
    current: Option<ConnectionEndpoint>,
    /// Spectator whose first snapshot becomes the next key frame.
    next: Option<NextEpoch>,
    next_at: Instant,
    /// Key frame to send again, and when.
    second_copy: Option<(Instant, Vec<u8>)>,
}

/// Spectator whose first snapshot is not complete.
struct NextEpoch {
    endpoint: ConnectionEndpoint,
    /// Reads the packets, to know the last one and what to acknowledge.
    mirror: Mirror,
    packets: Vec<Vec<u8>>,
}

impl RoomStream {
    pub fn new(room: SpectatedRoom, output: StreamOutput) -> Self {
        RoomStream {
            room,
            output,
            epoch: 0,
            sequence: 0,
            current: None,
            next: None,
            next_at: Instant::now(),
            second_copy: None,
        }
    }

    /// Streams the room until it ends or nobody watches. `started` is the start of the server.
    pub async fn run(mut self, started: Instant, watch: Arc<LastWatch>) {
        while self.room.handle.is_open() && !watch.is_over(started.elapsed()) {
            self.drop_closed();
            self.open_next();
            self.send_key_frame().await;
            self.send_states().await;
            self.send_second_copy().await;
            self.wait().await;
        }
    }

    /// Drops spectators that the room has rejected or closed.
    fn drop_closed(&mut self) {
        let is_closed = |endpoint: &ConnectionEndpoint| endpoint.admission().is_some() || endpoint.closing().is_some();
        if self.next.take_if(|next| is_closed(&next.endpoint)).is_some() {
            self.next_at = Instant::now() + RETRY_AFTER;
        }
        self.current.take_if(|current| is_closed(current));
    }

    /// Adds a spectator to the room if the next key frame is due.
    fn open_next(&mut self) {
        if self.next.is_some() || Instant::now() < self.next_at {
            return;
        }
        let seconds_per_tick = self.room.handle.settings().seconds_per_tick();
        match self.room.handle.spectate() {
            Ok(endpoint) => {
                let mirror = Mirror::builder().described(self.room.handle.schema());
                let mirror = mirror.build(DeliveryOrder::Unordered, seconds_per_tick);
                self.next = Some(NextEpoch { endpoint, mirror, packets: Vec::new() });
            }
            // The room ticks too slowly.
            Err(_) => self.next_at = Instant::now() + RETRY_AFTER,
        }
    }

    /// Sends the key frame when the first snapshot of the next spectator is complete. From then on its packets are
    /// streamed.
    async fn send_key_frame(&mut self) {
        let Some(tick) = self.next.as_mut().and_then(NextEpoch::read) else { return };
        let Some(next) = self.next.take() else { return };
        let handle = &self.room.handle;
        let schema = handle.schema();
        let key_frame = KeyFrame {
            room: self.room.id.clone(),
            room_type: self.room.room_type.clone(),
            tick_hz: handle.settings().tick_hz as u16,
            snapshot_hz: handle.settings().snapshot_hz as u16,
            tick,
            schema_hash: SchemaHash(schema.hash()),
            schema: schema.to_bytes(),
            packets: next.packets,
        };
        self.epoch += 1;
        self.next_at = Instant::now() + self.key_frame_interval();
        self.current = Some(next.endpoint);
        let bytes = key_frame.encode();
        self.send_parts(&bytes).await;
        self.second_copy = Some((Instant::now() + SECOND_COPY_AFTER, bytes));
    }

    async fn send_parts(&mut self, key_frame: &[u8]) {
        let parts = key_frame_parts(key_frame);
        let count = parts.len() as u16;
        for (part, bytes) in parts.enumerate() {
            self.send(FrameBody::KeyPart { part: part as u16, parts: count, bytes }).await;
        }
    }

    async fn send_states(&mut self) {
        while let Some(packet) = self.current.as_ref().and_then(ConnectionEndpoint::next_state) {
            self.send(FrameBody::State(&packet)).await;
            if let Some(current) = &self.current {
                current.recycle(packet);
            }
        }
    }

    async fn send_second_copy(&mut self) {
        if let Some((_, bytes)) = self.second_copy.take_if(|(at, _)| *at <= Instant::now()) {
            self.send_parts(&bytes).await;
        }
    }

    async fn send(&mut self, body: FrameBody<'_>) {
        self.sequence = self.sequence.wrapping_add(1);
        let StreamOutput { socket, signer, stream, group, metrics } = &self.output;
        let frame = StreamFrame { stream: *stream, epoch: self.epoch, sequence: self.sequence, body };
        let mut packet = frame.encode();
        signer.sign(&mut packet);
        match socket.send_to(&packet, *group).await {
            Ok(_) => {
                metrics.frames.inc();
                metrics.bytes.add(packet.len() as u64);
            }
            // As a lost packet: the next key frame repairs it.
            Err(_) => metrics.not_sent.inc(),
        }
    }

    /// Time between two key frames. State packets must not outlive the states that they are made from.
    fn key_frame_interval(&self) -> Duration {
        let settings = self.room.handle.settings();
        let snapshot_ticks = settings.tick_hz / settings.snapshot_hz.max(1);
        let ticks = BASELINE_AGE_MAX.saturating_sub(2 * snapshot_ticks + 2).max(snapshot_ticks);
        KEY_FRAME_INTERVAL_MAX.min(Duration::from_secs(1) * ticks / settings.tick_hz.max(1))
    }

    /// Waits for output of the room, or for the next moment at which something is due.
    async fn wait(&mut self) {
        let endpoints = [self.current.as_ref(), self.next.as_ref().map(|next| &next.endpoint)];
        let has_output = poll_fn(|cx| {
            let endpoints = || endpoints.iter().copied().flatten();
            endpoints().for_each(|endpoint| endpoint.register_waker(cx.waker()));
            if endpoints().any(ConnectionEndpoint::has_output) { Poll::Ready(()) } else { Poll::Pending }
        });
        let due = self.second_copy.as_ref().map(|(at, _)| *at);
        let next = self.next.is_none().then_some(self.next_at);
        // Also looks for the end of the watch.
        let until = due.into_iter().chain(next).min().unwrap_or_else(|| Instant::now() + RETRY_AFTER);
        tokio::select! {
            () = has_output => {}
            () = sleep_until(until) => {}
        }
    }
}

impl NextEpoch {
    /// Takes packets of the first snapshot. Returns its tick when it is complete.
    fn read(&mut self) -> Option<Tick> {
        while let Some(packet) = self.endpoint.next_state() {
            // The room makes them for this mirror, so they can be read.
            let applied = self.mirror.apply(&packet).ok();
            self.packets.push(packet);
            let is_last = applied.is_some_and(|applied| applied.last);
            if is_last || self.packets.len().is_multiple_of(ACKNOWLEDGED_AT_ONCE) {
                // A full inbox means that the room is late: then its next packets are longer.
                let _ = self.endpoint.push(ClientMessage::Ack(self.mirror.acknowledgement()));
            }
            if let Some(applied) = applied.filter(|_| is_last) {
                return Some(applied.tick);
            }
        }
        None
    }
}
