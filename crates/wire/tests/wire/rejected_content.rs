//! Well-formed frames with invalid content are rejected.

use aether_wire::limits::{
    CLIENT_TIME_US_MAX, FRAGMENT_BYTES_MAX, GAME_PAYLOAD_BYTES_MAX, INPUT_BYTES_MAX, INPUTS_PER_MESSAGE_MAX,
    METADATA_BYTES_MAX, METADATA_ENTRIES_MAX, METADATA_KEY_BYTES_MAX, METADATA_VALUE_BYTES_MAX, NAME_BYTES_MAX,
    TEXT_BYTES_MAX, TOKEN_BYTES_MAX,
};
use aether_wire::{
    ClientMessage, ClientTime, CommandSeq, DecodeError, EncodeError, ErrorCode, ErrorNotice, GameBody, GameMessage,
    Hello, JoinMetadata, MovementDelta, Ping, ServerMessage, Tick, Token,
};

use crate::crafted::{command, decode_json, frame, push_length};
use crate::examples;

#[test]
fn numbers_that_are_not_finite_or_too_large_are_rejected() {
    for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e38, -1e38, 2e7] {
        let dx = number.to_le_bytes();
        // movement_delta with seq 1 and dx.
        let bytes = [&[0x3a, 7, 0x10, 1, 0x1d], &dx[..]].concat();
        assert_eq!(ClientMessage::decode(&bytes), Err(DecodeError::BadNumber { field: "dx" }));
        let delta = MovementDelta { dx: number, ..MovementDelta::default() };
        let rejected = Err(EncodeError::Rejected(DecodeError::BadNumber { field: "dx" }));
        assert_eq!(ClientMessage::MovementDelta(delta).encode(&mut Vec::new()), rejected);
        assert_eq!(ClientMessage::MovementDelta(delta).encode_json(&mut Vec::new()), rejected);
    }
    for (number, error) in [
        ("1e38", DecodeError::BadNumber { field: "dx" }),
        ("1e39", DecodeError::Malformed),
        ("1e999", DecodeError::Malformed),
        ("NaN", DecodeError::Malformed),
        ("null", DecodeError::Malformed),
        (r#""1""#, DecodeError::Malformed),
    ] {
        let payload = format!(r#"{{"entity":1,"dx":{number},"dy":0}}"#);
        let json = command("movement", "delta", &payload);
        assert_eq!(decode_json(&json), Err(error), "{number}");
    }
}

#[test]
fn too_many_inputs_are_rejected() {
    let too_many = DecodeError::TooMany { field: "inputs", limit: INPUTS_PER_MESSAGE_MAX };
    // An empty input takes one byte, so many fit a short frame.
    for count in [INPUTS_PER_MESSAGE_MAX + 1, 100, 60_000] {
        let mut inputs = vec![0x08, 1, 0x12];
        push_length(&mut inputs, count);
        inputs.resize(inputs.len() + count, 0);
        assert_eq!(ClientMessage::decode(&frame(0x12, &inputs)), Err(too_many));
    }
    let list: Vec<_> = (1..=INPUTS_PER_MESSAGE_MAX + 1).map(|seq| format!(r#"{{"seq":{seq},"keys":{{}}}}"#)).collect();
    let json = command("movement", "input_batch", &format!(r#"{{"inputs":[{}]}}"#, list.join(",")));
    assert_eq!(decode_json(&json), Err(too_many));
}

#[test]
fn contradictory_inputs_are_rejected() {
    let decode = |inputs: &[u8]| ClientMessage::decode(&frame(0x12, inputs));
    let too_long = DecodeError::FieldTooLong { field: "input", limit: INPUT_BYTES_MAX };
    assert_eq!(decode(&[0x08, 1]), Err(DecodeError::Missing { field: "inputs" }));
    assert_eq!(decode(&[0x12, 1, 0]), Err(DecodeError::BadValue { field: "seq" }));
    assert_eq!(decode(&[0x08, 1, 0x12, 2, 5, 0]), Err(DecodeError::Malformed));
    let long = [&[0x08, 1, 0x12, 34, 33][..], &[0; 33]].concat();
    assert_eq!(decode(&long), Err(too_long));
    // A second input after the last possible number.
    let wrapping = [0x08, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x12, 2, 0, 0];
    assert_eq!(decode(&wrapping), Err(DecodeError::BadValue { field: "seq" }));

    let batch = |payload: &str| decode_json(&command("movement", "input_batch", payload));
    let bad_seq = Err(DecodeError::BadValue { field: "seq" });
    assert_eq!(batch(r#"{"inputs":[]}"#), Err(DecodeError::Missing { field: "inputs" }));
    assert_eq!(batch(r#"{"inputs":[{"seq":0,"keys":{}}]}"#), bad_seq);
    assert_eq!(batch(r#"{"inputs":[{"seq":1,"keys":{}},{"seq":3,"keys":{}}]}"#), bad_seq);
    assert_eq!(batch(r#"{"inputs":[{"seq":2,"keys":{}},{"seq":1,"keys":{}}]}"#), bad_seq);
    assert_eq!(batch(r#"{"inputs":[{"seq":1}]}"#), Err(DecodeError::Missing { field: "keys" }));
    assert_eq!(batch(r#"{"inputs":[{"seq":1,"keys":[]}]}"#), Err(DecodeError::Malformed));
    assert_eq!(batch(r#"{"inputs":[{"seq":1,"packed":"?"}]}"#), Err(DecodeError::Malformed));
    assert_eq!(batch(r#"{"inputs":[{"seq":-1,"keys":{}}]}"#), Err(DecodeError::Malformed));
    for view in ["-1", "4294967296", "1e30"] {
        let payload = format!(r#"{{"inputs":[{{"seq":1,"keys":{{}}}}],"viewTick":{view}}}"#);
        assert_eq!(batch(&payload), Err(DecodeError::BadNumber { field: "viewTick" }), "{view}");
    }
}

#[test]
fn acknowledgements_outside_their_window_are_rejected_or_ignored() {
    let ack = |payload: &str| decode_json(&format!(r#"{{"v":2,"kind":"ack","payload":{payload}}}"#));
    for missing in [0, 35, 100, 101] {
        let payload = format!(r#"{{"latest":100,"missing":[{missing}]}}"#);
        assert_eq!(ack(&payload), Err(DecodeError::BadValue { field: "missing" }), "{missing}");
    }
    // In protobuf, bits of packets before the first one are ignored.
    let bytes = [0x1a, 5, 0x08, 2, 0x10, 0xff, 0x01];
    let Ok(ClientMessage::Ack(ack)) = ClientMessage::decode(&bytes) else {
        panic!("an acknowledgement was expected");
    };
    assert_eq!((ack.latest().0, ack.before()), (2, 0));
}

#[test]
fn texts_and_payloads_are_bounded_in_both_directions() {
    let hello = |token: usize| {
        let token = Some(Token::new("t".repeat(token)));
        ClientMessage::Hello(Hello { token, ..Hello::default() })
    };
    assert_eq!(hello(TOKEN_BYTES_MAX).encode(&mut Vec::new()), Ok(()));
    let rejected = Err(EncodeError::Rejected(DecodeError::FieldTooLong { field: "token", limit: TOKEN_BYTES_MAX }));
    assert_eq!(hello(TOKEN_BYTES_MAX + 1).encode(&mut Vec::new()), rejected);
    assert_eq!(hello(TOKEN_BYTES_MAX + 1).encode_json(&mut Vec::new()), rejected);

    let json = format!(r#"{{"v":2,"kind":"hello","payload":{{"token":"{}"}}}}"#, "t".repeat(3_073));
    let too_long = DecodeError::FieldTooLong { field: "token", limit: TOKEN_BYTES_MAX };
    assert_eq!(decode_json(&json), Err(too_long));

    let kind = "k".repeat(NAME_BYTES_MAX + 1);
    let payload = format!(r#"{{"kind":"{kind}","x":0,"y":0,"rotation":0}}"#);
    let too_long = DecodeError::FieldTooLong { field: "kind", limit: NAME_BYTES_MAX };
    assert_eq!(decode_json(&command("playground", "spawn", &payload)), Err(too_long));

    let mut game = vec![0x1a];
    push_length(&mut game, GAME_PAYLOAD_BYTES_MAX + 1);
    game.resize(game.len() + GAME_PAYLOAD_BYTES_MAX + 1, 0);
    let too_long = DecodeError::FieldTooLong { field: "payload", limit: GAME_PAYLOAD_BYTES_MAX };
    assert_eq!(ClientMessage::decode(&frame(0x32, &game)), Err(too_long));

    let notice = ServerMessage::Error(ErrorNotice {
        code: ErrorCode::Internal,
        message: "m".repeat(TEXT_BYTES_MAX + 1),
        fatal: false,
    });
    assert!(notice.encode(&mut Vec::new()).is_err());

    let mut fragment = vec![0x18, 2, 0x22];
    push_length(&mut fragment, FRAGMENT_BYTES_MAX + 1);
    fragment.resize(fragment.len() + FRAGMENT_BYTES_MAX + 1, 0);
    let too_long = DecodeError::FieldTooLong { field: "fragment", limit: FRAGMENT_BYTES_MAX };
    assert_eq!(ClientMessage::decode(&frame(0x7a, &fragment)), Err(too_long));
}

#[test]
fn metadata_is_bounded_in_both_directions_and_both_encodings() {
    let text = |len: usize| "x".repeat(len);
    let hello = |metadata: JoinMetadata| ClientMessage::Hello(Hello { metadata, ..Hello::default() });
    let cut = |field, limit| DecodeError::FieldTooLong { field, limit };
    let entries = |count: usize| (0..count).map(|number| (format!("{number:02}"), String::new())).collect();
    let halves = |len: usize| [(text(1), text(511)), ("y".to_owned(), text(len))].into();
    let cases: [(JoinMetadata, JoinMetadata, DecodeError); 4] = [
        (entries(16), entries(17), DecodeError::TooMany { field: "metadata", limit: METADATA_ENTRIES_MAX }),
        ([(text(64), "")].into(), [(text(65), "")].into(), cut("metadata key", METADATA_KEY_BYTES_MAX)),
        ([("k", text(512))].into(), [("k", text(513))].into(), cut("metadata value", METADATA_VALUE_BYTES_MAX)),
        (halves(511), halves(512), cut("metadata", METADATA_BYTES_MAX)),
    ];
    for (longest, longer, error) in cases {
        assert_eq!(hello(longest.clone()).encode(&mut Vec::new()), Ok(()));
        assert_eq!(hello(longest).encode_json(&mut Vec::new()), Ok(()));
        let json = serde_json::to_string(&longer).unwrap();
        let json = format!(r#"{{"v":2,"kind":"hello","payload":{{"metadata":{json}}}}}"#);
        assert_eq!(decode_json(&json), Err(error));
        assert_eq!(hello(longer).encode(&mut Vec::new()), Err(EncodeError::Rejected(error)));
    }
    assert!(hello([("", "x")].into()).encode(&mut Vec::new()).is_err());
    for metadata in ["[]", "null", r#"{"a":1}"#, r#"{"a":null}"#, r#"{"a":{}}"#, r#"{"a":"\ud800"}"#] {
        let json = format!(r#"{{"v":2,"kind":"hello","payload":{{"metadata":{metadata}}}}}"#);
        assert_eq!(decode_json(&json), Err(DecodeError::Malformed), "{metadata}");
    }
    // Protobuf: protocol 2, then an entry. Its key is not UTF-8; its key occurs twice.
    let entry = |key: u8| [0x4a, 6, 0x0a, 1, key, 0x12, 1, b'b'];
    let decode =
        |entries: &[[u8; 8]]| ClientMessage::decode(&frame(0x0a, &[&[0x08, 2][..], &entries.concat()].concat()));
    assert_eq!(decode(&[entry(b'a')]), Ok(hello([("a", "b")].into())));
    assert_eq!(decode(&[entry(0xff)]), Err(DecodeError::Malformed));
    assert_eq!(decode(&[entry(b'a'), entry(b'c'), entry(b'a')]), Err(DecodeError::Repeated { field: "metadata" }));
}

#[test]
fn invalid_values_are_rejected() {
    // game with code 65,536; an entity beyond 48 bits; a fragment of 65,535 and of 70,000 parts.
    let decode = |tag: u8, content: &[u8]| ClientMessage::decode(&frame(tag, content));
    let bad = |field| Err(DecodeError::BadValue { field });
    assert_eq!(decode(0x32, &[0x10, 0x80, 0x80, 0x04]), bad("code"));
    assert_eq!(decode(0x3a, &[0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0x10, 1]), bad("entity"));
    assert_eq!(decode(0x7a, &[0x18, 0xff, 0xff, 0x03]), Err(DecodeError::TooMany { field: "fragments", limit: 256 }));
    assert_eq!(decode(0x7a, &[0x18, 0xf0, 0xa2, 0x04]), bad("total"));
    // A client time above its range, and a negative one.
    let late = ClientMessage::Ping(Ping { client_time: ClientTime(CLIENT_TIME_US_MAX + 1), tick: Tick(0) });
    assert!(late.encode(&mut Vec::new()).is_err());
    for (time, field) in [("1e30", "client_time"), ("-1", "clientTime")] {
        let json = format!(r#"{{"v":2,"kind":"ping","clientTime":{time},"payload":{{"tick":1}}}}"#);
        assert_eq!(decode_json(&json), Err(DecodeError::BadNumber { field }));
    }
    // A session of 15 bytes, and ids with a text that is not canonical.
    assert!(ServerMessage::decode(&frame(0x0a, &[8, 2, 0x22, 2, 1, 1, 0x52, 0])).is_err());
    for hash in ["123", "0123456789ABCDEF", "+123456789abcdef", "0123456789abcdef0"] {
        let json = format!(r#"{{"v":2,"kind":"hello","payload":{{"schema":"{hash}"}}}}"#);
        assert_eq!(decode_json(&json), Err(DecodeError::Malformed), "{hash}");
    }
}

#[test]
fn a_game_cannot_use_reserved_features() {
    let message = ClientMessage::Game(GameMessage {
        seq: CommandSeq(1),
        body: GameBody::Named {
            feature: "playground".into(),
            action: "clear".into(),
            fields: examples::fields(serde_json::json!({})),
        },
    });
    assert_eq!(message.encode_json(&mut Vec::new()), Err(EncodeError::Rejected(DecodeError::UnknownMessage)));
}
