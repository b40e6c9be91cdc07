//! Bytes that no honest peer sends: each is rejected with a label, and none panics.

use aether_wire::limits::{JSON_DEPTH_MAX, JSON_SERVER_MESSAGE_BYTES_MAX, RELIABLE_MESSAGE_BYTES_MAX};
use aether_wire::{ClientMessage, ClientTime, DecodeError, Ping, ServerMessage, Tick};
use proptest::prelude::*;

use crate::crafted::{decode_json, frame};
use crate::examples;

#[test]
fn a_frame_truncated_at_any_byte_is_rejected_or_shorter_but_never_panics() {
    for (title, message) in examples::client_examples() {
        let (mut bytes, mut json) = (Vec::new(), Vec::new());
        message.encode(&mut bytes).unwrap();
        message.encode_json(&mut json).unwrap();
        for length in 0..bytes.len() {
            assert!(ClientMessage::decode(&bytes[..length]).is_err(), "{title} cut at {length}");
        }
        for length in 0..json.len() {
            assert!(ClientMessage::decode_json(&json[..length]).is_err(), "{title} at {length}");
        }
    }
    for (title, message) in examples::server_examples() {
        let (mut bytes, mut json) = (Vec::new(), Vec::new());
        message.encode(&mut bytes).unwrap();
        message.encode_json(&mut json).unwrap();
        for length in 0..bytes.len() {
            let read = ServerMessage::decode(&bytes[..length]);
            // Without the number after it, a state packet is still whole.
            let is_shorter = title == "snapshot after events" && length == 4;
            assert_eq!(read.is_ok(), is_shorter, "{title} cut at {length}");
        }
        for length in 0..json.len() {
            assert!(ServerMessage::decode_json(&json[..length]).is_err(), "{title} at {length}");
        }
    }
}

#[test]
fn a_flipped_bit_never_panics() {
    for (_, message) in examples::client_examples() {
        let (mut bytes, mut json) = (Vec::new(), Vec::new());
        message.encode(&mut bytes).unwrap();
        message.encode_json(&mut json).unwrap();
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _any_outcome = ClientMessage::decode(&bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for bit in 0..json.len() * 8 {
            json[bit / 8] ^= 1 << (bit % 8);
            let _any_outcome = ClientMessage::decode_json(&json);
            json[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn lengths_of_2_to_the_32_are_rejected() {
    // A frame, a text within one, and bytes within one claim 2^32 and then 2^64 - 1 bytes.
    let huge = [0x80, 0x80, 0x80, 0x80, 0x10];
    let full = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    for length in [&huge[..], &full[..]] {
        for prefix in [&[0x0a][..], &[0x0a, 0x10, 0x12], &[0x12, 0x10, 0x12], &[0x32, 0x10, 0x1a]] {
            let bytes = [prefix, length, &[0; 8]].concat();
            assert_eq!(ClientMessage::decode(&bytes), Err(DecodeError::Malformed), "{bytes:02x?}");
            assert!(ServerMessage::decode(&bytes).is_err(), "{bytes:02x?}");
        }
    }
}

#[test]
fn nesting_of_10_000_is_rejected_before_parsing() {
    let too_deep = DecodeError::TooDeep { limit: JSON_DEPTH_MAX };
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let json = format!(
            r#"{{"v":2,"kind":"command","feature":"own","action":"do","payload":{}0{}}}"#,
            open.repeat(10_000),
            close.repeat(10_000)
        );
        assert_eq!(ClientMessage::decode_json(json.as_bytes()), Err(too_deep));
        assert_eq!(ServerMessage::decode_json(json.as_bytes()), Err(too_deep));
    }
    // Protobuf groups nest too. A reader that skips them must limit its recursion.
    let groups = [0x83, 0x01].repeat(10_000);
    assert_eq!(ClientMessage::decode(&groups), Err(DecodeError::Malformed));
}

#[test]
fn a_message_that_is_too_long_is_rejected_by_its_length_alone() {
    let bytes = vec![b' '; RELIABLE_MESSAGE_BYTES_MAX + 1];
    let too_long = |limit| DecodeError::TooLong { bytes: limit + 1, limit };
    assert_eq!(ClientMessage::decode(&bytes), Err(too_long(RELIABLE_MESSAGE_BYTES_MAX)));
    assert_eq!(ClientMessage::decode_json(&bytes), Err(too_long(RELIABLE_MESSAGE_BYTES_MAX)));
    assert_eq!(ServerMessage::decode(&bytes), Err(too_long(RELIABLE_MESSAGE_BYTES_MAX)));
    let bytes = vec![b' '; JSON_SERVER_MESSAGE_BYTES_MAX + 1];
    assert_eq!(ServerMessage::decode_json(&bytes), Err(too_long(JSON_SERVER_MESSAGE_BYTES_MAX)));
}

#[test]
fn another_version_gets_the_required_one() {
    let error = ClientMessage::decode_json(br#"{"v":1,"kind":"hello","payload":{}}"#).unwrap_err();
    assert_eq!(error, DecodeError::Version { found: 1 });
    assert_eq!(error.to_string(), "The peer uses protocol version 1; version 2 is required.");
    assert_eq!(ClientMessage::decode(&[0x0a, 2, 8, 3]), Err(DecodeError::Version { found: 3 }));
    assert_eq!(ClientMessage::decode(&[0x0a, 0]), Err(DecodeError::Version { found: 0 }));
    assert_eq!(ServerMessage::decode(&[0x0a, 2, 8, 1]), Err(DecodeError::Version { found: 1 }));
    assert_eq!(ServerMessage::decode_json(br#"{"v":3,"kind":"new"}"#), Err(DecodeError::Version { found: 3 }));
}

#[test]
fn unknown_messages_are_rejected() {
    for bytes in [&[][..], &[0x8a, 0x01, 0x00], &[0x98, 0x06, 0x01]] {
        assert_eq!(ClientMessage::decode(bytes), Err(DecodeError::UnknownMessage), "{bytes:02x?}");
        assert_eq!(ServerMessage::decode(bytes), Err(DecodeError::UnknownMessage), "{bytes:02x?}");
    }
    for json in [
        r#"{"v":2}"#,
        r#"{"v":2,"kind":""}"#,
        r#"{"v":2,"kind":"teleport","payload":{}}"#,
        r#"{"v":2,"kind":"command","feature":"playground","action":"explode"}"#,
        r#"{"v":2,"kind":"command","feature":"movement","action":"teleport"}"#,
    ] {
        assert_eq!(decode_json(json), Err(DecodeError::UnknownMessage), "{json}");
    }
    assert_eq!(
        decode_json(r#"{"v":2,"kind":"command","action":"place"}"#),
        Err(DecodeError::Missing { field: "feature" })
    );
    // A client cannot send messages of the server.
    for kind in ["welcome", "snapshot", "correction"] {
        let json = format!(r#"{{"v":2,"kind":"{kind}","payload":{{}}}}"#);
        assert_eq!(decode_json(&json), Err(DecodeError::UnknownMessage), "{kind}");
    }
}

#[test]
fn unknown_fields_of_a_newer_peer_are_skipped() {
    // ping with an unknown varint field 9 inside, followed by an unknown field 100 of the frame.
    let bytes = [0x22, 4, 0x10, 7, 0x48, 1, 0xa0, 0x06, 1];
    let ping = ClientMessage::Ping(Ping { client_time: ClientTime(0), tick: Tick(7) });
    assert_eq!(ClientMessage::decode(&bytes), Ok(ping.clone()));
    let json = r#"{"v":2,"kind":"ping","clientTime":0,"new":[1],"payload":{"tick":7,"more":{}}}"#;
    assert_eq!(decode_json(json), Ok(ping));
}

#[test]
fn text_that_is_not_json_is_malformed() {
    for json in [
        "",
        "null",
        "[]",
        "{",
        "\"",
        r#"{"v":"2","kind":"leave"}"#,
        r#"{"v":2,"v":2,"kind":"leave"}"#,
        r#"{"v":2,"kind":"leave"} {}"#,
        r#"{"v":2,"kind":"leave","seq":4294967296}"#,
        "{\"v\":2,\"kind\":\"\u{0}",
    ] {
        assert_eq!(decode_json(json), Err(DecodeError::Malformed), "{json}");
    }
    let not_text = b"{\"v\":2,\"kind\":\"\xff\xfe\"}";
    assert_eq!(ClientMessage::decode_json(not_text), Err(DecodeError::Malformed));
    // hello with a token that is not UTF-8.
    assert_eq!(ClientMessage::decode(&[0x0a, 4, 0x12, 2, 0xff, 0xfe]), Err(DecodeError::Malformed));
}

proptest! {
    #![proptest_config(crate::cases(4_096))]

    #[test]
    fn random_bytes_never_panic_and_every_error_has_a_known_label(
        bytes in proptest::collection::vec(any::<u8>(), 0..600),
    ) {
        let outcomes = [
            ClientMessage::decode(&bytes).err(),
            ClientMessage::decode_json(&bytes).err(),
            ServerMessage::decode(&bytes).err(),
            ServerMessage::decode_json(&bytes).err(),
        ];
        for error in outcomes.into_iter().flatten() {
            prop_assert!(DecodeError::LABELS.contains(&error.label()));
            prop_assert!(error.to_string().ends_with('.'));
        }
    }

    #[test]
    fn a_random_message_body_never_panics_and_a_decoded_one_can_be_encoded_again(
        tag in 1_u8..=15,
        content in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let bytes = frame(tag << 3 | 2, &content);
        if let Ok(message) = ClientMessage::decode(&bytes) {
            let mut again = Vec::new();
            message.encode(&mut again).unwrap();
            prop_assert_eq!(ClientMessage::decode(&again), Ok(message));
        }
        if let Ok(message) = ServerMessage::decode(&bytes) {
            let mut again = Vec::new();
            message.encode(&mut again).unwrap();
            prop_assert_eq!(ServerMessage::decode(&again), Ok(message));
        }
    }
}
