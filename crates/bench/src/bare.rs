//! Minimal servers as baselines: one thread, sockets and WebSocket frames, no protocol. They show the least CPU time
//! that a server needs.

use crate::Outcome;
use aether_framing::websocket::codec::{Decoder, Incoming, Opcode, Role, frame_bytes};
use aether_framing::websocket::handshake::accept_key;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

const LISTENER: Token = Token(usize::MAX);
const READ_BYTES: usize = 65_536;
const MESSAGE_BYTES_MAX: usize = 65_536;
const CROWD_INTERVAL: Duration = Duration::from_millis(50);

/// Arguments of the minimal relay.
#[derive(clap::Args)]
pub struct BareRelayArguments {
    /// Number of clients per room, in the order of their connections
    #[arg(long, default_value_t = 10)]
    per_room: usize,
    /// Interval of writes in milliseconds. Default: one write per delivery
    #[arg(long)]
    flush_ms: Option<u64>,
}

/// Arguments of the minimal crowd server.
#[derive(clap::Args)]
pub struct BareCrowdArguments {
    /// Size of a snapshot in bytes, with framing
    #[arg(long)]
    bytes: usize,
    /// Number of packets of a snapshot, which are written together
    #[arg(long, default_value_t = 1)]
    packets: usize,
}

/// Relays every message to the other clients of its room.
pub fn relay(arguments: BareRelayArguments) -> Outcome {
    rlimit::increase_nofile_limit(u64::MAX)?;
    let mut sockets = Sockets::new()?;
    let flush = arguments.flush_ms.map(Duration::from_millis);
    let mut next_flush = flush.map(|flush| Instant::now() + flush);
    let mut messages: Vec<(usize, Vec<u8>)> = Vec::new();
    loop {
        sockets.poll(next_flush, &mut |client, message| {
            let mut frame = Vec::with_capacity(message.len() + 4);
            frame_bytes(&mut frame, Opcode::Binary, message);
            messages.push((client, frame));
        })?;
        for (client, frame) in messages.drain(..) {
            let first = client - client % arguments.per_room;
            for other in (first..first + arguments.per_room).filter(|&other| other != client) {
                match flush {
                    None => sockets.write(other, &frame),
                    Some(_) => sockets.queue(other, &frame),
                }
            }
        }
        if let (Some(at), Some(flush)) = (next_flush, flush)
            && Instant::now() >= at
        {
            sockets.flush();
            next_flush = Some(at + flush);
        }
    }
}

/// Reads inputs and sends the same bytes to all clients.
pub fn crowd(arguments: BareCrowdArguments) -> Outcome {
    rlimit::increase_nofile_limit(u64::MAX)?;
    let mut sockets = Sockets::new()?;
    let mut frames = Vec::new();
    let packets = arguments.packets.max(1);
    for packet in 1..=packets {
        // Each packet has a header of four bytes, or of two if it is short.
        let payload = vec![7; (arguments.bytes * packet / packets).saturating_sub(frames.len() + 4)];
        frame_bytes(&mut frames, Opcode::Binary, &payload);
    }
    let mut next = Instant::now() + CROWD_INTERVAL;
    let mut inputs = 0_u64;
    loop {
        sockets.poll(Some(next), &mut |_, _| inputs += 1)?;
        if Instant::now() >= next {
            for client in 0..sockets.peers.len() {
                sockets.write(client, &frames);
            }
            next += CROWD_INTERVAL;
        }
    }
}

struct Sockets {
    poll: Poll,
    events: Events,
    listener: TcpListener,
    peers: Vec<Peer>,
    buffer: Vec<u8>,
}

struct Peer {
    stream: TcpStream,
    decoder: Decoder,
    /// Upgrade request, until it is answered.
    request: Option<Vec<u8>>,
    out: Vec<u8>,
}

impl Sockets {
    fn new() -> Outcome<Sockets> {
        let poll = Poll::new()?;
        let mut listener = TcpListener::bind(([127, 0, 0, 1], 0).into())?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        println!("{}", serde_json::json!({ "listening": { "http": listener.local_addr()?.to_string() } }));
        let events = Events::with_capacity(1_024);
        Ok(Sockets { poll, events, listener, peers: Vec::new(), buffer: vec![0; READ_BYTES] })
    }

    fn poll(&mut self, until: Option<Instant>, take: &mut dyn FnMut(usize, &[u8])) -> Outcome {
        let wait = until.map(|until| until.saturating_duration_since(Instant::now()));
        self.poll.poll(&mut self.events, wait)?;
        let events: Vec<Token> = self.events.iter().map(mio::event::Event::token).collect();
        for token in events {
            match token {
                LISTENER => self.accept()?,
                Token(client) => self.peers[client].read(&mut self.buffer, client, take)?,
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> Outcome {
        loop {
            let (mut stream, _) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            stream.set_nodelay(true)?;
            self.poll.registry().register(&mut stream, Token(self.peers.len()), Interest::READABLE)?;
            let decoder = Decoder::new(Role::Server, MESSAGE_BYTES_MAX);
            self.peers.push(Peer { stream, decoder, request: Some(Vec::new()), out: Vec::new() });
        }
    }

    /// Writes at once. Bytes that the operating system does not accept are lost, which the load counts.
    fn write(&mut self, client: usize, bytes: &[u8]) {
        if let Some(peer) = self.peers.get_mut(client) {
            let _ = peer.stream.write(bytes);
        }
    }

    fn queue(&mut self, client: usize, bytes: &[u8]) {
        if let Some(peer) = self.peers.get_mut(client) {
            peer.out.extend_from_slice(bytes);
        }
    }

    fn flush(&mut self) {
        for peer in self.peers.iter_mut().filter(|peer| !peer.out.is_empty()) {
            let _ = peer.stream.write(&peer.out);
            peer.out.clear();
        }
    }
}

impl Peer {
    fn read(&mut self, buffer: &mut [u8], client: usize, take: &mut dyn FnMut(usize, &[u8])) -> Outcome {
        loop {
            let length = match self.stream.read(buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Ok(()),
            };
            if let Some(request) = &mut self.request {
                request.extend_from_slice(&buffer[..length]);
                if request.ends_with(b"\r\n\r\n") {
                    let answer = upgrade(&String::from_utf8_lossy(request));
                    self.stream.write_all(answer.as_bytes())?;
                    self.request = None;
                }
            } else {
                self.decoder.feed(&mut buffer[..length], &mut |incoming| {
                    if let Incoming::Binary(message) = incoming {
                        take(client, message);
                    }
                })?;
            }
            if length < buffer.len() {
                return Ok(());
            }
        }
    }
}

fn upgrade(request: &str) -> String {
    let header = |wanted: &str| {
        let named = |line: &&str| line.to_ascii_lowercase().starts_with(wanted);
        request.lines().find(named).and_then(|line| line.split_once(": ")).map_or("", |(_, value)| value)
    };
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {}\r\nSec-WebSocket-Protocol: {}\r\n\r\n",
        accept_key(header("sec-websocket-key")),
        header("sec-websocket-protocol"),
    )
}
