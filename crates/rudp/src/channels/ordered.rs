//! Receiving end of the reliable ordered channel.

use super::inbox::{Inbox, Slot, Violation};
use crate::frame::Piece;

/// Holds messages that are too early, and passes all on in order.
#[derive(Default)]
pub(crate) struct OrderedInbox(Inbox);

impl OrderedInbox {
    /// Handles a message or fragment.
    pub(crate) fn handle(&mut self, piece: Piece<'_>, take: &mut dyn FnMut(&[u8])) -> Result<(), Violation> {
        let Some(index) = self.0.index(piece.number)? else { return Ok(()) };
        // The usual case: the next message, whole. Nothing is copied.
        if index == 0 && piece.total == 1 && self.0.slots.is_empty() {
            take(piece.bytes);
            self.0.first += 1;
            return Ok(());
        }
        self.0.reserve(index);
        if piece.total > 1 {
            if let Some(message) = self.0.assemble(index, piece)? {
                self.0.keep(index, message)?;
            }
        } else {
            match self.0.slots[index] {
                Slot::Missing => self.0.keep(index, piece.bytes.to_vec())?,
                Slot::Whole(_) | Slot::Delivered => {}
                Slot::Partial(_) => return Err(Violation),
            }
        }
        while let Some(Slot::Whole(message)) = self.0.slots.front() {
            take(message);
            let length = message.len();
            self.0.unhold(length);
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
