//! Socket between the processes: wakes a sleeping side, and tells when the other process has ended.

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Bytes read at once. Each ring of the bell is one byte, and many may wait.
const DRAIN_BYTES: usize = 256;

/// Wakes the other process, and notices its end.
#[derive(Debug)]
pub struct Bell {
    stream: UnixStream,
}

/// Reason why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BellEvent {
    /// The other side rang, or there was a message already.
    Rung,
    /// The given time has passed.
    TimedOut,
    /// The other process has ended, or closed the region. Messages that it sent before can still be received.
    Gone,
}

impl Bell {
    pub(crate) fn new(stream: UnixStream) -> io::Result<Bell> {
        stream.set_nonblocking(true)?;
        Ok(Bell { stream })
    }

    /// Wakes the other side.
    pub(crate) fn ring(&self) {
        // If the buffer of the socket is full, the other side has enough to wake up from. If the other side is gone, the
        // next wait says so.
        let _ = rustix::net::send(&self.stream, &[1], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    }

    /// Waits until the other side rings or ends, or the time has passed.
    pub(crate) fn wait(&self, time_max: Option<Duration>) -> BellEvent {
        let timeout = time_max.and_then(|time| Timespec::try_from(time).ok());
        let mut polled = [PollFd::from_borrowed_fd(self.stream.as_fd(), PollFlags::IN)];
        match rustix::event::poll(&mut polled, timeout.as_ref()) {
            Ok(0) => BellEvent::TimedOut,
            // A signal: the caller looks for messages and waits again.
            Ok(_) | Err(Errno::INTR) => self.take(),
            Err(_) => BellEvent::Gone,
        }
    }

    /// Takes what was rung so far, without waiting.
    pub(crate) fn take(&self) -> BellEvent {
        let mut bytes = [0; DRAIN_BYTES];
        loop {
            match rustix::net::recv(&self.stream, bytes.as_mut_slice(), RecvFlags::DONTWAIT) {
                Ok((0, _)) => return BellEvent::Gone,
                Ok((DRAIN_BYTES.., _)) | Err(Errno::INTR) => {}
                Ok(_) | Err(Errno::AGAIN) => return BellEvent::Rung,
                Err(_) => return BellEvent::Gone,
            }
        }
    }

    /// Returns true if the other process has ended or closed the region.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        let mut byte = [0];
        match rustix::net::recv(&self.stream, byte.as_mut_slice(), RecvFlags::DONTWAIT | RecvFlags::PEEK) {
            Ok((bytes, _)) => bytes == 0,
            Err(Errno::AGAIN | Errno::INTR) => false,
            Err(_) => true,
        }
    }

    /// Closes the socket for both sides: their waits end with [`BellEvent::Gone`].
    pub fn close(&self) {
        let _ = rustix::net::shutdown(&self.stream, Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bells() -> (Bell, Bell) {
        let (one, other) = UnixStream::pair().unwrap();
        (Bell::new(one).unwrap(), Bell::new(other).unwrap())
    }

    #[test]
    fn a_ring_wakes_once_even_if_it_comes_before_the_wait() {
        let (one, other) = bells();
        (0..1_000).for_each(|_| one.ring());
        assert_eq!(other.wait(None), BellEvent::Rung);
        assert_eq!(other.wait(Some(Duration::ZERO)), BellEvent::TimedOut);
    }

    #[test]
    fn a_full_socket_does_not_block_the_ringer() {
        let (one, other) = bells();
        (0..1_000_000).for_each(|_| one.ring());
        assert_eq!(other.wait(None), BellEvent::Rung);
    }

    #[test]
    fn the_end_of_the_other_side_is_noticed_after_its_last_ring() {
        let (one, other) = bells();
        assert!(!other.is_gone());
        one.ring();
        drop(one);
        assert!(!other.is_gone(), "a ring waits");
        while other.wait(None) != BellEvent::Gone {}
        assert!(other.is_gone());
        other.ring();
    }

    #[test]
    fn a_close_ends_the_own_wait_too() {
        let (one, other) = bells();
        one.close();
        assert_eq!((one.wait(None), other.wait(None)), (BellEvent::Gone, BellEvent::Gone));
    }
}
