//! Decoding uses no more memory than a small multiple of the input.

use aether_wire::limits::{
    INPUT_BYTES_MAX, INPUTS_PER_MESSAGE_MAX, JSON_CLIENT_VALUES_MAX, RELIABLE_MESSAGE_BYTES_MAX,
};
use aether_wire::{ClientMessage, InputBytes, InputPayload, InputSeq, Inputs, StateAck, ViewTick};

/// Upper bound of the memory for each byte of a protobuf frame, besides a few hundred bytes for the message.
const PROTOBUF_MULTIPLE: u64 = 4;

/// Upper bound for each byte of JSON, where a short text becomes a typed value.
const JSON_MULTIPLE: u64 = 32;

const SMALL_CHANGE_BYTES: u64 = 2_048;

#[test]
fn any_protobuf_frame_takes_little_memory() {
    let longest = RELIABLE_MESSAGE_BYTES_MAX;
    let repeated = |pattern: &[u8]| pattern.repeat(longest / pattern.len());
    for (what, bytes) in [
        ("empty hellos", repeated(&[0x0a, 0x00])),
        ("empty inputs", repeated(&[0x12, 0x00])),
        ("inputs of no bytes", repeated(&[0x12, 0x04, 0x12, 0x02, 0x00, 0x00])),
        ("short tokens", repeated(&[0x0a, 0x03, 0x12, 0x01, 0x61])),
        ("unknown fields", repeated(&[0x98, 0x06, 0x01])),
        ("groups", repeated(&[0x83, 0x01, 0x84, 0x01])),
        ("zeros", vec![0; longest]),
        ("ones", vec![0xff; longest]),
    ] {
        let used = bytes_used(|| drop(ClientMessage::decode(&bytes)));
        let bound = SMALL_CHANGE_BYTES + PROTOBUF_MULTIPLE * bytes.len() as u64;
        assert!(used <= bound, "{what}: {used} bytes for {} of input", bytes.len());
    }
}

#[test]
fn any_json_message_takes_memory_by_its_length() {
    let command =
        |payload: String| format!(r#"{{"v":2,"kind":"command","feature":"own","action":"do","payload":{payload}}}"#);
    let most = JSON_CLIENT_VALUES_MAX - 20;
    let names = |count: usize| {
        let fields: Vec<_> = (0..count).map(|number| format!(r#""{number:x}":0"#)).collect();
        format!("{{{}}}", fields.join(","))
    };
    let worst_known = [
        ("numbers", command(format!(r#"{{"a":[{}0]}}"#, "0,".repeat(most)))),
        ("lists", command(format!(r#"{{"a":[{}[]]}}"#, "[],".repeat(most / 2)))),
        ("objects", command(format!(r#"{{"a":[{}{{}}]}}"#, "{},".repeat(most / 2)))),
        ("names", command(names(most))),
        (
            "inputs",
            format!(
                r#"{{"v":2,"kind":"command","feature":"movement","action":"input_batch","payload":{{"inputs":[{}]}}}}"#,
                vec![r#"{"seq":1,"keys":{"a":0}}"#; most / 4].join(",")
            ),
        ),
        ("too many numbers", command(format!(r#"{{"a":[{}0]}}"#, "0,".repeat(30_000)))),
        ("text", command(format!(r#"{{"a":"{}"}}"#, "\\n".repeat(30_000)))),
    ];
    for (what, json) in worst_known {
        let used = bytes_used(|| drop(ClientMessage::decode_json(json.as_bytes())));
        println!("{what}: {} bytes of JSON took {used} bytes", json.len());
        let bound = SMALL_CHANGE_BYTES + JSON_MULTIPLE * json.len() as u64;
        assert!(used <= bound, "{what}: {used} bytes for {} of input", json.len());
        assert!(used <= 256 * 1_024, "{what}: {used} bytes");
    }
}

#[test]
fn a_single_input_is_stored_inline() {
    let input = InputPayload::Packed(InputBytes::new(&[7; INPUT_BYTES_MAX]).unwrap());
    let inputs = |count| Inputs {
        first_seq: InputSeq(1),
        payloads: vec![input.clone(); count].into(),
        ack: StateAck::NONE,
        view: ViewTick::default(),
    };
    let allocations = |count| {
        let mut bytes = Vec::new();
        ClientMessage::Inputs(inputs(count)).encode(&mut bytes).unwrap();
        allocation_counter::measure(|| drop(ClientMessage::decode(&bytes))).count_total
    };
    assert!(allocations(1) < allocations(INPUTS_PER_MESSAGE_MAX), "one input needs no heap memory");
    assert!(allocations(INPUTS_PER_MESSAGE_MAX) <= allocations(1) + 1, "many inputs share one allocation");
    assert!(allocations(1) <= 2, "{} allocations", allocations(1));
}

fn bytes_used(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).bytes_max
}
