//! A client that has joined a room.

use crate::{Connection, ConnectionError, Connector, DEADLINE, DeliveryPath, TransportKind};
use aether_wire::{ClientMessage, CloseReason, Closing, EntityId, ErrorNotice, Hello, ServerMessage, Token, Welcome};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::timeout;

/// A client that has joined a room.
pub struct TestPlayer {
    /// Connection of the client.
    pub client: Connection,
    /// Welcome of the server.
    pub welcome: Welcome,
    /// Messages that arrived before the welcome, on an unordered transport.
    pub(crate) early: VecDeque<ServerMessage>,
}

/// End of a connection.
#[derive(Debug)]
pub struct End {
    /// Closing message of the server.
    pub closing: Option<Closing>,
    /// Error notices before it.
    pub notices: Vec<ErrorNotice>,
    /// Close code of the transport.
    pub code: Option<u32>,
}

impl End {
    /// Returns the close reason, if the server sent one.
    #[must_use]
    pub fn reason(&self) -> Option<CloseReason> {
        self.closing.as_ref().map(|closing| closing.reason)
    }

    /// Reads a connection to its end.
    pub async fn of(client: &mut Connection) -> End {
        let mut end = End { closing: None, notices: Vec::new(), code: None };
        let whole = async {
            loop {
                match client.next_message().await {
                    Ok(ServerMessage::Closing(closing)) => end.closing = Some(closing),
                    Ok(ServerMessage::Error(notice)) => end.notices.push(notice),
                    Ok(_) => {}
                    Err(ConnectionError::Closed { code, .. }) => return end.code = code,
                    Err(_) => return,
                }
            }
        };
        timeout(DEADLINE, whole).await.expect("the server closes the connection in time");
        end
    }
}

impl TestPlayer {
    /// Joins a room, or returns the error of the server.
    ///
    /// # Panics
    /// Panics if the server answers with neither.
    pub async fn join(
        connector: &Connector,
        transport: TransportKind,
        hello: &Hello,
    ) -> Result<TestPlayer, ErrorNotice> {
        let mut client = connector.connect(transport, hello).await.expect("the server opens the connection");
        let mut early = VecDeque::new();
        loop {
            let message = timeout(DEADLINE, client.next_message()).await.expect("the server answers a hello in time");
            match message.expect("the server answers a hello") {
                ServerMessage::Welcome(welcome) => return Ok(TestPlayer { client, welcome, early }),
                ServerMessage::Error(notice) => return Err(notice),
                message => early.push_back(message),
            }
        }
    }

    /// Returns the next message.
    pub async fn next(&mut self) -> Result<ServerMessage, ConnectionError> {
        match self.early.pop_front() {
            Some(message) => Ok(message),
            None => self.client.next_message().await,
        }
    }

    /// Waits for a message for which `wanted` returns a value, and skips the others.
    ///
    /// # Panics
    /// Panics if it does not arrive in time or the connection ends first.
    pub async fn wait<T>(&mut self, what: &str, mut wanted: impl FnMut(ServerMessage) -> Option<T>) -> T {
        let found = async {
            loop {
                match self.next().await {
                    Ok(message) => {
                        if let Some(found) = wanted(message) {
                            return found;
                        }
                    }
                    Err(error) => panic!("the connection ended before {what}: {error}"),
                }
            }
        };
        timeout(DEADLINE, found).await.unwrap_or_else(|_| panic!("{what} did not arrive in time"))
    }

    /// Waits for the entity that the player possesses.
    pub async fn possession(&mut self) -> EntityId {
        self.wait("a possession", |message| match message {
            ServerMessage::Possession(possession) => Some(possession.entity),
            _ => None,
        })
        .await
    }

    /// Waits for the answer to a command. Returns the error if it was rejected.
    pub async fn answer(&mut self, seq: u32) -> Option<aether_wire::CommandError> {
        let (_, error) = self
            .wait("an ack", |message| match message {
                ServerMessage::Ack(ack) if ack.seq.0 == seq => Some((ack.seq, ack.error)),
                _ => None,
            })
            .await;
        error
    }

    /// Sends a message.
    ///
    /// # Panics
    /// Panics if the connection is closed.
    pub async fn send(&mut self, message: ClientMessage) {
        self.client.send(&message).await.expect("the connection is open");
    }

    /// Sends text or bytes as one message.
    ///
    /// # Panics
    /// Panics if the connection is closed.
    pub async fn send_frame(&mut self, frame: impl AsRef<[u8]>) {
        self.client.send_frame(DeliveryPath::Reliable, frame.as_ref()).await.expect("the connection is open");
    }

    /// Reads messages for some time, so that queues stay empty.
    pub async fn read_for(&mut self, time: Duration) {
        let _ = timeout(time, async { while self.next().await.is_ok() {} }).await;
    }

    /// Reads to the end of the connection.
    pub async fn end(mut self) -> End {
        End::of(&mut self.client).await
    }

    /// Returns the resume token.
    ///
    /// # Panics
    /// Panics if the room gave none.
    #[must_use]
    pub fn resume_token(&self) -> Token {
        self.welcome.resume_token.clone().expect("the room allows resuming")
    }

    /// Returns the hello by which this player resumes.
    #[must_use]
    pub fn resume_hello(&self) -> Hello {
        Hello { resume_token: Some(self.resume_token()), ..Hello::default() }
    }
}
