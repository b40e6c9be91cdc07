//! One plain call per datagram, for systems without batched calls.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use super::Received;
use crate::send_batch::OutgoingDatagram;
use crate::socket::BatchSocket;

/// Windows reports a datagram longer than the buffer by this error.
const WINDOWS_MESSAGE_TOO_LONG: i32 = 10_040;

/// Runs of datagrams are not joined here.
pub(crate) fn enable_joined_receive(_socket: &UdpSocket) -> bool {
    false
}

/// Runs of datagrams are not split here.
pub(crate) fn can_segment(_socket: &UdpSocket) -> bool {
    false
}

/// Waits for a datagram.
pub(crate) fn wait(socket: &UdpSocket, timeout: Duration) -> io::Result<bool> {
    // A time of zero is not allowed: it would mean none.
    socket.set_read_timeout(Some(timeout.max(Duration::from_millis(1))))?;
    socket.set_nonblocking(false)?;
    let outcome = socket.peek_from(&mut [0]);
    socket.set_nonblocking(true)?;
    match outcome {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {
            Ok(false)
        }
        // Errors about a datagram are for the receive call to see.
        _ => Ok(true),
    }
}

/// Receives as many datagrams as the buffer has slots.
pub(crate) fn receive(
    socket: &UdpSocket,
    buffer: &mut [u8],
    slot_bytes: usize,
    take: &mut dyn FnMut(SocketAddr, &mut [u8]),
) -> io::Result<Received> {
    let mut received = Received { datagrams: 0, truncated: 0, is_drained: false };
    for slot in buffer.chunks_mut(slot_bytes) {
        match socket.recv_from(slot) {
            // A full slot may be the beginning of a longer datagram.
            Ok((bytes, _)) if bytes == slot_bytes => received.truncated += 1,
            Ok((bytes, from)) => {
                received.datagrams += 1;
                take(from, &mut slot[..bytes]);
            }
            Err(error) if error.raw_os_error() == Some(WINDOWS_MESSAGE_TOO_LONG) => received.truncated += 1,
            Err(error) if received.datagrams + received.truncated == 0 => return Err(error),
            Err(error) => {
                received.is_drained = error.kind() == ErrorKind::WouldBlock;
                break;
            }
        }
    }
    Ok(received)
}

/// Sends the first datagram.
pub(crate) fn send(socket: &BatchSocket, bytes: &[u8], datagrams: &[OutgoingDatagram]) -> io::Result<usize> {
    let datagram = datagrams[0];
    socket.socket().send_to(&bytes[datagram.start..datagram.end], datagram.to)?;
    Ok(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SocketOptions;

    const SLOT_BYTES: usize = 64;

    fn socket() -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    }

    #[test]
    fn datagrams_pass_one_by_one_and_longer_ones_are_dropped() {
        let receiver = socket();
        let to = receiver.local_addr().unwrap();
        let sender = BatchSocket::from_socket(socket(), SocketOptions::client()).unwrap();
        let bytes = vec![7; 3 + 200 + 5];
        let datagrams = [(0, 3), (3, 203), (203, 208)].map(|(start, end)| OutgoingDatagram { to, start, end });
        for first in 0..datagrams.len() {
            assert_eq!(send(&sender, &bytes, &datagrams[first..]).unwrap(), 1);
        }
        assert!(wait(&receiver, Duration::from_secs(10)).unwrap());
        let (mut lengths, mut truncated) = (Vec::new(), 0);
        while lengths.len() + truncated < datagrams.len() {
            let mut buffer = [0; SLOT_BYTES * 2];
            let taken = receive(&receiver, &mut buffer, SLOT_BYTES, &mut |_, datagram| lengths.push(datagram.len()));
            truncated += taken.map_or(0, |received| received.truncated);
        }
        assert_eq!((lengths, truncated), (vec![3, 5], 1));
        let empty = receive(&receiver, &mut [0; SLOT_BYTES], SLOT_BYTES, &mut |_, _| {});
        assert_eq!(empty.unwrap_err().kind(), ErrorKind::WouldBlock);
    }

    #[test]
    fn waiting_ends_without_a_datagram() {
        assert!(!wait(&socket(), Duration::from_millis(1)).unwrap());
        assert!(!enable_joined_receive(&socket()) && !can_segment(&socket()));
    }
}
