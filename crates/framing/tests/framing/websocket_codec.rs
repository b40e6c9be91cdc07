//! WebSocket frames from honest and hostile peers.

use aether_framing::websocket::codec::{
    CONTROL_BYTES_MAX, Decoder, FRAGMENTS_PER_MESSAGE_MAX, Incoming, Opcode, ProtocolError, Role, client_frame,
    close_payload, compressed_frame, frame, frame_bytes,
};
use proptest::prelude::*;

const LIMIT: usize = 1_000;
const MASK: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];

/// An incoming message that owns its bytes.
#[derive(Clone, Debug, PartialEq)]
enum Received {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>, String),
}

impl From<Incoming<'_>> for Received {
    fn from(incoming: Incoming<'_>) -> Self {
        match incoming {
            Incoming::Text(text) => Self::Text(text.to_owned()),
            Incoming::Binary(bytes) => Self::Binary(bytes.to_vec()),
            Incoming::Ping(bytes) => Self::Ping(bytes.to_vec()),
            Incoming::Pong(bytes) => Self::Pong(bytes.to_vec()),
            Incoming::Close { code, reason } => Self::Close(code, reason.to_owned()),
        }
    }
}

fn feed(decoder: &mut Decoder, bytes: &[u8]) -> (Vec<Received>, Result<(), ProtocolError>) {
    let mut received = Vec::new();
    let result = decoder.feed(&mut bytes.to_vec(), &mut |incoming| received.push(incoming.into()));
    (received, result)
}

/// Decodes as a client, because frames of servers are not masked and easy to write.
fn decode(bytes: &[u8]) -> (Vec<Received>, Result<(), ProtocolError>) {
    feed(&mut Decoder::new(Role::Client, LIMIT), bytes)
}

fn decode_all(bytes: &[u8]) -> Vec<Received> {
    let (received, result) = decode(bytes);
    assert_eq!(result, Ok(()));
    received
}

fn error_code(bytes: &[u8]) -> u16 {
    decode(bytes).1.expect_err("the bytes violate the protocol").code
}

#[test]
fn the_examples_of_the_standard_are_understood() {
    let hello = Received::Text("Hello".into());
    assert_eq!(decode_all(b"\x81\x05Hello"), std::slice::from_ref(&hello));
    assert_eq!(decode_all(b"\x01\x03Hel\x80\x02lo"), std::slice::from_ref(&hello));
    assert_eq!(decode_all(b"\x89\x05Hello"), [Received::Ping(b"Hello".to_vec())]);
    let masked = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
    assert_eq!(feed(&mut Decoder::new(Role::Server, LIMIT), &masked), (vec![hello], Ok(())));
    let pong = [0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
    let received = feed(&mut Decoder::new(Role::Server, LIMIT), &pong);
    assert_eq!(received, (vec![Received::Pong(b"Hello".to_vec())], Ok(())));
}

#[test]
fn the_examples_of_the_standard_are_written() {
    let mut out = Vec::new();
    frame_bytes(&mut out, Opcode::Text, b"Hello");
    client_frame(&mut out, Opcode::Text, MASK, b"Hello");
    assert_eq!(out, b"\x81\x05Hello\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
    for (length, header) in [
        (125, &b"\x82\x7d"[..]),
        (126, b"\x82\x7e\x00\x7e"),
        (256, b"\x82\x7e\x01\x00"),
        (65_535, b"\x82\x7e\xff\xff"),
        (65_536, b"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00"),
    ] {
        let payload: Vec<u8> = (0..length).map(|index: u32| index as u8).collect();
        let expected = [b"before", header, &payload].concat();
        let mut out = b"before".to_vec();
        frame_bytes(&mut out, Opcode::Binary, &payload);
        assert_eq!(out, expected);
        let mut out = b"before".to_vec();
        frame(&mut out, Opcode::Binary, |out| out.extend_from_slice(&payload));
        assert!(out == expected, "a payload of {length} bytes written in place");
    }
}

#[test]
fn control_frames_may_come_between_fragments() {
    let received = decode_all(b"\x01\x03Hel\x89\x02hi\x00\x01l\x8a\x00\x80\x01o");
    let expected = [Received::Ping(b"hi".to_vec()), Received::Pong(Vec::new()), Received::Text("Hello".into())];
    assert_eq!(received, expected);
}

#[test]
fn text_may_be_split_inside_a_character_and_must_be_valid_in_the_end() {
    assert_eq!(decode_all(b"\x01\x02a\xC3\x80\x01\xA4"), [Received::Text("aä".into())]);
    assert_eq!(error_code(b"\x81\x01\xC3"), 1007);
    assert_eq!(error_code(b"\x01\x01\xC3\x80\x01a"), 1007);
    assert_eq!(error_code(b"\x81\x03\xED\xA0\x80"), 1007, "half of a surrogate pair");
    assert_eq!(decode_all(b"\x82\x01\xC3"), [Received::Binary(vec![0xC3])]);
}

#[test]
fn reserved_bits_and_opcodes_are_rejected() {
    for first in [0xC1, 0xA1, 0x91, 0x83, 0x87, 0x8B, 0x8F] {
        assert_eq!(error_code(&[first, 0x00]), 1002, "first byte {first:#x}");
    }
}

#[test]
fn fragments_out_of_order_are_rejected() {
    assert_eq!(error_code(b"\x80\x01a"), 1002, "a continuation without a message");
    assert_eq!(error_code(b"\x01\x01a\x81\x01b"), 1002, "a message inside a message");
    assert_eq!(error_code(b"\x81\x01a\x80\x01b"), 1002, "a continuation after the end");
}

#[test]
fn control_frames_are_short_and_whole() {
    let mut longest = Vec::new();
    frame_bytes(&mut longest, Opcode::Ping, &[7; CONTROL_BYTES_MAX]);
    assert_eq!(decode_all(&longest), [Received::Ping(vec![7; CONTROL_BYTES_MAX])]);
    assert_eq!(error_code(b"\x89\x7e\x00\x7e"), 1002, "126 bytes");
    assert_eq!(error_code(b"\x89\x7f"), 1002);
    assert_eq!(error_code(b"\x09\x00"), 1002, "a ping in fragments");
    assert_eq!(error_code(b"\x08\x00"), 1002, "a close in fragments");
}

#[test]
fn lengths_are_in_their_shortest_form_and_bounded() {
    assert_eq!(error_code(b"\x82\x7e\x00\x7d"), 1002);
    assert_eq!(error_code(b"\x82\x7f\x00\x00\x00\x00\x00\x00\xff\xff"), 1002);
    assert_eq!(error_code(b"\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x00"), 1002, "the top bit");
    assert_eq!(error_code(b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"), 1009);
}

#[test]
fn masks_are_for_clients() {
    assert_eq!(error_code(b"\x81\x81"), 1002);
    let (_, result) = feed(&mut Decoder::new(Role::Server, LIMIT), b"\x81\x01");
    assert_eq!(result.expect_err("the frame is not masked").code, 1002);
}

#[test]
fn a_message_above_the_limit_is_rejected_by_its_header_alone() {
    let mut exact = Vec::new();
    frame_bytes(&mut exact, Opcode::Binary, &[1; LIMIT]);
    assert_eq!(decode_all(&exact), [Received::Binary(vec![1; LIMIT])]);
    assert_eq!(error_code(b"\x82\x7e\x03\xe9"), 1009, "1,001 bytes announced, none received");
    let mut fragments = b"\x02\x7e\x03\xe7".to_vec();
    fragments.extend_from_slice(&[1; LIMIT - 1]);
    assert_eq!(error_code(&[&fragments[..], b"\x80\x02"].concat()), 1009, "one byte too many in the last fragment");
    assert_eq!(decode_all(&[&fragments[..], b"\x80\x01a"].concat()).len(), 1);
}

#[test]
fn the_limit_can_be_changed() {
    let mut decoder = Decoder::new(Role::Client, 3);
    decoder.set_message_bytes_max(4);
    assert_eq!(feed(&mut decoder, b"\x81\x04four").1, Ok(()));
    decoder.set_message_bytes_max(3);
    assert_eq!(feed(&mut decoder, b"\x81\x04four").1.map_err(|error| error.code), Err(1009));
}

#[test]
fn empty_fragments_are_limited() {
    let mut bytes = b"\x02\x00".to_vec();
    for _ in 1..FRAGMENTS_PER_MESSAGE_MAX {
        bytes.extend_from_slice(b"\x00\x00");
    }
    assert_eq!(decode_all(&bytes), []);
    assert_eq!(error_code(&[&bytes[..], b"\x00\x00"].concat()), 1009);
}

#[test]
fn close_frames_carry_a_code_that_may_be_sent() {
    assert_eq!(decode_all(b"\x88\x00"), [Received::Close(None, String::new())]);
    assert_eq!(decode_all(b"\x88\x05\x03\xe8bye"), [Received::Close(Some(1000), "bye".into())]);
    for code in [1000, 1003, 1007, 1014, 3000, 4999] {
        let mut bytes = Vec::new();
        frame_bytes(&mut bytes, Opcode::Close, &close_payload(code, ""));
        assert_eq!(decode_all(&bytes), [Received::Close(Some(code), String::new())]);
    }
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535] {
        let mut bytes = Vec::new();
        frame_bytes(&mut bytes, Opcode::Close, &close_payload(code, ""));
        assert_eq!(error_code(&bytes), 1002, "code {code}");
    }
    assert_eq!(error_code(b"\x88\x01\x03"), 1002, "half of a code");
    assert_eq!(error_code(b"\x88\x03\x03\xe8\xff"), 1007, "a reason that is not UTF-8");
}

#[test]
fn bytes_after_a_close_frame_are_ignored() {
    let mut decoder = Decoder::new(Role::Client, LIMIT);
    let (received, result) = feed(&mut decoder, b"\x88\x00\xff\xff");
    assert_eq!((received.len(), result), (1, Ok(())));
    assert_eq!(feed(&mut decoder, b"\xff\xff\x81\x01a"), (Vec::new(), Ok(())));
}

#[test]
fn an_error_is_final() {
    let mut decoder = Decoder::new(Role::Client, LIMIT);
    let (received, result) = feed(&mut decoder, b"\x81\x01a\x83\x00\x81\x01b");
    assert_eq!(received, [Received::Text("a".into())], "messages before it are delivered");
    assert_eq!(feed(&mut decoder, b"\x81\x01c"), (Vec::new(), result));
}

#[test]
fn a_long_reason_is_truncated_at_a_character_boundary() {
    let payload = close_payload(1000, &"ä".repeat(100));
    assert_eq!(payload.len(), 2 + 122);
    let mut bytes = Vec::new();
    frame_bytes(&mut bytes, Opcode::Close, &payload);
    assert_eq!(decode_all(&bytes), [Received::Close(Some(1000), "ä".repeat(61))]);
}

#[test]
fn an_idle_decoder_is_small_and_has_no_heap_memory() {
    assert!(size_of::<Decoder>() < 128, "{} bytes", size_of::<Decoder>());
    let mut decoder = Decoder::new(Role::Client, 100_000);
    let mut bytes = Vec::new();
    frame_bytes(&mut bytes, Opcode::Binary, &[0; 70_000]);
    bytes.extend_from_slice(b"\x01\x01a\x80\x01b");
    for chunk in bytes.chunks(1_000) {
        assert_eq!(feed(&mut decoder, chunk).1, Ok(()));
        assert!(decoder.has_partial_message() == (decoder.buffered_bytes() > 0));
    }
    assert_eq!((decoder.has_partial_message(), decoder.buffered_bytes()), (false, 0));
}

#[test]
fn memory_follows_received_bytes_not_announced_ones() {
    let mut decoder = Decoder::new(Role::Client, 1 << 30);
    assert_eq!(feed(&mut decoder, b"\x82\x7f\x00\x00\x00\x00\x3f\xff\xff\xff").1, Ok(()));
    assert!(decoder.buffered_bytes() < 100);
}

#[test]
fn a_whole_frame_is_delivered_without_a_copy() {
    let mut bytes = Vec::new();
    client_frame(&mut bytes, Opcode::Binary, MASK, &[5; 100]);
    let range = bytes.as_ptr_range();
    let mut decoder = Decoder::new(Role::Server, LIMIT);
    let mut received = 0;
    let result = decoder.feed(&mut bytes, &mut |incoming| {
        let Incoming::Binary(payload) = incoming else { panic!("{incoming:?}") };
        assert!(range.contains(&payload.as_ptr()));
        received += 1;
    });
    assert_eq!((received, result), (1, Ok(())));
}

fn inflating(limit: usize) -> Decoder {
    Decoder::new(Role::Client, limit).compressed(true)
}

#[test]
fn compressed_examples_of_the_standard_are_understood() {
    let hello = Received::Text("Hello".into());
    for bytes in [
        &b"\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00"[..],
        b"\x41\x03\xf2\x48\xcd\x80\x04\xc9\xc9\x07\x00",
        b"\xc1\x0b\x00\x05\x00\xfa\xffHello\x00",
        b"\xc1\x08\xf3\x48\xcd\xc9\xc9\x07\x00\x00",
        b"\xc1\x0d\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00",
    ] {
        assert_eq!(feed(&mut inflating(LIMIT), bytes), (vec![hello.clone()], Ok(())), "{bytes:x?}");
    }
    assert_eq!(
        feed(&mut inflating(LIMIT), b"\x81\x05Hello"),
        (vec![hello], Ok(())),
        "uncompressed messages are allowed too"
    );
}

#[test]
fn compression_is_marked_on_the_first_fragment_only() {
    for bytes in [&b"\x01\x01a\xc0\x01b"[..], b"\xc9\x00"] {
        assert_eq!(feed(&mut inflating(LIMIT), bytes).1.map_err(|error| error.code), Err(1002), "{bytes:x?}");
    }
}

#[test]
fn a_compression_bomb_is_rejected() {
    let mut bytes = Vec::new();
    compressed_frame(&mut bytes, Opcode::Binary, &vec![0; 16 << 20]);
    assert!(bytes.len() < 100_000);
    assert_eq!(feed(&mut inflating(100_000), &bytes).1.map_err(|error| error.code), Err(1009));
    assert_eq!(feed(&mut inflating(16 << 20), &bytes).0.len(), 1);
    assert_eq!(feed(&mut inflating((16 << 20) - 1), &bytes).1.map_err(|error| error.code), Err(1009));
}

#[test]
fn malformed_compression_is_rejected_and_does_not_affect_the_next_connection() {
    let code = feed(&mut inflating(LIMIT), b"\xc1\x02\xff\xff").1.map_err(|error| error.code);
    assert_eq!(code, Err(1002));
    assert_eq!(feed(&mut inflating(LIMIT), b"\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00").0.len(), 1);
}

fn incoming() -> impl Strategy<Value = Received> {
    let bytes = || prop_oneof![prop::collection::vec(any::<u8>(), 0..300), prop::collection::vec(0..2_u8, 0..70_000)];
    let short = || prop::collection::vec(any::<u8>(), 0..CONTROL_BYTES_MAX);
    prop_oneof![
        ".{0,200}".prop_map(Received::Text),
        bytes().prop_map(Received::Binary),
        short().prop_map(Received::Ping),
        short().prop_map(Received::Pong),
    ]
}

/// Writes a message. A data message is fragmented at `cuts`.
fn write(out: &mut Vec<u8>, role: Role, message: &Received, cuts: &[usize], deflate: bool) {
    let (opcode, payload) = match message {
        Received::Text(text) => (Opcode::Text, text.as_bytes()),
        Received::Binary(bytes) => (Opcode::Binary, &bytes[..]),
        Received::Ping(bytes) => (Opcode::Ping, &bytes[..]),
        Received::Pong(bytes) => (Opcode::Pong, &bytes[..]),
        Received::Close(..) => unreachable!("not generated"),
    };
    let data = matches!(opcode, Opcode::Text | Opcode::Binary);
    if deflate && data && role == Role::Client {
        return compressed_frame(out, opcode, payload);
    }
    let mut rest = payload;
    let cuts = if data { cuts } else { &[] };
    for (index, last) in (0..=cuts.len()).map(|index| (index, index == cuts.len())) {
        let length = if last { rest.len() } else { cuts[index] % (rest.len() + 1) };
        let opcode = if index == 0 { opcode } else { Opcode::Continuation };
        let start = out.len();
        match role {
            Role::Server => client_frame(out, opcode, [index as u8, 1, 2, 255], &rest[..length]),
            Role::Client => frame_bytes(out, opcode, &rest[..length]),
        }
        if !last {
            out[start] &= 0x7F;
        }
        rest = &rest[length..];
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn messages_survive_any_fragments_and_any_chunks(
        messages in prop::collection::vec((incoming(), prop::collection::vec(any::<usize>(), 0..4)), 1..6),
        chunks in prop::collection::vec(prop_oneof![1..20_usize, 1..20_000_usize], 1..12),
        server in any::<bool>(),
        deflate in any::<bool>(),
    ) {
        let role = if server { Role::Server } else { Role::Client };
        let mut bytes = Vec::new();
        for (message, cuts) in &messages {
            write(&mut bytes, role, message, cuts, deflate);
        }
        let mut decoder = Decoder::new(role, 70_000).compressed(deflate);
        let mut received = Vec::new();
        let mut rest = &mut bytes[..];
        for length in chunks.iter().cycle() {
            let (chunk, after) = rest.split_at_mut((*length).min(rest.len()));
            decoder.feed(chunk, &mut |incoming| received.push(Received::from(incoming)))?;
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        let sent: Vec<Received> = messages.into_iter().map(|(message, _)| message).collect();
        prop_assert!(received == sent);
        prop_assert_eq!(decoder.buffered_bytes(), 0);
    }

    #[test]
    fn any_bytes_mean_the_same_in_any_chunks(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0x81), Just(0x01), Just(0x80), Just(0x02)], 0..200),
        cut in 0..200_usize,
    ) {
        let whole = feed(&mut inflating(LIMIT), &bytes);
        let mut decoder = inflating(LIMIT);
        let (first, second) = bytes.split_at(cut.min(bytes.len()));
        let (mut received, mut result) = feed(&mut decoder, first);
        if result.is_ok() {
            let (more, after) = feed(&mut decoder, second);
            received.extend(more);
            result = after;
        }
        prop_assert_eq!((received, result), whole);
    }
}
