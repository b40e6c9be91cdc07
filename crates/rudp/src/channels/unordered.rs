//! Receiving end of the reliable unordered channel.

use super::inbox::{Inbox, Slot, Violation};
use crate::frame::Piece;

/// Passes each message on once, as soon as it is complete.
#[derive(Default)]
pub(crate) struct UnorderedInbox(Inbox);

impl UnorderedInbox {
    /// Handles a message or fragment.
    pub(crate) fn handle(&mut self, piece: Piece<'_>, take: &mut dyn FnMut(&[u8])) -> Result<(), Violation> {
        let Some(index) = self.0.index(piece.number)? else { return Ok(()) };
        self.0.reserve(index);
        if piece.total > 1 {
            let Some(message) = self.0.assemble(index, piece)? else { return Ok(()) };
            take(&message);
        } else {
            match self.0.slots[index] {
                Slot::Missing => take(piece.bytes),
                Slot::Whole(_) | Slot::Delivered => return Ok(()),
                Slot::Partial(_) => return Err(Violation),
            }
        }
        self.0.slots[index] = Slot::Delivered;
        while let Some(Slot::Delivered) = self.0.slots.front() {
            self.0.slots.pop_front();
            self.0.first += 1;
        }
        Ok(())
    }

    /// Frees memory that is not in use.
    pub(crate) fn release(&mut self) {
        self.0.release();
    }
}
