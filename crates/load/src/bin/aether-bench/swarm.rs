//! Many WebSocket clients on one thread, as cheap as can be: what the load costs is not what is measured.

use crate::Outcome;
use aether_framing::websocket::codec::{Decoder, Incoming, Opcode, Role, client_frame};
use aether_framing::websocket::handshake::{client_key, client_request, parse_response};
use aether_wire::{ClientMessage, Hello, RoomSelector, SUBPROTOCOL_PROTOBUF, ServerMessage, Token};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll};
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Clients that are connecting at once at most, so that the server sees a queue and not a wall.
const OPENING_MAX: usize = 128;
/// How long they may take, all together, without any of them getting further.
const JOIN_DEADLINE: Duration = Duration::from_secs(20);
/// Bytes of one read.
const READ_BYTES: usize = 65_536;
/// The longest message of a server.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// Nothing hangs on masks here.
const MASK: [u8; 4] = [0x5A, 0xC3, 0x1D, 0x96];

/// The clients.
pub struct Swarm {
    poll: Poll,
    events: Events,
    clients: Vec<Client>,
    buffer: Vec<u8>,
    frame: Vec<u8>,
    /// Bytes that came in, frames and all.
    pub bytes_in: u64,
    /// Clients that were closed.
    pub lost: usize,
}

/// Someone who is to come in.
pub struct Newcomer {
    /// Absent for a bare loop, which wants no hello.
    pub hello: Option<Hello>,
}

impl Newcomer {
    /// One with a token, into a room of a type by its label.
    pub fn new(token: &str, room_type: &str, label: Option<String>) -> Newcomer {
        let room = RoomSelector::Type { name: room_type.to_owned(), label };
        Newcomer { hello: Some(Hello { token: Some(Token::new(token)), room: Some(room), ..Hello::default() }) }
    }
}

struct Client {
    stream: TcpStream,
    decoder: Decoder,
    stage: Stage,
    /// What the system has not taken yet.
    out: Vec<u8>,
    open: bool,
}

enum Stage {
    /// The upgrade was asked for.
    Upgrading {
        key: String,
        head: Vec<u8>,
        hello: Option<Vec<u8>>,
    },
    /// The hello was said.
    Greeting,
    In,
}

impl Swarm {
    pub fn new() -> Outcome<Swarm> {
        Ok(Swarm {
            poll: Poll::new()?,
            events: Events::with_capacity(1_024),
            clients: Vec::new(),
            buffer: vec![0; READ_BYTES],
            frame: Vec::new(),
            bytes_in: 0,
            lost: 0,
        })
    }

    pub fn len(&self) -> usize {
        self.clients.len()
    }

    /// Brings clients in and returns when all are.
    pub fn join(&mut self, address: SocketAddr, newcomers: Vec<Newcomer>) -> Outcome {
        self.join_and_hear(address, newcomers, &mut |_, _| {})
    }

    /// As [`Swarm::join`], and hands out what comes meanwhile to those who are in.
    pub fn join_and_hear(
        &mut self,
        address: SocketAddr,
        newcomers: Vec<Newcomer>,
        take: &mut dyn FnMut(usize, &[u8]),
    ) -> Outcome {
        let first = self.clients.len();
        let mut newcomers = newcomers.into_iter().peekable();
        let (mut opening_from, mut progress) = (first, Instant::now());
        loop {
            while newcomers.peek().is_some() && self.clients.len() - opening_from < OPENING_MAX {
                if let Some(newcomer) = newcomers.next() {
                    self.open(address, newcomer)?;
                }
            }
            self.poll(Instant::now() + Duration::from_millis(50), take)?;
            let before = opening_from;
            while self.clients.get(opening_from).is_some_and(|client| matches!(client.stage, Stage::In)) {
                opening_from += 1;
            }
            if opening_from > before {
                progress = Instant::now();
            }
            if opening_from == self.clients.len() && newcomers.peek().is_none() {
                return Ok(());
            }
            if self.lost > 0 || progress.elapsed() > JOIN_DEADLINE {
                return Err(format!("only {} of {} clients came in", opening_from, self.clients.len()).into());
            }
        }
    }

    fn open(&mut self, address: SocketAddr, newcomer: Newcomer) -> Outcome {
        let mut stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let number = self.clients.len();
        let key = client_key((number as u128).to_ne_bytes());
        stream.write_all(&client_request(&address.to_string(), "/rt", &key, Some(SUBPROTOCOL_PROTOBUF)))?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        self.poll.registry().register(&mut stream, mio::Token(number), Interest::READABLE | Interest::WRITABLE)?;
        let hello = match newcomer.hello {
            Some(hello) => Some(framed(&encoded(&ClientMessage::Hello(hello))?)),
            None => None,
        };
        self.clients.push(Client {
            stream,
            decoder: Decoder::new(Role::Client, MESSAGE_BYTES_MAX),
            stage: Stage::Upgrading { key, head: Vec::new(), hello },
            out: Vec::new(),
            open: true,
        });
        Ok(())
    }

    /// Sends a message.
    pub fn send(&mut self, client: usize, message: &[u8]) {
        self.frame.clear();
        client_frame(&mut self.frame, Opcode::Binary, MASK, message);
        let client = &mut self.clients[client];
        if client.open && !client.write(&self.frame) {
            client.open = false;
            self.lost += 1;
        }
    }

    /// Waits until something comes or it is time, and hands out every message with the number of its client.
    pub fn poll(&mut self, until: Instant, take: &mut dyn FnMut(usize, &[u8])) -> Outcome {
        let wait = until.saturating_duration_since(Instant::now());
        match self.poll.poll(&mut self.events, Some(wait)) {
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error.into()),
            _ => {}
        }
        for event in &self.events {
            let number = event.token().0;
            let client = &mut self.clients[number];
            if !client.open {
                continue;
            }
            if event.is_writable() && !client.out.is_empty() {
                client.open = client.write(&[]);
            }
            let closed =
                event.is_readable() && client.read(&mut self.buffer, &mut self.bytes_in, number, take).is_err();
            if closed || !client.open {
                client.open = false;
                self.lost += 1;
            }
        }
        Ok(())
    }
}

/// Bytes could not be used, or there will be no more.
struct Closed;

impl Client {
    /// Writes what the system takes and keeps the rest. False if the connection is gone.
    fn write(&mut self, bytes: &[u8]) -> bool {
        if !self.out.is_empty() {
            self.out.extend_from_slice(bytes);
            let out = std::mem::take(&mut self.out);
            return self.write(&out);
        }
        match self.stream.write(bytes) {
            Ok(written) => self.out.extend_from_slice(&bytes[written..]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.out.extend_from_slice(bytes),
            Err(_) => return false,
        }
        true
    }

    fn read(
        &mut self,
        buffer: &mut [u8],
        bytes_in: &mut u64,
        number: usize,
        take: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<(), Closed> {
        loop {
            let length = match self.stream.read(buffer) {
                Ok(0) => return Err(Closed),
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Err(Closed),
            };
            *bytes_in += length as u64;
            self.take_in(&mut buffer[..length], number, take)?;
            // What comes from now on is an event of its own.
            if length < buffer.len() {
                return Ok(());
            }
        }
    }

    fn take_in(&mut self, bytes: &mut [u8], number: usize, take: &mut dyn FnMut(usize, &[u8])) -> Result<(), Closed> {
        let mut rest = Vec::new();
        let bytes = match &mut self.stage {
            Stage::Upgrading { key, head, hello } => {
                head.extend_from_slice(bytes);
                let Some(response) = parse_response(head, key, &[SUBPROTOCOL_PROTOBUF]).map_err(|_| Closed)? else {
                    return Ok(());
                };
                rest.extend_from_slice(&head[response.consumed..]);
                let hello = hello.take();
                self.stage = if hello.is_some() { Stage::Greeting } else { Stage::In };
                if !self.write(&hello.unwrap_or_default()) {
                    return Err(Closed);
                }
                rest.as_mut_slice()
            }
            _ => bytes,
        };
        let Client { decoder, stage, out, .. } = self;
        let mut closed = false;
        let fed = decoder.feed(bytes, &mut |incoming| match incoming {
            Incoming::Binary(message) if matches!(stage, Stage::Greeting) => {
                if let Ok(ServerMessage::Welcome(_)) = ServerMessage::decode(message) {
                    *stage = Stage::In;
                } else {
                    closed = true;
                }
            }
            Incoming::Binary(message) => take(number, message),
            Incoming::Ping(payload) => client_frame(out, Opcode::Pong, MASK, payload),
            Incoming::Close { .. } => closed = true,
            _ => {}
        });
        let sent = self.out.is_empty() || self.write(&[]);
        if closed || fed.is_err() || !sent { Err(Closed) } else { Ok(()) }
    }
}

/// A beat that all clients keep, each at its own moment.
pub struct Beat {
    start: Instant,
    interval: Duration,
    next: u64,
}

impl Beat {
    /// A beat of so many a second for each of the clients.
    pub fn new(hertz: u32, clients: usize) -> Beat {
        Beat { start: Instant::now(), interval: Duration::from_secs(1) / hertz / clients as u32, next: 0 }
    }

    /// When the next is due.
    pub fn next(&self) -> Instant {
        self.start + Duration::from_nanos(self.interval.as_nanos() as u64 * self.next)
    }

    /// The next that is due: its number, and when it was.
    pub fn due(&mut self, now: Instant) -> Option<(u64, Instant)> {
        let (number, at) = (self.next, self.next());
        if at > now {
            return None;
        }
        self.next += 1;
        Some((number, at))
    }
}

/// A message as bytes.
pub fn encoded(message: &ClientMessage) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).map_err(|error| format!("{error}"))?;
    Ok(bytes)
}

fn framed(message: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    client_frame(&mut frame, Opcode::Binary, MASK, message);
    frame
}
