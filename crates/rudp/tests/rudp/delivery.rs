//! Delivery over a path without faults.

use std::time::Duration;

use aether_rudp::{Channel, CloseCause, ConnectionState, MESSAGE_BYTES_MAX, SendError, UNRELIABLE_BYTES_MAX};

use crate::support::Pair;

#[test]
fn every_channel_delivers_in_both_directions() {
    let mut pair = Pair::new();
    let channels = [Channel::ReliableOrdered, Channel::ReliableUnordered, Channel::Sequenced, Channel::Unreliable];
    for (index, channel) in channels.into_iter().enumerate() {
        pair.client.send(channel, &[index as u8; 20]).unwrap();
        pair.server.send(channel, &[index as u8 + 10; 30]).unwrap();
    }
    pair.run(Duration::from_millis(100));
    for (index, channel) in channels.into_iter().enumerate() {
        assert!(pair.to_server.contains(&(channel, vec![index as u8; 20])), "{channel:?}");
        assert!(pair.to_client.contains(&(channel, vec![index as u8 + 10; 30])), "{channel:?}");
    }
    assert_eq!((pair.to_server.len(), pair.to_client.len()), (4, 4));
}

#[test]
fn messages_of_every_length_arrive_whole() {
    let mut pair = Pair::new();
    let lengths = [0, 1, 1_095, 1_096, 1_097, 2_192, 2_193, 30_000, MESSAGE_BYTES_MAX];
    for length in lengths {
        let message: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
        pair.client.send(Channel::ReliableOrdered, &message).unwrap();
        pair.server.send(Channel::ReliableUnordered, &message).unwrap();
    }
    pair.server.send(Channel::Unreliable, &[7; UNRELIABLE_BYTES_MAX]).unwrap();
    pair.run(Duration::from_millis(500));
    for length in lengths {
        let message: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
        assert!(pair.to_server.contains(&(Channel::ReliableOrdered, message.clone())), "{length}");
        assert!(pair.to_client.contains(&(Channel::ReliableUnordered, message)), "{length}");
    }
    assert!(pair.to_client.contains(&(Channel::Unreliable, vec![7; UNRELIABLE_BYTES_MAX])));
    assert_eq!(pair.server.unacknowledged_bytes(), 0);
    assert_eq!(pair.server.backlog_bytes(), 0);
}

#[test]
fn a_message_that_is_too_long_is_refused() {
    let mut pair = Pair::new();
    let long = vec![0; MESSAGE_BYTES_MAX + 1];
    for channel in [Channel::ReliableOrdered, Channel::ReliableUnordered] {
        assert_eq!(pair.client.send(channel, &long), Err(SendError::TooLong));
    }
    for channel in [Channel::Sequenced, Channel::Unreliable] {
        assert_eq!(pair.server.send(channel, &long[..UNRELIABLE_BYTES_MAX + 1]), Err(SendError::TooLong));
    }
}

#[test]
fn a_close_arrives_after_the_messages_sent_before() {
    let mut pair = Pair::new();
    pair.server.send(Channel::ReliableOrdered, &[5; 40_000]).unwrap();
    pair.server.close(7);
    assert_eq!(pair.server.send(Channel::Unreliable, b"late"), Err(SendError::Closed));
    pair.run(Duration::from_millis(500));
    assert_eq!(pair.to_client, [(Channel::ReliableOrdered, vec![5; 40_000])]);
    assert_eq!(pair.client.state(), ConnectionState::Closed(CloseCause::Peer(7)));
    assert_eq!(pair.server.state(), ConnectionState::Closed(CloseCause::Local));
}
