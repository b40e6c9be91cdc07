//! A client that is in a room.

use crate::{Connection, ConnectionError, Connector, DEADLINE, DeliveryPath, TransportKind};
use aether_wire::{ClientMessage, CloseReason, Closing, EntityId, ErrorNotice, Hello, ServerMessage, Token, Welcome};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::timeout;

/// A client that was welcomed.
pub struct Player {
    /// Its connection.
    pub client: Connection,
    /// What the server said when it came in.
    pub welcome: Welcome,
    /// What was faster than the welcome, on a transport without order.
    pub(crate) early: VecDeque<ServerMessage>,
}

/// How a connection ended.
#[derive(Debug)]
pub struct End {
    /// The last words of the server.
    pub closing: Option<Closing>,
    /// The errors that it told before.
    pub notices: Vec<ErrorNotice>,
    /// The close code of the transport.
    pub code: Option<u32>,
}

impl End {
    /// Why, if the server said so.
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

impl Player {
    /// Joins, or tells what the server said instead.
    ///
    /// # Panics
    /// If the server says neither.
    pub async fn enter(connector: &Connector, transport: TransportKind, hello: &Hello) -> Result<Player, ErrorNotice> {
        let mut client = connector.connect(transport, hello).await.expect("the server opens the connection");
        let mut early = VecDeque::new();
        loop {
            let message = timeout(DEADLINE, client.next_message()).await.expect("the server answers a hello in time");
            match message.expect("the server answers a hello") {
                ServerMessage::Welcome(welcome) => return Ok(Player { client, welcome, early }),
                ServerMessage::Error(notice) => return Err(notice),
                message => early.push_back(message),
            }
        }
    }

    /// The next message, whatever it is.
    pub async fn next(&mut self) -> Result<ServerMessage, ConnectionError> {
        match self.early.pop_front() {
            Some(message) => Ok(message),
            None => self.client.next_message().await,
        }
    }

    /// Waits for the message that the test wants, and passes over the others.
    ///
    /// # Panics
    /// If it does not come in time, or the connection ends first.
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
        timeout(DEADLINE, found).await.unwrap_or_else(|_| panic!("{what} did not come in time"))
    }

    /// Waits for the entity that the player steers.
    pub async fn possession(&mut self) -> EntityId {
        self.wait("a possession", |message| match message {
            ServerMessage::Possession(possession) => Some(possession.entity),
            _ => None,
        })
        .await
    }

    /// Waits for the answer to a numbered command: the refusal, if it was refused.
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
    /// If the connection is gone.
    pub async fn send(&mut self, message: ClientMessage) {
        self.client.send(&message).await.expect("the connection is open");
    }

    /// Sends text or bytes as one message.
    ///
    /// # Panics
    /// If the connection is gone.
    pub async fn send_frame(&mut self, frame: impl AsRef<[u8]>) {
        self.client.send_frame(DeliveryPath::Reliable, frame.as_ref()).await.expect("the connection is open");
    }

    /// Reads for a while, so that nothing waits.
    pub async fn read_for(&mut self, time: Duration) {
        let _ = timeout(time, async { while self.next().await.is_ok() {} }).await;
    }

    /// Reads to the end of the connection.
    pub async fn end(mut self) -> End {
        End::of(&mut self.client).await
    }

    /// The token to come back with.
    ///
    /// # Panics
    /// If the room gave none.
    #[must_use]
    pub fn resume_token(&self) -> Token {
        self.welcome.resume_token.clone().expect("the room allows resuming")
    }

    /// The hello by which this player comes back.
    #[must_use]
    pub fn comeback(&self) -> Hello {
        Hello { resume_token: Some(self.resume_token()), ..Hello::default() }
    }
}
