//! Many WebSocket clients on one thread, with as little CPU time as possible.

use crate::Outcome;
use aether_framing::websocket::codec::{Decoder, Incoming, Opcode, Role, client_frame};
use aether_framing::websocket::handshake::{client_key, client_request, parse_response};
use aether_messages::prost::Message as _;
use aether_messages::realtime::envelope::Message;
use aether_messages::realtime::{ChannelJoin, Envelope, MatchCreate, MatchJoin};
use aether_wire::{ClientMessage, Hello, RoomSelector, SUBPROTOCOL_PROTOBUF, ServerMessage, Token};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll};
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Largest number of clients that connect at the same time, so that the server is not flooded.
const CONNECTING_MAX: usize = 128;
/// Longest time without progress while clients join.
const JOIN_DEADLINE: Duration = Duration::from_secs(20);
/// Size of the read buffer.
const READ_BYTES: usize = 65_536;
/// Longest message of a server.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// Fixed mask, which need not be random here.
const MASK: [u8; 4] = [0x5A, 0xC3, 0x1D, 0x96];

/// Set of clients.
pub struct Swarm {
    poll: Poll,
    events: Events,
    clients: Vec<Client>,
    buffer: Vec<u8>,
    frame: Vec<u8>,
    /// Received bytes, with framing.
    pub bytes_in: u64,
    /// Number of closed clients.
    pub lost: usize,
}

/// Client that is about to join.
pub struct JoiningClient {
    path: String,
    subprotocol: Option<&'static str>,
    /// `None` for the minimal servers, which expect no message.
    request: Option<JoinRequest>,
}

/// First message of a client.
struct JoinRequest {
    message: Vec<u8>,
    read_answer: fn(&[u8]) -> JoinAnswer,
}

/// Meaning of a message to a client that joins.
enum JoinAnswer {
    /// The client has joined; id of its match or channel, for `/ws`.
    Joined(String),
    Refused,
    /// Something else, such as presences.
    Unrelated,
}

impl JoiningClient {
    /// Creates a client of the minimal servers.
    pub fn bare() -> JoiningClient {
        JoiningClient { path: "/rt".to_owned(), subprotocol: Some(SUBPROTOCOL_PROTOBUF), request: None }
    }

    /// Creates a client with a token, for a room by type and label.
    pub fn new(token: &str, room_type: &str, label: Option<String>) -> Outcome<JoiningClient> {
        let room = RoomSelector::Type { name: room_type.to_owned(), label };
        let hello = Hello { token: Some(Token::new(token)), room: Some(room), ..Hello::default() };
        let message = encoded(&ClientMessage::Hello(hello))?;
        let read_answer = |message: &[u8]| match ServerMessage::decode(message) {
            Ok(ServerMessage::Welcome(_)) => JoinAnswer::Joined(String::new()),
            _ => JoinAnswer::Refused,
        };
        Ok(JoiningClient { request: Some(JoinRequest { message, read_answer }), ..JoiningClient::bare() })
    }

    /// Creates a client of the services socket with a token, for a relayed match by name.
    pub fn of_match(token: &str, name: String) -> JoiningClient {
        JoiningClient::of_socket(token, Message::MatchCreate(MatchCreate { name }))
    }

    /// Creates a client of the services socket with a token, for a running match by id.
    pub fn of_running(token: &str, id: String) -> JoiningClient {
        let join = MatchJoin { match_id: id, ..MatchJoin::default() };
        JoiningClient::of_socket(token, Message::MatchJoin(join))
    }

    /// Creates a client of the services socket with a token, for a chat room by name. Its messages are stored.
    pub fn of_channel(token: &str, name: String) -> JoiningClient {
        let join = ChannelJoin { target: name, r#type: 1, persistence: Some(true), hidden: Some(true) };
        JoiningClient::of_socket(token, Message::ChannelJoin(join))
    }

    fn of_socket(token: &str, request: Message) -> JoiningClient {
        let message = Envelope { cid: "1".to_owned(), message: Some(request) }.encode_to_vec();
        let read_answer = |message: &[u8]| match Envelope::decode(message).map(|envelope| envelope.message) {
            Ok(Some(Message::Match(joined))) => JoinAnswer::Joined(joined.match_id),
            Ok(Some(Message::Channel(joined))) => JoinAnswer::Joined(joined.id),
            Ok(Some(Message::Error(_))) | Err(_) => JoinAnswer::Refused,
            Ok(_) => JoinAnswer::Unrelated,
        };
        JoiningClient {
            path: format!("/ws?token={token}&format=protobuf"),
            subprotocol: None,
            request: Some(JoinRequest { message, read_answer }),
        }
    }
}

struct Client {
    stream: TcpStream,
    decoder: Decoder,
    stage: Stage,
    /// Id of its match or channel, for `/ws`.
    joined_id: String,
    /// Bytes that the operating system has not accepted yet.
    out: Vec<u8>,
    open: bool,
}

enum Stage {
    /// Waiting for the upgrade.
    Upgrading {
        key: String,
        head: Vec<u8>,
        subprotocol: Option<&'static str>,
        request: Option<JoinRequest>,
    },
    /// Waiting for the answer to the first message.
    Joining(fn(&[u8]) -> JoinAnswer),
    Joined,
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

    /// Returns the id of a client's match or channel, for `/ws`.
    pub fn joined_id(&self, client: usize) -> &str {
        &self.clients[client].joined_id
    }

    /// Connects clients and returns when all have joined.
    pub fn join(&mut self, address: SocketAddr, joining: Vec<JoiningClient>) -> Outcome {
        self.join_with(address, joining, &mut |_, _| {})
    }

    /// Like [`Swarm::join`], and passes on messages to joined clients.
    pub fn join_with(
        &mut self,
        address: SocketAddr,
        joining: Vec<JoiningClient>,
        take: &mut dyn FnMut(usize, &[u8]),
    ) -> Outcome {
        let first = self.clients.len();
        let mut joining = joining.into_iter().peekable();
        let (mut first_pending, mut progress) = (first, Instant::now());
        loop {
            while joining.peek().is_some() && self.clients.len() - first_pending < CONNECTING_MAX {
                if let Some(client) = joining.next() {
                    self.open(address, client)?;
                }
            }
            self.poll(Instant::now() + Duration::from_millis(50), take)?;
            let before = first_pending;
            while self.clients.get(first_pending).is_some_and(|client| matches!(client.stage, Stage::Joined)) {
                first_pending += 1;
            }
            if first_pending > before {
                progress = Instant::now();
            }
            if first_pending == self.clients.len() && joining.peek().is_none() {
                return Ok(());
            }
            if self.lost > 0 || progress.elapsed() > JOIN_DEADLINE {
                return Err(format!("only {} of {} clients joined", first_pending, self.clients.len()).into());
            }
        }
    }

    fn open(&mut self, address: SocketAddr, client: JoiningClient) -> Outcome {
        let mut stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let number = self.clients.len();
        let key = client_key((number as u128).to_ne_bytes());
        let JoiningClient { path, subprotocol, request } = client;
        stream.write_all(&client_request(&address.to_string(), &path, &key, subprotocol))?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        self.poll.registry().register(&mut stream, mio::Token(number), Interest::READABLE | Interest::WRITABLE)?;
        self.clients.push(Client {
            stream,
            decoder: Decoder::new(Role::Client, MESSAGE_BYTES_MAX),
            stage: Stage::Upgrading { key, head: Vec::new(), subprotocol, request },
            joined_id: String::new(),
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

    /// Waits for messages until a time, and passes on every message with the number of its client.
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

/// The connection is closed or sent invalid bytes.
struct Closed;

impl Client {
    /// Writes as much as possible and queues the rest. Returns false if the connection is closed.
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
            self.decode(&mut buffer[..length], number, take)?;
            // Later bytes cause another event.
            if length < buffer.len() {
                return Ok(());
            }
        }
    }

    fn decode(&mut self, bytes: &mut [u8], number: usize, take: &mut dyn FnMut(usize, &[u8])) -> Result<(), Closed> {
        let mut rest = Vec::new();
        let bytes = match &mut self.stage {
            Stage::Upgrading { key, head, subprotocol, request } => {
                head.extend_from_slice(bytes);
                let offered = subprotocol.as_slice();
                let Some(response) = parse_response(head, key, offered).map_err(|_| Closed)? else {
                    return Ok(());
                };
                rest.extend_from_slice(&head[response.consumed..]);
                let request = request.take();
                self.stage = request.as_ref().map_or(Stage::Joined, |request| Stage::Joining(request.read_answer));
                if let Some(request) = request
                    && !self.write(&framed(&request.message))
                {
                    return Err(Closed);
                }
                rest.as_mut_slice()
            }
            _ => bytes,
        };
        let Client { decoder, stage, joined_id, out, .. } = self;
        let mut closed = false;
        let fed = decoder.feed(bytes, &mut |incoming| match incoming {
            Incoming::Binary(message) => match stage {
                Stage::Joining(read_answer) => match read_answer(message) {
                    JoinAnswer::Joined(id) => (*stage, *joined_id) = (Stage::Joined, id),
                    JoinAnswer::Refused => closed = true,
                    JoinAnswer::Unrelated => {}
                },
                _ => take(number, message),
            },
            Incoming::Ping(payload) => client_frame(out, Opcode::Pong, MASK, payload),
            Incoming::Close { .. } => closed = true,
            _ => {}
        });
        let sent = self.out.is_empty() || self.write(&[]);
        if closed || fed.is_err() || !sent { Err(Closed) } else { Ok(()) }
    }
}

/// Send times of all clients, evenly spread over the interval.
pub struct SendSchedule {
    start: Instant,
    interval: Duration,
    next: u64,
}

impl SendSchedule {
    /// Creates a schedule with `hertz` messages per second and client.
    pub fn new(hertz: u32, clients: usize) -> SendSchedule {
        SendSchedule { start: Instant::now(), interval: Duration::from_secs(1) / hertz / clients as u32, next: 0 }
    }

    /// Creates a schedule of all clients together.
    pub fn per_second(messages: u32) -> SendSchedule {
        SendSchedule { start: Instant::now(), interval: Duration::from_secs(1) / messages, next: 0 }
    }

    /// Time of the next message.
    pub fn next(&self) -> Instant {
        self.start + Duration::from_nanos(self.interval.as_nanos() as u64 * self.next)
    }

    /// Next message that is due: its number and time.
    pub fn due(&mut self, now: Instant) -> Option<(u64, Instant)> {
        let (number, at) = (self.next, self.next());
        if at > now {
            return None;
        }
        self.next += 1;
        Some((number, at))
    }
}

/// Encodes a message.
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
