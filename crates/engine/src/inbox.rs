//! What a client said and the room has not heard yet.

use crate::bounded::BoundedQueue;
use crate::connection::INBOX_MAX;
use aether_wire::ClientMessage;
use crossbeam_queue::ArrayQueue;

/// Messages that have their place for good. A client that sends with the tick has one or two waiting; the fewer places it
/// goes round, the likelier the next is still in the cache when there are thousands of rooms.
const PLACES: usize = 4;

/// A bounded queue of messages, with one who pushes and one who takes. Bursts go to a queue that has memory only for what
/// is in it.
#[derive(Debug)]
pub(crate) struct Inbox {
    first: ArrayQueue<ClientMessage>,
    /// Newer than everything in `first`.
    burst: BoundedQueue<ClientMessage>,
}

/// How many messages are to be taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueLength {
    first: usize,
    burst: usize,
}

impl Inbox {
    pub fn new() -> Inbox {
        Inbox { first: ArrayQueue::new(PLACES), burst: BoundedQueue::new(INBOX_MAX - PLACES) }
    }

    /// Gives the message back when the inbox is full.
    pub fn push(&self, message: ClientMessage) -> Result<(), ClientMessage> {
        match self.burst.len() {
            0 => self.first.push(message).or_else(|message| self.burst.push(message)),
            _ => self.burst.push(message),
        }
    }

    /// What waits. More may come while it is taken; that has its turn later.
    pub fn waiting(&self) -> QueueLength {
        // The burst is counted first: as long as there is one, nothing is added to what comes before it.
        let burst = self.burst.len();
        QueueLength { first: self.first.len(), burst }
    }

    /// Takes the next of those that were counted.
    pub fn pop(&self, waiting: &mut QueueLength) -> Option<ClientMessage> {
        if let Some(left) = waiting.first.checked_sub(1) {
            waiting.first = left;
            return self.first.pop();
        }
        waiting.burst = waiting.burst.checked_sub(1)?;
        self.burst.pop()
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
        let mut waiting = inbox.waiting();
        std::iter::from_fn(|| inbox.pop(&mut waiting)).map(|message| number(&message)).collect()
    }

    #[test]
    fn it_holds_so_many_and_no_more_in_order() {
        let inbox = Inbox::new();
        for round in 0..3 {
            for place in 0..INBOX_MAX as u32 {
                inbox.push(message(round * 100 + place)).expect("there is room");
            }
            assert!(inbox.push(message(999)).is_err());
            assert!(take(&inbox).into_iter().eq(round * 100..round * 100 + INBOX_MAX as u32));
            assert!(take(&inbox).is_empty());
        }
    }

    #[test]
    fn what_comes_while_it_is_emptied_waits_for_its_turn() {
        let inbox = Inbox::new();
        (0..6).for_each(|place| inbox.push(message(place)).expect("there is room"));
        let mut waiting = inbox.waiting();
        let taken = (0..5).filter_map(|_| inbox.pop(&mut waiting)).count();
        (6..20).for_each(|place| inbox.push(message(place)).expect("there is room"));
        assert_eq!((taken, inbox.pop(&mut waiting).map(|message| number(&message))), (5, Some(5)));
        assert!(inbox.pop(&mut waiting).is_none());
        assert!(take(&inbox).into_iter().eq(6..20));
    }

    #[test]
    fn two_threads_lose_nothing_and_keep_the_order() {
        const MESSAGES: u32 = 50_000;
        let inbox = Inbox::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for place in 0..MESSAGES {
                    while inbox.push(message(place)).is_err() {
                        std::hint::spin_loop();
                    }
                }
            });
            let mut taken = Vec::new();
            while taken.len() < MESSAGES as usize {
                taken.extend(take(&inbox));
            }
            // Not sooner: the other thread would wait forever for someone who takes.
            assert!(taken.into_iter().eq(0..MESSAGES));
        });
    }
}
