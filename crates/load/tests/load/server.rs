//! Minimal server for bots.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aether_bits::{RecordSchema, Replicate, Schema};
use aether_framing::websocket::codec::{Decoder, Incoming, Opcode, Role, close_payload, frame_bytes};
use aether_framing::websocket::handshake::accept_key;
use aether_wire::{
    ClientMessage, CloseReason, Closing, ErrorCode, ErrorNotice, Event, Hello, PlayerId, Pong, RoomSelector,
    SchemaHash, ServerMessage, Tick, Token, Welcome, encode_state_packet,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use wtransport::endpoint::IncomingSession;
use wtransport::{Endpoint, Identity, ServerConfig};

const TICK: Duration = Duration::from_millis(50);

#[derive(Clone, Replicate)]
struct Controls {
    thrust: bool,
    left: bool,
}

#[derive(Clone, Replicate)]
struct Ship {
    #[replicate(range = -100.0..=100.0, step = 0.5)]
    position: [f32; 2],
}

/// Frame with a flag that is true if it is reliable.
type Frame = (bool, Vec<u8>);

/// Server that ends with the test's runtime.
#[derive(Default)]
pub struct Server {
    players: AtomicU32,
    rooms: Mutex<BTreeMap<String, BTreeMap<u32, UnboundedSender<Frame>>>>,
    certificate_hash: String,
    webtransport_port: u16,
    /// Number of received inputs.
    pub inputs: AtomicU32,
}

impl Server {
    /// Starts a server and returns it with its address.
    pub async fn start() -> (Arc<Self>, String) {
        let identity = Identity::self_signed(["127.0.0.1"]).expect("a certificate");
        let hash = identity.certificate_chain().as_slice()[0].hash();
        let config = ServerConfig::builder().with_bind_address(([127, 0, 0, 1], 0).into()).with_identity(identity);
        let endpoint = Endpoint::server(config.build()).expect("a free port");
        let webtransport_port = endpoint.local_addr().expect("a bound address").port();
        let certificate_hash = BASE64.encode(hash.as_ref());
        let server = Arc::new(Self { certificate_hash, webtransport_port, ..Self::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("a bound address"));
        let server_clone = Arc::clone(&server);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&server_clone).serve(stream));
            }
        });
        let server_clone = Arc::clone(&server);
        tokio::spawn(async move {
            loop {
                tokio::spawn(Arc::clone(&server_clone).serve_webtransport(endpoint.accept().await));
            }
        });
        (server, address)
    }

    async fn serve(self: Arc<Self>, mut stream: TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if stream.read_buf(&mut head).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let head = String::from_utf8(head).expect("a request in UTF-8");
        let body = match head.split(' ').nth(1) {
            Some("/rt") => return self.serve_websocket(stream, &head).await,
            Some("/api/guest") => r#"{"token":"guest","role":"player","user":"x","expiresAt":1}"#.to_owned(),
            _ => format!(
                r#"{{"version":"0","protocol":2,"roomTypes":[],"guests":true,"webTransport":{{"url":"https://127.0.0.1:{}/rt","certificateHash":"{}"}}}}"#,
                self.webtransport_port, self.certificate_hash
            ),
        };
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let _ = stream.write_all(answer.as_bytes()).await;
    }

    async fn serve_websocket(self: Arc<Self>, mut stream: TcpStream, head: &str) {
        let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).expect("a WebSocket key");
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {}\r\nSec-WebSocket-Protocol: aether.v2.protobuf\r\n\r\n",
            accept_key(key)
        );
        let mut response = answer.into_bytes();
        // The server sends nothing before the pong, so a client that does not answer pings fails every test.
        frame_bytes(&mut response, Opcode::Ping, b"there?");
        if stream.write_all(&response).await.is_err() {
            return;
        }
        let (arrive, incoming) = unbounded_channel();
        let (send, mut outgoing) = unbounded_channel::<Frame>();
        tokio::spawn(self.run_session(incoming, send));
        let mut decoder = Decoder::new(Role::Server, 8_192);
        let mut bytes = vec![0; 8_192];
        let mut answered = false;
        loop {
            tokio::select! {
                frame = outgoing.recv(), if answered => {
                    let mut out = Vec::new();
                    match &frame {
                        Some((_, frame)) => frame_bytes(&mut out, Opcode::Binary, frame),
                        None => frame_bytes(&mut out, Opcode::Close, &close_payload(4000, "done")),
                    }
                    if stream.write_all(&out).await.is_err() || frame.is_none() {
                        return;
                    }
                }
                length = stream.read(&mut bytes) => {
                    let length = length.unwrap_or(0);
                    let result = decoder.feed(&mut bytes[..length], &mut |incoming| {
                        match incoming {
                            Incoming::Binary(frame) => drop(arrive.send(frame.to_vec())),
                            Incoming::Pong(payload) => answered = payload == b"there?",
                            _ => {}
                        }
                    });
                    if length == 0 || result.is_err() {
                        return;
                    }
                }
            }
        }
    }

    async fn serve_webtransport(self: Arc<Self>, session: IncomingSession) {
        let Ok(request) = session.await else { return };
        let Ok(connection) = request.accept().await else { return };
        let Ok((mut write, mut read)) = connection.accept_bi().await else { return };
        let (arrive, incoming) = unbounded_channel();
        let (send, mut outgoing) = unbounded_channel::<Frame>();
        tokio::spawn(self.run_session(incoming, send));
        let mut stream = Vec::new();
        let mut bytes = [0; 4_096];
        loop {
            tokio::select! {
                frame = outgoing.recv() => match frame {
                    Some((false, frame)) => drop(connection.send_datagram(frame)),
                    Some((true, frame)) => {
                        let prefixed = [&prefix(frame.len())[..], &frame].concat();
                        let _ = write.write_all(&prefixed).await;
                    }
                    None => {
                        let _ = write.finish().await;
                        return connection.close(wtransport::VarInt::from_u32(4000), b"done");
                    }
                },
                datagram = connection.receive_datagram() => match datagram {
                    Ok(datagram) => drop(arrive.send(datagram.payload().to_vec())),
                    Err(_) => return,
                },
                length = read.read(&mut bytes) => {
                    let Ok(Some(length)) = length else { return };
                    stream.extend_from_slice(&bytes[..length]);
                    while let Some((start, length)) = read_prefix(&stream)
                        && stream.len() >= start + length
                    {
                        let _ = arrive.send(stream[start..start + length].to_vec());
                        stream.drain(..start + length);
                    }
                }
            }
        }
    }

    async fn run_session(self: Arc<Self>, mut incoming: UnboundedReceiver<Vec<u8>>, send: UnboundedSender<Frame>) {
        let Some(Ok(ClientMessage::Hello(hello))) = incoming.recv().await.map(|frame| ClientMessage::decode(&frame))
        else {
            return;
        };
        let Ok((player, room)) = self.admit(&hello) else {
            let notice = ErrorNotice { code: ErrorCode::RoomFull, message: "full".into(), fatal: true };
            return send_message(&send, true, &ServerMessage::Error(notice));
        };
        send_message(&send, true, &ServerMessage::Welcome(welcome(player, &room)));
        self.rooms.lock().expect("not poisoned").entry(room.clone()).or_default().insert(player, send.clone());
        self.handle_messages(player, &room, &mut incoming, &send).await;
        self.rooms.lock().expect("not poisoned").entry(room).or_default().remove(&player);
    }

    fn admit(&self, hello: &Hello) -> Result<(u32, String), ()> {
        if let Some(token) = &hello.resume_token {
            let (player, room) = token.reveal().split_once(' ').ok_or(())?;
            return Ok((player.parse().map_err(|_| ())?, room.to_owned()));
        }
        let Some(RoomSelector::Type { name, label }) = &hello.room else { return Err(()) };
        if hello.token != Some(Token::new("guest")) || name == "full" {
            return Err(());
        }
        let room = format!("{name} {}", label.clone().unwrap_or_default());
        Ok((self.players.fetch_add(1, Ordering::Relaxed) + 1, room))
    }

    async fn handle_messages(
        &self,
        player: u32,
        room: &str,
        incoming: &mut UnboundedReceiver<Vec<u8>>,
        send: &UnboundedSender<Frame>,
    ) {
        let mut tick = 0_u32;
        let mut input_ack = 0;
        let mut interval = tokio::time::interval(TICK);
        loop {
            let message = tokio::select! {
                frame = incoming.recv() => match frame {
                    Some(frame) => ClientMessage::decode(&frame),
                    None => return,
                },
                _ = interval.tick() => {
                    tick += 1;
                    if room.starts_with("closing") && tick == 5 {
                        let reason = CloseReason::Kicked;
                        return send_message(send, true, &ServerMessage::Closing(Closing { reason, ..Closing::default() }));
                    }
                    if !room.starts_with("relay") {
                        let mut frame = Vec::new();
                        encode_state_packet(&state_packet(tick, input_ack), 0, &mut frame).expect("the packet fits");
                        let _ = send.send((false, frame));
                    }
                    continue;
                }
            };
            match message {
                Ok(ClientMessage::Ping(ping)) => {
                    let (client_time, tick) = (ping.client_time, ping.tick);
                    let pong = Pong { client_time, tick, server_tick: tick, hold_us: 5, ..Pong::default() };
                    send_message(send, false, &ServerMessage::Pong(pong));
                }
                Ok(ClientMessage::Inputs(inputs)) => {
                    self.inputs.fetch_add(1, Ordering::Relaxed);
                    input_ack = inputs.iter().last().expect("at least one input").0.0;
                }
                Ok(ClientMessage::SchemaRequest) => {
                    send_message(send, true, &ServerMessage::Schema(schema().to_bytes()))
                }
                Ok(ClientMessage::Game(message)) => {
                    let event = Event { tick: Tick(tick), sender: Some(PlayerId(player)), body: message.body };
                    let rooms = self.rooms.lock().expect("not poisoned");
                    for (_, other) in rooms[room].iter().filter(|(other, _)| **other != player) {
                        send_message(other, true, &ServerMessage::Event(event.clone()));
                    }
                }
                Ok(ClientMessage::Leave) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }
}

fn schema() -> Schema {
    let (components, inputs) = (vec![RecordSchema::of::<Ship>()], vec![RecordSchema::of::<Controls>()]);
    Schema { components, inputs, events: Vec::new() }
}

fn welcome(player: u32, room: &str) -> Welcome {
    Welcome {
        player: PlayerId(player),
        tick_hz: 20,
        snapshot_hz: 20,
        schema_hash: SchemaHash(schema().hash()),
        resume_token: Some(Token::new(format!("{player} {room}"))),
        ..Welcome::default()
    }
}

/// Packet without changes.
fn state_packet(tick: u32, input_ack: u32) -> Vec<u8> {
    let mut packet = tick.to_le_bytes().to_vec();
    packet.extend_from_slice(&(tick as u16).to_le_bytes());
    packet.extend_from_slice(&(input_ack as u16).to_le_bytes());
    packet.push(1);
    packet
}

fn send_message(send: &UnboundedSender<Frame>, reliable: bool, message: &ServerMessage) {
    let mut frame = Vec::new();
    message.encode(&mut frame).expect("the message can be encoded");
    let _ = send.send((reliable, frame));
}

/// Length prefix of a message shorter than 2^14 bytes.
fn prefix(length: usize) -> Vec<u8> {
    if length < 0x80 { vec![length as u8] } else { vec![length as u8 | 0x80, (length >> 7) as u8] }
}

fn read_prefix(bytes: &[u8]) -> Option<(usize, usize)> {
    match *bytes {
        [low, ..] if low < 0x80 => Some((1, low.into())),
        [low, high, ..] => Some((2, usize::from(low & 0x7F) | usize::from(high) << 7)),
        _ => None,
    }
}
