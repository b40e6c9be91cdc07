use crate::support::{PATIENCE, check, message, pair};
use aether_rings::{BellEvent, RingEndpoint, TrySendError};
use proptest::prelude::*;
use std::time::Duration;

/// Messages that the threads exchange: several times around the ring.
const MESSAGES: u64 = 20_000;

#[test]
fn a_full_ring_refuses_and_takes_again_after_a_read() {
    let (mut creator, mut attacher) = pair();
    let mut sent = 0;
    while creator.sender.try_send(&[&message(sent)]).is_ok() {
        sent += 1;
    }
    assert_eq!(creator.sender.try_send(&[&message(sent)]), Err(TrySendError::Full));
    assert_eq!(creator.sender.wait_for_space(message(sent).len()), Ok(true));
    let mut received = Vec::new();
    for number in 0..sent {
        assert!(attacher.receiver.receive(&mut received).unwrap());
        check(&received, number);
    }
    assert!(!attacher.receiver.receive(&mut received).unwrap());
    assert_eq!(creator.receiver.wait(PATIENCE), Ok(BellEvent::Rung), "the reader rings for the blocked sender");
    assert!(creator.sender.try_send(&[&message(sent)]).is_ok());
}

#[test]
fn a_message_beyond_the_limit_is_refused() {
    let (mut creator, mut attacher) = pair();
    let limit = creator.sender.message_bytes_max();
    assert_eq!(creator.sender.try_send(&[&vec![1; limit], &[1]]), Err(TrySendError::TooLong));
    assert_eq!(creator.sender.try_send(&[&vec![1; limit]]), Ok(()));
    let mut received = Vec::new();
    assert!(attacher.receiver.receive(&mut received).unwrap());
    assert_eq!(received.len(), limit);
}

#[test]
fn a_wait_without_a_message_ends_with_its_time() {
    let (mut creator, _attacher) = pair();
    assert_eq!(creator.receiver.wait(Some(Duration::from_millis(1))), Ok(BellEvent::TimedOut));
}

#[test]
fn nobody_rings_while_both_sides_are_busy() {
    let (mut creator, mut attacher) = pair();
    let mut received = Vec::new();
    for number in 0..MESSAGES {
        creator.sender.try_send(&[&message(number)]).unwrap();
        assert!(attacher.receiver.receive(&mut received).unwrap());
    }
    // A ring of the bell, the only system call of a message, would end these waits.
    assert_eq!(attacher.receiver.wait(Some(Duration::ZERO)), Ok(BellEvent::TimedOut));
    assert_eq!(creator.receiver.wait(Some(Duration::ZERO)), Ok(BellEvent::TimedOut));
}

/// Sends numbered messages, and sleeps while the ring is full.
fn send_all(endpoint: &mut RingEndpoint) {
    for number in 0..MESSAGES {
        let bytes = message(number);
        while endpoint.sender.try_send(&[&bytes[..8], &bytes[8..]]) == Err(TrySendError::Full) {
            if endpoint.sender.wait_for_space(bytes.len()).unwrap() {
                assert_eq!(endpoint.receiver.wait(PATIENCE), Ok(BellEvent::Rung));
            }
        }
    }
}

#[test]
fn sleeping_threads_wake_each_other_and_nothing_is_lost() {
    let (mut creator, mut attacher) = pair();
    let sender = std::thread::spawn(move || {
        send_all(&mut creator);
        creator
    });
    let mut received = Vec::new();
    for number in 0..MESSAGES {
        while !attacher.receiver.receive(&mut received).unwrap() {
            assert_eq!(attacher.receiver.wait(PATIENCE), Ok(BellEvent::Rung));
        }
        check(&received, number);
    }
    drop(sender.join().unwrap());
    assert_eq!(attacher.receiver.wait(None), Ok(BellEvent::Gone));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn messages_of_any_sizes_wrap_around_unchanged(
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..2_000), 1..200),
        burst in 1..20_usize,
    ) {
        let (mut creator, mut attacher) = pair();
        let mut received = Vec::new();
        let mut expected = std::collections::VecDeque::new();
        // Three parts to a message, so that parts begin at any place in a word.
        for message in parts.chunks(3) {
            let slices: Vec<&[u8]> = message.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(creator.sender.try_send(&slices), Ok(()));
            expected.push_back(message.concat());
            if expected.len() > burst.min(8) {
                prop_assert!(attacher.receiver.receive(&mut received).unwrap());
                prop_assert_eq!(&received, &expected.pop_front().unwrap());
            }
        }
        for message in expected {
            prop_assert!(attacher.receiver.receive(&mut received).unwrap());
            prop_assert_eq!(&received, &message);
        }
        prop_assert!(!attacher.receiver.receive(&mut received).unwrap());
    }
}
