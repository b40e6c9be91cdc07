//! Reliable UDP transport: reliable messages on the ordered channel, unreliable ones on the unreliable channel.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use aether_framing::websocket::codec::ProtocolError;
use aether_rudp as rudp;
use aether_rudp::{Channel, CloseCause, ConnectToken, ConnectionState, DATAGRAM_BYTES_MAX, SendError};
use aether_wire::{DeliveryPath, Encoding, Token};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until, timeout};

use crate::address::ServerAddress;
use crate::connector::Connector;
use crate::error::ConnectionError;
use crate::http::HttpError;
use crate::transport::{ClientTransport, TakeMessage, TransportKind};
use crate::transport_stats::TransportStats;
use crate::webtransport::local_address;

/// Longest handshake: a few repeated packets over a slow network. In a network without UDP, the next transport has its
/// turn after this time.
const CONNECT_TIME_MAX: Duration = Duration::from_millis(2_500);

/// Longest wait for the close to be delivered.
const END_TIME_MAX: Duration = Duration::from_secs(1);

/// Datagrams that are read before messages are passed on.
const DATAGRAMS_AT_ONCE: usize = 64;

/// Bytes of messages that arrived while messages were sent and wait for the next receive.
const RECEIVED_BYTES_MAX: usize = 4 << 20;

/// Close code of a client, as on WebTransport.
const CLOSE_CODE: u16 = 0;

/// Client side of a connection over reliable UDP.
pub(crate) struct UdpTransport {
    socket: UdpSocket,
    client: rudp::Client,
    started: Instant,
    /// Datagram that the system has not accepted yet, and where it goes.
    unsent: Option<(Vec<u8>, SocketAddr)>,
    /// Raw bytes, which are sent as a datagram.
    raw: Vec<u8>,
    server: SocketAddr,
    /// Messages that arrived while messages were sent.
    received: VecDeque<Vec<u8>>,
    received_bytes: usize,
}

impl UdpTransport {
    /// Gets a connect token for the account of a token, and connects.
    pub(crate) async fn open(connector: &Connector, token: Option<&Token>) -> Result<Self, ConnectionError> {
        if connector.message_encoding() != Encoding::Protobuf {
            return Err(ConnectionError::NotOffered(TransportKind::Udp));
        }
        let token = token.ok_or_else(|| ConnectionError::NoToken("UDP needs the token of the hello".to_owned()))?;
        let grant = connector.udp_grant(token).await.map_err(|error| match error {
            ConnectionError::Http(HttpError::Status(401)) => ConnectionError::TokenRejected,
            ConnectionError::Http(HttpError::Status(404)) => ConnectionError::NotOffered(TransportKind::Udp),
            other => other,
        })?;
        let connect_token = BASE64URL.decode(&grant.token).ok();
        let connect_token = connect_token.and_then(|bytes| ConnectToken::from_bytes(&bytes).ok());
        let connect_token = connect_token.ok_or(HttpError::Malformed)?;
        let address = ServerAddress::of_url(&format!("http://{}", grant.address))?;
        let resolved = connector.resolve(&address).await?;
        let server = *resolved.first().ok_or(ConnectionError::NotOffered(TransportKind::Udp))?;
        Self::connect(server, &connect_token).await
    }

    async fn connect(server: SocketAddr, token: &ConnectToken) -> Result<Self, ConnectionError> {
        // Not connected, so that the system may choose another interface when the network changes.
        let socket = UdpSocket::bind(local_address(server)).await?;
        let settings = rudp::Settings { connect: CONNECT_TIME_MAX, ..rudp::Settings::default() };
        let client = rudp::Client::new(Duration::ZERO, server, token, settings);
        let client = client.map_err(|_| io::Error::other("the system has no random bytes"))?;
        let mut transport = Self {
            socket,
            client,
            started: Instant::now(),
            unsent: None,
            raw: Vec::new(),
            server,
            received: VecDeque::new(),
            received_bytes: 0,
        };
        while transport.client.state() == ConnectionState::Connecting {
            transport.advance(&mut |_| ()).await?;
        }
        match transport.ended() {
            Some(error) => Err(error),
            None => Ok(transport),
        }
    }

    pub(crate) fn stats(&self) -> Option<TransportStats> {
        let stats = self.client.connection()?.stats();
        Some(TransportStats {
            round_trip: stats.round_trip,
            round_trip_variance: stats.round_trip_variance,
            loss: stats.loss,
            packets_out: stats.packets_out,
            packets_in: stats.packets_in,
            packets_lost: stats.packets_lost,
            bytes_out: stats.bytes_out,
            bytes_in: stats.bytes_in,
        })
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Error that ended the connection.
    fn ended(&self) -> Option<ConnectionError> {
        match self.client.state() {
            ConnectionState::Closed(CloseCause::Peer(code)) => {
                Some(ConnectionError::Closed { code: Some(code.into()), reason: String::new() })
            }
            ConnectionState::Closed(CloseCause::TimedOut) => Some(ConnectionError::TimedOut),
            ConnectionState::Closed(_) => Some(ConnectionError::closed()),
            _ => None,
        }
    }

    /// Sends what is due, waits for datagrams or time, and passes the messages on. Cancel safe.
    async fn advance(&mut self, take: TakeMessage<'_>) -> Result<(), ConnectionError> {
        self.transmit()?;
        if self.ended().is_some() {
            // Time has ended it: there is nothing to wait for.
            return Ok(());
        }
        let is_blocked = self.unsent.is_some();
        let wake_at = self.client.next_timeout().map(|at| self.started + at);
        tokio::select! {
            readable = self.socket.readable() => {
                readable?;
                self.read(take)?;
                // Acknowledgements, and what they allow.
                self.transmit()?;
            }
            writable = self.socket.writable(), if is_blocked => writable?,
            () = sleep_until(wake_at.unwrap_or_else(Instant::now)), if wake_at.is_some() && !is_blocked => {}
        }
        Ok(())
    }

    /// Reads datagrams without waiting.
    fn read(&mut self, take: TakeMessage<'_>) -> Result<(), ConnectionError> {
        let now = self.now();
        let mut datagram = [0; DATAGRAM_BYTES_MAX + 1];
        for _ in 0..DATAGRAMS_AT_ONCE {
            match self.socket.try_recv_from(&mut datagram) {
                Ok((length, from)) => {
                    // Bad datagrams are dropped: anybody can send them.
                    let _ = self.client.handle(now, from, &mut datagram[..length], &mut |_, message| take(message));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // An error of an earlier datagram, such as an unreachable port: the handshake or the time-out decides.
                Err(error) if is_transient(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Sends the datagrams that are due, as far as the system accepts them.
    fn transmit(&mut self) -> Result<(), ConnectionError> {
        if !self.raw.is_empty() {
            let raw = std::mem::take(&mut self.raw);
            let _ = self.socket.try_send_to(&raw, self.server);
        }
        loop {
            let (mut datagram, to) = match self.unsent.take() {
                Some(unsent) => unsent,
                None => {
                    let mut datagram = Vec::with_capacity(DATAGRAM_BYTES_MAX);
                    let now = self.now();
                    let Some(to) = self.client.poll_transmit(now, &mut datagram) else { return Ok(()) };
                    (datagram, to)
                }
            };
            match self.socket.try_send_to(&datagram, to) {
                Ok(_) => datagram.clear(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.unsent = Some((datagram, to));
                    return Ok(());
                }
                // Lost, as on any other part of the path.
                Err(error) if is_transient(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Bytes that were never sent.
    fn backlog_bytes(&self) -> usize {
        self.client.connection().map_or(0, rudp::Connection::backlog_bytes)
    }
}

impl ClientTransport for UdpTransport {
    async fn receive(&mut self, take: TakeMessage<'_>) -> Result<(), ConnectionError> {
        if !self.received.is_empty() {
            self.received.drain(..).for_each(|message| take(&message));
            self.received_bytes = 0;
            return Ok(());
        }
        let mut messages = 0;
        while messages == 0 {
            // Messages that arrived with the end are passed on before it.
            if let Some(error) = self.ended() {
                return Err(error);
            }
            self.advance(&mut |message| {
                messages += 1;
                take(message);
            })
            .await?;
        }
        Ok(())
    }

    fn queue(&mut self, path: DeliveryPath, frame: &[u8]) -> Result<(), ConnectionError> {
        let channel = match path {
            DeliveryPath::Reliable => Channel::ReliableOrdered,
            DeliveryPath::Unreliable => Channel::Unreliable,
        };
        match (self.client.send(channel, frame), path) {
            (Ok(()), _) => self.transmit(),
            // A message that does not fit a datagram is dropped.
            (Err(SendError::TooLong), DeliveryPath::Unreliable) => Ok(()),
            (Err(SendError::TooLong), DeliveryPath::Reliable) => {
                Err(ProtocolError { code: 1009, reason: "a message is too large" }.into())
            }
            (Err(SendError::QueueFull), _) => Err(ConnectionError::Stuck),
            (Err(SendError::Closed), _) => Err(self.ended().unwrap_or_else(ConnectionError::closed)),
        }
    }

    fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.raw
    }

    async fn flush(&mut self) -> Result<(), ConnectionError> {
        self.transmit()?;
        while self.unsent.is_some() || self.backlog_bytes() > 0 {
            if let Some(error) = self.ended() {
                return Err(error);
            }
            if self.received_bytes > RECEIVED_BYTES_MAX {
                return Err(ConnectionError::Stuck);
            }
            let mut received = std::mem::take(&mut self.received);
            let mut bytes = self.received_bytes;
            let advanced = self
                .advance(&mut |message| {
                    bytes += message.len();
                    received.push_back(message.to_vec());
                })
                .await;
            (self.received, self.received_bytes) = (received, bytes);
            advanced?;
        }
        Ok(())
    }

    async fn close(mut self) {
        self.client.close(CLOSE_CODE);
        let closed = async {
            while self.ended().is_none() {
                if self.advance(&mut |_| ()).await.is_err() {
                    return;
                }
            }
        };
        // A peer that is gone does not confirm it.
        let _ = timeout(END_TIME_MAX, closed).await;
    }
}

/// Returns true for errors that end no connection: the network may work again in a moment.
fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionRefused, ConnectionReset, HostUnreachable, Interrupted, NetworkDown, NetworkUnreachable,
        PermissionDenied,
    };
    let kinds = [
        ConnectionRefused,
        ConnectionReset,
        HostUnreachable,
        Interrupted,
        NetworkDown,
        NetworkUnreachable,
        // A firewall, or a network that is changing.
        PermissionDenied,
    ];
    kinds.contains(&error.kind())
}

#[cfg(test)]
mod tests {
    use super::*;
    use aether_rudp::{Acceptor, Handshake, TokenGrant, TokenKey};
    use std::sync::Arc;

    /// Seconds since 1970 of the tests.
    const NOW: u64 = 1_000_000;

    /// Server of one connection, which returns every message on the channel that it came on.
    struct Echo {
        socket: UdpSocket,
        acceptor: Acceptor,
        connection: Option<rudp::Connection>,
        started: Instant,
    }

    impl Echo {
        async fn open() -> (Echo, SocketAddr, ConnectToken) {
            let key = Arc::new(TokenKey::random().expect("random bytes"));
            let grant = TokenGrant { account: "ann".to_owned(), expires: NOW + 60 };
            let token = key.issue(&grant).expect("random bytes");
            let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
            let address = socket.local_addr().expect("an address");
            let acceptor = Acceptor::new(key, rudp::Settings::default());
            (Echo { socket, acceptor, connection: None, started: Instant::now() }, address, token)
        }

        /// Serves until the client has closed. Returns its close code.
        async fn serve(mut self) -> Option<u16> {
            let mut datagram = [0; 2_048];
            loop {
                let now = self.started.elapsed();
                let mut out = Vec::new();
                while let Some(to) =
                    self.connection.as_mut().and_then(|connection| connection.poll_transmit(now, &mut out))
                {
                    self.socket.send_to(&out, to).await.expect("sent");
                    out.clear();
                }
                match self.connection.as_ref().map(rudp::Connection::state) {
                    Some(ConnectionState::Closed(CloseCause::Peer(code))) => return Some(code),
                    Some(ConnectionState::Closed(_)) => return None,
                    _ => {}
                }
                let wake_at = self.connection.as_ref().and_then(rudp::Connection::next_timeout);
                let wake_at = self.started + wake_at.unwrap_or(Duration::from_secs(3_600));
                tokio::select! {
                    received = self.socket.recv_from(&mut datagram) => {
                        let (length, from) = received.expect("received");
                        self.handle(&mut datagram[..length], from).await;
                    }
                    () = sleep_until(wake_at) => {}
                }
            }
        }

        async fn handle(&mut self, datagram: &mut [u8], from: SocketAddr) {
            let now = self.started.elapsed();
            if let Some(connection) = &mut self.connection {
                let mut echoes = Vec::new();
                let _ = connection.handle(now, from, datagram, &mut |channel, message| {
                    echoes.push((channel, message.to_vec()));
                });
                for (channel, message) in echoes {
                    connection.send(channel, &message).expect("the queue has room");
                }
            } else {
                let mut answer = Vec::new();
                if let Handshake::Accepted(accepted) = self.acceptor.handle(now, NOW, from, 0, datagram, &mut answer) {
                    assert_eq!(accepted.account, "ann");
                    self.connection = Some(accepted.connection);
                }
                if !answer.is_empty() {
                    self.socket.send_to(&answer, from).await.expect("sent");
                }
            }
        }
    }

    #[tokio::test]
    async fn messages_of_both_paths_arrive_and_the_close_has_a_code() {
        let (echo, address, token) = Echo::open().await;
        let server = tokio::spawn(echo.serve());
        let mut transport = UdpTransport::connect(address, &token).await.expect("it opens");
        let long = vec![7; 40_000];
        for (path, frame) in [
            (DeliveryPath::Reliable, &b"first"[..]),
            (DeliveryPath::Unreliable, b"second"),
            (DeliveryPath::Reliable, &long),
        ] {
            transport.queue(path, frame).expect("queued");
            transport.flush().await.expect("sent");
            let mut received = Vec::new();
            while received.is_empty() {
                transport.receive(&mut |message| received.push(message.to_vec())).await.expect("received");
            }
            assert_eq!(received, [frame]);
        }
        assert!(transport.stats().expect("an open connection").packets_in > 0);
        let too_long = vec![0; 2_000];
        transport.queue(DeliveryPath::Unreliable, &too_long).expect("dropped");
        assert!(transport.queue(DeliveryPath::Reliable, &vec![0; 100_000]).is_err());
        transport.close().await;
        assert_eq!(server.await.expect("no panic"), Some(CLOSE_CODE));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_answer_is_given_up_in_time() {
        let (echo, address, token) = Echo::open().await;
        let began = Instant::now();
        let opened = UdpTransport::connect(address, &token).await;
        assert!(matches!(opened, Err(ConnectionError::TimedOut)));
        assert!(began.elapsed() <= CONNECT_TIME_MAX + Duration::from_millis(100));
        drop(echo);
    }

    #[tokio::test]
    async fn garbage_from_others_does_not_disturb_a_connection() {
        let (echo, address, token) = Echo::open().await;
        let server = tokio::spawn(echo.serve());
        let mut transport = UdpTransport::connect(address, &token).await.expect("it opens");
        let own = transport.socket.local_addr().expect("an address");
        let stranger = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
        for length in [0, 1, 50, 1_200, 1_400] {
            stranger.send_to(&vec![0xA5; length], own).await.expect("sent");
        }
        transport.queue(DeliveryPath::Reliable, b"still here").expect("queued");
        let mut received = Vec::new();
        while received.is_empty() {
            transport.receive(&mut |message| received.push(message.to_vec())).await.expect("received");
        }
        assert_eq!(received, [b"still here"]);
        transport.close().await;
        server.await.expect("no panic");
    }
}
