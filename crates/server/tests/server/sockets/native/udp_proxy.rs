//! A proxy for HTTP and WebTransport whose UDP path can lose packets or be cut.

use aether_engine::Random;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

/// Longest UDP packet.
const PACKET_BYTES_MAX: usize = 65_536;

/// Forwards HTTP requests one by one and UDP packets. The announced WebTransport address is that of the proxy.
pub struct UdpProxy {
    pub address: SocketAddr,
    loss_percent: Arc<AtomicU32>,
    _tasks: JoinSet<()>,
}

impl UdpProxy {
    /// Starts a proxy before the HTTP and the UDP address of a server.
    pub async fn start((http, udp): (SocketAddr, SocketAddr)) -> UdpProxy {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("the socket is bound");
        let front = Arc::new(UdpSocket::bind(address).await.expect("the port is free for UDP too"));
        let loss_percent = Arc::new(AtomicU32::new(0));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward_request(client, http, (udp.port(), address.port())));
            }
        });
        tasks.spawn(forward_packets(front, udp, Arc::clone(&loss_percent)));
        UdpProxy { address, loss_percent, _tasks: tasks }
    }

    /// Loses this share of the packets in both directions from now on.
    pub fn lose(&self, percent: u32) {
        self.loss_percent.store(percent, Ordering::Relaxed);
    }
}

/// Forwards a request without a body, and replaces the UDP port in the answer.
async fn forward_request(mut client: TcpStream, server: SocketAddr, (udp, announced): (u16, u16)) {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if !matches!(client.read_buf(&mut request).await, Ok(1..)) {
            return;
        }
    }
    let request = String::from_utf8(request).expect("requests are text");
    let request = request.replacen("\r\n", "\r\nconnection: close\r\n", 1);
    let Ok(mut upstream) = TcpStream::connect(server).await else { return };
    let mut answer = String::new();
    if upstream.write_all(request.as_bytes()).await.is_err() || upstream.read_to_string(&mut answer).await.is_err() {
        return;
    }
    let (from, to) = (format!(":{udp}/"), format!(":{announced}/"));
    assert_eq!(from.len(), to.len(), "the length of the answer stays the same");
    let _ = client.write_all(answer.replace(&from, &to).as_bytes()).await;
}

async fn forward_packets(front: Arc<UdpSocket>, server: SocketAddr, loss_percent: Arc<AtomicU32>) {
    let mut upstreams: BTreeMap<SocketAddr, Arc<UdpSocket>> = BTreeMap::new();
    let mut answers = JoinSet::new();
    let mut random = Random::new(1);
    let mut packet = vec![0; PACKET_BYTES_MAX];
    while let Ok((length, client)) = front.recv_from(&mut packet).await {
        if let Entry::Vacant(place) = upstreams.entry(client) {
            let socket = Arc::new(UdpSocket::bind(("127.0.0.1", 0)).await.expect("a port is free"));
            socket.connect(server).await.expect("the server has an address");
            place.insert(Arc::clone(&socket));
            let (front, loss_percent) = (Arc::clone(&front), Arc::clone(&loss_percent));
            answers.spawn(async move {
                let mut random = Random::new(2);
                let mut packet = vec![0; PACKET_BYTES_MAX];
                while let Ok(length) = socket.recv(&mut packet).await {
                    if !random.chance(loss_percent.load(Ordering::Relaxed)) {
                        let _ = front.send_to(&packet[..length], client).await;
                    }
                }
            });
        }
        if !random.chance(loss_percent.load(Ordering::Relaxed)) {
            let _ = upstreams[&client].send(&packet[..length]).await;
        }
    }
}
