//! A blocking client of one server.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use aether_rudp::{self as rudp, Channel, CloseCause, ConnectToken, ConnectionState, SendError};

use crate::clock::Clock;
use crate::message_queue::MessageQueue;
use crate::{BatchSocket, SendBatch, SocketOptions};

/// Datagrams sent in one turn.
const DATAGRAMS_PER_TURN_MAX: usize = 64;

/// Bytes of received messages that may wait. Beyond it no datagrams are read until messages are taken.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// A blocking client of one server.
///
/// It has no thread of its own: acknowledgements, resends and keep-alives happen while [`receive`](UdpClient::receive) or
/// [`flush`](UdpClient::flush) runs. Call one of them several times a second.
pub struct UdpClient {
    socket: BatchSocket,
    clock: Clock,
    client: rudp::Client,
    messages: MessageQueue<()>,
    batch: SendBatch,
    dropped: u64,
}

impl UdpClient {
    /// Connects to a server with a token that it issued. Blocks until the connection stands, or fails within the connect
    /// time of the default settings.
    pub fn connect(server: SocketAddr, token: &ConnectToken) -> Result<UdpClient, UdpConnectError> {
        UdpClient::connect_with(server, token, rudp::Settings::default())
    }

    /// Connects with other settings.
    pub fn connect_with(
        server: SocketAddr,
        token: &ConnectToken,
        settings: rudp::Settings,
    ) -> Result<UdpClient, UdpConnectError> {
        let mut client = UdpClient::begin(server, token, settings)?;
        loop {
            match client.state() {
                ConnectionState::Connecting => client.turn(settings.connect).map_err(UdpConnectError::Socket)?,
                ConnectionState::Closed(cause) => return Err(UdpConnectError::Refused(cause)),
                ConnectionState::Open | ConnectionState::Closing => return Ok(client),
            }
        }
    }

    /// Begins to connect and returns at once. The handshake goes on in [`receive`](UdpClient::receive); look at
    /// [`state`](UdpClient::state) for its outcome.
    pub fn begin(
        server: SocketAddr,
        token: &ConnectToken,
        settings: rudp::Settings,
    ) -> Result<UdpClient, UdpConnectError> {
        let clock = Clock::start();
        let socket = bind_for(server).map_err(UdpConnectError::Socket)?;
        let client = rudp::Client::new(clock.now(), server, token, settings).map_err(UdpConnectError::Random)?;
        let mut client =
            UdpClient { socket, clock, client, messages: MessageQueue::new(), batch: SendBatch::new(), dropped: 0 };
        client.flush().map_err(UdpConnectError::Socket)?;
        Ok(client)
    }

    /// Queues a message. It leaves at the next [`flush`](UdpClient::flush) or [`receive`](UdpClient::receive), together
    /// with others that fit into its packet.
    pub fn send(&mut self, channel: Channel, message: &[u8]) -> Result<(), SendError> {
        self.client.send(channel, message)
    }

    /// Sends what is due, without waiting for anything.
    pub fn flush(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        for _ in 0..DATAGRAMS_PER_TURN_MAX {
            let Some(to) = self.client.poll_transmit(now, self.batch.begin()) else { break };
            self.batch.finish(to);
        }
        match self.batch.flush(&self.socket) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    /// Moves the next message into `message` and returns its channel. Waits for at most `timeout`; returns none if no
    /// message came, or if the connection has ended: see [`state`](UdpClient::state).
    pub fn receive(&mut self, timeout: Duration, message: &mut Vec<u8>) -> io::Result<Option<Channel>> {
        let end = self.clock.now().saturating_add(timeout);
        loop {
            if let Some(((), channel)) = self.messages.pop(message) {
                return Ok(Some(channel));
            }
            let is_over = matches!(self.state(), ConnectionState::Closed(_));
            let left = end.saturating_sub(self.clock.now());
            self.turn(if is_over { Duration::ZERO } else { left })?;
            if self.messages.is_empty() && (is_over || left.is_zero()) {
                return Ok(None);
            }
        }
    }

    /// Closes the connection with a code and waits until the server has been informed, for at most `timeout`. Messages
    /// sent before are still delivered.
    pub fn close(mut self, code: u16, timeout: Duration) -> io::Result<()> {
        self.client.close(code);
        let end = self.clock.now().saturating_add(timeout);
        while !matches!(self.state(), ConnectionState::Closed(_)) {
            let left = end.saturating_sub(self.clock.now());
            self.turn(left)?;
            if left.is_zero() {
                break;
            }
        }
        Ok(())
    }

    /// Goes on with another local port, as after a change of the network. The server follows once the new address has
    /// proven itself.
    pub fn rebind(&mut self) -> io::Result<()> {
        self.socket = bind_for(self.socket.local_addr()?)?;
        Ok(())
    }

    /// State of the connection.
    pub fn state(&self) -> ConnectionState {
        self.client.state()
    }

    /// Figures of the connection; none before it stands.
    pub fn stats(&self) -> Option<rudp::ConnectionStats> {
        self.client.connection().map(rudp::Connection::stats)
    }

    /// Local address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Number of datagrams that were dropped, such as altered or repeated ones.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Sends what is due, waits for datagrams or for the next timer, and handles what came. Acknowledgements leave at the
    /// next call, so that answers of the caller share their packets.
    fn turn(&mut self, timeout: Duration) -> io::Result<()> {
        self.flush()?;
        let now = self.clock.now();
        let due = self.client.next_timeout().map(|at| at.saturating_sub(now));
        if self.socket.wait(due.map_or(timeout, |due| due.min(timeout)))? {
            self.handle_datagrams()?;
        }
        Ok(())
    }

    fn handle_datagrams(&mut self) -> io::Result<()> {
        if self.messages.waiting_bytes() > WAITING_BYTES_MAX {
            return Ok(());
        }
        let now = self.clock.now();
        let UdpClient { socket, client, messages, dropped, .. } = self;
        let received = socket.recv_batch(&mut |from, datagram| {
            let mut take = |channel, message: &[u8]| messages.push((), channel, message);
            *dropped += u64::from(client.handle(now, from, datagram, &mut take).is_err());
        });
        match received {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }
}

/// Reason why a client could not connect.
#[derive(Debug)]
pub enum UdpConnectError {
    /// The system refused the socket or a call.
    Socket(io::Error),
    /// The system has no randomness.
    Random(rudp::RandomError),
    /// The server did not answer in time, or ended the connection at once.
    Refused(CloseCause),
}

impl fmt::Display for UdpConnectError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UdpConnectError::Socket(error) => write!(formatter, "the socket failed: {error}"),
            UdpConnectError::Random(error) => write!(formatter, "no randomness: {error}"),
            UdpConnectError::Refused(CloseCause::TimedOut) => formatter.write_str(
                "the server did not answer in time; check its address, and that the token is new and from this start of it",
            ),
            UdpConnectError::Refused(cause) => write!(formatter, "the server ended the connection at once: {cause:?}"),
        }
    }
}

impl std::error::Error for UdpConnectError {}

/// Binds a socket of the address family of `peer`, with any port.
fn bind_for(peer: SocketAddr) -> io::Result<BatchSocket> {
    let any = if peer.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    BatchSocket::bind(SocketAddr::new(any, 0), SocketOptions::client())
}
