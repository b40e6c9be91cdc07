//! Receiving end of the sequenced channel.

/// Drops messages that are older than one that was passed on.
///
/// Sequenced messages are sent in order and never again, so the packet number is their sequence number.
#[derive(Default)]
pub(crate) struct SequencedFilter {
    newest: u64,
}

impl SequencedFilter {
    /// Returns true if the messages of this packet are to be passed on.
    pub(crate) fn accepts(&mut self, packet: u64) -> bool {
        let is_new = packet >= self.newest;
        self.newest = self.newest.max(packet);
        is_new
    }
}
