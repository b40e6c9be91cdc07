//! Received messages that the caller has not taken yet.

use aether_rudp::Channel;

/// Queue of messages in one buffer, so that a message costs no allocation.
#[derive(Debug)]
pub(crate) struct MessageQueue<From> {
    bytes: Vec<u8>,
    messages: Vec<QueuedMessage<From>>,
    /// Number of messages at the front that were taken.
    taken: usize,
}

#[derive(Debug, Clone, Copy)]
struct QueuedMessage<From> {
    from: From,
    channel: Channel,
    start: usize,
    end: usize,
}

impl<From: Copy> MessageQueue<From> {
    pub fn new() -> MessageQueue<From> {
        MessageQueue { bytes: Vec::new(), messages: Vec::new(), taken: 0 }
    }

    pub fn push(&mut self, from: From, channel: Channel, message: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(message);
        self.messages.push(QueuedMessage { from, channel, start, end: self.bytes.len() });
    }

    /// Moves the first message into `message`.
    pub fn pop(&mut self, message: &mut Vec<u8>) -> Option<(From, Channel)> {
        let first = *self.messages.get(self.taken)?;
        message.clear();
        message.extend_from_slice(&self.bytes[first.start..first.end]);
        self.taken += 1;
        if self.taken == self.messages.len() {
            self.bytes.clear();
            self.messages.clear();
            self.taken = 0;
        }
        Some((first.from, first.channel))
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Bytes of the messages that wait.
    pub fn waiting_bytes(&self) -> usize {
        self.messages.get(self.taken).map_or(0, |first| self.bytes.len() - first.start)
    }

    /// Gives the space of taken messages back. Costs time by the bytes that wait.
    pub fn compact(&mut self) {
        let Some(first) = self.messages.get(self.taken).filter(|_| self.taken > 0).map(|message| message.start) else {
            return;
        };
        self.bytes.drain(..first);
        self.messages.drain(..self.taken);
        self.taken = 0;
        for message in &mut self.messages {
            message.start -= first;
            message.end -= first;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_leave_in_order_and_space_is_given_back() {
        let mut queue = MessageQueue::new();
        for number in 0..4_u8 {
            queue.push(number, Channel::ReliableOrdered, &[number; 10]);
        }
        let mut message = vec![9; 99];
        assert_eq!(queue.pop(&mut message), Some((0, Channel::ReliableOrdered)));
        assert_eq!((message.as_slice(), queue.waiting_bytes()), ([0; 10].as_slice(), 30));
        queue.compact();
        assert_eq!((queue.bytes.len(), queue.waiting_bytes()), (30, 30));
        for number in 1..4 {
            assert_eq!(queue.pop(&mut message), Some((number, Channel::ReliableOrdered)));
            assert_eq!(message, [number; 10]);
        }
        assert_eq!((queue.pop(&mut message), queue.is_empty(), queue.waiting_bytes()), (None, true, 0));
    }
}
