//! An example of every message, with every field set to a value that is not the default.

use std::collections::BTreeMap;

use aether_wire::{
    Ack, Cleared, ClientMessage, ClientTime, CloseReason, Closing, CommandError, CommandSeq, ConnectionId, Correction,
    EntityFields, EntityId, ErrorCode, ErrorNotice, Event, FieldValues, Fragment, GameBody, GameMessage, Hello,
    InputBytes, InputPayload, InputSeq, Inputs, JoinMetadata, JsonSnapshot, Manifest, MessageId, MovementDelta,
    PacketSeq, Ping, PlayerId, PlaygroundClear, PlaygroundSpawn, PlaygroundStress, Pong, Possession, RoomId,
    RoomSelector, SchemaHash, ServerMessage, SessionId, Snapshot, SnapshotMode, SpawnRequest, StateAck, StatePacket,
    Tick, Token, Vector2, ViewTick, Welcome, WorldParameters,
};
use serde_json::json;

/// An example and its title: the name of the message, and a suffix if there are several.
pub type Example<Message> = (&'static str, Message);

pub fn fields(value: serde_json::Value) -> FieldValues {
    serde_json::from_value(value).expect("the value is an object")
}

pub fn packed_inputs() -> Inputs {
    Inputs {
        first_seq: InputSeq(41),
        payloads: vec![
            InputPayload::Packed(InputBytes::new(&[0xaa, 0xbb]).unwrap()),
            InputPayload::Packed(InputBytes::new(&[0xcc]).unwrap()),
        ]
        .into(),
        ack: StateAck::new(PacketSeq(120), !0b101),
        view: ViewTick { tick: Tick(1_000), fraction: 128 },
    }
}

/// Examples for both encodings.
pub fn client_examples() -> Vec<Example<ClientMessage>> {
    let entity = EntityId { slot: 7, generation: 1 };
    let mut examples = hello_examples();
    examples.extend([
        ("inputs", ClientMessage::Inputs(packed_inputs())),
        ("ack", ClientMessage::Ack(StateAck::new(PacketSeq(300), !(1 << 63)))),
        ("ping", ClientMessage::Ping(Ping { client_time: ClientTime(1_234_567), tick: Tick(99) })),
        ("heartbeat", ClientMessage::Heartbeat),
        (
            "game",
            ClientMessage::Game(GameMessage {
                seq: CommandSeq(5),
                body: GameBody::Packed { code: 300, payload: vec![1, 2, 3] },
            }),
        ),
        (
            "movement_delta",
            ClientMessage::MovementDelta(MovementDelta {
                entity,
                seq: InputSeq(42),
                dx: 0.5,
                dy: -1.25,
                client_time: ClientTime(2_000_000),
            }),
        ),
        (
            "spawn_request",
            ClientMessage::SpawnRequest(SpawnRequest {
                seq: CommandSeq(6),
                position: Some(Vector2 { x: 10.0, y: -20.0 }),
            }),
        ),
    ]);
    examples.extend(playground_examples());
    examples.extend([
        ("manifest_request", ClientMessage::ManifestRequest),
        ("schema_request", ClientMessage::SchemaRequest),
        ("leave", ClientMessage::Leave),
        ("fragment", ClientMessage::Fragment(fragment())),
    ]);
    examples
}

/// Examples for JSON only.
pub fn readable_client_examples() -> Vec<Example<ClientMessage>> {
    let mut inputs = packed_inputs();
    inputs.payloads = vec![
        InputPayload::Fields(fields(json!({"thrust": true, "turn": -0.5}))),
        InputPayload::Fields(fields(json!({"thrust": false, "turn": 1}))),
    ]
    .into();
    vec![
        ("inputs by name", ClientMessage::Inputs(inputs)),
        (
            "game by name",
            ClientMessage::Game(GameMessage {
                seq: CommandSeq(10),
                body: GameBody::Named {
                    feature: "build".into(),
                    action: "place".into(),
                    fields: fields(json!({"kind": "wall", "cell": [3, 4]})),
                },
            }),
        ),
    ]
}

/// Examples for both encodings.
pub fn server_examples() -> Vec<Example<ServerMessage>> {
    let entity = EntityId { slot: 7, generation: 1 };
    let mut examples = vec![
        ("welcome", ServerMessage::Welcome(welcome())),
        ("snapshot", ServerMessage::Snapshot(Snapshot::Packed(vec![0xde, 0xad, 0xbe, 0xef].into()))),
        (
            "snapshot after events",
            ServerMessage::Snapshot(Snapshot::Packed(StatePacket { bytes: vec![0xbe, 0xef], after: 300 })),
        ),
        (
            "event",
            ServerMessage::Event(Event {
                tick: Tick(1_001),
                sender: None,
                body: GameBody::Packed { code: 17, payload: vec![9, 8, 7] },
            }),
        ),
        (
            "event of a relay room",
            ServerMessage::Event(Event {
                tick: Tick::ZERO,
                sender: Some(PlayerId(3)),
                body: GameBody::Packed { code: 1, payload: vec![5, 6] },
            }),
        ),
        ("possession", ServerMessage::Possession(Possession { tick: Tick(1_002), entity })),
        (
            "correction",
            ServerMessage::Correction(Correction {
                entity,
                position: Vector2 { x: 1.0, y: 2.0 },
                velocity: Vector2 { x: -0.5, y: 0.25 },
                ack_seq: InputSeq(42),
            }),
        ),
    ];
    examples.extend(reply_examples());
    examples.extend(news_examples());
    examples
}

/// Examples for JSON only.
pub fn readable_server_examples() -> Vec<Example<ServerMessage>> {
    let movement = EntityFields {
        id: EntityId { slot: 7, generation: 1 },
        fields: fields(json!({"x": 1.5, "y": -2, "name": "Ada"})),
    };
    vec![
        (
            "snapshot by name",
            ServerMessage::Snapshot(Snapshot::Readable(JsonSnapshot {
                tick: Tick(1_007),
                mode: SnapshotMode::Delta,
                local_ack_seq: InputSeq(42),
                features: BTreeMap::from([("movement".to_owned(), vec![movement])]),
                entered: vec![EntityId { slot: 7, generation: 1 }],
                removed: vec![EntityId { slot: 300, generation: 0 }],
            })),
        ),
        (
            "event by name",
            ServerMessage::Event(Event {
                tick: Tick(1_008),
                sender: None,
                body: GameBody::Named {
                    feature: "projectile".into(),
                    action: "hit".into(),
                    fields: fields(json!({"damage": 5})),
                },
            }),
        ),
    ]
}

fn playground_examples() -> Vec<Example<ClientMessage>> {
    vec![
        (
            "playground_spawn",
            ClientMessage::PlaygroundSpawn(PlaygroundSpawn {
                seq: CommandSeq(7),
                kind: "ship".into(),
                x: 1.5,
                y: 2.5,
                rotation: 0.1,
            }),
        ),
        ("playground_clear", ClientMessage::PlaygroundClear(PlaygroundClear { seq: CommandSeq(8) })),
        (
            "playground_stress",
            ClientMessage::PlaygroundStress(PlaygroundStress { seq: CommandSeq(9), count: 1_000, rotate: true }),
        ),
    ]
}

fn reply_examples() -> Vec<Example<ServerMessage>> {
    vec![
        ("ack", ServerMessage::Ack(Ack { seq: CommandSeq(5), error: None })),
        (
            "ack refused",
            ServerMessage::Ack(Ack {
                seq: CommandSeq(9),
                error: Some(CommandError {
                    code: ErrorCode::Forbidden,
                    message: "The playground needs a permission.".into(),
                }),
            }),
        ),
        (
            "pong",
            ServerMessage::Pong(Pong {
                client_time: ClientTime(1_234_567),
                tick: Tick(99),
                server_tick: Tick(1_003),
                hold_us: 850,
                overload_rung: 0,
                slowdown_percent: 0,
            }),
        ),
        (
            "pong of an overloaded room",
            ServerMessage::Pong(Pong {
                client_time: ClientTime(1_234_567),
                tick: Tick(99),
                server_tick: Tick(1_003),
                hold_us: 850,
                overload_rung: 5,
                slowdown_percent: 25,
            }),
        ),
        (
            "error",
            ServerMessage::Error(ErrorNotice {
                code: ErrorCode::RoomFull,
                message: "The room is full.".into(),
                fatal: true,
            }),
        ),
    ]
}

fn news_examples() -> Vec<Example<ServerMessage>> {
    vec![
        ("manifest", ServerMessage::Manifest(manifest())),
        ("schema", ServerMessage::Schema(vec![5, 4, 3, 2, 1])),
        ("cleared", ServerMessage::Cleared(Cleared { tick: Tick(1_006) })),
        (
            "closing",
            ServerMessage::Closing(Closing {
                reason: CloseReason::Shutdown,
                text: "The server restarts.".into(),
                deadline_ms: 5_000,
                may_resume: true,
            }),
        ),
        ("fragment", ServerMessage::Fragment(fragment())),
    ]
}

fn hello_examples() -> Vec<Example<ClientMessage>> {
    let everything = Hello {
        token: Some(Token::new("access")),
        room: Some(RoomSelector::Type { name: "arena".into(), label: Some("ranked".into()) }),
        resume_token: Some(Token::new("resume")),
        schema_hash: Some(SchemaHash(0x0123_4567_89ab_cdef)),
        metadata: JoinMetadata::default(),
    };
    let selecting = |room| Hello { room: Some(room), ..Hello::default() };
    vec![
        ("hello", ClientMessage::Hello(everything)),
        ("hello by id", ClientMessage::Hello(selecting(RoomSelector::Id(RoomId("6f1c.node-1".into()))))),
        ("hello by code", ClientMessage::Hello(selecting(RoomSelector::Code("K7QX".into())))),
        (
            "hello for a private room",
            ClientMessage::Hello(selecting(RoomSelector::NewPrivate { name: "arena".into(), label: None })),
        ),
        ("hello with metadata", ClientMessage::Hello(Hello { metadata: [("team", "röd")].into(), ..Hello::default() })),
    ]
}

fn fragment() -> Fragment {
    Fragment { message: MessageId(3), index: 1, total: 4, bytes: vec![0xf0, 0x0d] }
}

fn welcome() -> Welcome {
    Welcome {
        player: PlayerId(12),
        room: RoomId("6f1c.node-1".into()),
        session: SessionId(0x0192_f0c1_2345_7890_abcd_ef01_2345_6789),
        connection: ConnectionId(77),
        room_code: "K7QX".into(),
        tick_hz: 40,
        snapshot_hz: 20,
        server_tick: Tick(1_000),
        world: WorldParameters {
            min: Vector2 { x: -1_000.0, y: -1_000.0 },
            max: Vector2 { x: 1_000.0, y: 1_000.0 },
            interest_radius: 200.0,
        },
        schema_hash: SchemaHash(0x0123_4567_89ab_cdef),
        resume_token: Some(Token::new("resume")),
    }
}

fn manifest() -> Manifest {
    Manifest {
        version_server: "0.1.0".into(),
        version_protocol: 2,
        tick_rate: Some(40),
        clients_active: Some(250),
        rooms_active: Some(8),
        entities_active: Some(300),
        uptime_s: Some(3_600),
        tick_us: Some(412),
    }
}
