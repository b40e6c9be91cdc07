//! Many datagrams per system call.
//!
//! The headers of a call are made for each call: nix does not restore the sizes in them, so that control messages would
//! be lost in a second call, and they cannot move between threads. Making them costs less than one datagram.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use nix::cmsg_space;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::sockopt::{UdpGroSegment, UdpGsoSegment};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, RecvMsg, SockaddrStorage, getsockopt, recvmmsg,
    sendmmsg, setsockopt,
};

use super::Received;
use crate::send_batch::OutgoingDatagram;
use crate::socket::BatchSocket;
use crate::socket_options::RECEIVE_SLOTS_MAX;

/// Messages of one send call. Longer calls save nothing more.
const MESSAGES_PER_CALL_MAX: usize = 64;

/// Datagrams that Linux accepts as one run (`UDP_MAX_SEGMENTS` of older kernels).
const SEGMENTS_MAX: usize = 64;

/// Bytes of a run: the longest IP packet without the headers.
const RUN_BYTES_MAX: usize = 65_535 - 40 - 8;

/// Asks the system to join datagrams of one peer that arrive together.
pub(crate) fn enable_joined_receive(socket: &UdpSocket) -> bool {
    setsockopt(socket, UdpGroSegment, &true).is_ok()
}

/// Returns true if the system knows runs of datagrams.
pub(crate) fn can_segment(socket: &UdpSocket) -> bool {
    getsockopt(socket, UdpGsoSegment).is_ok()
}

/// Waits for a datagram.
pub(crate) fn wait(socket: &UdpSocket, timeout: Duration) -> io::Result<bool> {
    // Rounded up: a wait that ends too early makes the caller spin.
    let milliseconds = timeout.as_micros().div_ceil(1_000);
    let timeout = PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX);
    match poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], timeout) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// One received message: a datagram, or several of equal size.
#[derive(Clone, Copy)]
struct Message {
    from: Option<SocketAddr>,
    bytes: usize,
    segment_bytes: usize,
}

/// Receives one batch.
pub(crate) fn receive(
    socket: &UdpSocket,
    buffer: &mut [u8],
    slot_bytes: usize,
    take: &mut dyn FnMut(SocketAddr, &mut [u8]),
) -> io::Result<Received> {
    let slots = buffer.len() / slot_bytes;
    let mut messages = [Message { from: None, bytes: 0, segment_bytes: 0 }; RECEIVE_SLOTS_MAX];
    let count = receive_messages(socket, buffer, slot_bytes, &mut messages[..slots])?;
    let mut received = Received { datagrams: 0, truncated: 0, is_drained: count < slots };
    for (message, slot) in messages[..count].iter().zip(buffer.chunks_mut(slot_bytes)) {
        let Some(from) = message.from else {
            received.truncated += 1;
            continue;
        };
        if message.bytes == 0 {
            take(from, &mut []);
            received.datagrams += 1;
        }
        for datagram in slot[..message.bytes].chunks_mut(message.segment_bytes.max(1)) {
            take(from, datagram);
            received.datagrams += 1;
        }
    }
    Ok(received)
}

fn receive_messages(
    socket: &UdpSocket,
    buffer: &mut [u8],
    slot_bytes: usize,
    messages: &mut [Message],
) -> io::Result<usize> {
    let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(messages.len(), Some(cmsg_space!(i32)));
    let mut slots = buffer.chunks_mut(slot_bytes);
    let mut slices: [_; RECEIVE_SLOTS_MAX] =
        std::array::from_fn(|_| [IoSliceMut::new(slots.next().unwrap_or_default())]);
    let slices = slices[..messages.len()].iter_mut();
    let received = recvmmsg(socket.as_raw_fd(), &mut headers, slices, MsgFlags::MSG_DONTWAIT, None)?;
    let mut count = 0;
    for (message, received) in messages.iter_mut().zip(received) {
        *message = read(&received);
        count += 1;
    }
    Ok(count)
}

fn read(received: &RecvMsg<'_, '_, SockaddrStorage>) -> Message {
    let is_whole = !received.flags.contains(MsgFlags::MSG_TRUNC);
    let from = received.address.as_ref().filter(|_| is_whole).and_then(socket_address);
    let joined = received.cmsgs().ok().and_then(|mut messages| {
        messages.find_map(|message| match message {
            ControlMessageOwned::UdpGroSegments(bytes) => usize::try_from(bytes).ok(),
            _ => None,
        })
    });
    Message { from, bytes: received.bytes, segment_bytes: joined.unwrap_or(received.bytes) }
}

fn socket_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(address) = address.as_sockaddr_in() {
        return Some(SocketAddr::V4((*address).into()));
    }
    address.as_sockaddr_in6().map(|address| SocketAddr::V6((*address).into()))
}

/// Sends the first datagrams by one call and returns their number, at least 1.
pub(crate) fn send(socket: &BatchSocket, bytes: &[u8], datagrams: &[OutgoingDatagram]) -> io::Result<usize> {
    let group = Group::of(datagrams, socket.can_segment());
    match group.send(socket.socket(), bytes, datagrams) {
        Err(error) if group.segment_bytes.is_some() && error.kind() != io::ErrorKind::WouldBlock => {
            // A device without checksums cannot split runs. Other errors concern only this destination, such as a path
            // with small packets.
            if error.raw_os_error() == Some(Errno::EIO as i32) {
                socket.stop_segmenting();
            }
            let first = Group::of(&datagrams[..group.runs[0]], false);
            first.send(socket.socket(), bytes, datagrams)
        }
        outcome => outcome,
    }
}

/// Datagrams of one send call. Those of a run go as one message.
struct Group {
    /// Datagrams of each message.
    runs: [usize; MESSAGES_PER_CALL_MAX],
    messages: usize,
    /// Size at which Linux splits messages. All messages of a call share it; shorter ones stay whole.
    segment_bytes: Option<u16>,
}

impl Group {
    /// Takes datagrams from the front as long as one split size serves them all.
    fn of(datagrams: &[OutgoingDatagram], can_segment: bool) -> Group {
        let mut group = Group { runs: [0; MESSAGES_PER_CALL_MAX], messages: 0, segment_bytes: None };
        let (mut rest, mut longest_single) = (datagrams, 0);
        while let Some(first) = rest.first().filter(|_| group.messages < MESSAGES_PER_CALL_MAX) {
            let run = if can_segment { run_of(rest) } else { 1 };
            let bytes = first.len();
            let fits = match group.segment_bytes {
                None => run == 1 || longest_single <= bytes,
                Some(size) if run == 1 => bytes <= usize::from(size),
                Some(size) => bytes == usize::from(size),
            };
            if !fits {
                break;
            }
            if run == 1 {
                longest_single = longest_single.max(bytes);
            } else {
                group.segment_bytes = u16::try_from(bytes).ok();
            }
            group.runs[group.messages] = run;
            group.messages += 1;
            rest = &rest[run..];
        }
        group
    }

    fn send(&self, socket: &UdpSocket, bytes: &[u8], datagrams: &[OutgoingDatagram]) -> io::Result<usize> {
        let mut addresses = [None; MESSAGES_PER_CALL_MAX];
        let mut slices = [[IoSlice::new(&[])]; MESSAGES_PER_CALL_MAX];
        let mut rest = datagrams;
        for (index, run) in self.runs[..self.messages].iter().enumerate() {
            let (message, further) = rest.split_at(*run);
            addresses[index] = Some(SockaddrStorage::from(message[0].to));
            slices[index] = [IoSlice::new(&bytes[message[0].start..message[run - 1].end])];
            rest = further;
        }
        let space = self.segment_bytes.is_some().then(|| cmsg_space!(u16));
        let mut headers = MultiHeaders::preallocate(self.messages, space);
        let control = self.segment_bytes.as_ref().map(ControlMessage::UdpGsoSegments);
        let (slices, addresses) = (&slices[..self.messages], &addresses[..self.messages]);
        let flags = MsgFlags::MSG_DONTWAIT;
        let sent = sendmmsg(socket.as_raw_fd(), &mut headers, slices, addresses, control.as_slice(), flags)?.count();
        Ok(self.runs[..sent].iter().sum())
    }
}

/// Number of datagrams at the front that can go as one run: to one destination, of equal size, the last may be shorter.
fn run_of(datagrams: &[OutgoingDatagram]) -> usize {
    let first = datagrams[0];
    let bytes = first.len();
    let longest = (RUN_BYTES_MAX / bytes).clamp(1, SEGMENTS_MAX);
    let mut run = 1;
    for next in datagrams[1..].iter().take(longest - 1) {
        if next.to != first.to || next.len() > bytes {
            break;
        }
        run += 1;
        if next.len() < bytes {
            break;
        }
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Datagrams as (port, bytes).
    fn datagrams(list: &[(u16, usize)]) -> Vec<OutgoingDatagram> {
        let mut start = 0;
        list.iter()
            .map(|&(port, bytes)| {
                let datagram = OutgoingDatagram { to: ([127, 0, 0, 1], port).into(), start, end: start + bytes };
                start += bytes;
                datagram
            })
            .collect()
    }

    fn group_of(list: &[(u16, usize)]) -> (Vec<usize>, Option<u16>) {
        let group = Group::of(&datagrams(list), true);
        (group.runs[..group.messages].to_vec(), group.segment_bytes)
    }

    #[test]
    fn equal_datagrams_to_one_peer_are_a_run_and_its_last_may_be_shorter() {
        assert_eq!(group_of(&[(1, 100), (1, 100), (1, 40), (1, 40)]), (vec![3, 1], Some(100)));
        assert_eq!(group_of(&[(1, 100), (2, 100), (2, 100)]), (vec![1, 2], Some(100)));
    }

    #[test]
    fn datagrams_to_different_peers_need_no_split_size() {
        assert_eq!(group_of(&[(1, 100), (2, 1_200), (3, 50)]), (vec![1, 1, 1], None));
    }

    #[test]
    fn a_datagram_longer_than_the_split_size_begins_another_call() {
        assert_eq!(group_of(&[(1, 100), (1, 100), (2, 101)]), (vec![2], Some(100)));
        assert_eq!(group_of(&[(2, 101), (1, 100), (1, 100)]), (vec![1], None));
        assert_eq!(group_of(&[(1, 100), (1, 100), (2, 90), (2, 90)]), (vec![2], Some(100)));
    }

    #[test]
    fn a_run_is_limited_in_datagrams_and_bytes() {
        assert_eq!(run_of(&datagrams(&[(1, 10); 100])), SEGMENTS_MAX);
        assert_eq!(run_of(&datagrams(&[(1, 1_200); 100])), RUN_BYTES_MAX / 1_200);
        assert_eq!(run_of(&datagrams(&[(1, 65_507); 2])), 1);
    }

    #[test]
    fn without_runs_every_datagram_is_a_message() {
        let group = Group::of(&datagrams(&[(1, 100); 70]), false);
        assert_eq!((group.messages, group.segment_bytes), (MESSAGES_PER_CALL_MAX, None));
    }
}
