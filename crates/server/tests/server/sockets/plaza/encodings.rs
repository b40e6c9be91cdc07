//! Encodings of a program, and room types that serve only some.

use super::{Plaza, Program, mirror, read_state, ships};
use aether_engine::RoomSettings;
use aether_net::relay::RelaySettings;
use aether_replication::DeliveryOrder;
use aether_server::Server;
use aether_testkit_server::{DeliveryPath, Encoding, End, JSON, PROTOBUF, TRANSPORTS, TestPlayer, TransportKind};
use aether_wire::{
    ClientMessage, CloseReason, Closing, CommandSeq, DecodeError, EncodeError, EntityFields, EntityId, ErrorCode,
    ErrorNotice, FieldValues, GameBody, GameMessage, Hello, JsonSnapshot, MessageEncoding, PlayerId, Possession,
    RoomId, RoomSelector, ServerMessage, Snapshot, Tick, Token, Welcome,
};
use serde_json::json;
use std::collections::BTreeMap;

/// Text: the fields of a message one after the other, each as its length, a colon, its bytes and a comma.
struct Netstrings;

static NETSTRINGS: Netstrings = Netstrings;
const NETSTRING: Encoding = Encoding::Own(&NETSTRINGS);

/// Fields of one message that a program may have; more are an error.
const FIELDS_MAX: usize = 4_096;

fn write(out: &mut Vec<u8>, fields: &[&str]) {
    for field in fields {
        out.extend_from_slice(format!("{}:{field},", field.len()).as_bytes());
    }
}

fn read(bytes: &[u8]) -> Result<Vec<&str>, DecodeError> {
    let mut rest = std::str::from_utf8(bytes).map_err(|_| DecodeError::Malformed)?;
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let (length, after) = rest.split_once(':').ok_or(DecodeError::Malformed)?;
        let length: usize = length.parse().map_err(|_| DecodeError::Malformed)?;
        let field = after.get(..length).ok_or(DecodeError::Malformed)?;
        rest = after[length..].strip_prefix(',').ok_or(DecodeError::Malformed)?;
        fields.push(field);
        if fields.len() > FIELDS_MAX {
            return Err(DecodeError::TooMany { field: "fields", limit: FIELDS_MAX });
        }
    }
    Ok(fields)
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, DecodeError> {
    text.parse().map_err(|_| DecodeError::BadValue { field: "number" })
}

impl MessageEncoding for Netstrings {
    fn name(&self) -> &'static str {
        "netstrings.v1"
    }

    fn is_text(&self) -> bool {
        true
    }

    fn decode_client(&self, bytes: &[u8]) -> Result<ClientMessage, DecodeError> {
        match read(bytes)?[..] {
            ["hello", token, room_type] => Ok(ClientMessage::Hello(Hello {
                token: Some(Token::new(token)),
                room: Some(RoomSelector::Type { name: room_type.to_owned(), label: None }),
                ..Hello::default()
            })),
            ["order", seq, moves, burn_ms] => {
                let values = [("moves", json!(moves == "yes")), ("burn_ms", json!(number::<i64>(burn_ms)?))];
                let fields = FieldValues(values.map(|(name, value)| (name.to_owned(), value)).into_iter().collect());
                let body = GameBody::Named { feature: "plaza".to_owned(), action: "order".to_owned(), fields };
                Ok(ClientMessage::Game(GameMessage { seq: CommandSeq(number(seq)?), body }))
            }
            ["manifest"] => Ok(ClientMessage::ManifestRequest),
            ["leave"] => Ok(ClientMessage::Leave),
            _ => Err(DecodeError::UnknownMessage),
        }
    }

    fn encode_server(&self, message: &ServerMessage, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match message {
            ServerMessage::Welcome(welcome) => {
                let (player, tick_hz) = (welcome.player.0.to_string(), welcome.tick_hz.to_string());
                write(out, &["welcome", &player, &welcome.room.0, &tick_hz]);
            }
            ServerMessage::Snapshot(Snapshot::Readable(snapshot)) => {
                write(out, &["state", &snapshot.tick.0.to_string()]);
                for (channel, entities) in &snapshot.features {
                    for EntityFields { id, fields: FieldValues(fields) } in entities {
                        let values = serde_json::to_string(fields).expect("values by name are JSON");
                        write(out, &[channel, &id.to_bits().to_string(), &values]);
                    }
                }
            }
            ServerMessage::Possession(possession) => {
                write(out, &["possession", &possession.entity.to_bits().to_string()]);
            }
            ServerMessage::Ack(ack) => write(out, &["ack", &ack.seq.0.to_string()]),
            ServerMessage::Error(notice) => write(out, &["error", notice.code.name(), &notice.message]),
            ServerMessage::Closing(closing) => write(out, &["closing", closing.reason.name()]),
            _ => return Err(EncodeError::Unsupported),
        }
        Ok(())
    }

    fn encode_client(&self, message: &ClientMessage, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match message {
            ClientMessage::Hello(Hello { token: Some(token), room: Some(RoomSelector::Type { name, .. }), .. }) => {
                write(out, &["hello", token.reveal(), name]);
            }
            ClientMessage::ManifestRequest => write(out, &["manifest"]),
            ClientMessage::Leave => write(out, &["leave"]),
            _ => return Err(EncodeError::Unsupported),
        }
        Ok(())
    }

    fn decode_server(&self, bytes: &[u8]) -> Result<ServerMessage, DecodeError> {
        let fields = read(bytes)?;
        Ok(match fields[..] {
            ["welcome", player, room, tick_hz] => ServerMessage::Welcome(Welcome {
                player: PlayerId(number(player)?),
                room: RoomId(room.to_owned()),
                tick_hz: number(tick_hz)?,
                ..Welcome::default()
            }),
            ["state", tick, ref entities @ ..] => {
                let mut features: BTreeMap<String, Vec<EntityFields>> = BTreeMap::new();
                for entity in entities.chunks(3) {
                    let [channel, id, values] = entity else { return Err(DecodeError::Malformed) };
                    let id = EntityId::from_bits(number(id)?).ok_or(DecodeError::Malformed)?;
                    let values = serde_json::from_str(values).map_err(|_| DecodeError::Malformed)?;
                    let entity = EntityFields { id, fields: FieldValues(values) };
                    features.entry((*channel).to_owned()).or_default().push(entity);
                }
                let snapshot = JsonSnapshot { tick: Tick(number(tick)?), features, ..JsonSnapshot::default() };
                ServerMessage::Snapshot(Snapshot::Readable(snapshot))
            }
            ["possession", entity] => {
                let entity = EntityId::from_bits(number(entity)?).ok_or(DecodeError::Malformed)?;
                ServerMessage::Possession(Possession { entity, ..Possession::default() })
            }
            ["ack", seq] => ServerMessage::Ack(aether_wire::Ack { seq: CommandSeq(number(seq)?), error: None }),
            ["error", code, message] => ServerMessage::Error(ErrorNotice {
                code: ErrorCode::from_name(code),
                message: message.to_owned(),
                fatal: false,
            }),
            ["closing", reason] => {
                ServerMessage::Closing(Closing { reason: CloseReason::from_name(reason), ..Closing::default() })
            }
            _ => return Err(DecodeError::UnknownMessage),
        })
    }
}

/// Binary: protobuf with every bit inverted. State stays packed.
struct Inverted;

static INVERTED_ENCODING: Inverted = Inverted;
const INVERTED: Encoding = Encoding::Own(&INVERTED_ENCODING);

fn invert(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| !byte).collect()
}

impl MessageEncoding for Inverted {
    fn name(&self) -> &'static str {
        "inverted"
    }

    fn has_named_values(&self) -> bool {
        false
    }

    fn decode_client(&self, bytes: &[u8]) -> Result<ClientMessage, DecodeError> {
        ClientMessage::decode(&invert(bytes))
    }

    fn encode_server(&self, message: &ServerMessage, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut plain = Vec::new();
        message.encode(&mut plain)?;
        out.extend(invert(&plain));
        Ok(())
    }

    fn encode_client(&self, message: &ClientMessage, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut plain = Vec::new();
        message.encode(&mut plain)?;
        out.extend(invert(&plain));
        Ok(())
    }

    fn decode_server(&self, bytes: &[u8]) -> Result<ServerMessage, DecodeError> {
        ServerMessage::decode(&invert(bytes))
    }
}

fn server() -> Server {
    Server::new("encodings", "1.0.0")
        .encoding(&NETSTRINGS)
        .encoding(&INVERTED_ENCODING)
        .game("plaza", RoomSettings::default(), || Plaza::with_ships(5))
        .game("few", RoomSettings { encodings: vec!["protobuf".to_owned()], ..RoomSettings::default() }, || {
            Plaza::with_ships(5)
        })
        .relay("relay", RelaySettings::default())
}

async fn state(player: &mut TestPlayer) -> JsonSnapshot {
    player
        .wait("a snapshot", |message| match message {
            ServerMessage::Snapshot(Snapshot::Readable(snapshot)) => Some(snapshot),
            _ => None,
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_plays_with_an_encoding_of_the_program_over_every_transport() {
    let program = Program::start_server(server(), |_| {}).await;
    for transport in TRANSPORTS {
        let mut player = program.join(transport, NETSTRING, "plaza").await;
        assert_eq!(player.welcome.tick_hz, 40);
        let own = player.possession().await;
        let first = state(&mut player).await;
        let ships = &first.features["movement"];
        assert_eq!(ships.len(), 6, "over {}", transport.name());
        let ship = ships.iter().find(|ship| ship.id == own).expect("the own ship is in view");
        let position = ship.fields.0["position"].as_array().expect("it is a list");
        assert!(position.len() == 2 && position.iter().all(|value| value.as_f64().is_some_and(|x| x.abs() < 2.0)));
        player.send_frame("5:order,1:1,3:yes,1:0,").await;
        assert_eq!(player.answer(1).await, None);
        let count = |snapshot: &JsonSnapshot| {
            let steps = snapshot.features.get("plaza").and_then(|steps| steps.first());
            steps.and_then(|steps| steps.fields.0["count"].as_i64())
        };
        let mut snapshot = state(&mut player).await;
        while count(&snapshot) < Some(5) {
            snapshot = state(&mut player).await;
        }
        player.send(ClientMessage::Leave).await;
        assert_eq!(player.end().await.reason(), Some(CloseReason::Left));
    }
    program.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encoding_can_carry_packed_state() {
    let program = Program::start_server(server(), |_| {}).await;
    for transport in TRANSPORTS {
        let mut player = program.join(transport, INVERTED, "plaza").await;
        // State is sent in order and without loss, over every transport.
        let mut shown = mirror(DeliveryOrder::Ordered, &RoomSettings::default());
        while ships(&shown).len() < 6 {
            read_state(&mut player, &mut shown).await;
        }
        player.send(ClientMessage::Leave).await;
        assert_eq!(player.end().await.reason(), Some(CloseReason::Left));
    }
    // In a relay, members with different encodings exchange messages.
    let mut members = Vec::new();
    for encoding in [INVERTED, PROTOBUF, JSON] {
        members.push(program.join(TransportKind::WebSocket, encoding, "relay").await);
    }
    for sender in 0..members.len() {
        let body = GameBody::Packed { code: 7, payload: vec![sender as u8, 255] };
        let message = ClientMessage::Game(GameMessage { seq: CommandSeq(0), body: body.clone() });
        members[sender].send(message).await;
        for receiver in (0..members.len()).filter(|receiver| *receiver != sender) {
            let received = members[receiver].wait("the message", |message| match message {
                ServerMessage::Event(event) if event.body == body => Some(()),
                _ => None,
            });
            received.await;
        }
    }
    program.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_an_own_encoding_are_bounded_and_counted() {
    let program = Program::start_server(server(), |_| {}).await;
    let (decode_errors, encode_errors) = ("aether_decode_errors_total", "aether_encode_errors_total");
    for (round, transport) in (1..).map(f64::from).zip(TRANSPORTS) {
        let mut player = program.join(transport, NETSTRING, "plaza").await;
        player.send_frame("9:order,").await;
        let notice = player
            .wait("an error", |message| match message {
                ServerMessage::Error(notice) => Some(notice),
                _ => None,
            })
            .await;
        assert_eq!(notice.code, ErrorCode::BadMessage);
        assert!(program.metric(decode_errors, &[]) >= Some(round));
        // The encoding has no form for the manifest: the answer is dropped, and the connection stays open.
        player.send(ClientMessage::ManifestRequest).await;
        player.send_frame("5:order,1:1,3:yes,1:0,").await;
        assert_eq!(player.answer(1).await, None);
        assert_eq!(program.metric(encode_errors, &[]), Some(round));
        // A client that keeps sending invalid messages is closed.
        for _ in 0..20 {
            // It fails once the server has closed the connection.
            let _ = player.client.send_frame(DeliveryPath::Reliable, b"1:x,").await;
        }
        assert_eq!(player.end().await.reason(), Some(CloseReason::Flooded), "over {}", transport.name());
    }
    // Messages have the limits of all encodings: here the size.
    let mut player = program.join(TransportKind::WebSocket, NETSTRING, "plaza").await;
    let long = format!("600:{},", "x".repeat(600));
    player.client.send_frame(DeliveryPath::Reliable, long.as_bytes()).await.expect("the connection is open");
    assert_eq!(End::of(&mut player.client).await.code, Some(1_009), "too big");
    program.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_type_rejects_clients_whose_encoding_it_does_not_serve() {
    let program = Program::start_server(server(), |config| {
        config.room_mut("plaza").encodings = Some(vec!["netstrings.v1".to_owned(), "json".to_owned()]);
        config.room_mut("relay").encodings = Some(vec!["inverted".to_owned()]);
    })
    .await;
    for transport in TRANSPORTS {
        for (room_type, encoding, served) in [
            ("plaza", PROTOBUF, "netstrings.v1, json"),
            ("plaza", INVERTED, "netstrings.v1, json"),
            ("few", JSON, "protobuf"),
            ("few", NETSTRING, "protobuf"),
            ("relay", JSON, "inverted"),
        ] {
            let rejected = program.try_join(transport, encoding, room_type).await;
            let notice = rejected.err().expect("the type does not serve the encoding");
            let name = encoding.name();
            let expected =
                format!("room type `{room_type}` does not serve the encoding `{name}`; connect with one of: {served}");
            assert_eq!((notice.code, notice.message), (ErrorCode::JoinRefused, expected));
        }
        for (room_type, encoding) in [("plaza", NETSTRING), ("plaza", JSON), ("few", PROTOBUF), ("relay", INVERTED)] {
            program.join(transport, encoding, room_type).await;
        }
    }
    program.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_encoding_is_rejected_by_the_server() {
    static UNKNOWN_ENCODING: Unknown = Unknown;
    let unknown = Encoding::Own(&UNKNOWN_ENCODING);
    let program = Program::start_server(server(), |_| {}).await;
    let connector = super::connector(program.running.http).encoding(unknown);
    let refused = connector.open(TransportKind::WebSocket).await.err().expect("there is no such subprotocol");
    assert_eq!(refused.label(), "status 400");
    assert!(connector.open(TransportKind::WebTransport).await.is_err(), "there is no such path");
    program.stop().await;
    let (mut config, folder) = super::config();
    config.room_mut("plaza").encodings = Some(vec!["netstrings.v1".to_owned(), "xml".to_owned()]);
    let error = server().start(config).await.err().expect("the setting is invalid").to_string();
    assert_eq!(
        error,
        "room.plaza.encodings: unknown encoding \"xml\"; this server has protobuf, json, netstrings.v1, inverted."
    );
    let _ = std::fs::remove_dir_all(folder);
}

/// An encoding that no server knows.
struct Unknown;

impl MessageEncoding for Unknown {
    fn name(&self) -> &'static str {
        "unknown"
    }

    fn decode_client(&self, _bytes: &[u8]) -> Result<ClientMessage, DecodeError> {
        Err(DecodeError::UnknownMessage)
    }

    fn encode_server(&self, _message: &ServerMessage, _out: &mut Vec<u8>) -> Result<(), EncodeError> {
        Err(EncodeError::Unsupported)
    }
}
