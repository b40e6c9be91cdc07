//! Forwarder in user space, for kernels without netem: it passes TCP on, and UDP with loss and latency.
//!
//! It runs in a namespace between client and server, as a process of its own: an ignored test of this program.

use crate::namespaces::Namespace;
use aether_client::{Conditioner, Conditions, Delivery};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::process::Child;
use tokio::sync::mpsc;
use tokio::time::{Instant, interval, timeout};

/// Variable of the process: own address, address of the server, TCP port and UDP port.
const ROUTE: &str = "AETHER_TEST_ROUTE";
/// Line that the process prints when it listens.
const READY: &str = "the forwarder listens";
/// Longest datagram.
const DATAGRAM_BYTES_MAX: usize = 2_048;
/// Datagrams of a client that wait for its task.
const WAITING_MAX: usize = 1_024;

/// Network conditions of both directions: 5 % loss and a round trip of 100 ms.
pub const CONDITIONS: Conditions = Conditions { latency: Duration::from_millis(50), loss: 0.05, ..Conditions::PERFECT };

/// Starts the forwarder in a namespace and waits until it listens.
pub async fn start(namespace: &Namespace, (own, server): (&str, &str), (tcp, udp): (u16, u16)) -> Child {
    let program = std::env::current_exe().expect("the path of this test");
    let arguments = ["--exact", "forwarder::forwarder_process", "--ignored", "--nocapture"];
    let mut command = namespace.command(&program, &arguments);
    let mut child = command.env(ROUTE, format!("{own} {server} {tcp} {udp}")).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("standard output is piped")).lines();
    let ready = async {
        while let Some(line) = lines.next_line().await.expect("readable") {
            if line.contains(READY) {
                return true;
            }
        }
        false
    };
    assert!(timeout(aether_testkit_server::DEADLINE, ready).await.expect("it listens in time"), "it has ended");
    // The output is read to its end, so that the process never waits for a reader.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    child
}

#[tokio::test]
#[ignore = "the process of another test"]
async fn forwarder_process() {
    let Ok(route) = std::env::var(ROUTE) else { return };
    let parts: Vec<&str> = route.split(' ').collect();
    let [own, server, tcp, udp] = parts[..] else { panic!("{ROUTE} has four parts") };
    let [own, server]: [IpAddr; 2] = [own, server].map(|address| address.parse().expect("an address"));
    let [tcp, udp]: [u16; 2] = [tcp, udp].map(|port| port.parse().expect("a port"));
    let listener = TcpListener::bind((own, tcp)).await.expect("a free port");
    let socket = Arc::new(UdpSocket::bind((own, udp)).await.expect("a free port"));
    println!("{READY}");
    tokio::join!(forward_tcp(listener, (server, tcp).into()), forward_udp(socket, (server, udp).into()));
}

async fn forward_tcp(listener: TcpListener, server: SocketAddr) {
    while let Ok((mut client, _)) = listener.accept().await {
        tokio::spawn(async move {
            if let Ok(mut upstream) = TcpStream::connect(server).await {
                let _ = copy_bidirectional(&mut client, &mut upstream).await;
            }
        });
    }
}

async fn forward_udp(socket: Arc<UdpSocket>, server: SocketAddr) {
    let mut clients: HashMap<SocketAddr, mpsc::Sender<Vec<u8>>> = HashMap::new();
    let mut datagram = [0; DATAGRAM_BYTES_MAX];
    loop {
        let Ok((length, from)) = socket.recv_from(&mut datagram).await else { continue };
        let seed = clients.len() as u64;
        let client = clients.entry(from).or_insert_with(|| {
            let (sender, receiver) = mpsc::channel(WAITING_MAX);
            tokio::spawn(forward_client(Arc::clone(&socket), (from, server), receiver, seed));
            sender
        });
        // A full queue loses datagrams, as any queue does.
        let _ = client.try_send(datagram[..length].to_vec());
    }
}

/// Forwards the datagrams of one client in both directions.
async fn forward_client(
    socket: Arc<UdpSocket>,
    (client, server): (SocketAddr, SocketAddr),
    mut receiver: mpsc::Receiver<Vec<u8>>,
    seed: u64,
) {
    let upstream = UdpSocket::bind(("0.0.0.0", 0)).await.expect("a free port");
    upstream.connect(server).await.expect("the server has an address");
    let started = Instant::now();
    let mut up = Conditioner::new(CONDITIONS, Delivery::Datagrams, 2 * seed);
    let mut down = Conditioner::new(CONDITIONS, Delivery::Datagrams, 2 * seed + 1);
    let mut datagram = [0; DATAGRAM_BYTES_MAX];
    let mut poll = interval(Duration::from_millis(1));
    loop {
        tokio::select! {
            packet = receiver.recv() => {
                let Some(packet) = packet else { return };
                let length = packet.len();
                up.push(started.elapsed(), packet, length);
            }
            received = upstream.recv(&mut datagram) => {
                // Errors are those of an earlier datagram.
                if let Ok(length) = received {
                    down.push(started.elapsed(), datagram[..length].to_vec(), length);
                }
            }
            _ = poll.tick() => {
                while let Some(packet) = up.pop(started.elapsed()) {
                    let _ = upstream.send(&packet).await;
                }
                while let Some(packet) = down.pop(started.elapsed()) {
                    let _ = socket.send_to(&packet, client).await;
                }
            }
        }
    }
}
