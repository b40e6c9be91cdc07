//! A server of many clients on one socket and one thread.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use aether_rudp::{
    self as rudp, Channel, CloseCause, ConnectToken, ConnectionId, ConnectionState, Handshake, SendError,
};

use crate::client_slab::{ClientSlab, UdpClientId};
use crate::clock::{Clock, unix_seconds};
use crate::message_queue::MessageQueue;
use crate::timer_wheel::TimerWheel;
use crate::{BatchSocket, SendBatch, UdpServerSettings, UdpServerStats};

/// Receive calls of one poll, so that a flood does not keep the caller from its other work.
const RECEIVES_PER_POLL_MAX: usize = 32;

/// Datagrams of one client in one turn, so that clients take turns.
const DATAGRAMS_PER_TURN_MAX: usize = 64;

/// Datagrams that may wait for the system. While there are more, clients wait instead.
const WAITING_DATAGRAMS_MAX: usize = 4_096;

/// Datagrams that are collected before they are handed to the system. More would fall out of the cache.
const FLUSH_DATAGRAMS: usize = 256;

/// A server of many clients on one socket and one thread.
///
/// Call [`poll`](UdpServer::poll) in a loop, take what came with [`accept`](UdpServer::accept),
/// [`receive`](UdpServer::receive) and [`closed`](UdpServer::closed), send, and hand it over with
/// [`flush`](UdpServer::flush).
pub struct UdpServer {
    socket: BatchSocket,
    clock: Clock,
    acceptor: rudp::Acceptor,
    key: Arc<rudp::TokenKey>,
    settings: UdpServerSettings,
    clients: ClientSlab<ServerClient>,
    by_connection: HashMap<ConnectionId, UdpClientId>,
    timers: TimerWheel,
    /// Places of clients that may have something to send.
    ready: Vec<u32>,
    /// Emptied `ready`, kept for its memory.
    spare: Vec<u32>,
    accepted: VecDeque<(UdpClientId, String)>,
    closed: VecDeque<(UdpClientId, CloseCause)>,
    messages: MessageQueue<UdpClientId>,
    batch: SendBatch,
    /// Answer to a handshake, kept for its memory.
    answer: Vec<u8>,
    stats: UdpServerStats,
}

struct ServerClient {
    connection: rudp::Connection,
    account: String,
    /// True while the client's place is in `ready`.
    is_ready: bool,
}

impl UdpServer {
    /// Code with which a client is closed that connects to a server without a free place.
    pub const FULL_CODE: u16 = u16::MAX;

    /// Binds a server. Port 0 lets the system choose.
    ///
    /// Only tokens issued with this key are accepted. A new key for each start of a server makes tokens of earlier
    /// starts worthless.
    pub fn bind(address: SocketAddr, key: Arc<rudp::TokenKey>, settings: UdpServerSettings) -> io::Result<UdpServer> {
        Ok(UdpServer {
            socket: BatchSocket::bind(address, settings.socket)?,
            clock: Clock::start(),
            acceptor: rudp::Acceptor::new(key.clone(), settings.connection),
            key,
            settings,
            clients: ClientSlab::new(),
            by_connection: HashMap::new(),
            timers: TimerWheel::new(),
            ready: Vec::new(),
            spare: Vec::new(),
            accepted: VecDeque::new(),
            closed: VecDeque::new(),
            messages: MessageQueue::new(),
            batch: SendBatch::new(),
            answer: Vec::new(),
            stats: UdpServerStats::default(),
        })
    }

    /// Address that the server is bound to.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Issues a token with which one client can connect once, as this account, until the time is over. Give it to the
    /// client over a path that is already safe, such as HTTPS.
    pub fn issue_token(&self, account: &str, valid_for: Duration) -> Result<ConnectToken, rudp::RandomError> {
        let expires = unix_seconds().saturating_add(valid_for.as_secs());
        self.key.issue(&rudp::TokenGrant { account: account.to_owned(), expires })
    }

    /// Sends what is due, waits for datagrams for at most `timeout`, and handles them.
    ///
    /// Acknowledgements of what came leave at the next call, so that answers of the caller share their packets.
    pub fn poll(&mut self, timeout: Duration) -> io::Result<()> {
        self.flush()?;
        if self.socket.wait(self.time_to_wait(timeout))? {
            self.receive_datagrams()?;
        }
        Ok(())
    }

    /// Sends what is due, without waiting for anything.
    pub fn flush(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        let mut due = std::mem::take(&mut self.spare);
        self.timers.take_due(now, &mut due);
        for index in due.drain(..) {
            self.mark_ready(index);
        }
        std::mem::swap(&mut self.ready, &mut due);
        for index in due.drain(..) {
            self.transmit(index, now)?;
        }
        self.spare = due;
        self.hand_over()
    }

    /// Next client that has connected, with the account of its token.
    pub fn accept(&mut self) -> Option<(UdpClientId, String)> {
        self.accepted.pop_front()
    }

    /// Moves the next received message into `message` and returns its sender and channel.
    pub fn receive(&mut self, message: &mut Vec<u8>) -> Option<(UdpClientId, Channel)> {
        self.messages.pop(message)
    }

    /// Next client whose connection has ended, with the cause. Messages received before may still wait.
    pub fn closed(&mut self) -> Option<(UdpClientId, CloseCause)> {
        self.closed.pop_front()
    }

    /// Queues a message for a client. It leaves at the next [`flush`](UdpServer::flush) or [`poll`](UdpServer::poll).
    pub fn send(&mut self, client: UdpClientId, channel: Channel, message: &[u8]) -> Result<(), SendError> {
        self.clients.get_mut(client).ok_or(SendError::Closed)?.connection.send(channel, message)?;
        self.mark_ready(client.index);
        Ok(())
    }

    /// Closes the connection of a client with a code. What was sent before is still delivered.
    pub fn disconnect(&mut self, client: UdpClientId, code: u16) {
        if let Some(found) = self.clients.get_mut(client) {
            found.connection.close(code);
            self.mark_ready(client.index);
        }
    }

    /// Account of a connected client.
    pub fn account(&self, client: UdpClientId) -> Option<&str> {
        self.clients.get(client).map(|client| client.account.as_str())
    }

    /// Current address of a connected client.
    pub fn peer(&self, client: UdpClientId) -> Option<SocketAddr> {
        self.clients.get(client).map(|client| client.connection.peer())
    }

    /// Figures of the connection of a client.
    pub fn connection_stats(&self, client: UdpClientId) -> Option<rudp::ConnectionStats> {
        self.clients.get(client).map(|client| client.connection.stats())
    }

    /// Connected clients.
    pub fn clients(&self) -> impl Iterator<Item = UdpClientId> + '_ {
        self.clients.ids()
    }

    /// Figures of the server.
    pub fn stats(&self) -> UdpServerStats {
        UdpServerStats { clients: self.clients.len(), ..self.stats.clone() }
    }

    fn time_to_wait(&self, timeout: Duration) -> Duration {
        let is_waited_for = !self.messages.is_empty() || !self.accepted.is_empty() || !self.closed.is_empty();
        if is_waited_for || !self.ready.is_empty() {
            return Duration::ZERO;
        }
        let due = self.timers.next().map(|at| at.saturating_sub(self.clock.now()));
        due.map_or(timeout, |due| due.min(timeout))
    }

    fn receive_datagrams(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        let unix = unix_seconds();
        self.messages.compact();
        for _ in 0..RECEIVES_PER_POLL_MAX {
            if self.messages.waiting_bytes() > self.settings.waiting_bytes_max {
                return Ok(());
            }
            let mut turn = Turn {
                now,
                unix,
                acceptor: &self.acceptor,
                settings: &self.settings,
                clients: &mut self.clients,
                by_connection: &mut self.by_connection,
                ready: &mut self.ready,
                accepted: &mut self.accepted,
                messages: &mut self.messages,
                batch: &mut self.batch,
                answer: &mut self.answer,
                stats: &mut self.stats,
            };
            match self.socket.recv_batch(&mut |from, datagram| turn.handle(from, datagram)) {
                Ok(_) if self.socket.is_drained() => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
            if self.batch.len() >= FLUSH_DATAGRAMS {
                self.hand_over()?;
            }
        }
        Ok(())
    }

    fn mark_ready(&mut self, index: u32) {
        if let Some((_, client)) = self.clients.at(index)
            && !client.is_ready
        {
            client.is_ready = true;
            self.ready.push(index);
        }
    }

    /// Collects the datagrams of a client that are due, and sets its timer.
    fn transmit(&mut self, index: u32, now: Duration) -> io::Result<()> {
        let Some((id, client)) = self.clients.at(index) else { return Ok(()) };
        client.is_ready = false;
        let is_blocked = self.batch.len() >= WAITING_DATAGRAMS_MAX;
        let turns = if is_blocked { 0 } else { DATAGRAMS_PER_TURN_MAX };
        let mut is_done = false;
        for _ in 0..turns {
            let Some(to) = client.connection.poll_transmit(now, self.batch.begin()) else {
                is_done = true;
                break;
            };
            self.batch.finish(to);
        }
        if let ConnectionState::Closed(cause) = client.connection.state() {
            self.by_connection.remove(&client.connection.id());
            self.clients.remove(id);
            self.timers.remove(index);
            self.closed.push_back((id, cause));
        } else if !is_done {
            self.mark_ready(index);
        } else if let Some(at) = client.connection.next_timeout() {
            self.timers.set_at_latest(index, at);
        }
        if self.batch.len() >= FLUSH_DATAGRAMS && !is_blocked { self.hand_over() } else { Ok(()) }
    }

    /// Hands the collected datagrams to the system, as far as it takes them.
    fn hand_over(&mut self) -> io::Result<()> {
        let (datagrams, bytes) = (self.batch.len(), self.batch.bytes());
        let outcome = self.batch.flush(&self.socket);
        self.stats.datagrams_out += (datagrams - self.batch.len()) as u64;
        self.stats.bytes_out += (bytes - self.batch.bytes()) as u64;
        match outcome {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }
}

/// The server without its socket, while datagrams are received.
struct Turn<'a> {
    now: Duration,
    unix: u64,
    acceptor: &'a rudp::Acceptor,
    settings: &'a UdpServerSettings,
    clients: &'a mut ClientSlab<ServerClient>,
    by_connection: &'a mut HashMap<ConnectionId, UdpClientId>,
    ready: &'a mut Vec<u32>,
    accepted: &'a mut VecDeque<(UdpClientId, String)>,
    messages: &'a mut MessageQueue<UdpClientId>,
    batch: &'a mut SendBatch,
    answer: &'a mut Vec<u8>,
    stats: &'a mut UdpServerStats,
}

impl Turn<'_> {
    fn handle(&mut self, from: SocketAddr, datagram: &mut [u8]) {
        self.stats.datagrams_in += 1;
        self.stats.bytes_in += datagram.len() as u64;
        let known = ConnectionId::of(datagram).and_then(|id| self.by_connection.get(&id).copied());
        match known.and_then(|id| self.clients.get_mut(id).map(|client| (id, client))) {
            None => self.shake_hands(from, datagram),
            Some((id, client)) => {
                let messages = &mut *self.messages;
                let mut take = |channel, message: &[u8]| messages.push(id, channel, message);
                if let Err(reason) = client.connection.handle(self.now, from, datagram, &mut take) {
                    self.stats.count_dropped(reason);
                }
                if !client.is_ready {
                    client.is_ready = true;
                    self.ready.push(id.index);
                }
            }
        }
    }

    fn shake_hands(&mut self, from: SocketAddr, datagram: &[u8]) {
        // A client whose answer is dropped asks again.
        if self.batch.len() >= WAITING_DATAGRAMS_MAX {
            return;
        }
        match self.acceptor.handle(self.now, self.unix, from, 0, datagram, self.answer) {
            Handshake::Dropped(reason) => return self.stats.count_dropped(reason),
            Handshake::Answered => self.batch.push(self.answer, from),
            Handshake::Accepted(accepted) => {
                self.batch.push(self.answer, from);
                self.admit(*accepted);
            }
        }
    }

    fn admit(&mut self, accepted: rudp::Accepted) {
        let rudp::Accepted { mut connection, account } = accepted;
        if self.clients.len() >= self.settings.clients_max {
            self.stats.count_full();
            connection.close(UdpServer::FULL_CODE);
            if let Some(to) = connection.poll_transmit(self.now, self.batch.begin()) {
                self.batch.finish(to);
            }
            return;
        }
        let connection_id = connection.id();
        let id = self.clients.insert(ServerClient { connection, account: account.clone(), is_ready: true });
        self.by_connection.insert(connection_id, id);
        self.ready.push(id.index);
        self.accepted.push_back((id, account));
        self.stats.accepted += 1;
    }
}
