//! A player's intents, tick by tick.

use smallvec::SmallVec;
use std::fmt;

use crate::ack::StateAck;
use crate::game::FieldValues;
use crate::ids::{InputSeq, ViewTick};
use crate::limits::INPUT_BYTES_MAX;

/// One packed input, held in place so that it needs no allocation.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct InputBytes {
    length: u8,
    // Bytes beyond the length stay zero, so that equality may compare the whole array.
    bytes: [u8; INPUT_BYTES_MAX],
}

impl InputBytes {
    /// Copies an input; `None` when it is longer than [`INPUT_BYTES_MAX`].
    #[must_use]
    pub fn new(input: &[u8]) -> Option<InputBytes> {
        let mut bytes = [0; INPUT_BYTES_MAX];
        bytes.get_mut(..input.len())?.copy_from_slice(input);
        Some(InputBytes { length: input.len() as u8, bytes })
    }

    /// The input's bytes.
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

/// One input in one of its two forms.
#[derive(Clone, Debug, PartialEq)]
pub enum InputPayload {
    /// Packed with the game's schema.
    Packed(InputBytes),
    /// Values by name, in JSON only.
    Fields(FieldValues),
}

/// Some inputs. The usual case is one, which is held in place: it crosses from the connection's thread to the room's, and
/// memory of its own would be cold there, and freed by another thread than took it.
pub type InputPayloads = SmallVec<[InputPayload; 1]>;

/// A run of inputs without gaps, oldest first. The newest are new; the older ones repeat what
/// an earlier message carried, so that a lost message loses nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    /// The number of the oldest input here. The others count on from it.
    pub first_seq: InputSeq,
    /// At least one, at most [`crate::limits::INPUTS_PER_MESSAGE_MAX`].
    pub payloads: InputPayloads,
    /// The state packets that have arrived; [`StateAck::NONE`] on an ordered link.
    pub ack: StateAck,
    /// What the player was seeing when the newest input was made.
    pub view: ViewTick,
}

impl Inputs {
    /// The inputs with their numbers, oldest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (InputSeq, &InputPayload)> {
        self.payloads.iter().enumerate().map(|(index, payload)| {
            // Decoding refuses a run that would count past the last number.
            (InputSeq(self.first_seq.0.saturating_add(index as u32)), payload)
        })
    }
}
