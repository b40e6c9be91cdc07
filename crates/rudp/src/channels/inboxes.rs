//! Receiving ends of all channels.

use super::inbox::Violation;
use super::ordered::OrderedInbox;
use super::sequenced::SequencedFilter;
use super::unordered::UnorderedInbox;
use crate::channel::Channel;
use crate::frame::{Piece, ReliableChannel};

/// Receiving ends of all channels.
#[derive(Default)]
pub(crate) struct Inboxes {
    ordered: OrderedInbox,
    unordered: UnorderedInbox,
    pub sequenced: SequencedFilter,
}

impl Inboxes {
    /// Handles a reliable message or fragment.
    pub(crate) fn handle(
        &mut self,
        channel: ReliableChannel,
        piece: Piece<'_>,
        take: &mut dyn FnMut(Channel, &[u8]),
    ) -> Result<(), Violation> {
        match channel {
            ReliableChannel::Ordered => {
                self.ordered.handle(piece, &mut |message| take(Channel::ReliableOrdered, message))
            }
            ReliableChannel::Unordered => {
                self.unordered.handle(piece, &mut |message| take(Channel::ReliableUnordered, message))
            }
        }
    }

    /// Frees memory that is not in use.
    pub(crate) fn release(&mut self) {
        self.ordered.release();
        self.unordered.release();
    }
}
