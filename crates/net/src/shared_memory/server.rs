//! Game's side: accepts drivers and their clients.

use super::frame::{FrameHeader, FrameKind, OfferBody, OpenBody, transport_name};
use super::link::{Link, LinkError, LinkFrames};
use super::metrics::SharedMemoryMetrics;
use super::transport::{SharedMemoryTransport, TransportProperties};
use crate::waking::WakeTask;
use aether_metrics::Registry;
use aether_replication::DeliveryOrder;
use aether_rings::{AttachError, RingEndpoint, RingListener};
use aether_wire::{Encodings, RoomSelector};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::AbortHandle;
use tracing::{info, warn};

/// Most drivers at a time, and handshakes of drivers.
const DRIVERS_MAX: usize = 16;
/// Most clients that wait to be accepted. Further ones are closed.
const READY_MAX: usize = 1_024;
/// Pause after a failure to accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Settings of the game's side.
#[derive(Clone)]
pub struct SharedMemorySettings {
    /// Path of the socket on which drivers ask for a region.
    pub path: PathBuf,
    /// Bytes of each ring.
    pub ring_bytes: usize,
    /// Returns the bytes that a new driver gets with its region, such as a key of its own.
    pub greeting: Arc<dyn Fn() -> Vec<u8> + Send + Sync>,
    /// Encodings that clients may use.
    pub encodings: Encodings,
}

/// Accepts clients of driver processes.
pub struct SharedMemoryServer {
    clients: mpsc::Receiver<SharedMemoryClient>,
    acceptor: AbortHandle,
    offer: watch::Receiver<Option<DriverOffer>>,
}

/// Address on which a driver listens for the game.
#[derive(Clone, PartialEq, Eq)]
pub struct DriverOffer {
    /// Address of reliable UDP.
    pub udp: SocketAddr,
    /// Bytes that the driver got with its region.
    pub greeting: Arc<[u8]>,
}

/// Client of a driver.
pub struct SharedMemoryClient {
    /// Transport of the client, through the driver.
    pub transport: SharedMemoryTransport,
    /// Address of the client.
    pub address: IpAddr,
    /// True if the client is a program on this machine.
    pub is_local: bool,
    /// Room that the client's URL named, if any.
    pub room: Option<RoomSelector>,
    /// Account that the client has proven to the driver, if its transport does that.
    pub account: Option<String>,
}

impl SharedMemoryServer {
    /// Creates the socket for drivers. Must be called in a tokio runtime.
    pub fn bind(settings: SharedMemorySettings, registry: &Registry) -> Result<SharedMemoryServer, AttachError> {
        let listener = RingListener::bind(&settings.path)?;
        let failed = |error| AttachError::System("setting up the socket", error);
        let socket = listener.socket().try_clone().map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let socket = UnixListener::from_std(socket).map_err(failed)?;
        let (ready, clients) = mpsc::channel(READY_MAX);
        let (offered, offer) = watch::channel(None);
        let acceptor = DriverAcceptor {
            _listener: listener,
            settings: Arc::new(settings),
            metrics: SharedMemoryMetrics::new(registry),
            waking: WakeTask::start(),
            drivers: Arc::new(Semaphore::new(DRIVERS_MAX)),
            ready,
            offered,
        };
        let acceptor = tokio::spawn(acceptor.run(socket)).abort_handle();
        Ok(SharedMemoryServer { clients, acceptor, offer })
    }

    /// Accepts the next client; none after the server has stopped.
    pub async fn accept(&mut self) -> Option<SharedMemoryClient> {
        self.clients.recv().await
    }

    /// Returns the offer of the newest driver that has made one, and follows its changes.
    #[must_use]
    pub fn offer(&self) -> watch::Receiver<Option<DriverOffer>> {
        self.offer.clone()
    }
}

impl Drop for SharedMemoryServer {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

/// Accepts drivers and attaches each in its own task, so that a slow one does not delay others.
struct DriverAcceptor {
    /// Removes the socket at the end.
    _listener: RingListener,
    settings: Arc<SharedMemorySettings>,
    metrics: SharedMemoryMetrics,
    waking: Arc<WakeTask>,
    drivers: Arc<Semaphore>,
    ready: mpsc::Sender<SharedMemoryClient>,
    offered: watch::Sender<Option<DriverOffer>>,
}

impl DriverAcceptor {
    async fn run(self, socket: UnixListener) {
        let mut generation = 0;
        // Dropped with this future, which closes all regions.
        let mut drivers = tokio::task::JoinSet::new();
        loop {
            let stream = match socket.accept().await.and_then(|(stream, _)| stream.into_std()) {
                Ok(stream) => stream,
                Err(error) => {
                    warn!(%error, "driver not accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            while drivers.try_join_next().is_some() {}
            let Ok(permit) = Arc::clone(&self.drivers).try_acquire_owned() else {
                self.metrics.refused.inc();
                continue;
            };
            generation += 1;
            let greeting: Arc<[u8]> = (self.settings.greeting)().into();
            let client = DriverClients {
                encodings: self.settings.encodings.clone(),
                ready: self.ready.clone(),
                offered: self.offered.clone(),
                greeting: Arc::clone(&greeting),
            };
            let (settings, metrics, waking) =
                (Arc::clone(&self.settings), self.metrics.clone(), Arc::clone(&self.waking));
            drivers.spawn(async move {
                let _permit = permit;
                match attach(stream, settings.ring_bytes, generation, greeting).await {
                    Ok(endpoint) => serve_driver(endpoint, waking, client, generation, &metrics).await,
                    Err(error) => {
                        metrics.refused.inc();
                        warn!(%error, "driver not attached");
                    }
                }
            });
        }
    }
}

async fn attach(
    stream: UnixStream,
    ring_bytes: usize,
    generation: u64,
    greeting: Arc<[u8]>,
) -> Result<RingEndpoint, AttachError> {
    let create = move || aether_rings::create(stream, ring_bytes, generation, &greeting);
    // The handshake blocks, for some seconds at most.
    match tokio::task::spawn_blocking(create).await {
        Ok(result) => result,
        Err(_) => Err(AttachError::Handshake("it was interrupted")),
    }
}

/// Serves a driver until it ends.
async fn serve_driver(
    endpoint: RingEndpoint,
    waking: Arc<WakeTask>,
    clients: DriverClients,
    generation: u64,
    metrics: &SharedMemoryMetrics,
) {
    let link = match Link::start(endpoint, waking, clients) {
        Ok(link) => CloseOnDrop(link),
        Err(error) => return warn!(%error, "driver not attached"),
    };
    metrics.drivers.inc();
    let _attached = GaugeGuard(metrics.drivers.clone());
    info!(generation, "driver attached");
    let error = link.0.ended().await;
    metrics.count_end(error);
    info!(generation, reason = error.label(), "driver ended; its clients may resume through another");
}

struct CloseOnDrop(Arc<Link>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close();
    }
}

struct GaugeGuard(aether_metrics::Gauge);

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Accepts the clients of one driver, on the thread of its link.
struct DriverClients {
    encodings: Encodings,
    ready: mpsc::Sender<SharedMemoryClient>,
    offered: watch::Sender<Option<DriverOffer>>,
    greeting: Arc<[u8]>,
}

impl LinkFrames for DriverClients {
    fn handle(&mut self, link: &Arc<Link>, header: FrameHeader, body: &[u8]) -> Result<(), LinkError> {
        if header.kind == FrameKind::Offer {
            let OfferBody { udp } = serde_json::from_slice(body).map_err(|_| LinkError::Frame("offer"))?;
            if let Some(udp) = udp {
                self.offered.send_replace(Some(DriverOffer { udp, greeting: Arc::clone(&self.greeting) }));
            }
            return Ok(());
        }
        let open: OpenBody = serde_json::from_slice(body).map_err(|_| LinkError::Frame("client"))?;
        let encoding = self.encodings.named(&open.encoding).ok_or(LinkError::Frame("encoding"))?;
        let mailbox = link.open(header.connection).ok_or(LinkError::Frame("connection"))?;
        let properties = TransportProperties {
            order: if open.is_ordered { DeliveryOrder::Ordered } else { DeliveryOrder::Unordered },
            encoding,
            name: transport_name(&open.transport),
            detects_silence: open.detects_silence,
        };
        let transport = SharedMemoryTransport::new(Arc::clone(link), mailbox, header.connection, properties);
        let OpenBody { address, is_local, room, account, .. } = open;
        // If too many wait, the client is dropped, which closes it.
        let _ = self.ready.try_send(SharedMemoryClient { transport, address, is_local, room, account });
        Ok(())
    }
}

impl Drop for DriverClients {
    fn drop(&mut self) {
        // Another driver may have taken over already.
        self.offered.send_if_modified(|offered| {
            let is_own = offered.as_ref().is_some_and(|offer| Arc::ptr_eq(&offer.greeting, &self.greeting));
            if is_own {
                *offered = None;
            }
            is_own
        });
    }
}
