//! Delivery to one session without a lookup, for rooms that send it many messages.

use super::match_batch::MatchBatch;
use super::outbox::{Outbox, OutboxItem, Outgoing, PushOutcome};
use aether_metrics::Counter;
use std::sync::Arc;

/// Sends to one session. After its end, messages are dropped.
#[derive(Clone)]
pub struct SessionSender {
    pub(super) outbox: Arc<Outbox>,
    pub(super) delivered: Counter,
    pub(super) overflows: Counter,
}

impl SessionSender {
    /// Sends messages, in their order.
    pub fn send_all(&self, messages: impl IntoIterator<Item = Arc<Outgoing>>) {
        for message in messages {
            self.push(OutboxItem::Message(message));
        }
        self.outbox.wake();
    }

    /// Sends the messages of a batch that are for a member of the match.
    pub fn send_batch(&self, batch: &Arc<MatchBatch>, member: u32) {
        self.push(OutboxItem::Batch { batch: Arc::clone(batch), member });
        self.outbox.wake();
    }

    fn push(&self, item: OutboxItem) {
        let messages = item.len() as u64;
        match self.outbox.push(item) {
            PushOutcome::Queued => self.delivered.add(messages),
            PushOutcome::Overflowed => self.overflows.inc(),
            PushOutcome::Closed => {}
        }
    }
}
