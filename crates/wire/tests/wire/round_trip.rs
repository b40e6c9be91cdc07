//! Messages with any content survive a round trip.

use aether_wire::limits::{
    CLIENT_TIME_US_MAX, CONNECTION_ID_MAX, FRAGMENT_BYTES_MAX, FRAGMENTS_PER_MESSAGE_MAX, INPUT_BYTES_MAX,
    INPUTS_PER_MESSAGE_MAX, LABEL_BYTES_MAX, METADATA_ENTRIES_MAX, METADATA_KEY_BYTES_MAX, NAME_BYTES_MAX,
    NUMBER_SIZE_MAX, ROOM_CODE_BYTES_MAX, ROOM_ID_BYTES_MAX, STATE_PACKET_BYTES_MAX, TEXT_BYTES_MAX, VERSION_BYTES_MAX,
};
use aether_wire::{
    Ack, Cleared, ClientMessage, ClientTime, CloseReason, Closing, CommandError, CommandSeq, ConnectionId, Correction,
    EntityFields, EntityId, ErrorCode, ErrorNotice, Event, FieldValues, Fragment, GameBody, GameMessage, Hello,
    InputBytes, InputPayload, InputSeq, Inputs, JoinMetadata, JsonSnapshot, Manifest, MessageId, MovementDelta,
    PacketSeq, Ping, PlayerId, PlaygroundClear, PlaygroundSpawn, PlaygroundStress, Pong, Possession, RoomId,
    RoomSelector, SchemaHash, ServerMessage, SessionId, Snapshot, SnapshotMode, SpawnRequest, StateAck, StatePacket,
    Tick, Token, Vector2, ViewTick, Welcome, WorldParameters,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::Value;

proptest! {
    #![proptest_config(crate::cases(512))]

    #[test]
    fn client_messages_survive_protobuf(message in client_message(input_packed(), body_packed())) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).unwrap();
        prop_assert_eq!(ClientMessage::decode(&bytes), Ok(message));
    }

    #[test]
    fn client_messages_survive_json(
        message in client_message(
            prop_oneof![input_packed(), fields().prop_map(InputPayload::Fields)],
            prop_oneof![body_packed(), body_named()],
        )
    ) {
        let mut bytes = Vec::new();
        message.encode_json(&mut bytes).unwrap();
        prop_assert_eq!(ClientMessage::decode_json(&bytes), Ok(message));
    }

    #[test]
    fn server_messages_survive_protobuf(message in server_message(packet(), body_packed())) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).unwrap();
        prop_assert_eq!(ServerMessage::decode(&bytes), Ok(message));
    }

    #[test]
    fn server_messages_survive_json(
        message in server_message(
            prop_oneof![packet(), readable()],
            prop_oneof![body_packed(), body_named()],
        )
    ) {
        let mut bytes = Vec::new();
        message.encode_json(&mut bytes).unwrap();
        prop_assert_eq!(ServerMessage::decode_json(&bytes), Ok(message));
    }

    #[test]
    fn recorded_packets_are_the_acknowledged_ones(
        arrivals in vec(1_u32..200, 1..100),
    ) {
        let mut ack = StateAck::NONE;
        let mut arrived = std::collections::BTreeSet::new();
        for packet in arrivals {
            let too_old = ack.latest().0.saturating_sub(packet) > 64;
            let new = ack.record(PacketSeq(packet));
            prop_assert_eq!(new, !too_old && arrived.insert(packet));
        }
        let latest = ack.latest().0;
        for packet in 0..300 {
            let expected = arrived.contains(&packet) && latest - packet <= 64;
            prop_assert_eq!(ack.contains(PacketSeq(packet)), expected, "packet {}", packet);
        }
        prop_assert!(ack.packets().eq(
            arrived.iter().rev().filter(|packet| latest - **packet <= 64).map(|p| PacketSeq(*p))));
    }
}

fn client_message(
    input: impl Strategy<Value = InputPayload> + 'static,
    body: impl Strategy<Value = GameBody> + 'static,
) -> impl Strategy<Value = ClientMessage> {
    prop_oneof![
        hello().prop_map(ClientMessage::Hello),
        inputs(input).prop_map(ClientMessage::Inputs),
        ack().prop_map(ClientMessage::Ack),
        (time(), tick()).prop_map(|(client_time, tick)| { ClientMessage::Ping(Ping { client_time, tick }) }),
        Just(ClientMessage::Heartbeat),
        (command(), body).prop_map(|(seq, body)| ClientMessage::Game(GameMessage { seq, body })),
        movement_delta().prop_map(ClientMessage::MovementDelta),
        (command(), option::of(vector()))
            .prop_map(|(seq, position)| { ClientMessage::SpawnRequest(SpawnRequest { seq, position }) }),
        playground(),
        Just(ClientMessage::ManifestRequest),
        Just(ClientMessage::SchemaRequest),
        Just(ClientMessage::Leave),
        fragment().prop_map(ClientMessage::Fragment),
    ]
}

fn server_message(
    snapshot: impl Strategy<Value = Snapshot> + 'static,
    body: impl Strategy<Value = GameBody> + 'static,
) -> impl Strategy<Value = ServerMessage> {
    prop_oneof![
        welcome().prop_map(ServerMessage::Welcome),
        snapshot.prop_map(ServerMessage::Snapshot),
        (tick(), proptest::option::of(any::<u32>().prop_map(PlayerId)), body)
            .prop_map(|(tick, sender, body)| ServerMessage::Event(Event { tick, sender, body })),
        (tick(), entity()).prop_map(|(tick, entity)| { ServerMessage::Possession(Possession { tick, entity }) }),
        (entity(), vector(), vector(), any::<u32>()).prop_map(|(entity, position, velocity, seq)| {
            let ack_seq = InputSeq(seq);
            ServerMessage::Correction(Correction { entity, position, velocity, ack_seq })
        }),
        (command(), option::of((error_code(), text(TEXT_BYTES_MAX)))).prop_map(|(seq, error)| {
            let error = error.map(|(code, message)| CommandError { code, message });
            ServerMessage::Ack(Ack { seq, error })
        }),
        (time(), tick(), tick(), any::<[u32; 3]>()).prop_map(|(client_time, tick, server_tick, numbers)| {
            let [hold_us, overload_rung, slowdown_percent] = numbers;
            ServerMessage::Pong(Pong { client_time, tick, server_tick, hold_us, overload_rung, slowdown_percent })
        }),
        (error_code(), text(TEXT_BYTES_MAX), any::<bool>())
            .prop_map(|(code, message, fatal)| { ServerMessage::Error(ErrorNotice { code, message, fatal }) }),
        manifest().prop_map(ServerMessage::Manifest),
        bytes(5_000).prop_map(ServerMessage::Schema),
        tick().prop_map(|tick| ServerMessage::Cleared(Cleared { tick })),
        closing().prop_map(ServerMessage::Closing),
        fragment().prop_map(ServerMessage::Fragment),
    ]
}

fn hello() -> impl Strategy<Value = Hello> {
    let room = prop_oneof![
        text(ROOM_ID_BYTES_MAX).prop_map(|id| RoomSelector::Id(RoomId(id))),
        text(ROOM_CODE_BYTES_MAX).prop_map(RoomSelector::Code),
        (text(NAME_BYTES_MAX), option::of(text(LABEL_BYTES_MAX)))
            .prop_map(|(name, label)| RoomSelector::Type { name, label }),
        (text(NAME_BYTES_MAX), option::of(text(LABEL_BYTES_MAX)))
            .prop_map(|(name, label)| RoomSelector::NewPrivate { name, label }),
    ];
    let token = || option::of(text(400).prop_map(Token::new));
    let metadata = vec((text(METADATA_KEY_BYTES_MAX), text(60)), 0..=METADATA_ENTRIES_MAX / 2)
        .prop_map(|entries| entries.into_iter().filter(|(key, _)| !key.is_empty()).collect::<JoinMetadata>());
    let hash = option::of(any::<u64>().prop_map(SchemaHash));
    (token(), option::of(room), token(), hash, metadata).prop_map(
        |(token, room, resume_token, schema_hash, metadata)| Hello { token, room, resume_token, schema_hash, metadata },
    )
}

fn inputs(payload: impl Strategy<Value = InputPayload>) -> impl Strategy<Value = Inputs> {
    let first = 1..=u32::MAX - INPUTS_PER_MESSAGE_MAX as u32;
    let view = (tick(), any::<u8>()).prop_map(|(tick, fraction)| ViewTick { tick, fraction });
    (first, vec(payload, 1..=INPUTS_PER_MESSAGE_MAX), ack(), view).prop_map(|(first, payloads, ack, view)| Inputs {
        first_seq: InputSeq(first),
        payloads: payloads.into(),
        ack,
        view,
    })
}

fn movement_delta() -> impl Strategy<Value = MovementDelta> {
    (entity(), 1..=u32::MAX, number(), number(), time()).prop_map(|(entity, seq, dx, dy, client_time)| {
        let seq = InputSeq(seq);
        MovementDelta { entity, seq, dx, dy, client_time }
    })
}

fn playground() -> impl Strategy<Value = ClientMessage> {
    prop_oneof![
        (command(), text(NAME_BYTES_MAX), vector(), number()).prop_map(|(seq, kind, Vector2 { x, y }, rotation)| {
            ClientMessage::PlaygroundSpawn(PlaygroundSpawn { seq, kind, x, y, rotation })
        }),
        command().prop_map(|seq| ClientMessage::PlaygroundClear(PlaygroundClear { seq })),
        (command(), any::<u32>(), any::<bool>()).prop_map(|(seq, count, rotate)| {
            ClientMessage::PlaygroundStress(PlaygroundStress { seq, count, rotate })
        }),
    ]
}

fn welcome() -> impl Strategy<Value = Welcome> {
    let ids = (any::<u32>(), text(ROOM_ID_BYTES_MAX), any::<u128>(), 0..=CONNECTION_ID_MAX);
    let rates = (1_u32..=128, 1_u32..=128, tick());
    let world = (vector(), vector(), number());
    let rest = (text(ROOM_CODE_BYTES_MAX), any::<u64>(), option::of(text(400)));
    (ids, rates, world, rest).prop_map(
        |(
            (player, room, session, connection),
            (tick_hz, snapshot_hz, server_tick),
            (min, max, interest_radius),
            (room_code, schema_hash, resume_token),
        )| Welcome {
            player: PlayerId(player),
            room: RoomId(room),
            session: SessionId(session),
            connection: ConnectionId(connection),
            room_code,
            tick_hz,
            snapshot_hz,
            server_tick,
            world: WorldParameters { min, max, interest_radius },
            schema_hash: SchemaHash(schema_hash),
            resume_token: resume_token.map(Token::new),
        },
    )
}

fn manifest() -> impl Strategy<Value = Manifest> {
    let optional = || option::of(any::<u32>());
    let numbers = (optional(), optional(), optional(), optional(), optional());
    (text(VERSION_BYTES_MAX), any::<u32>(), numbers).prop_map(|(version_server, version_protocol, numbers)| Manifest {
        version_server,
        version_protocol,
        tick_rate: numbers.0,
        clients_active: numbers.1,
        rooms_active: numbers.2,
        entities_active: numbers.3,
        uptime_s: numbers.4,
        tick_us: numbers.4,
    })
}

fn closing() -> impl Strategy<Value = Closing> {
    let reason = proptest::sample::select(CloseReason::ALL);
    (reason, text(TEXT_BYTES_MAX), any::<u32>(), any::<bool>())
        .prop_map(|(reason, text, deadline_ms, may_resume)| Closing { reason, text, deadline_ms, may_resume })
}

fn packet() -> impl Strategy<Value = Snapshot> {
    (bytes(STATE_PACKET_BYTES_MAX), any::<u32>())
        .prop_map(|(bytes, after)| Snapshot::Packed(StatePacket { bytes, after }))
}

fn readable() -> impl Strategy<Value = Snapshot> {
    let mode = prop_oneof![Just(SnapshotMode::Full), Just(SnapshotMode::Delta)];
    let row = (entity(), fields()).prop_map(|(id, fields)| EntityFields { id, fields });
    let features = btree_map("[a-z]{1,8}", vec(row, 0..5), 0..4);
    let ids = || vec(entity(), 0..20);
    (tick(), mode, any::<u32>(), features, ids(), ids()).prop_map(|(tick, mode, seq, features, entered, removed)| {
        let local_ack_seq = InputSeq(seq);
        Snapshot::Readable(JsonSnapshot { tick, mode, local_ack_seq, features, entered, removed })
    })
}

fn body_packed() -> impl Strategy<Value = GameBody> {
    (any::<u16>(), bytes(2_000)).prop_map(|(code, payload)| GameBody::Packed { code, payload })
}

fn body_named() -> impl Strategy<Value = GameBody> {
    ("own_[a-z]{1,20}", "[a-z_]{1,20}", fields()).prop_map(|(feature, action, fields)| GameBody::Named {
        feature,
        action,
        fields,
    })
}

fn input_packed() -> impl Strategy<Value = InputPayload> {
    bytes(INPUT_BYTES_MAX).prop_map(|bytes| InputPayload::Packed(InputBytes::new(&bytes).unwrap()))
}

fn fields() -> impl Strategy<Value = FieldValues> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text(20).prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 12, 4, |inner| vec(inner, 0..4).prop_map(Value::from));
    // The name `id` is reserved for the entity.
    btree_map("f[a-z]{0,8}", value, 0..5).prop_map(FieldValues)
}

fn fragment() -> impl Strategy<Value = Fragment> {
    (any::<u32>(), any::<u16>(), 0..=FRAGMENTS_PER_MESSAGE_MAX, bytes(FRAGMENT_BYTES_MAX)).prop_map(
        |(message, index, total, bytes)| {
            let message = MessageId(message);
            Fragment { message, index, total, bytes }
        },
    )
}

fn ack() -> impl Strategy<Value = StateAck> {
    let latest = prop_oneof![0_u32..100, any::<u32>()];
    (latest, any::<u64>()).prop_map(|(latest, before)| StateAck::new(PacketSeq(latest), before))
}

fn entity() -> impl Strategy<Value = EntityId> {
    (any::<u32>(), any::<u16>()).prop_map(|(slot, generation)| EntityId { slot, generation })
}

fn error_code() -> impl Strategy<Value = ErrorCode> {
    proptest::sample::select(ErrorCode::ALL)
}

fn time() -> impl Strategy<Value = ClientTime> {
    prop_oneof![0..=CLIENT_TIME_US_MAX, CLIENT_TIME_US_MAX - 10_000..=CLIENT_TIME_US_MAX].prop_map(ClientTime)
}

fn tick() -> impl Strategy<Value = Tick> {
    any::<u32>().prop_map(Tick)
}

fn command() -> impl Strategy<Value = CommandSeq> {
    any::<u32>().prop_map(CommandSeq)
}

fn vector() -> impl Strategy<Value = Vector2> {
    (number(), number()).prop_map(|(x, y)| Vector2 { x, y })
}

fn number() -> impl Strategy<Value = f32> {
    prop_oneof![-NUMBER_SIZE_MAX..=NUMBER_SIZE_MAX, -1.0_f32..1.0, Just(NUMBER_SIZE_MAX)]
}

fn bytes(length_max: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..=length_max)
}

/// Text of any characters, up to `bytes_max` bytes.
fn text(bytes_max: usize) -> impl Strategy<Value = String> {
    vec(any::<char>(), 0..=bytes_max / 4).prop_map(|characters| characters.into_iter().collect())
}
