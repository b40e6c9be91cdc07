//! Driver's side: passes its clients on to the game.

use super::frame::{FrameHeader, FrameKind, OfferBody, OpenBody};
use super::link::{Link, LinkError, LinkFrames, LinkSendError};
use super::pump::Pump;
use crate::transport::Transport;
use crate::waking::WakeTask;
use aether_replication::DeliveryOrder;
use aether_rings::{AttachError, Attached};
use aether_wire::RoomSelector;
use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use tracing::debug;

/// Passes clients of any transport on to a game process.
pub struct SharedMemoryDriver {
    link: Arc<Link>,
    next_connection: AtomicU64,
}

/// Client of a driver, before its hello.
pub struct DriverClient {
    /// Address of the client.
    pub address: IpAddr,
    /// True if the client is a program on this machine.
    pub is_local: bool,
    /// Room that the client's URL named, if any.
    pub room: Option<RoomSelector>,
    /// Account that the client has proven, if its transport does that.
    pub account: Option<String>,
}

impl SharedMemoryDriver {
    /// Attaches to the game that listens on a socket. Returns the bytes that the game passed with the region, too. Must be
    /// called in a tokio runtime, and blocks for some seconds at most.
    pub fn attach(path: &Path) -> Result<(SharedMemoryDriver, Vec<u8>), AttachError> {
        let Attached { endpoint, greeting, generation } = aether_rings::attach(path)?;
        let link = Link::start(endpoint, WakeTask::start(), NoFrames);
        let link = link.map_err(|error| AttachError::System("starting a thread", error))?;
        debug!(generation, "attached to a game");
        Ok((SharedMemoryDriver { link, next_connection: AtomicU64::new(1) }, greeting))
    }

    /// Tells the game on which UDP address this driver listens.
    pub async fn offer(&self, udp: Option<SocketAddr>) {
        let body = serde_json::to_vec(&OfferBody { udp }).unwrap_or_default();
        let header = FrameHeader::new(FrameKind::Offer, 0).to_bytes();
        poll_fn(|cx| match self.link.try_send(0, &[&header, &body], cx) {
            Err(LinkSendError::Full) => Poll::Pending,
            Ok(()) | Err(LinkSendError::Gone) => Poll::Ready(()),
        })
        .await;
    }

    /// Serves a client until it ends.
    pub fn serve<T: Transport>(
        &self,
        transport: T,
        client: DriverClient,
    ) -> impl Future<Output = ()> + Send + 'static + use<T> {
        let connection = self.next_connection.fetch_add(1, Ordering::Relaxed);
        let link = Arc::clone(&self.link);
        async move {
            let DriverClient { address, is_local, room, account } = client;
            let open = OpenBody {
                address,
                is_local,
                transport: transport.name().to_owned(),
                encoding: transport.encoding().name().to_owned(),
                is_ordered: transport.order() == DeliveryOrder::Ordered,
                detects_silence: transport.detects_silence(),
                room,
                account,
            };
            // None if there are too many clients; the transport is dropped, which closes it.
            if let Some(pump) = Pump::new(link, connection, transport, &open) {
                pump.run().await;
            }
        }
    }

    /// Ends the use of the region. Clients are then closed by their own tasks.
    pub fn close(&self) {
        self.link.close();
    }

    /// Waits until the game has ended. Clients are then closed by their own tasks.
    pub async fn ended(&self) {
        self.link.ended().await;
    }
}

impl Drop for SharedMemoryDriver {
    fn drop(&mut self) {
        self.close();
    }
}

/// A game opens no connections.
struct NoFrames;

impl LinkFrames for NoFrames {
    fn handle(&mut self, _link: &Arc<Link>, _header: FrameHeader, _body: &[u8]) -> Result<(), LinkError> {
        Err(LinkError::Frame("kind"))
    }
}
