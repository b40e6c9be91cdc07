//! Messages, limits and ends of a connection.

use super::support::{STEP_TIMEOUT, TestListener, flush, receive, settings};
use aether_net::{CloseNotice, Transport, TransportEnded};
use aether_rudp::{Channel, CloseCause};
use aether_wire::{CloseReason, Closing, DeliveryPath};
use std::future::poll_fn;
use std::time::Duration;
use tokio::time::timeout;

#[tokio::test]
async fn messages_of_both_paths_arrive_in_both_directions() {
    let mut server = TestListener::start(&settings());
    let (mut session, mut client) = server.pair().await;
    assert_eq!(session.account, "ann");
    assert_eq!(session.peer.ip(), client.socket.local_addr().unwrap().ip());
    client.send(Channel::ReliableOrdered, b"reliable");
    client.send(Channel::Unreliable, b"unreliable");
    client.delivered().await;
    let mut received = Vec::new();
    while received.len() < 2 {
        received.extend(receive(&mut session.transport).await.unwrap());
    }
    received.sort_by_key(|(_, message)| message.clone());
    let (reliable, unreliable) = (b"reliable".to_vec(), b"unreliable".to_vec());
    assert_eq!(received, [(DeliveryPath::Reliable, reliable), (DeliveryPath::Unreliable, unreliable)]);
    session.transport.queue(DeliveryPath::Reliable, b"answer");
    flush(&mut session.transport).await;
    assert_eq!(client.receive().await, (Channel::ReliableOrdered, b"answer".to_vec()));
    session.transport.queue(DeliveryPath::Unreliable, b"state");
    flush(&mut session.transport).await;
    assert_eq!(client.receive().await, (Channel::Unreliable, b"state".to_vec()));
}

#[tokio::test]
async fn long_messages_are_sent_in_fragments_and_back_pressure_holds() {
    let mut server = TestListener::start(&settings());
    let (session, mut client) = server.pair().await;
    let mut transport = session.transport;
    let message = |number: u8| vec![number; 60_000];
    // The task waits until the client has taken a message before it queues the next one.
    let sending = tokio::spawn(async move {
        for number in 0..8 {
            transport.queue(DeliveryPath::Reliable, &message(number));
            flush(&mut transport).await;
        }
        transport
    });
    for number in 0..8 {
        assert!(client.receive().await == (Channel::ReliableOrdered, message(number)), "message {number}");
    }
    sending.await.unwrap();
}

#[tokio::test]
async fn an_oversized_message_ends_the_connection_or_is_dropped() {
    let mut server = TestListener::start(&settings());
    let (mut session, mut client) = server.pair().await;
    session.transport.set_message_bytes_max(100);
    client.send(Channel::Unreliable, &[1; 101]);
    client.delivered().await;
    client.send(Channel::ReliableOrdered, &[2; 100]);
    client.delivered().await;
    assert_eq!(receive(&mut session.transport).await.unwrap(), [(DeliveryPath::Reliable, vec![2; 100])]);
    client.send(Channel::ReliableOrdered, &[3; 101]);
    client.delivered().await;
    assert!(matches!(receive(&mut session.transport).await, Err(TransportEnded::Violation(_))));
    assert_eq!(server.metric("aether_udp_messages_dropped_total", "too_long"), 2.0);
}

#[tokio::test]
async fn a_client_learns_the_reason_of_a_close_after_the_last_message() {
    let mut server = TestListener::start(&settings());
    let (session, mut client) = server.pair().await;
    let mut transport = session.transport;
    transport.queue(DeliveryPath::Reliable, &[7; 20_000]);
    let closing = Closing { reason: CloseReason::Kicked, ..Closing::default() };
    let ending = tokio::spawn(async move {
        transport.queue_close(&CloseNotice::Closing(&closing));
        flush(&mut transport).await;
        timeout(STEP_TIMEOUT, poll_fn(|cx| transport.poll_closed(cx))).await.expect("the client has the message");
    });
    let (cause, messages) = client.closed().await;
    assert_eq!(cause, CloseCause::Peer(CloseReason::Kicked.number() as u16));
    assert!(messages == [(Channel::ReliableOrdered, vec![7; 20_000])]);
    ending.await.unwrap();
}

#[tokio::test]
async fn a_dropped_transport_closes_and_so_does_a_client() {
    let mut server = TestListener::start(&settings());
    let (session, mut client) = server.pair().await;
    drop(session);
    assert_eq!(client.closed().await.0, CloseCause::Peer(0));
    let (mut session, mut client) = server.pair().await;
    client.client.close(5);
    client.run_for(Duration::from_millis(50)).await;
    assert_eq!(receive(&mut session.transport).await, Err(TransportEnded::Closed));
}

#[tokio::test]
async fn a_client_that_vanishes_is_lost_after_the_idle_timeout() {
    let mut short = settings();
    short.connection.idle = Duration::from_millis(300);
    let mut server = TestListener::start(&short);
    let (mut session, client) = server.pair().await;
    drop(client);
    assert_eq!(receive(&mut session.transport).await, Err(TransportEnded::Lost));
}

#[tokio::test]
async fn the_listener_closes_all_connections() {
    let mut server = TestListener::start(&settings());
    let (_session, mut client) = server.pair().await;
    let address = server.address;
    let (cause, ()) = tokio::join!(client.closed(), server.listener.close());
    assert_eq!(cause.0, CloseCause::Peer(CloseReason::Shutdown.number() as u16));
    std::net::UdpSocket::bind(address).expect("the address is free");
}

#[tokio::test]
async fn messages_that_are_not_read_are_bounded_and_arrive_later() {
    let mut server = TestListener::start(&settings());
    let (mut session, mut client) = server.pair().await;
    session.transport.set_message_bytes_max(65_536);
    let count = 200;
    for number in 0..count {
        client.send(Channel::ReliableOrdered, &[number; 1_000]);
    }
    let unread = ("aether_udp_datagrams_dropped_total", "unread");
    while server.metric(unread.0, unread.1) == 0.0 {
        client.run_for(Duration::from_millis(20)).await;
    }
    // Reading lets the rest in, once and in order.
    let running = tokio::spawn(async move { client.run_for(STEP_TIMEOUT).await });
    let mut numbers = Vec::new();
    while numbers.len() < usize::from(count) {
        numbers.extend(receive(&mut session.transport).await.unwrap().iter().map(|(_, message)| message[0]));
    }
    running.abort();
    assert!(numbers.into_iter().eq(0..count));
}
