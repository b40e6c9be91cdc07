//! A path with delay and loss between clients and a server, in the load process.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Pause between looks at the sockets.
const PAUSE: Duration = Duration::from_micros(200);

const DATAGRAM_BYTES_MAX: usize = 65_536;

/// Datagrams and their bytes, without IP and UDP headers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    pub datagrams: u64,
    pub bytes: u64,
}

impl Traffic {
    pub fn since(self, before: Traffic) -> Traffic {
        Traffic { datagrams: self.datagrams - before.datagrams, bytes: self.bytes - before.bytes }
    }
}

/// A path with delay and loss. Every client has its own socket towards the server.
pub struct Forwarder {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    /// Share of datagrams lost in each direction, in millionths.
    loss_millionths: AtomicU64,
    datagrams: AtomicU64,
    bytes: AtomicU64,
}

impl Forwarder {
    pub fn start(server: SocketAddr, delay: Duration) -> io::Result<Forwarder> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let shared = Arc::new(Shared::default());
        let mut path = Path {
            shared: shared.clone(),
            socket,
            server,
            delay,
            clients: BTreeMap::new(),
            under_way: VecDeque::new(),
            buffer: vec![0; DATAGRAM_BYTES_MAX],
            seed: 1,
        };
        let thread = std::thread::spawn(move || {
            while !path.shared.is_over.load(Ordering::Relaxed) {
                path.turn();
                std::thread::sleep(PAUSE);
            }
        });
        Ok(Forwarder { address, shared, thread: Some(thread) })
    }

    /// Address to which clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the share of datagrams that are lost in each direction.
    pub fn set_loss(&self, share: f64) {
        self.shared.loss_millionths.store((share * 1e6) as u64, Ordering::Relaxed);
    }

    /// Datagrams that entered the path in both directions, lost ones included.
    pub fn traffic(&self) -> Traffic {
        Traffic {
            datagrams: self.shared.datagrams.load(Ordering::Relaxed),
            bytes: self.shared.bytes.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed.
            thread.join().ok();
        }
    }
}

struct Path {
    shared: Arc<Shared>,
    /// Socket towards the clients.
    socket: UdpSocket,
    server: SocketAddr,
    delay: Duration,
    /// Socket towards the server of each client.
    clients: BTreeMap<SocketAddr, Arc<UdpSocket>>,
    under_way: VecDeque<Delayed>,
    buffer: Vec<u8>,
    seed: u64,
}

struct Delayed {
    at: Instant,
    /// Socket of a client, through which the datagram goes to the server; none if it goes to the client.
    through: Option<Arc<UdpSocket>>,
    to: SocketAddr,
    datagram: Vec<u8>,
}

impl Path {
    fn turn(&mut self) {
        while let Ok((bytes, from)) = self.socket.recv_from(&mut self.buffer) {
            if let Some(through) = self.socket_of(from) {
                self.take(Some(through), self.server, bytes);
            }
        }
        let clients: Vec<(SocketAddr, Arc<UdpSocket>)> =
            self.clients.iter().map(|(client, socket)| (*client, socket.clone())).collect();
        for (client, socket) in clients {
            while let Ok((bytes, _)) = socket.recv_from(&mut self.buffer) {
                self.take(None, client, bytes);
            }
        }
        while let Some(first) = self.under_way.pop_front_if(|first| first.at <= Instant::now()) {
            let socket = first.through.as_deref().unwrap_or(&self.socket);
            // A datagram that the system refuses is lost, as on any path.
            socket.send_to(&first.datagram, first.to).ok();
        }
    }

    fn socket_of(&mut self, client: SocketAddr) -> Option<Arc<UdpSocket>> {
        if let Some(socket) = self.clients.get(&client) {
            return Some(socket.clone());
        }
        let socket = UdpSocket::bind("127.0.0.1:0").ok()?;
        socket.set_nonblocking(true).ok()?;
        let socket = Arc::new(socket);
        self.clients.insert(client, socket.clone());
        Some(socket)
    }

    fn take(&mut self, through: Option<Arc<UdpSocket>>, to: SocketAddr, bytes: usize) {
        self.shared.datagrams.fetch_add(1, Ordering::Relaxed);
        self.shared.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if (self.seed >> 33) % 1_000_000 < self.shared.loss_millionths.load(Ordering::Relaxed) {
            return;
        }
        let datagram = self.buffer[..bytes].to_vec();
        self.under_way.push_back(Delayed { at: Instant::now() + self.delay, through, to, datagram });
    }
}
