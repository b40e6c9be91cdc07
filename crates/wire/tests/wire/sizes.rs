//! Sizes of frequent messages.

use aether_wire::limits::{
    CLIENT_FRAGMENT_BYTES, CLIENT_FRAME_BYTES_DEFAULT, DATAGRAM_BYTES_MAX, FRAGMENT_BYTES_MAX,
    FRAGMENTS_PER_MESSAGE_MAX, INPUT_BYTES_MAX, INPUTS_PER_MESSAGE_MAX, STATE_AFTER_BYTES_MAX, STATE_FRAME_BYTES,
    STATE_PACKET_BYTES_MAX,
};
use aether_wire::{
    ClientMessage, ClientTime, EntityId, Fragment, InputBytes, InputPayload, InputSeq, Inputs, MessageId,
    MovementDelta, PacketSeq, ServerMessage, Snapshot, StateAck, StatePacket, Tick, ViewTick, encode_state_packet,
};

/// Sequence number after nine hours at 60 Hz.
const LATE: u32 = 2_000_000;

#[test]
fn an_input_with_its_acknowledgement_is_under_32_bytes() {
    let length = encoded(&ClientMessage::Inputs(inputs(1, 8, LATE, u64::MAX))).len();
    println!("inputs: one of 8 bytes, acknowledgement and view, after nine hours: {length} bytes");
    assert!(length < 32, "{length} bytes");
    // Numbers of 28 bits: more than 50 days at 60 Hz.
    let length = encoded(&ClientMessage::Inputs(inputs(1, 8, (1 << 28) - 1, u64::MAX))).len();
    println!("inputs: the same after fifty days: {length} bytes");
    assert!(length < 32, "{length} bytes");
}

#[test]
fn a_repeated_input_costs_its_bytes_and_one_more() {
    let one = encoded(&ClientMessage::Inputs(inputs(1, 8, LATE, u64::MAX))).len();
    let four = encoded(&ClientMessage::Inputs(inputs(4, 8, LATE, u64::MAX))).len();
    assert_eq!(four - one, 3 * 9);
}

#[test]
fn a_movement_delta_is_under_32_bytes() {
    let delta = MovementDelta {
        entity: EntityId { slot: 300, generation: 9 },
        seq: InputSeq(LATE),
        dx: 1.5,
        dy: -2.5,
        client_time: ClientTime(9 * 3_600 * 1_000_000),
    };
    let length = encoded(&ClientMessage::MovementDelta(delta)).len();
    println!("movement_delta: {length} bytes");
    assert!(length < 32, "{length} bytes");
}

#[test]
fn the_longest_inputs_fit_the_default_client_frame() {
    let worst = inputs(INPUTS_PER_MESSAGE_MAX, INPUT_BYTES_MAX, u32::MAX - 100, 0);
    assert!(encoded(&ClientMessage::Inputs(worst)).len() <= CLIENT_FRAME_BYTES_DEFAULT);
}

#[test]
fn the_longest_state_packet_fits_a_datagram() {
    let packet = vec![7; STATE_PACKET_BYTES_MAX];
    let mut frame = Vec::new();
    encode_state_packet(&packet, 0, &mut frame).unwrap();
    assert_eq!(frame.len(), STATE_PACKET_BYTES_MAX + STATE_FRAME_BYTES);
    frame.clear();
    encode_state_packet(&packet, u32::MAX, &mut frame).unwrap();
    assert_eq!(frame.len(), STATE_PACKET_BYTES_MAX + STATE_FRAME_BYTES + STATE_AFTER_BYTES_MAX);
    assert!(frame.len() <= DATAGRAM_BYTES_MAX);
    assert!(encode_state_packet(&[packet, vec![7]].concat(), 0, &mut frame).is_err());
}

#[test]
fn a_state_packet_from_a_shared_buffer_is_the_same_frame() {
    for length in [0, 1, 127, 128, STATE_PACKET_BYTES_MAX] {
        for after in [0, 1, 300, u32::MAX] {
            let bytes = vec![3; length];
            let mut direct = vec![9];
            encode_state_packet(&bytes, after, &mut direct).unwrap();
            let mut message = vec![9];
            ServerMessage::Snapshot(Snapshot::Packed(StatePacket { bytes, after })).encode(&mut message).unwrap();
            assert_eq!(direct, message);
        }
    }
}

#[test]
fn the_longest_fragments_fit_their_frames_in_both_encodings() {
    let fragment = |bytes| Fragment {
        message: MessageId(u32::MAX),
        index: FRAGMENTS_PER_MESSAGE_MAX - 1,
        total: FRAGMENTS_PER_MESSAGE_MAX,
        bytes: vec![0xff; bytes],
    };
    let mut frame = Vec::new();
    ServerMessage::Fragment(fragment(FRAGMENT_BYTES_MAX)).encode(&mut frame).unwrap();
    assert!(frame.len() <= STATE_PACKET_BYTES_MAX, "{}", frame.len());

    let from_client = ClientMessage::Fragment(fragment(CLIENT_FRAGMENT_BYTES));
    assert!(encoded(&from_client).len() <= CLIENT_FRAME_BYTES_DEFAULT);
    let mut json = Vec::new();
    from_client.encode_json(&mut json).unwrap();
    assert!(json.len() <= CLIENT_FRAME_BYTES_DEFAULT, "{}", json.len());
}

fn inputs(count: usize, bytes: usize, late: u32, before: u64) -> Inputs {
    let input = InputPayload::Packed(InputBytes::new(&vec![0x5a; bytes]).unwrap());
    Inputs {
        first_seq: InputSeq(late),
        payloads: vec![input; count].into(),
        ack: StateAck::new(PacketSeq(late), before),
        view: ViewTick { tick: Tick(late), fraction: 255 },
    }
}

fn encoded(message: &ClientMessage) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    bytes
}
