//! Datagrams without a protocol, as a baseline: `recvmmsg`, then `sendmmsg`.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use aether_udp::{BatchSocket, SendBatch, SocketOptions};

use super::forwarder::Traffic;
use super::process::ServerProcess;
use super::workload::{Clients, Library, MESSAGE_BYTES, Outcome};

/// Tick of the servers whose CPU time per packet is compared. Without it, the server with the slower clients wakes more
/// often, for fewer packets each.
pub const TICK: Duration = Duration::from_millis(1);

/// Datagrams of a fixed size, each for a number of messages.
pub struct Bare {
    pub server_core: usize,
    pub datagram_bytes: usize,
    pub messages_per_datagram: usize,
}

impl Library for Bare {
    fn name(&self) -> String {
        "bare datagrams".to_owned()
    }

    fn start(&self) -> Outcome<ServerProcess> {
        ServerProcess::start(self.server_core, &["udp-bare-server".to_owned()])
    }

    fn connect(&self, _server: SocketAddr, via: SocketAddr, count: usize) -> Outcome<Box<dyn Clients>> {
        let sockets: Result<Vec<BatchSocket>, _> = (0..count).map(|_| bind(SocketOptions::client())).collect();
        Ok(Box::new(BareClients {
            sockets: sockets?,
            server: via,
            datagram: vec![7; self.datagram_bytes.max(MESSAGE_BYTES)],
            messages_per_datagram: self.messages_per_datagram,
            queued: vec![0; count],
            traffic: Traffic::default(),
        }))
    }

    fn is_reliable(&self) -> bool {
        false
    }
}

struct BareClients {
    sockets: Vec<BatchSocket>,
    server: SocketAddr,
    datagram: Vec<u8>,
    messages_per_datagram: usize,
    /// Messages of each client that wait for their datagram.
    queued: Vec<usize>,
    traffic: Traffic,
}

impl Clients for BareClients {
    fn send(&mut self, client: usize, message: &[u8]) -> Outcome<bool> {
        self.queued[client] += 1;
        if self.queued[client] == self.messages_per_datagram {
            self.queued[client] = 0;
            self.datagram[..MESSAGE_BYTES].copy_from_slice(message);
            self.sockets[client].send_to(&self.datagram, self.server)?;
            self.traffic.datagrams += 1;
            self.traffic.bytes += self.datagram.len() as u64;
        }
        Ok(true)
    }

    fn turn(&mut self, take: &mut dyn FnMut(usize, &[u8])) -> Outcome {
        let (traffic, messages) = (&mut self.traffic, self.messages_per_datagram);
        for (number, socket) in self.sockets.iter_mut().enumerate() {
            let received = socket.recv_batch(&mut |_, datagram| {
                traffic.datagrams += 1;
                traffic.bytes += datagram.len() as u64;
                for _ in 0..messages {
                    take(number, &datagram[..MESSAGE_BYTES]);
                }
            });
            received.map(|_| ()).or_else(unless_empty)?;
        }
        Ok(())
    }

    fn are_connected(&mut self) -> bool {
        true
    }

    fn packets(&self) -> Option<Traffic> {
        Some(self.traffic)
    }
}

/// Sends every datagram back, in ticks.
pub fn serve() -> Outcome {
    let mut socket = bind(SocketOptions { offload: false, ..SocketOptions::server() })?;
    println!("{}", socket.local_addr()?);
    let mut batch = SendBatch::new();
    loop {
        std::thread::sleep(TICK);
        loop {
            let received = socket.recv_batch(&mut |from, datagram| batch.push(datagram, from));
            received.map(|_| ()).or_else(unless_empty)?;
            batch.flush(&socket).map(|_| ()).or_else(unless_empty)?;
            if socket.is_drained() {
                break;
            }
        }
    }
}

fn bind(options: SocketOptions) -> std::io::Result<BatchSocket> {
    BatchSocket::bind(([127, 0, 0, 1], 0).into(), options)
}

fn unless_empty(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == ErrorKind::WouldBlock { Ok(()) } else { Err(error) }
}
