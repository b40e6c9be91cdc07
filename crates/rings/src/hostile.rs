//! Tests with a process that writes anything to the region at any time.

use crate::cursor::{Consumer, Producer};
use crate::layout::{DATA_WORD, RING_BYTES_MIN, Side, region_words};
use crate::memory::SharedWords;
use crate::region::Region;
use crate::{RingError, TrySendError};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Violations after which a test ends.
const NOTICED: u32 = 2_000;

type Ends = (Producer<Arc<Region>>, Consumer<Arc<Region>>);

fn ends(region: &Arc<Region>, side: Side) -> Ends {
    let words = region.ring_words();
    (Producer::new(Arc::clone(region), side, words), Consumer::new(Arc::clone(region), side, words))
}

fn region() -> Arc<Region> {
    Arc::new(Region::create(RING_BYTES_MIN, 1).unwrap())
}

/// Sends and receives. Returns an error if one end noticed a violation.
fn exchange((producer, consumer): &mut Ends, bytes: usize, message: &mut Vec<u8>) -> Result<(), RingError> {
    match producer.try_send(&[&vec![7; bytes]]) {
        Ok(_) | Err(TrySendError::Full) => {}
        Err(TrySendError::TooLong) => assert!(bytes > producer.message_bytes_max()),
        Err(TrySendError::Ring(error)) => return Err(error),
    }
    producer.wait_for_space(bytes)?;
    consumer.receive(message)?;
    assert!(message.len() <= producer.message_bytes_max());
    if consumer.prepare_sleep()? {
        consumer.end_sleep();
    }
    Ok(())
}

#[test]
fn a_cursor_beyond_the_ring_is_an_error() {
    let region = region();
    let words = region.ring_words() as u64;
    let (mut producer, mut consumer) = ends(&region, Side::Creator);
    let theirs = Side::Attacher.ring(region.ring_words());
    for tail in [words + 1, u64::MAX, 1 << 63] {
        region.store(theirs.tail, tail, Ordering::Relaxed);
        assert_eq!(consumer.receive(&mut Vec::new()), Err(RingError::Cursor));
    }
    while producer.try_send(&[&[0; 8_000]]).is_ok() {}
    let ours = Side::Creator.ring(region.ring_words());
    for head in [words * 2, u64::MAX, 1 << 63] {
        region.store(ours.head, head, Ordering::Relaxed);
        assert_eq!(producer.try_send(&[&[0; 8_000]]), Err(TrySendError::Ring(RingError::Cursor)));
    }
}

#[test]
fn a_head_that_moves_back_is_an_error() {
    let region = region();
    let (mut producer, _) = ends(&region, Side::Creator);
    let (_, mut consumer) = ends(&region, Side::Attacher);
    while producer.try_send(&[&[0; 8_000]]).is_ok() {}
    consumer.receive(&mut Vec::new()).unwrap();
    while producer.try_send(&[&[0; 8_000]]).is_ok() {}
    region.store(Side::Creator.ring(region.ring_words()).head, 1, Ordering::Relaxed);
    assert_eq!(producer.try_send(&[&[0; 8_000]]), Err(TrySendError::Ring(RingError::Cursor)));
}

#[test]
fn a_length_beyond_the_message_is_an_error() {
    let region = region();
    let theirs = Side::Attacher.ring(region.ring_words());
    let (_, mut consumer) = ends(&region, Side::Creator);
    region.store(theirs.tail, 4, Ordering::Relaxed);
    for length in [25, 1 << 20, 1 << 32, u64::MAX] {
        region.store(theirs.place(0), length, Ordering::Relaxed);
        assert_eq!(consumer.receive(&mut Vec::new()), Err(RingError::Length), "{length}");
    }
    region.store(theirs.place(0), 24, Ordering::Relaxed);
    assert_eq!(consumer.receive(&mut Vec::new()), Ok(Some(false)));
}

proptest! {
    #[test]
    fn no_word_of_the_region_can_cause_a_panic(
        writes in prop::collection::vec((0..DATA_WORD + 64, any::<u64>(), 0..60_u32, 0..20_000_usize), 1..200),
    ) {
        let region = region();
        let mut creator = ends(&region, Side::Creator);
        let mut attacher = ends(&region, Side::Attacher);
        let mut message = Vec::new();
        for (word, value, shift, bytes) in writes {
            region.store(word, value >> shift, Ordering::Relaxed);
            let _ = exchange(&mut creator, bytes, &mut message);
            let _ = exchange(&mut attacher, bytes, &mut message);
        }
    }
}

#[test]
fn a_process_that_scribbles_all_the_time_causes_errors_only() {
    let region = region();
    let stop = Arc::new(AtomicBool::new(false));
    let scribbler = {
        let (region, stop) = (Arc::clone(&region), Arc::clone(&stop));
        std::thread::spawn(move || {
            let mut seed = 1_u64;
            let mut random = move || {
                // xorshift
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                seed
            };
            while !stop.load(Ordering::Relaxed) {
                // Half of the writes hit the control words.
                let words = if random() % 2 == 0 { 72 } else { region_words(region.ring_words()) };
                let value = random() >> (random() % 64);
                region.store(random() as usize % words, value, Ordering::Relaxed);
            }
        })
    };
    let mut message = Vec::new();
    let (mut failures, mut round) = (0, 0);
    let mut creator = ends(&region, Side::Creator);
    while failures < NOTICED {
        round += 1;
        if exchange(&mut creator, round % 9_000, &mut message).is_err() {
            failures += 1;
            creator = ends(&region, Side::Creator);
        }
    }
    stop.store(true, Ordering::Relaxed);
    scribbler.join().unwrap();
}
