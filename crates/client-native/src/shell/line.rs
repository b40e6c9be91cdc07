//! One attempt to be connected, from opening to the end: a task in the background, and the game's end of it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aether_wire::limits::JSON_SERVER_MESSAGE_BYTES_MAX;
use aether_wire::{DeliveryPath, Token};
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::{TryRecvError, TrySendError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::choice::TransportChooser;
use crate::connection::Connection;
use crate::connector::Connector;
use crate::error::ConnectionError;
use crate::tokens::TokenSource;
use crate::transport::TransportKind;

/// Bytes that may wait for the game: a second of a very busy room, or several of the largest messages. Beyond it nothing
/// more is read, and the server notices that the client is slow.
const INBOUND_BYTES_MAX: usize = 4 << 20;

/// What a frame costs besides its bytes, so that a flood of empty ones fills the queue too.
const FRAME_COST_BYTES: usize = 64;

/// Frames that may wait to be sent. The background takes them within microseconds; a thousand of them are seconds of play.
const OUTBOUND_FRAMES_MAX: usize = 1_024;

/// How long a server may take to close after the player left, and a connection to be closed.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(1);

const _: () = assert!(JSON_SERVER_MESSAGE_BYTES_MAX + FRAME_COST_BYTES <= INBOUND_BYTES_MAX);

/// What opens lines.
pub(super) struct ConnectionThread {
    pub(super) connector: Connector,
    pub(super) choice: TransportChooser,
    pub(super) tokens: TokenSource,
}

/// What the game hears of a line.
pub(super) enum ConnectionEvent {
    /// It is open, and this is the token for the hello, if there is a new one.
    Opened(TransportKind, Option<Token>),
    /// A frame came.
    Frame(ReceivedMessage),
    /// It is over.
    Ended(ConnectionError),
}

/// A frame that came. While it is kept, it takes its place in the queue.
pub(super) struct ReceivedMessage {
    pub(super) at: Instant,
    pub(super) frame: Vec<u8>,
    _place: OwnedSemaphorePermit,
}

enum Order {
    Send(DeliveryPath, Vec<u8>),
    /// The player left: the server closes, and if not, we do.
    Leave,
}

/// The game's end of a line. If it is dropped, the line is closed.
pub(super) struct ConnectionHandle {
    orders: mpsc::Sender<Order>,
    news: mpsc::UnboundedReceiver<ConnectionEvent>,
    /// What it goes over, once it is open.
    pub(super) opened: Option<TransportKind>,
}

impl ConnectionHandle {
    /// Begins to open a connection in the background. Whoever resumes may come in without a token.
    pub(super) fn open(handle: &Handle, office: &Arc<ConnectionThread>, is_resuming: bool) -> Self {
        let (orders, ordered) = mpsc::channel(OUTBOUND_FRAMES_MAX);
        let (teller, news) = mpsc::unbounded_channel();
        handle.spawn(run(Arc::clone(office), is_resuming, ordered, teller));
        Self { orders, news, opened: None }
    }

    /// What happened, if something did.
    pub(super) fn next(&mut self) -> Option<ConnectionEvent> {
        match self.news.try_recv() {
            Ok(news) => Some(news),
            Err(TryRecvError::Empty) => None,
            // The background is gone, as when the game stops the runtime that it gave.
            Err(TryRecvError::Disconnected) => Some(ConnectionEvent::Ended(ConnectionError::closed())),
        }
    }

    /// Sends a frame. It fails if the background does not keep up; what may be lost is lost then.
    pub(super) fn send(&self, frame: &[u8], path: DeliveryPath) -> Result<(), ConnectionError> {
        match (self.orders.try_send(Order::Send(path, frame.to_vec())), path) {
            (Err(TrySendError::Full(_)), DeliveryPath::Reliable) => Err(ConnectionError::Stuck),
            // How it ended is among the news.
            _ => Ok(()),
        }
    }

    /// Lets the server close the connection, now that it has been told that the player leaves.
    pub(super) fn leave(&self) {
        let _ = self.orders.try_send(Order::Leave);
    }

    /// Waits until nothing is left of a line that was told to leave.
    pub(super) async fn ended(mut self) {
        while self.news.recv().await.is_some() {}
    }

    /// Closes the line, and waits until nothing is left of it.
    pub(super) async fn close(self) {
        let ConnectionHandle { orders, mut news, .. } = self;
        drop(orders);
        while news.recv().await.is_some() {}
    }
}

async fn run(
    office: Arc<ConnectionThread>,
    is_resuming: bool,
    mut orders: mpsc::Receiver<Order>,
    news: mpsc::UnboundedSender<ConnectionEvent>,
) {
    let opened = tokio::select! {
        opened = open(&office, is_resuming) => opened,
        // Before it is open there is nothing to send: whoever wants something wants no line any more.
        _ = orders.recv() => return,
    };
    let ended = match opened {
        Ok((connection, token)) => {
            let _ = news.send(ConnectionEvent::Opened(connection.transport(), token));
            carry(connection, orders, &news).await
        }
        Err(error) => Some(error),
    };
    if let Some(error) = ended {
        let _ = news.send(ConnectionEvent::Ended(error));
    }
}

async fn open(office: &ConnectionThread, is_resuming: bool) -> Result<(Connection, Option<Token>), ConnectionError> {
    let token = match office.tokens.take(&office.connector).await {
        Err(_) if is_resuming => None,
        token => token?,
    };
    Ok((office.choice.open(&office.connector).await?, token))
}

/// Carries frames both ways until the connection ends, or the game does not want it any more.
async fn carry(
    mut connection: Connection,
    mut orders: mpsc::Receiver<Order>,
    news: &mpsc::UnboundedSender<ConnectionEvent>,
) -> Option<ConnectionError> {
    let places = Arc::new(Semaphore::new(INBOUND_BYTES_MAX));
    let mut arrived: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut ended = None;
    loop {
        let cost = arrived.front().map(|(_, frame)| (frame.len() + FRAME_COST_BYTES) as u32);
        if cost.is_none() && ended.is_some() {
            return ended;
        }
        let mut take = |frame: &[u8]| arrived.push_back((Instant::now(), frame.to_vec()));
        tokio::select! {
            order = orders.recv() => match order {
                Some(Order::Send(path, frame)) => {
                    if let Err(error) = connection.queue_frame(path, &frame) {
                        ended.get_or_insert(error);
                    }
                }
                Some(Order::Leave) => {
                    close_after_leave(connection).await;
                    return None;
                }
                None => {
                    let _ = tokio::time::timeout(CLOSE_TIME_MAX, connection.close()).await;
                    return None;
                }
            },
            // What has arrived is handed on before more is read.
            place = Arc::clone(&places).acquire_many_owned(cost.unwrap_or(0)), if cost.is_some() => {
                let (Ok(place), Some((at, frame))) = (place, arrived.pop_front()) else { return ended };
                let _ = news.send(ConnectionEvent::Frame(ReceivedMessage { at, frame, _place: place }));
            }
            received = connection.receive(&mut take), if cost.is_none() => ended = received.err(),
        }
    }
}

/// The server has closed when it has read that the player leaves. Whoever closes first may cut that off.
async fn close_after_leave(mut connection: Connection) {
    let closed = async { while connection.receive(&mut |_| ()).await.is_ok() {} };
    if tokio::time::timeout(CLOSE_TIME_MAX, closed).await.is_err() {
        let _ = tokio::time::timeout(CLOSE_TIME_MAX, connection.close()).await;
    }
}
