//! Inputs of a player.

use smallvec::SmallVec;
use std::fmt;

use crate::ack::StateAck;
use crate::game::FieldValues;
use crate::ids::{InputSeq, ViewTick};
use crate::limits::INPUT_BYTES_MAX;

/// A packed input, stored inline so that it needs no allocation.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct InputBytes {
    length: u8,
    // Bytes beyond the length are zero, so that equality can compare the whole array.
    bytes: [u8; INPUT_BYTES_MAX],
}

impl InputBytes {
    /// Copies an input. Returns `None` if it is longer than [`INPUT_BYTES_MAX`].
    #[must_use]
    pub fn new(input: &[u8]) -> Option<InputBytes> {
        let mut bytes = [0; INPUT_BYTES_MAX];
        bytes.get_mut(..input.len())?.copy_from_slice(input);
        Some(InputBytes { length: input.len() as u8, bytes })
    }

    /// Bytes of the input.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Debug for InputBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InputBytes({:02x?})", self.as_slice())
    }
}

/// An input, packed or by name.
#[derive(Clone, Debug, PartialEq)]
pub enum InputPayload {
    /// Packed with the game's schema.
    Packed(InputBytes),
    /// Values by name, in JSON only.
    Fields(FieldValues),
}

/// Inputs of a message. A single input, the usual case, is stored inline: it moves from the connection's thread to the
/// room's, and heap memory would be cold there and freed by another thread.
pub type InputPayloads = SmallVec<[InputPayload; 1]>;

/// Consecutive inputs, oldest first. The older ones repeat earlier messages, so that a lost message loses no input.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    /// Number of the oldest input. The others follow without gaps.
    pub first_seq: InputSeq,
    /// The inputs: at least one, at most [`crate::limits::INPUTS_PER_MESSAGE_MAX`].
    pub payloads: InputPayloads,
    /// State packets that have arrived. [`StateAck::NONE`] with ordered delivery.
    pub ack: StateAck,
    /// State that the client showed when the newest input was made.
    pub view: ViewTick,
}

impl Inputs {
    /// Inputs with their numbers, oldest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (InputSeq, &InputPayload)> {
        self.payloads.iter().enumerate().map(|(index, payload)| {
            // Decoding rejects inputs beyond the last number.
            (InputSeq(self.first_seq.0.saturating_add(index as u32)), payload)
        })
    }
}
