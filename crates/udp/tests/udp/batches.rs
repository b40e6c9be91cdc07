//! Batches of datagrams over real sockets.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use aether_udp::{BatchSocket, SendBatch, SocketOptions};

/// Longest wait for a datagram on loopback; never reached unless it is lost.
const PATIENCE: Duration = Duration::from_secs(20);

const LOOPBACK: [&str; 2] = ["127.0.0.1:0", "[::1]:0"];

fn bind(address: &str, options: SocketOptions) -> BatchSocket {
    BatchSocket::bind(address.parse().unwrap(), options).unwrap()
}

/// Receives until `count` datagrams have come.
fn receive(socket: &mut BatchSocket, count: usize) -> Vec<(SocketAddr, Vec<u8>)> {
    let mut datagrams = Vec::new();
    while datagrams.len() < count {
        assert!(socket.wait(PATIENCE).unwrap(), "{} of {count} datagrams came", datagrams.len());
        let mut taken = 0;
        let received = socket.recv_batch(&mut |from, datagram| {
            taken += 1;
            datagrams.push((from, datagram.to_vec()));
        });
        match received {
            Ok(number) => assert_eq!(number, taken),
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    }
    datagrams
}

fn assert_empty(socket: &mut BatchSocket) {
    let error = socket.recv_batch(&mut |_, _| panic!("nothing was sent")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    assert!(socket.is_drained());
}

#[test]
fn datagrams_of_different_sizes_reach_several_peers() {
    for address in LOOPBACK {
        for options in [SocketOptions::server(), SocketOptions::client()] {
            let sender = bind(address, options);
            let mut peers: Vec<BatchSocket> = (0..5).map(|_| bind(address, options)).collect();
            let mut batch = SendBatch::new();
            for number in 0..100_usize {
                let peer = peers[number % peers.len()].local_addr().unwrap();
                batch.push(&vec![number as u8; 1 + number * 12], peer);
            }
            assert_eq!(batch.len(), 100);
            assert_eq!(batch.flush(&sender).unwrap(), 100);
            assert!(batch.is_empty());
            for (index, peer) in peers.iter_mut().enumerate() {
                let datagrams = receive(peer, 20);
                for (order, (from, datagram)) in datagrams.iter().enumerate() {
                    let number = index + order * 5;
                    assert_eq!(*from, sender.local_addr().unwrap());
                    assert_eq!(*datagram, vec![number as u8; 1 + number * 12]);
                }
                assert_empty(peer);
            }
        }
    }
}

#[test]
fn runs_of_equal_datagrams_arrive_whole_and_in_order() {
    for address in LOOPBACK {
        for (sending, receiving) in [(true, true), (true, false), (false, true)] {
            let sender = bind(address, SocketOptions { offload: sending, ..SocketOptions::server() });
            let mut peer = bind(address, SocketOptions { offload: receiving, ..SocketOptions::server() });
            let mut other = bind(address, SocketOptions::server());
            let mut batch = SendBatch::new();
            let sizes = [(90, 1_200), (1, 700), (70, 64), (1, 10), (3, 1_100)];
            let mut expected = Vec::new();
            for (count, bytes) in sizes {
                for number in 0..count {
                    let datagram = vec![number as u8; bytes];
                    batch.push(&datagram, peer.local_addr().unwrap());
                    expected.push(datagram);
                }
                batch.push(b"between", other.local_addr().unwrap());
            }
            assert_eq!(batch.flush(&sender).unwrap(), expected.len() + sizes.len());
            let received: Vec<Vec<u8>> =
                receive(&mut peer, expected.len()).into_iter().map(|(_, datagram)| datagram).collect();
            assert!(received == expected, "offload {sending} to {receiving}");
            receive(&mut other, sizes.len());
            assert_empty(&mut peer);
        }
    }
}

#[test]
fn a_datagram_longer_than_its_slot_is_dropped_and_counted() {
    let mut socket = bind("127.0.0.1:0", SocketOptions::client());
    let to = socket.local_addr().unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.send_to(&[1; 2_049], to).unwrap();
    sender.send_to(&[2; 60_000], to).unwrap();
    sender.send_to(&[3; 1_200], to).unwrap();
    assert_eq!(receive(&mut socket, 1)[0].1, [3; 1_200]);
    assert_eq!(socket.truncated(), 2);
}

#[test]
fn an_empty_datagram_is_passed_on_and_an_empty_one_is_not_sent() {
    let mut socket = bind("127.0.0.1:0", SocketOptions::server());
    let to = socket.local_addr().unwrap();
    UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&[], to).unwrap();
    assert_eq!(receive(&mut socket, 1)[0].1, []);
    let mut batch = SendBatch::new();
    batch.begin();
    batch.finish(to);
    assert_eq!((batch.is_empty(), batch.flush(&socket).unwrap()), (true, 0));
    batch.begin().extend_from_slice(b"given up");
    batch.begin().extend_from_slice(b"kept");
    batch.finish(to);
    assert_eq!(batch.bytes(), 4);
}

#[test]
fn what_the_system_refuses_is_dropped_and_counted_and_the_rest_is_sent() {
    let mut socket = bind("127.0.0.1:0", SocketOptions::server());
    let to = socket.local_addr().unwrap();
    let mut batch = SendBatch::new();
    batch.push(b"before", to);
    batch.push(&vec![0; 70_000], to);
    batch.push(b"port zero", ([127, 0, 0, 1], 0).into());
    batch.push(b"after", to);
    assert_eq!(batch.flush(&socket).unwrap(), 2);
    assert_eq!((batch.refused(), batch.len()), (2, 0));
    let received: Vec<Vec<u8>> = receive(&mut socket, 2).into_iter().map(|(_, datagram)| datagram).collect();
    assert_eq!(received, [b"before".to_vec(), b"after".to_vec()]);
}

/// Only a connected socket hears of refusals on Linux.
#[cfg(target_os = "linux")]
#[test]
fn a_refusal_by_the_peers_machine_does_not_end_the_socket() {
    let gone = UdpSocket::bind("127.0.0.1:0").unwrap();
    let plain = UdpSocket::bind("127.0.0.1:0").unwrap();
    plain.connect(gone.local_addr().unwrap()).unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let mut socket = BatchSocket::from_socket(plain, SocketOptions::client()).unwrap();
    socket.send_to(b"anyone?", address).unwrap();
    assert!(socket.wait(PATIENCE).unwrap(), "the refusal makes the socket readable");
    assert_empty(&mut socket);
    assert_eq!(socket.errors(), 1);
    let back = UdpSocket::bind(address).unwrap();
    back.send_to(b"here", socket.local_addr().unwrap()).unwrap();
    assert_eq!(receive(&mut socket, 1)[0].1, b"here");
}

#[cfg(unix)]
#[test]
fn two_sockets_share_a_port() {
    let options = SocketOptions { reuse_port: true, ..SocketOptions::server() };
    let first = bind("127.0.0.1:0", options);
    let address = first.local_addr().unwrap();
    let second = BatchSocket::bind(address, options).unwrap();
    assert!(BatchSocket::bind(address, SocketOptions::server()).is_err());
    let peers: Vec<UdpSocket> = (0..64).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    for round in 0..2 {
        for peer in &peers {
            peer.send_to(&[round], address).unwrap();
        }
    }
    let mut socket_of = BTreeMap::new();
    let mut sockets = [first, second];
    let mut count = 0;
    while count < peers.len() * 2 {
        for (index, socket) in sockets.iter_mut().enumerate() {
            let received = socket.recv_batch(&mut |from, _| {
                assert_eq!(*socket_of.entry(from).or_insert(index), index, "a peer stays with its socket");
            });
            count += received.unwrap_or(0);
        }
    }
    assert_eq!(socket_of.len(), peers.len());
}

#[test]
fn an_unspecified_ipv6_address_serves_ipv4_too() {
    let Ok(mut socket) = BatchSocket::bind("[::]:0".parse().unwrap(), SocketOptions::server()) else { return };
    let port = socket.local_addr().unwrap().port();
    let mut peer = bind("127.0.0.1:0", SocketOptions::client());
    peer.send_to(b"to six", ([127, 0, 0, 1], port).into()).unwrap();
    let (from, datagram) = receive(&mut socket, 1).remove(0);
    assert_eq!((datagram.as_slice(), from.port()), (b"to six".as_slice(), peer.local_addr().unwrap().port()));
    let mut batch = SendBatch::new();
    batch.push(b"to four", from);
    assert_eq!(batch.flush(&socket).unwrap(), 1);
    assert_eq!(receive(&mut peer, 1)[0].1, b"to four");
}

#[test]
fn waiting_ends_when_the_time_is_over() {
    let socket = bind("127.0.0.1:0", SocketOptions::client());
    assert!(!socket.wait(Duration::from_millis(2)).unwrap());
}

#[test]
fn a_socket_and_a_batch_may_move_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<BatchSocket>();
    is_send::<SendBatch>();
}
