//! The slot set behaves as a sorted set of numbers.

use std::collections::BTreeSet;

use aether_space::SlotSet;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

#[derive(Clone, Debug)]
enum Operation {
    Insert(u32),
    Remove(u32),
    Clear,
    Index,
    Union(Vec<u32>),
    Intersect(Vec<u32>),
    Subtract(Vec<u32>),
    Copy(Vec<u32>),
}

/// Dense slots, and a few far away, so that whole words and blocks between them are empty.
fn slot() -> impl Strategy<Value = u32> {
    prop_oneof![8 => 0..200u32, 2 => 0..10_000u32, 1 => 100_000..100_100u32]
}

fn slots() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(slot(), 0..80)
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        12 => slot().prop_map(Operation::Insert),
        6 => slot().prop_map(Operation::Remove),
        1 => Just(Operation::Clear),
        3 => Just(Operation::Index),
        2 => slots().prop_map(Operation::Union),
        1 => slots().prop_map(Operation::Intersect),
        2 => slots().prop_map(Operation::Subtract),
        1 => slots().prop_map(Operation::Copy),
    ]
}

fn apply(operation: &Operation, set: &mut SlotSet, model: &mut BTreeSet<u32>) {
    match operation {
        Operation::Insert(slot) => assert_eq!(set.insert(*slot), model.insert(*slot)),
        Operation::Remove(slot) => assert_eq!(set.remove(*slot), model.remove(slot)),
        Operation::Clear => {
            set.clear();
            model.clear();
        }
        Operation::Index => set.index(),
        Operation::Union(slots) => {
            set.union_with(&slots.iter().copied().collect());
            model.extend(slots);
        }
        Operation::Intersect(slots) => {
            set.intersect_with(&slots.iter().copied().collect());
            model.retain(|slot| slots.contains(slot));
        }
        Operation::Subtract(slots) => {
            set.subtract(&slots.iter().copied().collect());
            model.retain(|slot| !slots.contains(slot));
        }
        Operation::Copy(slots) => {
            set.copy_from(&slots.iter().copied().collect());
            *model = slots.iter().copied().collect();
        }
    }
}

fn assert_same(set: &SlotSet, model: &BTreeSet<u32>) {
    assert_eq!(set.len(), model.len());
    assert_eq!(set.is_empty(), model.is_empty());
    assert!(set.iter().eq(model.iter().copied()));
    for (rank, slot) in model.iter().enumerate() {
        assert!(set.contains(*slot));
        assert_eq!(set.rank(*slot), Some(rank));
        if !model.contains(&(slot + 1)) {
            assert!(!set.contains(slot + 1));
            assert_eq!(set.rank(slot + 1), None);
        }
    }
    let bits: u32 = set.words().iter().map(|word| word.count_ones()).sum();
    assert_eq!(bits as usize, model.len());
}

/// The same cases on every run.
fn fixed() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(fixed())]

    #[test]
    fn every_operation_matches_a_sorted_set(operations in prop::collection::vec(operation(), 0..60)) {
        let mut set = SlotSet::new();
        let mut model = BTreeSet::new();
        for operation in &operations {
            apply(operation, &mut set, &mut model);
            assert_same(&set, &model);
        }
    }

    #[test]
    fn an_intersection_is_in_ascending_order(left in slots(), right in slots()) {
        let [left_set, right_set] = [&left, &right].map(|slots| slots.iter().copied().collect::<SlotSet>());
        let shared: BTreeSet<u32> = left.iter().filter(|slot| right.contains(slot)).copied().collect();
        prop_assert!(left_set.intersection(&right_set).eq(shared.iter().copied()));
        prop_assert!(right_set.intersection(&left_set).eq(shared.iter().copied()));
    }

    #[test]
    fn equality_is_about_members_only(slots in slots(), far in 1_000_000..1_000_100u32) {
        let small: SlotSet = slots.iter().copied().collect();
        let mut large = small.clone();
        prop_assert!(large.insert(far));
        prop_assert_ne!(&small, &large);
        prop_assert_ne!(&large, &small);
        prop_assert!(large.remove(far));
        prop_assert_eq!(&small, &large);
        prop_assert_eq!(&large, &small);
    }
}

#[test]
fn an_empty_set_supports_every_operation() {
    let mut set = SlotSet::new();
    set.index();
    set.clear();
    assert!(!set.remove(u32::MAX));
    assert!(!set.contains(u32::MAX));
    assert_eq!(set.rank(0), None);
    assert_eq!(set.iter().next(), None);
    assert_eq!(set, SlotSet::with_slots(1_000));
}

#[test]
fn words_hold_slots_from_the_lowest_bit_up() {
    let set: SlotSet = [0, 63, 64, 130].into_iter().collect();
    assert_eq!(set.words()[..3], [1 | 1 << 63, 1, 1 << 2]);
}

#[test]
fn reserved_memory_covers_the_last_slot() {
    let mut set = SlotSet::with_slots(1_025);
    let words = set.words().len();
    assert!(set.insert(1_024));
    assert_eq!(set.words().len(), words);
}
