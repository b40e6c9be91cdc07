//! Components and inputs that the benchmarks share.

use aether_bits::{BitWriter, Replicate};
use aether_wire::{ClientMessage, InputBytes, InputPayload, InputSeq, Inputs, StateAck, ViewTick};

/// A moving body.
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

/// Input of a player: a turn.
#[derive(Clone, Debug, Replicate)]
pub struct Turn {
    #[replicate(range = -1..=1)]
    pub turn: i32,
}

/// Returns the message of a client that turns.
pub fn input(seq: u32, turn: i32) -> ClientMessage {
    let mut writer = BitWriter::new();
    Turn { turn }.write_full(&mut writer);
    let payloads = vec![InputPayload::Packed(InputBytes::new(&writer.to_bytes()).expect("an input is small"))].into();
    let view = ViewTick::default();
    ClientMessage::Inputs(Inputs { first_seq: InputSeq(seq), payloads, ack: StateAck::NONE, view })
}
