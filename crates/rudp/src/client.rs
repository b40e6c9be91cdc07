//! Client's side: the handshake, then a connection.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use ring::rand::SystemRandom;

use crate::challenge::Cookie;
use crate::channel::{Channel, SendError};
use crate::connection::{Connection, Parts};
use crate::drop_reason::DropReason;
use crate::handshake::{Accept, Opening, read_challenge};
use crate::key_exchange::KeyPair;
use crate::packet::{Kind, Side};
use crate::settings::Settings;
use crate::state::{CloseCause, ConnectionState};
use crate::token::{ConnectToken, RandomError};

/// Wait before a packet of the handshake is repeated the first time. It doubles up to [`RETRY_MAX`].
const RETRY_MIN: Duration = Duration::from_millis(100);

/// Longest wait before a packet of the handshake is repeated.
const RETRY_MAX: Duration = Duration::from_millis(800);

/// Number of responses without an answer after which the client asks for a new challenge.
const RESPONSES_MAX: u32 = 4;

/// Client's side of a connection: the handshake, then a [`Connection`].
pub struct Client {
    server: SocketAddr,
    settings: Settings,
    stage: Stage,
}

enum Stage {
    Connecting(Box<Connecting>),
    Connected(Box<Connection>),
    Failed(CloseCause),
}

/// Handshake under way.
struct Connecting {
    token: ConnectToken,
    keys: KeyPair,
    /// Challenge of the server, once it has come.
    cookie: Option<Cookie>,
    /// Packets sent since the last step of the handshake.
    attempts: u32,
    next_attempt: Duration,
    deadline: Duration,
    /// Messages that were sent before the connection is open.
    early: Vec<(Channel, Vec<u8>)>,
    early_bytes: usize,
}

impl Client {
    /// Begins to connect to a server.
    ///
    /// # Errors
    /// Fails if the system has no randomness.
    pub fn new(
        now: Duration,
        server: SocketAddr,
        token: &ConnectToken,
        settings: Settings,
    ) -> Result<Client, RandomError> {
        let connecting = Connecting {
            token: token.clone(),
            keys: KeyPair::new(&SystemRandom::new())?,
            cookie: None,
            attempts: 0,
            next_attempt: now,
            deadline: now + settings.connect,
            early: Vec::new(),
            early_bytes: 0,
        };
        Ok(Client { server, settings, stage: Stage::Connecting(Box::new(connecting)) })
    }

    /// Connection, once the server has accepted.
    pub fn connection(&self) -> Option<&Connection> {
        match &self.stage {
            Stage::Connected(connection) => Some(connection),
            Stage::Connecting(_) | Stage::Failed(_) => None,
        }
    }

    /// State of the handshake or the connection.
    pub fn state(&self) -> ConnectionState {
        match &self.stage {
            Stage::Connecting(_) => ConnectionState::Connecting,
            Stage::Connected(connection) => connection.state(),
            Stage::Failed(cause) => ConnectionState::Closed(*cause),
        }
    }

    /// Queues a message, also before the connection is open.
    ///
    /// # Errors
    /// Fails if the message is too long, the queue is full, or the connection is closed.
    pub fn send(&mut self, channel: Channel, message: &[u8]) -> Result<(), SendError> {
        match &mut self.stage {
            Stage::Connected(connection) => connection.send(channel, message),
            Stage::Connecting(connecting) => connecting.keep(channel, message, self.settings.queue_bytes_max),
            Stage::Failed(_) => Err(SendError::Closed),
        }
    }

    /// Opens a datagram in place and passes every message to `take`.
    ///
    /// # Errors
    /// Returns the reason if the datagram was dropped.
    pub fn handle(
        &mut self,
        now: Duration,
        from: SocketAddr,
        datagram: &mut [u8],
        take: &mut dyn FnMut(Channel, &[u8]),
    ) -> Result<(), DropReason> {
        if let Stage::Connected(connection) = &mut self.stage {
            return connection.handle(now, from, datagram, take);
        }
        if from != self.server {
            return Err(DropReason::OtherAddress);
        }
        let first = *datagram.first().ok_or(DropReason::TooShort)?;
        match (std::mem::replace(&mut self.stage, Stage::Failed(CloseCause::Local)), Kind::of(first)) {
            (Stage::Connecting(connecting), Some(Kind::Accept)) => self.connect(now, connecting, datagram),
            (Stage::Connecting(mut connecting), Some(Kind::Challenge)) => {
                let outcome = connecting.challenged(now, datagram);
                self.stage = Stage::Connecting(connecting);
                outcome
            }
            (stage, _) => {
                self.stage = stage;
                Err(DropReason::Unknown)
            }
        }
    }

    /// Writes the next datagram to the end of `out` and returns its destination. `None` if nothing is due.
    pub fn poll_transmit(&mut self, now: Duration, out: &mut Vec<u8>) -> Option<SocketAddr> {
        match &mut self.stage {
            Stage::Connected(connection) => connection.poll_transmit(now, out),
            Stage::Failed(_) => None,
            Stage::Connecting(connecting) if now >= connecting.deadline => {
                self.stage = Stage::Failed(CloseCause::TimedOut);
                None
            }
            Stage::Connecting(connecting) => connecting.poll_transmit(now, out).then_some(self.server),
        }
    }

    /// Time at which `poll_transmit` may have something.
    pub fn next_timeout(&self) -> Option<Duration> {
        match &self.stage {
            Stage::Connected(connection) => connection.next_timeout(),
            Stage::Connecting(connecting) => Some(connecting.next_attempt.min(connecting.deadline)),
            Stage::Failed(_) => None,
        }
    }

    /// Closes the connection. The peer receives the code, after the reliable messages sent before.
    pub fn close(&mut self, code: u16) {
        match &mut self.stage {
            Stage::Connected(connection) => connection.close(code),
            Stage::Connecting(_) => self.stage = Stage::Failed(CloseCause::Local),
            Stage::Failed(_) => {}
        }
    }

    fn connect(&mut self, now: Duration, connecting: Box<Connecting>, datagram: &[u8]) -> Result<(), DropReason> {
        let accept = match Accept::read(datagram, &connecting.keys.public, &connecting.token.secret) {
            Ok(accept) => accept,
            Err(reason) => {
                self.stage = Stage::Connecting(connecting);
                return Err(reason);
            }
        };
        let Connecting { token, keys, early, .. } = *connecting;
        let public = keys.public;
        let keys = keys.agree(&accept.public, &token.secret, &public).ok_or(DropReason::BadKey)?;
        let parts = Parts { side: Side::Client, id: accept.id, peer: self.server, keys };
        let mut connection = Connection::new(now, parts, self.settings);
        for (channel, message) in early {
            // It fits: the bytes were counted with the same limit.
            let _ = connection.send(channel, &message);
        }
        connection.ping();
        self.stage = Stage::Connected(Box::new(connection));
        Ok(())
    }
}

impl Connecting {
    fn opening(&self) -> Opening<'_> {
        Opening { sealed: &self.token.sealed, public: &self.keys.public }
    }

    fn challenged(&mut self, now: Duration, datagram: &[u8]) -> Result<(), DropReason> {
        let cookie = read_challenge(datagram)?;
        // Only the first challenge counts until responses to it have failed, so forged ones delay but do not prevent.
        if self.cookie.is_none() {
            self.cookie = Some(cookie);
            self.attempts = 0;
            self.next_attempt = now;
        }
        Ok(())
    }

    fn poll_transmit(&mut self, now: Duration, out: &mut Vec<u8>) -> bool {
        if now < self.next_attempt {
            return false;
        }
        if self.attempts >= RESPONSES_MAX {
            self.cookie = None;
        }
        match self.cookie {
            Some(cookie) => self.opening().write_response(&cookie, &self.token.secret, out),
            None => self.opening().write_request(out),
        }
        self.next_attempt = now + (RETRY_MIN * (1 << self.attempts.min(8))).min(RETRY_MAX);
        self.attempts += 1;
        true
    }

    fn keep(&mut self, channel: Channel, message: &[u8], bytes_max: usize) -> Result<(), SendError> {
        channel.check_length(message.len())?;
        if self.early_bytes + message.len() > bytes_max {
            return Err(SendError::QueueFull);
        }
        self.early_bytes += message.len();
        self.early.push((channel, message.to_vec()));
        Ok(())
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("Client");
        debug.field("server", &self.server).field("state", &self.state()).finish_non_exhaustive()
    }
}
