//! Reliable messages on their way from the peer: what both reliable channels share.

use std::collections::VecDeque;

use super::assembly::Assembly;
use super::outbox::window_bytes;
use crate::frame::Piece;
use crate::limits::{FRAGMENT_BYTES, MESSAGES_UNDER_WAY_MAX, WINDOW_BYTES_MAX};

/// The peer broke a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Violation;

/// Window of messages from the first that is not finished.
#[derive(Default)]
pub(super) struct Inbox {
    /// Number of `slots[0]`, or of the message expected next.
    pub first: u64,
    pub slots: VecDeque<Slot>,
    /// Bytes held for messages that are not delivered.
    held: usize,
}

/// State of a message.
pub(super) enum Slot {
    Missing,
    Partial(Box<Assembly>),
    /// Complete, but its turn has not come.
    Whole(Vec<u8>),
    Delivered,
}

impl Inbox {
    /// Index of the slot of a message. `None` if the message was finished before.
    pub(super) fn index(&self, number: u16) -> Result<Option<usize>, Violation> {
        let distance = number.wrapping_sub(self.first as u16) as i16;
        match u64::try_from(distance) {
            Ok(distance) if distance >= MESSAGES_UNDER_WAY_MAX => Err(Violation),
            Ok(distance) => Ok(Some(distance as usize)),
            Err(_) => Ok(None),
        }
    }

    /// Makes sure that a slot exists.
    pub(super) fn reserve(&mut self, index: usize) {
        if index >= self.slots.len() {
            self.slots.resize_with(index + 1, || Slot::Missing);
        }
    }

    /// Adds a fragment to its message and returns the message once it is complete. The slot is empty then.
    pub(super) fn assemble(&mut self, index: usize, piece: Piece<'_>) -> Result<Option<Vec<u8>>, Violation> {
        match &mut self.slots[index] {
            Slot::Delivered | Slot::Whole(_) => return Ok(None),
            Slot::Partial(assembly) => assembly.insert(piece)?,
            Slot::Missing => {
                let assembly = Assembly::new(piece)?;
                self.hold(window_bytes(piece.total, 0))?;
                self.slots[index] = Slot::Partial(Box::new(assembly));
            }
        }
        let Slot::Partial(assembly) = &mut self.slots[index] else { return Ok(None) };
        let Some(message) = assembly.finish() else { return Ok(None) };
        self.slots[index] = Slot::Missing;
        self.held -= usize::from(piece.total) * FRAGMENT_BYTES;
        Ok(Some(message))
    }

    /// Keeps a complete message until its turn comes.
    pub(super) fn keep(&mut self, index: usize, message: Vec<u8>) -> Result<(), Violation> {
        self.hold(message.len())?;
        self.slots[index] = Slot::Whole(message);
        Ok(())
    }

    /// Counts a kept message as delivered.
    pub(super) fn unhold(&mut self, length: usize) {
        self.held -= length;
    }

    /// Frees memory that is not in use.
    pub(super) fn release(&mut self) {
        if self.slots.is_empty() {
            self.slots = VecDeque::new();
        }
    }

    /// A sender that keeps to its window never exceeds this one.
    fn hold(&mut self, length: usize) -> Result<(), Violation> {
        if self.held + length > WINDOW_BYTES_MAX {
            return Err(Violation);
        }
        self.held += length;
        Ok(())
    }
}
