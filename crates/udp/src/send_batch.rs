//! Datagrams that are sent together.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use crate::socket::BatchSocket;
use crate::system;

/// Datagrams in one buffer, each with its destination, sent by few system calls.
///
/// Write a datagram to the end of [`begin`](SendBatch::begin), then call [`finish`](SendBatch::finish):
///
/// ```
/// use aether_udp::{BatchSocket, SendBatch, SocketOptions};
///
/// # fn main() -> std::io::Result<()> {
/// let socket = BatchSocket::bind("127.0.0.1:0".parse().unwrap(), SocketOptions::client())?;
/// let mut batch = SendBatch::new();
/// batch.begin().extend_from_slice(b"first");
/// batch.finish(socket.local_addr()?);
/// batch.begin().extend_from_slice(b"second");
/// batch.finish(socket.local_addr()?);
/// assert_eq!(batch.flush(&socket)?, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct SendBatch {
    bytes: Vec<u8>,
    datagrams: Vec<OutgoingDatagram>,
    refused: u64,
}

/// Place of a datagram in the buffer, and its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutgoingDatagram {
    pub to: SocketAddr,
    pub start: usize,
    pub end: usize,
}

impl OutgoingDatagram {
    pub fn len(&self) -> usize {
        self.end - self.start
    }
}

impl SendBatch {
    /// Creates an empty batch.
    pub fn new() -> SendBatch {
        SendBatch::default()
    }

    /// Returns the buffer. Append one datagram to its end; do not change what it holds already.
    pub fn begin(&mut self) -> &mut Vec<u8> {
        let finished = self.finished_bytes();
        self.bytes.truncate(finished);
        &mut self.bytes
    }

    /// Ends the datagram that was appended since the last call. An empty one is left out.
    pub fn finish(&mut self, to: SocketAddr) {
        let (start, end) = (self.finished_bytes(), self.bytes.len());
        if end > start {
            self.datagrams.push(OutgoingDatagram { to, start, end });
        }
    }

    /// Appends a datagram.
    pub fn push(&mut self, datagram: &[u8], to: SocketAddr) {
        self.begin().extend_from_slice(datagram);
        self.finish(to);
    }

    /// Sends all datagrams in order and returns the number sent.
    ///
    /// Fails with [`WouldBlock`](ErrorKind::WouldBlock) if the system does not take all of them now: the rest is kept
    /// for the next call. A datagram that the system refuses for another reason is dropped and counted.
    pub fn flush(&mut self, socket: &BatchSocket) -> io::Result<usize> {
        self.flush_by(|bytes, datagrams| system::send(socket, bytes, datagrams))
    }

    /// Sends by calls of `send`, which takes the first of the datagrams and returns their number.
    fn flush_by(&mut self, send: impl Fn(&[u8], &[OutgoingDatagram]) -> io::Result<usize>) -> io::Result<usize> {
        let (mut done, mut refused) = (0, 0);
        while done < self.datagrams.len() {
            match send(&self.bytes, &self.datagrams[done..]) {
                Ok(sent) => done += sent,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.remove(done);
                    self.refused += refused as u64;
                    return Err(error);
                }
                Err(_) => {
                    done += 1;
                    refused += 1;
                }
            }
        }
        self.clear();
        self.refused += refused as u64;
        Ok(done - refused)
    }

    /// Removes all datagrams.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.datagrams.clear();
    }

    /// Number of datagrams to send.
    pub fn len(&self) -> usize {
        self.datagrams.len()
    }

    /// Returns true if there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// Bytes of all datagrams to send.
    pub fn bytes(&self) -> usize {
        self.finished_bytes()
    }

    /// Number of datagrams that the system refused for good, such as too long ones or those without a route.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn finished_bytes(&self) -> usize {
        self.datagrams.last().map_or(0, |last| last.end)
    }

    /// Removes the first datagrams, so that a blocked batch does not grow by what was sent.
    fn remove(&mut self, count: usize) {
        let Some(first) = self.datagrams.get(count).map(|datagram| datagram.start) else { return self.clear() };
        self.bytes.drain(..first);
        self.datagrams.drain(..count);
        for datagram in &mut self.datagrams {
            datagram.start -= first;
            datagram.end -= first;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    #[test]
    fn a_system_that_takes_no_more_keeps_the_rest_for_later() {
        let to = ([127, 0, 0, 1], 9).into();
        let mut batch = SendBatch::new();
        for number in 0..10 {
            batch.push(&[number; 100], to);
        }
        let (sent, room) = (RefCell::new(Vec::new()), Cell::new(0));
        let flush = |batch: &mut SendBatch, free: usize| {
            room.set(free);
            batch.flush_by(|bytes, datagrams| {
                let taken = room.get().min(datagrams.len()).min(2);
                if taken == 0 {
                    return Err(ErrorKind::WouldBlock.into());
                }
                room.set(room.get() - taken);
                sent.borrow_mut().extend(datagrams[..taken].iter().map(|datagram| bytes[datagram.start]));
                Ok(taken)
            })
        };
        assert_eq!(flush(&mut batch, 3).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!((batch.len(), batch.bytes()), (7, 700));
        batch.push(&[10; 50], to);
        assert_eq!(flush(&mut batch, 0).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!((batch.len(), batch.bytes()), (8, 750));
        assert_eq!(flush(&mut batch, 100).unwrap(), 8);
        assert_eq!((batch.len(), batch.bytes()), (0, 0));
        assert_eq!(sent.into_inner(), (0..=10).collect::<Vec<u8>>());
    }

    #[test]
    fn a_refused_datagram_before_a_full_system_is_not_sent_again() {
        let mut batch = SendBatch::new();
        batch.push(b"too long", ([127, 0, 0, 1], 1).into());
        batch.push(b"kept", ([127, 0, 0, 1], 2).into());
        let outcome = batch.flush_by(|_, datagrams| match datagrams[0].to.port() {
            1 => Err(ErrorKind::InvalidInput.into()),
            _ => Err(ErrorKind::WouldBlock.into()),
        });
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!((batch.len(), batch.bytes(), batch.refused()), (1, 4, 1));
    }
}
