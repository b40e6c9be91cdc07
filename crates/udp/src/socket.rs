//! A UDP socket that receives and sends many datagrams per system call.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use crate::socket_options::{RECEIVE_SLOTS_MAX, SocketOptions};
use crate::system::{self, Received};

/// Longest datagram that is received without offload; a longer one is dropped and counted.
const SLOT_BYTES: usize = 2_048;

/// Space for a run of datagrams that the system joined: the longest IP packet.
const JOINED_SLOT_BYTES: usize = 65_536;

/// Errors about earlier datagrams that are skipped by one receive call before it returns.
const ERRORS_PER_CALL_MAX: usize = 8;

/// A non-blocking UDP socket that receives and sends many datagrams per system call.
///
/// On Linux it uses `recvmmsg` and `sendmmsg`, and joins runs of datagrams of one peer (GSO and GRO). Elsewhere it uses
/// one plain call per datagram.
#[derive(Debug)]
pub struct BatchSocket {
    socket: UdpSocket,
    receive_buffer: Box<[u8]>,
    slot_bytes: usize,
    /// True while runs of datagrams are sent as one. Off after a device refused it.
    can_segment: AtomicBool,
    is_drained: bool,
    truncated: u64,
    errors: u64,
}

impl BatchSocket {
    /// Binds a socket. Port 0 lets the system choose. An IPv6 socket on the unspecified address also serves IPv4.
    pub fn bind(address: SocketAddr, options: SocketOptions) -> io::Result<BatchSocket> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() && address.ip().is_unspecified() {
            socket.set_only_v6(false)?;
        }
        if options.reuse_port {
            reuse_port(&socket)?;
        }
        // The system caps the sizes; a smaller buffer works too.
        if let Some(bytes) = options.receive_buffer_bytes {
            socket.set_recv_buffer_size(bytes).ok();
        }
        if let Some(bytes) = options.send_buffer_bytes {
            socket.set_send_buffer_size(bytes).ok();
        }
        socket.bind(&address.into())?;
        BatchSocket::from_socket(socket.into(), options)
    }

    /// Wraps a bound socket. `reuse_port` and the buffer sizes of the options are not applied.
    pub fn from_socket(socket: UdpSocket, options: SocketOptions) -> io::Result<BatchSocket> {
        socket.set_nonblocking(true)?;
        let joins = options.offload && system::enable_joined_receive(&socket);
        let slot_bytes = if joins { JOINED_SLOT_BYTES } else { SLOT_BYTES };
        let slots = options.receive_slots.clamp(1, RECEIVE_SLOTS_MAX);
        Ok(BatchSocket {
            receive_buffer: vec![0; slots * slot_bytes].into_boxed_slice(),
            slot_bytes,
            can_segment: AtomicBool::new(options.offload && system::can_segment(&socket)),
            socket,
            is_drained: false,
            truncated: 0,
            errors: 0,
        })
    }

    /// Receives the datagrams that wait, up to one batch, and passes each to `take` with its sender.
    ///
    /// Returns their number, or [`WouldBlock`](ErrorKind::WouldBlock) if none waits. An error about a datagram sent
    /// earlier, such as a refusal by the peer's machine, is counted and skipped. A datagram longer than its slot is
    /// counted and dropped.
    pub fn recv_batch(&mut self, take: &mut dyn FnMut(SocketAddr, &mut [u8])) -> io::Result<usize> {
        for _ in 0..ERRORS_PER_CALL_MAX {
            match system::receive(&self.socket, &mut self.receive_buffer, self.slot_bytes, take) {
                Ok(Received { datagrams, truncated, is_drained }) => {
                    self.truncated += truncated as u64;
                    self.is_drained = is_drained;
                    return Ok(datagrams);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_about_a_peer(&error) => self.errors += 1,
                Err(error) => {
                    self.is_drained = true;
                    return Err(error);
                }
            }
        }
        Ok(0)
    }

    /// Returns true if the last [`recv_batch`](BatchSocket::recv_batch) left nothing behind, so that the next call would
    /// find only datagrams that came since.
    pub fn is_drained(&self) -> bool {
        self.is_drained
    }

    /// Sends one datagram at once. Use a [`SendBatch`](crate::SendBatch) for several.
    pub fn send_to(&self, datagram: &[u8], to: SocketAddr) -> io::Result<()> {
        self.socket.send_to(datagram, to).map(|_| ())
    }

    /// Waits until a datagram can be received or the time is over. Returns true if one can be received.
    pub fn wait(&self, timeout: Duration) -> io::Result<bool> {
        system::wait(&self.socket, timeout)
    }

    /// Address that the socket is bound to.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Number of received datagrams that were longer than their slot and were dropped.
    pub fn truncated(&self) -> u64 {
        self.truncated
    }

    /// Number of errors about earlier datagrams, such as a refusal by the peer's machine.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Returns true while runs of datagrams to one peer are sent as one.
    pub fn can_segment(&self) -> bool {
        self.can_segment.load(Ordering::Relaxed)
    }

    /// Sends runs of datagrams one by one from now on.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux joins runs"))]
    pub(crate) fn stop_segmenting(&self) {
        self.can_segment.store(false, Ordering::Relaxed);
    }

    pub(crate) fn socket(&self) -> &UdpSocket {
        &self.socket
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for BatchSocket {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(unix)]
impl std::os::fd::AsRawFd for BatchSocket {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.socket.as_raw_fd()
    }
}

#[cfg(unix)]
fn reuse_port(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_port(true)
}

#[cfg(not(unix))]
fn reuse_port(_socket: &Socket) -> io::Result<()> {
    Err(io::Error::new(ErrorKind::Unsupported, "several sockets on one port are not supported on this system; use one"))
}

/// Returns true for errors that a peer or the network between causes. They must not end a socket that serves others.
fn is_about_a_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::PermissionDenied
            | ErrorKind::TimedOut
    )
}
