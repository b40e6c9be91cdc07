//! What the players of the benchmarks are and say.

use aether_bits::{BitWriter, Replicate};
use aether_wire::{ClientMessage, InputBytes, InputPayload, InputSeq, Inputs, StateAck, ViewTick};

/// Someone or something that moves. It is not `aether_testkit::moving::Body`, because the world of 10,000 entities is wider
/// than that one's range of 1,000.
#[derive(Clone, Debug, Replicate)]
#[replicate(channel = "movement", position = position)]
pub struct Body {
    #[replicate(range = -4000.0..=4000.0, step = 0.01, moves_by = velocity)]
    pub position: [f32; 2],
    #[replicate(range = -50.0..=50.0, step = 0.01)]
    pub velocity: [f32; 2],
    #[replicate(angle = 8)]
    pub heading: f32,
}

/// What a player may do: turn.
#[derive(Clone, Debug, Replicate)]
pub struct Turn {
    #[replicate(range = -1..=1)]
    pub turn: i32,
}

/// The message of a client that turns.
pub fn input(seq: u32, turn: i32) -> ClientMessage {
    let mut writer = BitWriter::new();
    Turn { turn }.write_full(&mut writer);
    let payloads = vec![InputPayload::Packed(InputBytes::new(&writer.to_bytes()).expect("an input is small"))].into();
    let view = ViewTick::default();
    ClientMessage::Inputs(Inputs { first_seq: InputSeq(seq), payloads, ack: StateAck::NONE, view })
}
