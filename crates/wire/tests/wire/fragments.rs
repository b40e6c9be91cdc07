//! Fragmentation and reassembly, with honest and with hostile peers.

use aether_wire::limits::{
    CLIENT_FRAGMENT_BYTES, FRAGMENT_BOOKKEEPING_BYTES, FRAGMENT_BYTES_MAX, FRAGMENTS_PER_MESSAGE_MAX,
    REASSEMBLY_AGE_MS_MAX, REASSEMBLY_BYTES_MAX, RELIABLE_MESSAGE_BYTES_MAX, UNFINISHED_MESSAGES_MAX,
};
use aether_wire::{Fragment, FragmentError, MessageId, Reassembler, fragment};
use proptest::prelude::*;

#[test]
fn the_longest_message_arrives_whole_in_any_order() {
    let message = pattern(RELIABLE_MESSAGE_BYTES_MAX);
    for part_bytes in [CLIENT_FRAGMENT_BYTES, FRAGMENT_BYTES_MAX] {
        let parts: Vec<_> = fragment(MessageId(1), &message, part_bytes).unwrap().collect();
        let mut reassembler = opened();
        let (first, rest) = parts.split_first().unwrap();
        for part in rest.iter().rev() {
            assert_eq!(reassembler.push(part.clone(), 0), Ok(None));
        }
        assert!(reassembler.buffered_bytes() <= REASSEMBLY_BYTES_MAX);
        assert_eq!(reassembler.push(first.clone(), 0), Ok(Some(message.clone())));
        assert_eq!((reassembler.buffered_bytes(), reassembler.unfinished()), (0, 0));
    }
}

#[test]
fn a_message_that_needs_too_many_parts_is_an_error() {
    let message = pattern(usize::from(FRAGMENTS_PER_MESSAGE_MAX) * 10 + 1);
    let cut = |bytes, part_bytes| fragment(MessageId(1), bytes, part_bytes).map(|parts| parts.len());
    assert_eq!(cut(&message, 10), Err(FragmentError::TooManyParts));
    assert_eq!(cut(&message[1..], 10), Ok(usize::from(FRAGMENTS_PER_MESSAGE_MAX)));
    let too_long = pattern(RELIABLE_MESSAGE_BYTES_MAX + 1);
    assert_eq!(cut(&too_long, FRAGMENT_BYTES_MAX), Err(FragmentError::MessageTooLong));
    assert_eq!(cut(&message, FRAGMENT_BYTES_MAX + 1), Err(FragmentError::PartTooLong));
    assert_eq!(cut(&message, 0), Err(FragmentError::PartEmpty));
    assert_eq!(cut(&[], 10), Err(FragmentError::PartEmpty));
}

#[test]
fn fragments_before_authentication_are_rejected_and_counted() {
    let mut reassembler = Reassembler::closed();
    for index in 0..3 {
        assert_eq!(reassembler.push(part(1, index, 4), 0), Err(FragmentError::Closed));
    }
    assert_eq!((reassembler.buffered_bytes(), reassembler.rejected()), (0, 3));
    reassembler.open();
    assert_eq!(reassembler.push(part(1, 3, 4), 0), Ok(None), "earlier fragments were not stored");
    assert_eq!(reassembler.unfinished(), 1);
}

#[test]
fn invalid_fragments_are_rejected_without_memory() {
    for (fragment, error) in [
        (part(1, 0, 0), FragmentError::NoParts),
        (part(1, 0, u16::MAX), FragmentError::TooManyParts),
        (part(1, 0, FRAGMENTS_PER_MESSAGE_MAX + 1), FragmentError::TooManyParts),
        (part(1, 4, 4), FragmentError::IndexBeyondTotal),
        (part(1, u16::MAX, 4), FragmentError::IndexBeyondTotal),
        (Fragment { bytes: Vec::new(), ..part(1, 0, 4) }, FragmentError::PartEmpty),
        (Fragment { bytes: vec![0; FRAGMENT_BYTES_MAX + 1], ..part(1, 0, 4) }, FragmentError::PartTooLong),
    ] {
        let mut reassembler = opened();
        assert_eq!(reassembler.push(fragment, 0), Err(error));
        assert_eq!((reassembler.buffered_bytes(), reassembler.unfinished()), (0, 0));
    }
}

#[test]
fn a_changing_total_is_rejected_and_frees_the_message() {
    let mut reassembler = opened();
    reassembler.push(part(1, 0, 4), 0).unwrap();
    reassembler.push(part(2, 0, 4), 0).unwrap();
    assert_eq!(reassembler.push(part(1, 1, 5), 0), Err(FragmentError::TotalChanged));
    assert_eq!(reassembler.unfinished(), 1, "only the other message is left");
    assert_eq!(reassembler.buffered_bytes(), 1 + FRAGMENT_BOOKKEEPING_BYTES);
}

#[test]
fn a_repeated_fragment_has_no_effect_but_a_differing_one_is_rejected() {
    let mut reassembler = opened();
    for _ in 0..100 {
        assert_eq!(reassembler.push(part(1, 0, 2), 0), Ok(None));
    }
    assert_eq!(reassembler.buffered_bytes(), 1 + FRAGMENT_BOOKKEEPING_BYTES);
    let differing = Fragment { bytes: vec![0xee], ..part(1, 0, 2) };
    assert_eq!(reassembler.push(differing, 0), Err(FragmentError::DuplicateDiffers));
    assert_eq!((reassembler.buffered_bytes(), reassembler.unfinished()), (0, 0));
}

#[test]
fn a_late_duplicate_does_not_start_a_finished_message_again() {
    let mut reassembler = opened();
    reassembler.push(part(1, 0, 2), 0).unwrap();
    assert!(reassembler.push(part(1, 1, 2), 0).unwrap().is_some());
    assert!(reassembler.push(part(2, 0, 1), 0).unwrap().is_some());
    for late in [part(1, 0, 2), part(1, 1, 2), part(2, 0, 1)] {
        assert_eq!(reassembler.push(late, 0), Ok(None));
    }
    assert_eq!((reassembler.buffered_bytes(), reassembler.unfinished()), (0, 0));
}

#[test]
fn ten_thousand_unfinished_messages_use_no_more_memory_than_the_first_few() {
    let mut reassembler = opened();
    let mut rejected = 0;
    for id in 0..10_000 {
        let begun = Fragment { bytes: vec![1; FRAGMENT_BYTES_MAX], ..part(id, 0, 2) };
        match reassembler.push(begun, u64::from(id) / 100) {
            Ok(None) => {}
            Err(FragmentError::TooManyMessages) => rejected += 1,
            other => panic!("unexpected: {other:?}"),
        }
        assert!(reassembler.buffered_bytes() <= REASSEMBLY_BYTES_MAX);
    }
    assert_eq!(reassembler.unfinished(), UNFINISHED_MESSAGES_MAX);
    assert_eq!(rejected, 10_000 - UNFINISHED_MESSAGES_MAX as u64);
    assert_eq!(reassembler.rejected(), rejected);
}

#[test]
fn the_bytes_of_all_unfinished_messages_are_bounded_together() {
    let mut reassembler = opened();
    let mut outcome = Ok(None);
    'sending: for index in 0..FRAGMENTS_PER_MESSAGE_MAX - 1 {
        for id in 0..UNFINISHED_MESSAGES_MAX as u32 {
            let bytes = vec![1; FRAGMENT_BYTES_MAX];
            outcome = reassembler.push(Fragment { bytes, ..part(id, index, FRAGMENTS_PER_MESSAGE_MAX) }, 0);
            assert!(reassembler.buffered_bytes() <= REASSEMBLY_BYTES_MAX);
            if outcome.is_err() {
                break 'sending;
            }
        }
    }
    assert_eq!(outcome, Err(FragmentError::TooManyBytes));
}

#[test]
fn one_message_cannot_grow_beyond_its_limit() {
    let mut reassembler = opened();
    let bytes = vec![1; FRAGMENT_BYTES_MAX];
    let outcome = (0..FRAGMENTS_PER_MESSAGE_MAX)
        .map(|index| {
            let part = part(1, index, FRAGMENTS_PER_MESSAGE_MAX);
            reassembler.push(Fragment { bytes: bytes.clone(), ..part }, 0)
        })
        .find(Result::is_err);
    assert_eq!(outcome, Some(Err(FragmentError::MessageTooLong)));
    assert_eq!(reassembler.buffered_bytes(), 0, "the message that exceeded the limit is freed");
}

#[test]
fn age_frees_a_message_even_when_nothing_arrives() {
    let mut reassembler = opened();
    reassembler.push(part(1, 0, 3), 1_000).unwrap();
    // Occasional fragments do not extend the life of a message.
    reassembler.push(part(1, 1, 3), 1_000 + REASSEMBLY_AGE_MS_MAX).unwrap();
    assert_eq!(reassembler.expire(1_000 + REASSEMBLY_AGE_MS_MAX), 0);
    assert_eq!(reassembler.expire(1_001 + REASSEMBLY_AGE_MS_MAX), 1);
    assert_eq!((reassembler.buffered_bytes(), reassembler.unfinished()), (0, 0));
}

#[test]
fn expired_messages_free_capacity_for_new_ones() {
    let mut reassembler = opened();
    for id in 0..UNFINISHED_MESSAGES_MAX as u32 {
        reassembler.push(part(id, 0, 2), 0).unwrap();
    }
    assert_eq!(reassembler.push(part(99, 0, 2), 1), Err(FragmentError::TooManyMessages));
    assert_eq!(reassembler.push(part(99, 0, 2), REASSEMBLY_AGE_MS_MAX + 1), Ok(None));
    assert_eq!(reassembler.unfinished(), 1);
}

#[test]
fn a_clock_that_goes_backwards_is_harmless() {
    let mut reassembler = opened();
    reassembler.push(part(1, 0, 2), 5_000).unwrap();
    assert_eq!(reassembler.expire(0), 0);
    assert_eq!(reassembler.push(part(1, 1, 2), 0).unwrap(), Some(vec![0, 1]));
}

#[test]
fn clearing_frees_everything_and_closes_again() {
    let mut reassembler = opened();
    reassembler.push(part(1, 0, 2), 0).unwrap();
    reassembler.clear();
    assert_eq!((reassembler.buffered_bytes(), reassembler.unfinished()), (0, 0));
    assert_eq!(reassembler.push(part(1, 0, 2), 0), Err(FragmentError::Closed));
}

proptest! {
    #![proptest_config(crate::cases(256))]

    #[test]
    fn any_message_survives_any_order_with_duplicates(
        message in proptest::collection::vec(any::<u8>(), 1..5_000),
        part_bytes in 20_usize..=FRAGMENT_BYTES_MAX,
        seed in any::<u64>(),
    ) {
        let mut parts: Vec<_> = fragment(MessageId(7), &message, part_bytes).unwrap().collect();
        parts.extend(parts.clone());
        shuffle(&mut parts, seed);
        let mut reassembler = opened();
        let whole: Vec<_> =
            parts.into_iter().filter_map(|part| reassembler.push(part, 0).unwrap()).collect();
        prop_assert_eq!(whole, vec![message]);
        prop_assert_eq!(reassembler.buffered_bytes(), 0);
    }

    #[test]
    fn no_sequence_of_fragments_breaks_the_bounds(
        fragments in proptest::collection::vec(
            (0_u32..8, 0_u16..6, 0_u16..6, 0_usize..1_000, any::<u8>(), 0_u64..3_000), 0..200),
    ) {
        let mut reassembler = opened();
        let mut now_ms = 0;
        for (id, index, total, length, fill, elapsed_ms) in fragments {
            now_ms += elapsed_ms;
            let fragment =
                Fragment { message: MessageId(id), index, total, bytes: vec![fill; length] };
            let _whole_or_refused = reassembler.push(fragment, now_ms);
            prop_assert!(reassembler.unfinished() <= UNFINISHED_MESSAGES_MAX);
            prop_assert!(reassembler.buffered_bytes() <= REASSEMBLY_BYTES_MAX);
            prop_assert_eq!(reassembler.buffered_bytes() == 0, reassembler.unfinished() == 0);
        }
        reassembler.expire(now_ms + REASSEMBLY_AGE_MS_MAX + 1);
        prop_assert_eq!(reassembler.buffered_bytes(), 0);
    }
}

fn opened() -> Reassembler {
    let mut reassembler = Reassembler::closed();
    reassembler.open();
    reassembler
}

/// A part whose one byte is its index, so that parts of one message differ.
fn part(message: u32, index: u16, total: u16) -> Fragment {
    Fragment { message: MessageId(message), index, total, bytes: vec![index as u8] }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 31 % 251) as u8).collect()
}

fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed | 1;
    for last in (1..items.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        items.swap(last, (state >> 33) as usize % (last + 1));
    }
}
