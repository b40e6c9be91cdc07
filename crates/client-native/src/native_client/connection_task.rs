//! Background task of one connection, from opening to close, and the handle to it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aether_wire::limits::JSON_SERVER_MESSAGE_BYTES_MAX;
use aether_wire::{DeliveryPath, Token};
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::{TryRecvError, TrySendError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use crate::connection::Connection;
use crate::connector::Connector;
use crate::error::ConnectionError;
use crate::token_source::TokenSource;
use crate::transport::TransportKind;
use crate::transport_chooser::{TokenConnector, TransportChooser};
use crate::transport_stats::TransportStats;

/// Largest number of received bytes queued for the game: a second of a very busy room, or several of the largest
/// messages. Beyond it the task stops reading, and the server detects a slow client.
const INBOUND_BYTES_MAX: usize = 4 << 20;

/// Cost of a frame besides its bytes, so that the limit also covers a flood of empty frames.
const FRAME_COST_BYTES: usize = 64;

/// Largest number of frames queued for sending: seconds of play. The task takes them within microseconds.
const OUTBOUND_FRAMES_MAX: usize = 1_024;

/// Longest wait for the server to close after a leave, and for a connection to close.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(1);

const _: () = assert!(JSON_SERVER_MESSAGE_BYTES_MAX + FRAME_COST_BYTES <= INBOUND_BYTES_MAX);

/// Opens connections.
pub(super) struct ConnectionOpener {
    pub(super) connector: Connector,
    pub(super) chooser: TransportChooser,
    pub(super) tokens: TokenSource,
}

/// Access token that the hello of a connection needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenNeed {
    /// A resume works without one.
    Optional,
    Any,
    /// The last one was rejected.
    Fresh,
}

/// Event of a connection.
pub(super) enum ConnectionEvent {
    /// The connection is open. With the access token for the hello, if there is a new one.
    Opened(TransportKind, Option<Token>),
    /// A frame arrived.
    Frame(ReceivedMessage),
    /// The connection ended.
    Ended(ConnectionError),
}

/// Received frame. It counts towards the limit of queued bytes until it is dropped.
pub(super) struct ReceivedMessage {
    pub(super) at: Instant,
    pub(super) frame: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

enum Command {
    Send(DeliveryPath, Vec<u8>),
    /// Wait for the server to close after a leave; close after a timeout.
    Leave,
}

/// Handle to the task of a connection. Dropping it closes the connection.
pub(super) struct ConnectionHandle {
    commands: mpsc::Sender<Command>,
    events: mpsc::UnboundedReceiver<ConnectionEvent>,
    /// Transport, once the connection is open.
    pub(super) transport: Option<TransportKind>,
    stats: watch::Receiver<Option<TransportStats>>,
}

impl ConnectionHandle {
    /// Starts to open a connection in the background. `known` is the token of the hello, unless the source of tokens has
    /// another one.
    pub(super) fn open(
        handle: &Handle,
        opener: &Arc<ConnectionOpener>,
        token_need: TokenNeed,
        known: Option<Token>,
    ) -> Self {
        let (commands, command_receiver) = mpsc::channel(OUTBOUND_FRAMES_MAX);
        let (event_sender, events) = mpsc::unbounded_channel();
        let (stats_sender, stats) = watch::channel(None);
        let output = TaskOutput { events: event_sender, stats: stats_sender };
        handle.spawn(run(Arc::clone(opener), (token_need, known), command_receiver, output));
        Self { commands, events, transport: None, stats }
    }

    /// Newest statistics of the path. `None` if the transport has none.
    pub(super) fn stats(&self) -> Option<TransportStats> {
        *self.stats.borrow()
    }

    /// Next event, if there is one.
    pub(super) fn next(&mut self) -> Option<ConnectionEvent> {
        match self.events.try_recv() {
            Ok(event) => Some(event),
            Err(TryRecvError::Empty) => None,
            // The task is gone, for example because the game stopped its runtime.
            Err(TryRecvError::Disconnected) => Some(ConnectionEvent::Ended(ConnectionError::closed())),
        }
    }

    /// Sends a frame. Fails if the queue is full and the frame is reliable; an unreliable frame is dropped.
    pub(super) fn send(&self, frame: &[u8], path: DeliveryPath) -> Result<(), ConnectionError> {
        match (self.commands.try_send(Command::Send(path, frame.to_vec())), path) {
            (Err(TrySendError::Full(_)), DeliveryPath::Reliable) => Err(ConnectionError::Stuck),
            // A closed queue is reported by the events.
            _ => Ok(()),
        }
    }

    /// Makes the task wait for the server to close the connection, after the leave message was sent.
    pub(super) fn leave(&self) {
        let _ = self.commands.try_send(Command::Leave);
    }

    /// Waits for the end of the connection after [`ConnectionHandle::leave`].
    pub(super) async fn ended(mut self) {
        while self.events.recv().await.is_some() {}
    }

    /// Closes the connection and waits for its end.
    pub(super) async fn close(self) {
        let ConnectionHandle { commands, mut events, .. } = self;
        drop(commands);
        while events.recv().await.is_some() {}
    }
}

/// Output of a task.
struct TaskOutput {
    events: mpsc::UnboundedSender<ConnectionEvent>,
    stats: watch::Sender<Option<TransportStats>>,
}

async fn run(
    opener: Arc<ConnectionOpener>,
    token: (TokenNeed, Option<Token>),
    mut commands: mpsc::Receiver<Command>,
    output: TaskOutput,
) {
    let opened = tokio::select! {
        opened = open(&opener, token) => opened,
        // Before the connection is open, any command or a dropped handle cancels it.
        _ = commands.recv() => return,
    };
    let ended = match opened {
        Ok((connection, token)) => {
            let _ = output.events.send(ConnectionEvent::Opened(connection.transport(), token));
            transfer(connection, commands, &output).await
        }
        Err(error) => Some(error),
    };
    if let Some(error) = ended {
        let _ = output.events.send(ConnectionEvent::Ended(error));
    }
}

async fn open(
    opener: &ConnectionOpener,
    (need, known): (TokenNeed, Option<Token>),
) -> Result<(Connection, Option<Token>), ConnectionError> {
    let token = match opener.tokens.token(&opener.connector, need == TokenNeed::Fresh).await {
        Err(_) if need == TokenNeed::Optional => None,
        token => token?,
    };
    // A resume sends the resume token, whatever the source has.
    let of_hello = if need == TokenNeed::Optional { known.as_ref() } else { token.as_ref().or(known.as_ref()) };
    let connector = TokenConnector { connector: &opener.connector, token: of_hello };
    Ok((opener.chooser.open(&connector).await?, token))
}

/// Transfers frames in both directions until the connection ends or the handle is dropped.
async fn transfer(
    mut connection: Connection,
    mut commands: mpsc::Receiver<Command>,
    TaskOutput { events, stats }: &TaskOutput,
) -> Option<ConnectionError> {
    let budget = Arc::new(Semaphore::new(INBOUND_BYTES_MAX));
    let mut arrived: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut ended = None;
    loop {
        let cost = arrived.front().map(|(_, frame)| (frame.len() + FRAME_COST_BYTES) as u32);
        if cost.is_none() && ended.is_some() {
            return ended;
        }
        let mut take = |frame: &[u8]| arrived.push_back((Instant::now(), frame.to_vec()));
        tokio::select! {
            command = commands.recv() => match command {
                Some(Command::Send(path, frame)) => {
                    if let Err(error) = connection.queue_frame(path, &frame) {
                        ended.get_or_insert(error);
                    }
                }
                Some(Command::Leave) => {
                    close_after_leave(connection).await;
                    return None;
                }
                None => {
                    let _ = tokio::time::timeout(CLOSE_TIME_MAX, connection.close()).await;
                    return None;
                }
            },
            // Received frames are passed on before more is read.
            permit = Arc::clone(&budget).acquire_many_owned(cost.unwrap_or(0)), if cost.is_some() => {
                let (Ok(permit), Some((at, frame))) = (permit, arrived.pop_front()) else { return ended };
                let _ = events.send(ConnectionEvent::Frame(ReceivedMessage { at, frame, _permit: permit }));
            }
            received = connection.receive(&mut take), if cost.is_none() => {
                ended = received.err();
                stats.send_replace(connection.stats());
            }
        }
    }
}

/// Waits for the server to close. Closing first could cut off the leave message.
async fn close_after_leave(mut connection: Connection) {
    let closed = async { while connection.receive(&mut |_| ()).await.is_ok() {} };
    if tokio::time::timeout(CLOSE_TIME_MAX, closed).await.is_err() {
        let _ = tokio::time::timeout(CLOSE_TIME_MAX, connection.close()).await;
    }
}
