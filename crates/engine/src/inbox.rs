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

    /// Takes the oldest message. While the overflow is not empty, nothing is added to the ring, so that all of the ring
    /// is older.
    pub fn pop(&self) -> Option<ClientMessage> {
        self.ring.pop().or_else(|| self.overflow.pop())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::{ConnectionEndpoint, RoomEndpoint, connect};
    use aether_wire::{PacketSeq, StateAck};

    fn message(number: u32) -> ClientMessage {
        ClientMessage::Ack(StateAck::new(PacketSeq(number), 0))
    }

    fn number(message: &ClientMessage) -> u32 {
        let ClientMessage::Ack(ack) = message else { panic!("{message:?}") };
        ack.latest().0
    }

    fn push(connection: &ConnectionEndpoint, numbers: std::ops::Range<u32>) {
        numbers.for_each(|index| connection.push(message(index)).expect("the inbox is not full"));
    }

    fn take(room: &RoomEndpoint) -> Vec<u32> {
        let mut remaining = room.count_messages();
        std::iter::from_fn(|| room.receive(&mut remaining)).map(|message| number(&message)).collect()
    }

    #[test]
    fn the_inbox_is_bounded_and_ordered() {
        let (room, connection) = connect(1);
        for round in 0..3 {
            let numbers = round * 100..round * 100 + INBOX_MAX as u32;
            push(&connection, numbers.clone());
            assert!(connection.push(message(999)).is_err());
            assert!(take(&room).into_iter().eq(numbers));
            assert!(take(&room).is_empty());
        }
    }

    #[test]
    fn messages_that_arrive_while_it_is_emptied_wait() {
        let (room, connection) = connect(1);
        push(&connection, 0..6);
        let mut remaining = room.count_messages();
        let taken = (0..5).filter_map(|_| room.receive(&mut remaining)).count();
        push(&connection, 6..20);
        assert_eq!((taken, room.receive(&mut remaining).map(|message| number(&message))), (5, Some(5)));
        assert!(room.receive(&mut remaining).is_none());
        assert!(take(&room).into_iter().eq(6..20));
    }

    #[test]
    fn two_threads_lose_nothing_and_keep_the_order() {
        const MESSAGES: u32 = 50_000;
        let (room, connection) = connect(1);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for index in 0..MESSAGES {
                    while connection.push(message(index)).is_err() {
                        std::hint::spin_loop();
                    }
                }
            });
            let mut taken = Vec::new();
            while taken.len() < MESSAGES as usize {
                taken.extend(take(&room));
            }
            // Checked at the end: an early failure would leave the producer spinning.
            assert!(taken.into_iter().eq(0..MESSAGES));
        });
    }
}
