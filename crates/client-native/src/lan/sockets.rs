//! Sockets of the local network.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;

use super::settings::LanSettings;

/// Receive buffer of a stream: a burst of the largest key frame, twice.
const RECEIVE_BYTES: usize = 1 << 20;

/// Opens a socket that sends requests to the group and receives the answers.
pub(super) fn requester(settings: &LanSettings) -> io::Result<UdpSocket> {
    let socket = open()?;
    socket.bind(&SocketAddrV4::new(settings.interface, 0).into())?;
    socket.set_multicast_if_v4(&settings.interface)?;
    socket.set_multicast_ttl_v4(1)?;
    // Servers on this machine get the requests too.
    socket.set_multicast_loop_v4(true)?;
    UdpSocket::from_std(socket.into())
}

/// Opens a socket that receives what is sent to a group. Several programs of a machine can do that.
pub(super) fn listener(group: SocketAddrV4, interface: Ipv4Addr) -> io::Result<UdpSocket> {
    let socket = open()?;
    socket.set_reuse_address(true)?;
    // A smaller buffer only loses more packets.
    let _ = socket.set_recv_buffer_size(RECEIVE_BYTES);
    // Bound to the group, a socket gets nothing but its packets. Other systems than Unix cannot do that.
    let address = if cfg!(unix) { *group.ip() } else { Ipv4Addr::UNSPECIFIED };
    socket.bind(&SocketAddrV4::new(address, group.port()).into())?;
    socket.join_multicast_v4(group.ip(), &interface)?;
    UdpSocket::from_std(socket.into())
}

fn open() -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}
