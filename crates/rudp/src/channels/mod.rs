//! Queues of the channels.

mod assembly;
mod byte_queue;
mod inbox;
mod inboxes;
mod ordered;
mod outbox;
mod outboxes;
mod sequenced;
mod unordered;
mod unreliable;

pub(crate) use inbox::Violation;
pub(crate) use inboxes::Inboxes;
pub(crate) use outboxes::Outboxes;
pub(crate) use unreliable::UnreliableQueue;
