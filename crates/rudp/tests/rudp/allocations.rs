//! Packets in a steady state and requests of strangers allocate nothing.

use std::net::SocketAddr;
use std::time::Duration;

use aether_rudp::{Acceptor, Channel, Client, Connection, Handshake, Settings};

use crate::support::pair::{CLIENT, SERVER, UNIX, grant, token_key};

const TICK: Duration = Duration::from_millis(16);

/// Passes everything that one end has to send to the other.
fn pass(now: Duration, from: SocketAddr, sender: &mut Connection, receiver: &mut Connection, datagram: &mut Vec<u8>) {
    while sender.poll_transmit(now, datagram).is_some() {
        receiver.handle(now, from, datagram, &mut |_, _| {}).expect("an authentic packet");
        datagram.clear();
    }
}

#[test]
fn steady_traffic_allocates_nothing() {
    let mut now = Duration::from_secs(1);
    let (mut client, mut server) = Connection::insecure_pair(now, CLIENT, SERVER, Settings::default());
    let mut datagram = Vec::with_capacity(2_000);
    let mut ticks = |count| {
        for _ in 0..count {
            now += TICK;
            for channel in [Channel::Unreliable, Channel::Sequenced, Channel::ReliableOrdered] {
                client.send(channel, &[1; 40]).expect("room in the queue");
                server.send(channel, &[2; 200]).expect("room in the queue");
            }
            pass(now, CLIENT, &mut client, &mut server, &mut datagram);
            pass(now, SERVER, &mut server, &mut client, &mut datagram);
        }
    };
    ticks(300);
    let info = allocation_counter::measure(|| ticks(1_000));
    assert_eq!(info.count_total, 0, "{info:?}");
}

#[test]
fn requests_of_strangers_allocate_nothing() {
    let now = Duration::from_secs(1);
    let key = token_key();
    let acceptor = Acceptor::new(key.clone(), Settings::default());
    let token = key.issue(&grant()).unwrap();
    let mut request = Vec::new();
    Client::new(now, SERVER, &token, Settings::default()).unwrap().poll_transmit(now, &mut request);
    let mut answer = Vec::with_capacity(2_000);
    let info = allocation_counter::measure(|| {
        for port in 1..10_000 {
            let from = SocketAddr::new(CLIENT.ip(), port);
            let outcome = acceptor.handle(now, UNIX, from, 0, &request, &mut answer);
            assert!(matches!(outcome, Handshake::Answered));
        }
    });
    assert_eq!(info.count_total, 0, "{info:?}");
}
