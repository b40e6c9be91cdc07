//! Sockets of multicast.

use super::settings::MulticastSettings;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use tokio::net::UdpSocket;

/// Opens a socket that receives what is sent to the group of discovery. Several servers of a machine can do that.
pub fn receiver(settings: &MulticastSettings) -> io::Result<UdpSocket> {
    let socket = open()?;
    socket.set_reuse_address(true)?;
    // Bound to the group, a socket gets nothing but its packets. Other systems than Unix cannot do that.
    let address = if cfg!(unix) { *settings.group.ip() } else { Ipv4Addr::UNSPECIFIED };
    socket.bind(&SocketAddrV4::new(address, settings.group.port()).into())?;
    socket.join_multicast_v4(settings.group.ip(), &settings.interface)?;
    UdpSocket::from_std(socket.into())
}

/// Opens a socket that sends answers and streams.
pub fn sender(settings: &MulticastSettings) -> io::Result<UdpSocket> {
    let socket = open()?;
    socket.bind(&SocketAddrV4::new(settings.interface, 0).into())?;
    socket.set_multicast_if_v4(&settings.interface)?;
    socket.set_multicast_ttl_v4(settings.ttl)?;
    // Viewers on this machine get the streams too.
    socket.set_multicast_loop_v4(true)?;
    UdpSocket::from_std(socket.into())
}

fn open() -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}
