//! Model checks: every order in which two threads can interleave, and every value that weak memory may show.
//!
//! The checker does not move a load behind a later store, so it cannot judge the order of the head cursor; the comments
//! at its accesses do.

use crate::cursor::{Consumer, Producer};
use crate::error::TrySendError;
use crate::layout::{DATA_WORD, Side};
use crate::memory::SharedWords;
use loom::sync::atomic::{AtomicU64, fence};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use std::sync::atomic::Ordering;

/// Most switches of threads that are forced in one run of a model.
const PREEMPTIONS_MAX: usize = 4;
/// Words of the smallest ring that takes messages of one word.
const RING_WORDS: usize = 8;
/// Words in front of the rings that the creator's ring and both sides' flags use, with 8 words each.
const CONTROL_WORDS: usize = 9;

/// Memory of the model: the control words and the ring of the creator.
struct ModelMemory {
    control: Vec<AtomicU64>,
    ring: Vec<AtomicU64>,
}

impl ModelMemory {
    fn new() -> std::sync::Arc<ModelMemory> {
        let words = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect();
        std::sync::Arc::new(ModelMemory { control: words(CONTROL_WORDS), ring: words(RING_WORDS) })
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        match index.checked_sub(DATA_WORD) {
            Some(index) => &self.ring[index],
            None => &self.control[index / 8],
        }
    }
}

impl SharedWords for ModelMemory {
    fn load(&self, index: usize, ordering: Ordering) -> u64 {
        self.word(index).load(ordering)
    }

    fn store(&self, index: usize, value: u64, ordering: Ordering) {
        self.word(index).store(value, ordering);
    }

    fn swap(&self, index: usize, value: u64, ordering: Ordering) -> u64 {
        self.word(index).swap(value, ordering)
    }

    fn fence(&self) {
        fence(Ordering::SeqCst);
    }
}

/// Bell of the model. A wait that is never rung is a deadlock, which the checker reports.
#[derive(Default)]
struct ModelBell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl ModelBell {
    fn ring(&self) {
        *self.rung.lock().unwrap() = true;
        self.changed.notify_one();
    }

    fn wait(&self) {
        let mut rung = self.rung.lock().unwrap();
        while !*rung {
            rung = self.changed.wait(rung).unwrap();
        }
        *rung = false;
    }
}

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    // Without a bound, the checks pass too, in about a minute.
    builder.preemption_bound = Some(PREEMPTIONS_MAX);
    builder.check(model);
}

fn ends() -> (Producer<std::sync::Arc<ModelMemory>>, Consumer<std::sync::Arc<ModelMemory>>) {
    let memory = ModelMemory::new();
    let producer = Producer::new(std::sync::Arc::clone(&memory), Side::Creator, RING_WORDS);
    (producer, Consumer::new(memory, Side::Attacher, RING_WORDS))
}

fn message(number: u8) -> [u8; 8] {
    [number; 8]
}

#[test]
fn a_published_message_is_whole_and_in_order() {
    check(|| {
        let (mut producer, mut consumer) = ends();
        let sender = thread::spawn(move || {
            for number in 1..=3 {
                producer.try_send(&[&message(number)[..3], &message(number)[3..]]).unwrap();
            }
        });
        let mut received = Vec::new();
        let mut next = 1;
        for _ in 0..3 {
            if consumer.receive(&mut received).unwrap().is_some() {
                assert_eq!(received, message(next));
                next += 1;
            }
        }
        sender.join().unwrap();
        while consumer.receive(&mut received).unwrap().is_some() {
            assert_eq!(received, message(next));
            next += 1;
        }
        assert_eq!(next, 4);
    });
}

#[test]
fn words_are_not_overwritten_before_they_are_read() {
    check(|| {
        let (mut producer, mut consumer) = ends();
        (1..=4).for_each(|number| assert!(producer.try_send(&[&message(number)]).is_ok()));
        // The ring is full: the fifth message takes the place of the first.
        let sender = thread::spawn(move || producer.try_send(&[&message(5)]));
        let mut received = Vec::new();
        for number in 1..=2 {
            assert!(consumer.receive(&mut received).unwrap().is_some());
            assert_eq!(received, message(number));
        }
        let sent = sender.join().unwrap();
        for number in 3..=4 {
            consumer.receive(&mut received).unwrap();
            assert_eq!(received, message(number));
        }
        match sent {
            Ok(_) => {
                consumer.receive(&mut received).unwrap();
                assert_eq!(received, message(5));
            }
            Err(error) => assert_eq!(error, TrySendError::Full),
        }
    });
}

#[test]
fn a_sleeping_receiver_is_woken_by_a_message() {
    check(|| {
        let (mut producer, mut consumer) = ends();
        let bell = Arc::new(ModelBell::default());
        let rings = Arc::clone(&bell);
        let sender = thread::spawn(move || {
            for number in 1..=2 {
                if producer.try_send(&[&message(number)]).unwrap() {
                    rings.ring();
                }
            }
        });
        let mut received = Vec::new();
        for number in 1..=2 {
            while consumer.receive(&mut received).unwrap().is_none() {
                if consumer.prepare_sleep().unwrap() {
                    bell.wait();
                }
                consumer.end_sleep();
            }
            assert_eq!(received, message(number));
        }
        sender.join().unwrap();
    });
}

#[test]
fn a_blocked_sender_is_woken_by_space() {
    check(|| {
        let (mut producer, mut consumer) = ends();
        (1..=4).for_each(|number| assert!(producer.try_send(&[&message(number)]).is_ok()));
        let bell = Arc::new(ModelBell::default());
        let rings = Arc::clone(&bell);
        let receiver = thread::spawn(move || {
            let mut received = Vec::new();
            if consumer.receive(&mut received).unwrap() == Some(true) {
                rings.ring();
            }
        });
        while producer.try_send(&[&message(5)]) == Err(TrySendError::Full) {
            if producer.wait_for_space(8).unwrap() {
                bell.wait();
            }
        }
        receiver.join().unwrap();
    });
}
