//! Many clients over reliable UDP on one thread, each with a socket of its own.

use crate::Outcome;
use crate::swarm::encoded;
use aether_rudp::{Channel, Client, ConnectToken, ConnectionState, Settings};
use aether_wire::{ClientMessage, Hello, RoomSelector, ServerMessage, Token, UdpGrant};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mio::net::UdpSocket;
use mio::{Events, Interest, Poll};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Largest number of clients that connect at the same time.
const CONNECTING_MAX: usize = 128;
/// Longest time without progress while clients join.
const JOIN_DEADLINE: Duration = Duration::from_secs(20);
/// Longer than any datagram of the protocol.
const DATAGRAM_BYTES: usize = 2_048;

/// Set of clients.
pub struct UdpSwarm {
    poll: Poll,
    events: Events,
    clients: Vec<UdpClient>,
    /// Deadlines in microseconds since the start, with the numbers of their clients. An entry whose client has a later
    /// deadline meanwhile is put back.
    timers: BinaryHeap<Reverse<(u64, usize)>>,
    started: Instant,
    buffer: Vec<u8>,
    out: Vec<u8>,
    /// Number of closed clients.
    pub lost: usize,
}

struct UdpClient {
    socket: UdpSocket,
    server: SocketAddr,
    client: Client,
    is_joined: bool,
    is_open: bool,
    /// Time of its entry in the timers.
    timer: u64,
}

impl UdpSwarm {
    pub fn new() -> Outcome<UdpSwarm> {
        Ok(UdpSwarm {
            poll: Poll::new()?,
            events: Events::with_capacity(1_024),
            clients: Vec::new(),
            timers: BinaryHeap::new(),
            started: Instant::now(),
            buffer: vec![0; DATAGRAM_BYTES],
            out: Vec::new(),
            lost: 0,
        })
    }

    pub fn len(&self) -> usize {
        self.clients.len()
    }

    /// Connects clients with these access tokens, each to the room with its label, and returns when all have joined.
    pub fn join(&mut self, http: SocketAddr, joining: &[(String, String)]) -> Outcome {
        let mut tokens = TokenRequests::connect(http)?;
        let mut joining = joining.iter().peekable();
        let (mut first_pending, mut progress) = (self.clients.len(), Instant::now());
        loop {
            while self.clients.len() - first_pending < CONNECTING_MAX {
                let Some((access_token, label)) = joining.next() else { break };
                self.open(tokens.request(access_token)?, access_token, label)?;
            }
            self.poll(Instant::now() + Duration::from_millis(5), &mut |_, _| {})?;
            let before = first_pending;
            while self.clients.get(first_pending).is_some_and(|client| client.is_joined) {
                first_pending += 1;
            }
            if first_pending > before {
                progress = Instant::now();
            }
            if first_pending == self.clients.len() && joining.peek().is_none() {
                return Ok(());
            }
            if self.lost > 0 || progress.elapsed() > JOIN_DEADLINE {
                return Err(format!("only {first_pending} of {} clients joined", self.clients.len()).into());
            }
        }
    }

    fn open(&mut self, (server, token): (SocketAddr, ConnectToken), access_token: &str, label: &str) -> Outcome {
        let room = RoomSelector::Type { name: "relay".to_owned(), label: Some(label.to_owned()) };
        let hello = Hello { token: Some(Token::new(access_token)), room: Some(room), ..Hello::default() };
        let number = self.clients.len();
        let mut socket = UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        socket.connect(server)?;
        self.poll.registry().register(&mut socket, mio::Token(number), Interest::READABLE)?;
        let mut client = Client::new(self.started.elapsed(), server, &token, Settings::default())?;
        client.send(Channel::ReliableOrdered, &encoded(&ClientMessage::Hello(hello))?)?;
        self.clients.push(UdpClient { socket, server, client, is_joined: false, is_open: true, timer: u64::MAX });
        self.transmit(number);
        Ok(())
    }

    /// Sends a message.
    pub fn send(&mut self, number: usize, message: &[u8]) {
        if self.clients[number].client.send(Channel::ReliableOrdered, message).is_err() {
            self.close(number);
        }
        self.transmit(number);
    }

    /// Waits for messages until a time, and passes on every message with the number of its client.
    pub fn poll(&mut self, until: Instant, take: &mut dyn FnMut(usize, &[u8])) -> Outcome {
        let mut wait = until.saturating_duration_since(Instant::now());
        if let Some(Reverse((at, _))) = self.timers.peek() {
            wait = wait.min(Duration::from_micros(*at).saturating_sub(self.started.elapsed()));
        }
        match self.poll.poll(&mut self.events, Some(wait)) {
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error.into()),
            _ => {}
        }
        let readable: Vec<usize> = self.events.iter().map(|event| event.token().0).collect();
        for number in readable {
            self.receive(number, take);
            self.transmit(number);
        }
        let now = self.started.elapsed().as_micros() as u64;
        while let Some(&Reverse((at, number))) = self.timers.peek()
            && at <= now
        {
            self.timers.pop();
            if self.clients[number].timer == at {
                self.clients[number].timer = u64::MAX;
                self.transmit(number);
            }
        }
        Ok(())
    }

    fn receive(&mut self, number: usize, take: &mut dyn FnMut(usize, &[u8])) {
        let UdpClient { socket, server, client, is_joined, .. } = &mut self.clients[number];
        // Read until the socket is empty, because later datagrams alone cause another event.
        while let Ok(length) = socket.recv(&mut self.buffer) {
            let now = self.started.elapsed();
            let _ = client.handle(now, *server, &mut self.buffer[..length], &mut |_, message| match is_joined {
                true => take(number, message),
                false => *is_joined = matches!(ServerMessage::decode(message), Ok(ServerMessage::Welcome(_))),
            });
        }
        if matches!(client.state(), ConnectionState::Closed(_)) {
            self.close(number);
        }
    }

    /// Sends what is due, and schedules the next deadline.
    fn transmit(&mut self, number: usize) {
        let (now, client) = (self.started.elapsed(), &mut self.clients[number]);
        self.out.clear();
        while client.client.poll_transmit(now, &mut self.out).is_some() {
            // A datagram that the system does not take is lost, and sent again.
            let _ = client.socket.send(&self.out);
            self.out.clear();
        }
        if let Some(deadline) = client.client.next_timeout() {
            let at = deadline.as_micros() as u64 + 1;
            if at < client.timer {
                client.timer = at;
                self.timers.push(Reverse((at, number)));
            }
        }
    }

    fn close(&mut self, number: usize) {
        if std::mem::take(&mut self.clients[number].is_open) {
            self.lost += 1;
        }
    }
}

/// Requests of connect tokens over one HTTP connection.
struct TokenRequests {
    host: SocketAddr,
    stream: BufReader<TcpStream>,
}

impl TokenRequests {
    fn connect(host: SocketAddr) -> Outcome<TokenRequests> {
        let stream = TcpStream::connect(host)?;
        stream.set_nodelay(true)?;
        Ok(TokenRequests { host, stream: BufReader::new(stream) })
    }

    /// Returns the address of the server and a connect token of the account.
    fn request(&mut self, access_token: &str) -> Outcome<(SocketAddr, ConnectToken)> {
        let host = self.host;
        let request = format!(
            "POST /api/udp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {access_token}\r\nContent-Length: 0\r\n\r\n"
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (mut line, mut length, mut status) = (String::new(), 0, String::new());
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            match line.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse()?,
                None if line.trim_end().is_empty() => break,
                None => status = line.trim_end().to_owned(),
                Some(_) => {}
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        if !status.contains(" 200") {
            return Err(format!("no connect token: {status}").into());
        }
        let UdpGrant { address, token, .. } = serde_json::from_slice(&body)?;
        let token = ConnectToken::from_bytes(&URL_SAFE_NO_PAD.decode(token)?)?;
        Ok((address.parse()?, token))
    }
}
