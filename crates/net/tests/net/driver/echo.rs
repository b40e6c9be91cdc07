//! A small test protocol: it echoes messages at once or later, and forwards messages of the server.

use aether_limits::RateLimit;
use aether_metrics::Registry;
use aether_net::{
    ConnectionEnd, ConnectionMetrics, ConnectionSettings, Connections, MessageClass, MessageRates, OutgoingMessages,
    Protocol, RateMeter, Transport,
};
use aether_wire::{CloseReason, DeliveryPath};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// Upper bound of a message in bytes: more than clients of rooms may send.
pub const MESSAGE_BYTES_MAX: usize = 16_384;
/// Most answers that are computed at once.
pub const WORK_MAX: usize = 4;
/// Time of a delayed answer.
pub const WORK: Duration = Duration::from_millis(50);
/// Burst of the message rate.
pub const BURST: u32 = 10;
/// Bytes of one message of a flood.
const FLOOD_BYTES: usize = 16_384;

/// Message of a peer.
pub enum Request {
    /// `login`: opens the connection.
    Login,
    /// `now …`: echoed at once.
    Now(Vec<u8>),
    /// `later …`: echoed after [`WORK`].
    Later(Vec<u8>),
    /// `flood`: answered with endless output.
    Flood,
    /// `leave`: ends the connection.
    Leave,
}

/// The protocol of one connection.
pub struct Echo {
    is_open: bool,
    answers: Vec<Vec<u8>>,
    work: FuturesUnordered<Pin<Box<dyn Future<Output = Vec<u8>> + Send>>>,
    pushes: UnboundedReceiver<Vec<u8>>,
    output: VecDeque<Vec<u8>>,
    floods: bool,
    leaves: bool,
    handled: Arc<AtomicUsize>,
}

impl Protocol for Echo {
    type Message = Request;
    type Unreadable = ();

    fn is_open(&self) -> bool {
        self.is_open
    }

    fn message_bytes_max(&self) -> usize {
        MESSAGE_BYTES_MAX
    }

    fn rates(&self) -> MessageRates {
        MessageRates::all(RateLimit { per_second: BURST, burst: BURST })
    }

    fn can_receive(&self) -> bool {
        self.work.len() < WORK_MAX
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<Request, ()> {
        match bytes {
            b"login" => Ok(Request::Login),
            b"flood" => Ok(Request::Flood),
            b"leave" => Ok(Request::Leave),
            [b'n', b'o', b'w', b' ', ..] => Ok(Request::Now(bytes.to_vec())),
            [b'l', b'a', b't', b'e', b'r', b' ', ..] => Ok(Request::Later(bytes.to_vec())),
            _ => Err(()),
        }
    }

    fn class(&self, _: &Request) -> MessageClass {
        MessageClass::Usual
    }

    fn handle_message(&mut self, _: DeliveryPath, message: Request, _: &mut RateMeter<'_>) {
        self.handled.fetch_add(1, Ordering::Relaxed);
        match message {
            Request::Login => self.is_open = true,
            Request::Now(bytes) => self.answers.push(bytes),
            Request::Later(bytes) => self.work.push(Box::pin(async {
                tokio::time::sleep(WORK).await;
                bytes
            })),
            Request::Flood => self.floods = true,
            Request::Leave => self.leaves = true,
        }
    }

    fn handle_unreadable(&mut self, (): (), _: &mut RateMeter<'_>) {}

    fn poll_work(&mut self, cx: &mut Context<'_>, _: &mut RateMeter<'_>) {
        while let Poll::Ready(Some(answer)) = self.work.poll_next_unpin(cx) {
            self.output.push_back(answer);
        }
        while let Poll::Ready(Some(push)) = self.pushes.poll_recv(cx) {
            self.output.push_back(push);
        }
    }

    fn answer<T: Transport>(&mut self, out: &mut OutgoingMessages<'_, T>) -> bool {
        let has_answers = !self.answers.is_empty();
        self.answers.drain(..).for_each(|answer| out.queue(DeliveryPath::Reliable, &answer));
        has_answers
    }

    fn has_output(&self) -> bool {
        self.floods || self.leaves || !self.output.is_empty()
    }

    fn fill<T: Transport>(&mut self, out: &mut OutgoingMessages<'_, T>) -> Option<ConnectionEnd> {
        self.output.drain(..).for_each(|message| out.queue(DeliveryPath::Reliable, &message));
        if self.floods {
            out.queue(DeliveryPath::Reliable, &[b'f'; FLOOD_BYTES]);
        }
        self.leaves.then(|| ConnectionEnd::closing(CloseReason::Left))
    }

    fn handle_stop<T: Transport>(&mut self, deadline_ms: u32, out: &mut OutgoingMessages<'_, T>) {
        out.queue(DeliveryPath::Reliable, format!("stop {deadline_ms}").as_bytes());
    }

    fn handle_end<T: Transport>(&mut self, end: &mut ConnectionEnd, out: &mut OutgoingMessages<'_, T>) {
        if let ConnectionEnd::Closing(closing) = end {
            out.queue(DeliveryPath::Reliable, format!("end {}", closing.reason.name()).as_bytes());
        }
    }
}

/// Server of the echo protocol.
#[derive(Clone)]
pub struct Server {
    pub connections: Arc<Connections>,
    pub registry: Registry,
}

/// Server's side of a connection.
pub struct Served {
    /// Task that ends with the connection.
    pub task: JoinHandle<()>,
    /// Messages that the protocol handled.
    pub handled: Arc<AtomicUsize>,
    /// Sends a message to the peer.
    pub push: UnboundedSender<Vec<u8>>,
}

impl Server {
    pub fn new(settings: ConnectionSettings) -> Server {
        let registry = Registry::new();
        let connections = Arc::new(Connections::new(settings, ConnectionMetrics::new(&registry)));
        Server { connections, registry }
    }

    /// Serves a peer, with or without a login.
    pub fn serve(&self, transport: impl Transport, is_open: bool) -> Served {
        let (push, pushes) = unbounded_channel();
        let handled = Arc::new(AtomicUsize::new(0));
        let protocol = Echo {
            is_open,
            answers: Vec::new(),
            work: FuturesUnordered::new(),
            pushes,
            output: VecDeque::new(),
            floods: false,
            leaves: false,
            handled: Arc::clone(&handled),
        };
        let connections = Arc::clone(&self.connections);
        let permit = connections.permit(IpAddr::V4(Ipv4Addr::LOCALHOST)).expect("the limit is not reached");
        let task = tokio::spawn(async move {
            connections.serve(connections.next_id(), transport, permit, protocol).await;
        });
        Served { task, handled, push }
    }

    /// Returns true if one connection ended for this reason.
    pub fn has_closed(&self, reason: &str) -> bool {
        self.registry.render().contains(&format!("aether_connections_closed_total{{reason=\"{reason}\"}} 1\n"))
    }
}

impl Served {
    pub fn handled(&self) -> usize {
        self.handled.load(Ordering::Relaxed)
    }
}
