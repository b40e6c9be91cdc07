//! Received messages that wait for the connection task.

use crate::buffers;
use aether_wire::DeliveryPath;

/// Unread bytes from which a connection takes no more messages. The client's reliable messages then stay
/// unacknowledged, so that its own window fills.
const UNREAD_BYTES_MAX: usize = 65_536;

/// Bytes before each message: its delivery path and its length.
const HEADER_BYTES: usize = 5;

/// Messages one after the other, each after its path and length. While empty, it holds no buffer.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
}

impl Inbox {
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns true if the connection task has too much to read already.
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= UNREAD_BYTES_MAX
    }

    pub fn push(&mut self, path: DeliveryPath, message: &[u8]) {
        if self.bytes.capacity() == 0 {
            self.bytes = buffers::take();
        }
        self.bytes.push(u8::from(path == DeliveryPath::Reliable));
        // The transport's longest message has 65,536 bytes.
        self.bytes.extend_from_slice(&(message.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(message);
    }

    /// Takes all messages, and leaves the inbox empty.
    pub fn take(&mut self) -> Inbox {
        std::mem::take(self)
    }

    /// Passes each message to `handle` and returns the buffer to the pool of the thread.
    pub fn drain(self, mut handle: impl FnMut(DeliveryPath, &[u8])) {
        let mut rest = &self.bytes[..];
        while let Some((header, after)) = rest.split_first_chunk::<HEADER_BYTES>() {
            let [is_reliable, length @ ..] = *header;
            let path = if is_reliable == 1 { DeliveryPath::Reliable } else { DeliveryPath::Unreliable };
            let (message, after) = after.split_at(u32::from_le_bytes(length) as usize);
            handle(path, message);
            rest = after;
        }
        buffers::give(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_in_order_with_their_paths() {
        let mut inbox = Inbox::default();
        let messages = [
            (DeliveryPath::Reliable, vec![1; 3]),
            (DeliveryPath::Unreliable, Vec::new()),
            (DeliveryPath::Reliable, vec![2; 300]),
        ];
        for (path, message) in &messages {
            inbox.push(*path, message);
        }
        let mut read = Vec::new();
        inbox.take().drain(|path, message| read.push((path, message.to_vec())));
        assert_eq!(read, messages);
        assert!(inbox.is_empty());
    }

    #[test]
    fn an_inbox_that_nobody_reads_is_full_at_its_limit() {
        let mut inbox = Inbox::default();
        while !inbox.is_full() {
            inbox.push(DeliveryPath::Reliable, &[0; 1_000]);
        }
        assert!((UNREAD_BYTES_MAX..UNREAD_BYTES_MAX + 1_005).contains(&inbox.bytes.len()));
        inbox.take().drain(|_, _| {});
        assert!(!inbox.is_full());
    }
}
