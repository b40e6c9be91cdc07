//! Messages of a client that the room has not handled yet.

use crate::bounded::BoundedQueue;
use crate::connection::INBOX_MAX;
use aether_wire::ClientMessage;
use crossbeam_queue::ArrayQueue;

/// Length of the ring. A client that sends once per tick has one or two messages waiting. A small ring stays in cache
/// when there are thousands of rooms.
const RING_LENGTH: usize = 4;

/// Bounded queue of messages with one producer and one consumer. Bursts overflow into a queue that allocates on demand.
#[derive(Debug)]
pub(crate) struct Inbox {
    ring: ArrayQueue<ClientMessage>,
    /// Messages newer than all of `ring`.
    overflow: BoundedQueue<ClientMessage>,
}

/// Number of messages to take, counted at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueLength {
    ring: usize,
    overflow: usize,
}

impl Inbox {
    pub fn new() -> Inbox {
        Inbox { ring: ArrayQueue::new(RING_LENGTH), overflow: BoundedQueue::new(INBOX_MAX - RING_LENGTH) }
    }

    /// Returns the message if the inbox is full.
    #[expect(clippy::result_large_err, reason = "the message moves through the queue anyway, and is rarely returned")]
    pub fn push(&self, message: ClientMessage) -> Result<(), ClientMessage> {
        match self.overflow.len() {
            0 => self.ring.push(message).or_else(|message| self.overflow.push(message)),
            _ => self.overflow.push(message),
        }
    }

    /// Counts the messages. Later ones are left for the next tick.
    pub fn length(&self) -> QueueLength {
        // The overflow is counted first: while it is not empty, nothing is added to the ring.
        let overflow = self.overflow.len();
        QueueLength { ring: self.ring.len(), overflow }
    }

    /// Takes the next of the counted messages.
    pub fn pop(&self, remaining: &mut QueueLength) -> Option<ClientMessage> {
        if let Some(left) = remaining.ring.checked_sub(1) {
            remaining.ring = left;
            return self.ring.pop();
        }
        remaining.overflow = remaining.overflow.checked_sub(1)?;
        self.overflow.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aether_wire::{PacketSeq, StateAck};

    fn message(number: u32) -> ClientMessage {
        ClientMessage::Ack(StateAck::new(PacketSeq(number), 0))
    }

    fn number(message: &ClientMessage) -> u32 {
        let ClientMessage::Ack(ack) = message else { panic!("{message:?}") };
        ack.latest().0
    }

    fn take(inbox: &Inbox) -> Vec<u32> {
        let mut remaining = inbox.length();
        std::iter::from_fn(|| inbox.pop(&mut remaining)).map(|message| number(&message)).collect()
    }

    #[test]
    fn the_inbox_is_bounded_and_ordered() {
        let inbox = Inbox::new();
        for round in 0..3 {
            for index in 0..INBOX_MAX as u32 {
                inbox.push(message(round * 100 + index)).expect("the inbox is not full");
            }
            assert!(inbox.push(message(999)).is_err());
            assert!(take(&inbox).into_iter().eq(round * 100..round * 100 + INBOX_MAX as u32));
            assert!(take(&inbox).is_empty());
        }
    }

    #[test]
    fn messages_that_arrive_while_it_is_emptied_wait() {
        let inbox = Inbox::new();
        (0..6).for_each(|index| inbox.push(message(index)).expect("the inbox is not full"));
        let mut remaining = inbox.length();
        let taken = (0..5).filter_map(|_| inbox.pop(&mut remaining)).count();
        (6..20).for_each(|index| inbox.push(message(index)).expect("the inbox is not full"));
        assert_eq!((taken, inbox.pop(&mut remaining).map(|message| number(&message))), (5, Some(5)));
        assert!(inbox.pop(&mut remaining).is_none());
        assert!(take(&inbox).into_iter().eq(6..20));
    }

    #[test]
    fn two_threads_lose_nothing_and_keep_the_order() {
        const MESSAGES: u32 = 50_000;
        let inbox = Inbox::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for index in 0..MESSAGES {
                    while inbox.push(message(index)).is_err() {
                        std::hint::spin_loop();
                    }
                }
            });
            let mut taken = Vec::new();
            while taken.len() < MESSAGES as usize {
                taken.extend(take(&inbox));
            }
            // Checked at the end: an early failure would leave the producer spinning.
            assert!(taken.into_iter().eq(0..MESSAGES));
        });
    }
}
