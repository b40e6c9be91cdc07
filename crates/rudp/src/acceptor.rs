//! Server's side of the handshake.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use crate::challenge::{self, Claim};
use crate::connection::{Connection, Parts};
use crate::connection_id::ConnectionId;
use crate::drop_reason::DropReason;
use crate::handshake::{Accept, Opening, Response, write_challenge};
use crate::key_exchange::KeyPair;
use crate::limits::DATAGRAM_BYTES_MAX;
use crate::packet::{Kind, Side};
use crate::settings::Settings;
use crate::token::{OpenedToken, TokenKey};
use crate::used_tokens::{TokenUse, UsedTokens};

/// Server's side of the handshake, shared by the threads of a server.
///
/// Until a client has proven its address and its token, nothing is stored and nothing is allocated for it.
pub struct Acceptor {
    key: Arc<TokenKey>,
    settings: Settings,
    random: SystemRandom,
    cookies: hmac::Key,
    used: Mutex<UsedTokens>,
}

/// Outcome of a datagram of the handshake.
#[derive(Debug)]
pub enum Handshake {
    /// Nothing is to be sent.
    Dropped(DropReason),
    /// The answer is to be sent to the sender.
    Answered,
    /// The answer is to be sent to the sender, who has a connection now.
    Accepted(Box<Accepted>),
}

/// A client that was accepted.
#[derive(Debug)]
pub struct Accepted {
    /// Connection to the client.
    pub connection: Connection,
    /// Account of the token.
    pub account: String,
}

/// Origin of a datagram.
#[derive(Clone, Copy)]
struct Origin {
    now: Duration,
    unix_seconds: u64,
    from: SocketAddr,
    socket: u8,
}

impl Acceptor {
    /// Creates the acceptor of a server's start.
    ///
    /// # Panics
    /// Panics if the system has no randomness.
    pub fn new(key: Arc<TokenKey>, settings: Settings) -> Acceptor {
        let random = SystemRandom::new();
        let cookies = hmac::Key::generate(hmac::HMAC_SHA256, &random);
        let cookies = cookies.expect("a system without randomness could not have made the token key");
        Acceptor { key, settings, random, cookies, used: Mutex::default() }
    }

    /// Handles a datagram that belongs to no connection. `answer` is cleared and filled if something is to be sent to
    /// `from`; it is always shorter than the datagram. `socket` becomes the highest byte of the connection's identifier.
    #[expect(clippy::too_many_arguments, reason = "two clocks, two ends and two buffers, each from another owner")]
    pub fn handle(
        &self,
        now: Duration,
        unix_seconds: u64,
        from: SocketAddr,
        socket: u8,
        datagram: &[u8],
        answer: &mut Vec<u8>,
    ) -> Handshake {
        answer.clear();
        let origin = Origin { now, unix_seconds, from, socket };
        let outcome = match datagram {
            [] => Err(DropReason::TooShort),
            _ if datagram.len() > DATAGRAM_BYTES_MAX => Err(DropReason::TooLong),
            [first, ..] => match Kind::of(*first) {
                Some(Kind::Request) => self.challenge(origin, datagram, answer),
                Some(Kind::Response) => self.accept(origin, datagram, answer),
                _ => Err(DropReason::Unknown),
            },
        };
        outcome.unwrap_or_else(Handshake::Dropped)
    }

    /// Number of used tokens that are remembered.
    pub fn used_tokens(&self) -> usize {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn challenge(&self, origin: Origin, datagram: &[u8], answer: &mut Vec<u8>) -> Result<Handshake, DropReason> {
        let opening = Opening::read_request(datagram)?;
        let token = self.open(origin, opening)?;
        let claim = Claim { from: origin.from, token: &token.id, public: opening.public };
        write_challenge(&challenge::cookie(&self.cookies, origin.now, claim), answer);
        Ok(Handshake::Answered)
    }

    fn accept(&self, origin: Origin, datagram: &[u8], answer: &mut Vec<u8>) -> Result<Handshake, DropReason> {
        let response = Response::read(datagram)?;
        let token = self.open(origin, response.opening)?;
        let claim = Claim { from: origin.from, token: &token.id, public: response.opening.public };
        if !challenge::is_valid(&self.cookies, origin.now, claim, response.cookie) {
            return Err(DropReason::BadCookie);
        }
        if !response.is_signed(&token.secret) {
            return Err(DropReason::BadToken);
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.expire(origin.unix_seconds);
        if let Some(earlier) = used.get(&token.id) {
            if earlier.from != origin.from || earlier.public != *response.opening.public {
                return Err(DropReason::UsedToken);
            }
            answer.extend_from_slice(&earlier.accept);
            return Ok(Handshake::Answered);
        }
        if used.is_full() {
            return Err(DropReason::TooManyTokens);
        }
        self.connect(origin, &response, token, &mut used, answer)
    }

    /// Makes the connection. The lock is held, so that two threads cannot use a token at the same time.
    fn connect(
        &self,
        origin: Origin,
        response: &Response<'_>,
        token: OpenedToken,
        used: &mut UsedTokens,
        answer: &mut Vec<u8>,
    ) -> Result<Handshake, DropReason> {
        let client = response.opening.public;
        let own = KeyPair::new(&self.random).map_err(|_| DropReason::BadKey)?;
        let mut random = [0; 8];
        self.random.fill(&mut random).map_err(|_| DropReason::BadKey)?;
        let accept = Accept { id: ConnectionId::new(origin.socket, u64::from_be_bytes(random)), public: own.public };
        let keys = own.agree(client, &token.secret, client).ok_or(DropReason::BadKey)?;
        let bytes = accept.to_bytes(client, &token.secret);
        answer.extend_from_slice(&bytes);
        used.insert(token.id, token.expires, TokenUse { from: origin.from, public: *client, accept: bytes });
        let parts = Parts { side: Side::Server, id: accept.id, peer: origin.from, keys };
        let connection = Connection::new(origin.now, parts, self.settings);
        Ok(Handshake::Accepted(Box::new(Accepted { connection, account: token.account() })))
    }

    fn open(&self, origin: Origin, opening: Opening<'_>) -> Result<OpenedToken, DropReason> {
        let token = self.key.open(opening.sealed).ok_or(DropReason::BadToken)?;
        if token.expires <= origin.unix_seconds { Err(DropReason::ExpiredToken) } else { Ok(token) }
    }
}

impl fmt::Debug for Acceptor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Acceptor").field("settings", &self.settings).finish_non_exhaustive()
    }
}
