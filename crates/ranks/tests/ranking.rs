//! Compares a ranking with sorting all records.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use aether_ranks::{RankOrder, RankOwner, RankedRecord, Ranking, Score};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Brute-force model: the records by owner, sorted for every query.
struct Model {
    order: RankOrder,
    records: BTreeMap<[u8; 16], Score>,
}

impl Model {
    fn ranked_records(&self) -> Vec<RankedRecord> {
        let mut records: Vec<(&[u8; 16], &Score)> = self.records.iter().collect();
        records.sort_by(|left, right| {
            let ascending = compare(*left, *right);
            if self.order == RankOrder::Ascending { ascending } else { ascending.reverse() }
        });
        (1..)
            .zip(records)
            .map(|(rank, (owner, score))| RankedRecord { rank, owner: RankOwner::from_bytes(*owner), score: *score })
            .collect()
    }
}

/// Compares as `ORDER BY score, subscore, owner_id` does.
fn compare(left: (&[u8; 16], &Score), right: (&[u8; 16], &Score)) -> Ordering {
    (left.1.score.cmp(&right.1.score))
        .then(left.1.subscore.cmp(&right.1.subscore))
        .then_with(|| left.0.as_slice().cmp(right.0.as_slice()))
}

#[derive(Clone, Debug)]
enum Operation {
    Set([u8; 16], Score),
    Remove([u8; 16]),
    Read([u8; 16]),
    Range(u64, usize),
    Around([u8; 16], usize),
}

/// Owners that differ in their first, their last, or both of these bytes.
fn owner() -> impl Strategy<Value = [u8; 16]> {
    (0..20u8, 0..20u8).prop_map(|(first, last)| {
        let mut bytes = [0; 16];
        (bytes[0], bytes[15]) = (first.wrapping_mul(13), last.wrapping_mul(13));
        bytes
    })
}

/// Mostly a few values, so that there are many ties.
fn points() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => -2..=2i64,
        2 => prop::sample::select(vec![i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX]),
        1 => any::<i64>(),
    ]
}

fn score() -> impl Strategy<Value = Score> {
    (points(), points()).prop_map(|(score, subscore)| Score { score, subscore })
}

fn operation() -> impl Strategy<Value = Operation> {
    let rank = prop_oneof![9 => 0..450u64, 1 => any::<u64>()];
    let count = prop_oneof![9 => 0..40usize, 1 => any::<usize>()];
    prop_oneof![
        8 => (owner(), score()).prop_map(|(owner, score)| Operation::Set(owner, score)),
        4 => owner().prop_map(Operation::Remove),
        1 => owner().prop_map(Operation::Read),
        1 => (rank, count.clone()).prop_map(|(rank, count)| Operation::Range(rank, count)),
        2 => (owner(), count).prop_map(|(owner, count)| Operation::Around(owner, count)),
    ]
}

fn order() -> impl Strategy<Value = RankOrder> {
    prop::sample::select(vec![RankOrder::Ascending, RankOrder::Descending])
}

fn apply(operation: &Operation, ranking: &mut Ranking, model: &mut Model) {
    match *operation {
        Operation::Set(owner, score) => {
            model.records.insert(owner, score);
            let rank = ranking.set(RankOwner::from_bytes(owner), score);
            let expected = RankedRecord { rank, owner: RankOwner::from_bytes(owner), score };
            assert_eq!(model.ranked_records().get(rank as usize - 1), Some(&expected));
        }
        Operation::Remove(owner) => {
            let existed = model.records.remove(&owner).is_some();
            assert_eq!(ranking.remove(RankOwner::from_bytes(owner)), existed);
        }
        Operation::Read(owner) => {
            let expected = model.ranked_records().into_iter().find(|record| record.owner.to_bytes() == owner);
            let owner = RankOwner::from_bytes(owner);
            assert_eq!(ranking.ranked_record(owner), expected);
            assert_eq!(ranking.rank(owner), expected.map(|record| record.rank));
            assert_eq!(ranking.score(owner), expected.map(|record| record.score));
        }
        Operation::Range(first, count) => {
            let wanted = |rank: u64| u128::from(rank) < u128::from(first) + count as u128 && rank >= first;
            let expected: Vec<RankedRecord> =
                model.ranked_records().into_iter().filter(|record| wanted(record.rank)).collect();
            let range = ranking.range(first, count);
            assert_eq!(range.len(), expected.len());
            assert_eq!(range.collect::<Vec<_>>(), expected);
            assert_eq!(
                ranking.at(first),
                first.checked_sub(1).and_then(|at| model.ranked_records().get(at as usize).copied())
            );
        }
        Operation::Around(owner, count) => {
            let around = ranking.around(RankOwner::from_bytes(owner), count).map(Iterator::collect);
            assert_eq!(around, window(&model.ranked_records(), owner, count));
        }
    }
}

/// Finds the best window by trying all: full if possible, with equal numbers on both sides if possible, and the odd record
/// after the owner.
fn window(records: &[RankedRecord], owner: [u8; 16], count: usize) -> Option<Vec<RankedRecord>> {
    let at = records.iter().position(|record| record.owner.to_bytes() == owner)?;
    let size = count.min(records.len());
    if size == 0 {
        return Some(Vec::new());
    }
    let start =
        (0..=records.len() - size).filter(|start| (*start..start + size).contains(&at)).min_by_key(|start| {
            let (before, after) = (at - start, start + size - 1 - at);
            (before.abs_diff(after), before)
        })?;
    Some(records[start..start + size].to_vec())
}

/// Runs the same cases every time.
fn fixed() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(fixed())]

    #[test]
    fn every_operation_matches_sorting_all_records(
        order in order(),
        records in prop::collection::vec((owner(), score()), 0..500),
        operations in prop::collection::vec(operation(), 0..150),
    ) {
        let bulk = records.iter().map(|(owner, score)| (RankOwner::from_bytes(*owner), *score));
        let mut ranking = Ranking::from_records(order, bulk);
        let mut model = Model { order, records: records.into_iter().collect() };
        for operation in &operations {
            apply(operation, &mut ranking, &mut model);
            prop_assert_eq!(ranking.len(), model.records.len());
        }
        prop_assert_eq!(ranking.range(1, usize::MAX).collect::<Vec<_>>(), model.ranked_records());
    }

    #[test]
    fn from_records_ranks_as_single_writes_do(
        order in order(),
        records in prop::collection::vec((owner().prop_map(RankOwner::from), score()), 0..600),
    ) {
        let bulk = Ranking::from_records(order, records.iter().copied());
        let mut single = Ranking::new(order);
        for (owner, score) in records {
            single.set(owner, score);
        }
        prop_assert_eq!(bulk.len(), single.len());
        prop_assert!(bulk.range(1, usize::MAX).eq(single.range(1, usize::MAX)));
        for record in single.range(1, usize::MAX) {
            prop_assert_eq!(bulk.ranked_record(record.owner), Some(record));
        }
    }
}

/// A small generator, so that every run has the same records.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Large enough for several levels of the index while it grows and shrinks.
#[test]
fn thousands_of_records_are_added_changed_and_removed() {
    const RECORDS: usize = 30_000;
    let mut state = 1;
    let mut ranking = Ranking::new(RankOrder::Ascending);
    let mut model: Vec<(Score, u128)> = Vec::new();
    let mut owners: Vec<(u128, Score)> = Vec::new();
    for step in 0..4 * RECORDS {
        // The first half mostly adds, the second mostly removes, and a third of all steps change a score.
        let adding = owners.is_empty() || random(&mut state) % 10 < if step < 2 * RECORDS { 8 } else { 1 };
        let changed = !owners.is_empty() && random(&mut state).is_multiple_of(3);
        let at = random(&mut state) as usize % owners.len().max(1);
        if changed || !adding {
            let (owner, score) = if changed { owners[at] } else { owners.swap_remove(at) };
            let position = model.binary_search(&(score, owner)).expect("the model has the record");
            assert_eq!(ranking.rank(owner.into()), Some(position as u64 + 1));
            model.remove(position);
            if !changed {
                assert!(ranking.remove(owner.into()));
                assert_eq!(ranking.rank(owner.into()), None);
            }
        }
        if changed || adding {
            let owner = if changed { owners[at].0 } else { u128::from(random(&mut state)) << 90 | step as u128 };
            let score = Score { score: random(&mut state) as i64 % 500 - 250, subscore: random(&mut state) as i64 % 3 };
            if changed {
                owners[at].1 = score
            } else {
                owners.push((owner, score))
            }
            let position = model.binary_search(&(score, owner)).expect_err("the model does not have the record");
            model.insert(position, (score, owner));
            assert_eq!(ranking.set(owner.into(), score), position as u64 + 1);
        }
        assert_eq!(ranking.len(), model.len());
        if step % RECORDS == 0 {
            assert!(
                ranking
                    .range(1, usize::MAX)
                    .map(|record| (record.score, record.owner.into()))
                    .eq(model.iter().copied())
            );
        }
    }
    for (owner, _) in owners {
        assert!(ranking.remove(owner.into()));
    }
    assert!(ranking.is_empty());
}

const ZERO: Score = Score { score: 0, subscore: 0 };

fn ranks_around(ranking: &Ranking, owner: u128, count: usize) -> Vec<u64> {
    ranking.around(owner.into(), count).expect("the owner is ranked").map(|record| record.rank).collect()
}

#[test]
fn the_window_around_an_owner_moves_at_the_ends_instead_of_shrinking() {
    // All scores are equal, so the owner's bytes decide: owner n has rank n.
    let ranking = Ranking::from_records(RankOrder::Ascending, (1..=10).map(|owner| (RankOwner::from(owner), ZERO)));
    assert_eq!(ranks_around(&ranking, 5, 0), []);
    assert_eq!(ranks_around(&ranking, 5, 1), [5]);
    assert_eq!(ranks_around(&ranking, 5, 2), [5, 6]);
    assert_eq!(ranks_around(&ranking, 5, 3), [4, 5, 6]);
    assert_eq!(ranks_around(&ranking, 1, 3), [1, 2, 3]);
    assert_eq!(ranks_around(&ranking, 2, 5), [1, 2, 3, 4, 5]);
    assert_eq!(ranks_around(&ranking, 10, 4), [7, 8, 9, 10]);
    assert_eq!(ranks_around(&ranking, 9, 5), [6, 7, 8, 9, 10]);
    assert_eq!(ranks_around(&ranking, 7, 10), (1..=10).collect::<Vec<_>>());
    assert_eq!(ranks_around(&ranking, 7, usize::MAX), (1..=10).collect::<Vec<_>>());
    assert!(ranking.around(11.into(), 3).is_none());
}

#[test]
fn equal_scores_are_ordered_by_owner_and_a_descending_ranking_is_the_reverse_of_an_ascending_one() {
    let records = || [3, 1, 2].map(|owner| (RankOwner::from(owner), ZERO));
    let owners = |order| {
        let ranking = Ranking::from_records(order, records());
        ranking.range(1, 3).map(|record| record.owner).collect::<Vec<_>>()
    };
    assert_eq!(owners(RankOrder::Ascending), [1, 2, 3].map(RankOwner::from));
    assert_eq!(owners(RankOrder::Descending), [3, 2, 1].map(RankOwner::from));
}

#[test]
fn all_operations_work_on_an_empty_ranking() {
    let mut ranking = Ranking::from_records(RankOrder::Descending, []);
    let unknown = RankOwner::from(0);
    assert!(ranking.is_empty());
    assert!(!ranking.remove(unknown));
    assert_eq!((ranking.rank(unknown), ranking.score(unknown), ranking.at(1)), (None, None, None));
    assert_eq!(ranking.range(0, usize::MAX).next(), None);
    assert_eq!(ranking.range(u64::MAX, usize::MAX).next(), None);
    assert!(ranking.around(unknown, 1).is_none());
    assert_eq!(ranking.set(unknown, ZERO), 1);
}

#[test]
fn of_several_records_of_an_owner_the_last_counts() {
    let owner = RankOwner::from(7);
    let records = (1..=200).map(|score| (owner, Score { score, subscore: 0 }));
    let ranking = Ranking::from_records(RankOrder::Descending, records);
    assert_eq!(ranking.len(), 1);
    assert_eq!(ranking.at(1), Some(RankedRecord { rank: 1, owner, score: Score { score: 200, subscore: 0 } }));
}

#[test]
fn owners_compare_as_their_bytes_do() {
    let mut low = [0xff; 16];
    low[0] = 0;
    let mut high = [0; 16];
    high[0] = 1;
    assert!(RankOwner::from_bytes(low) < RankOwner::from_bytes(high));
    assert_eq!(RankOwner::from_bytes(low).to_bytes(), low);
}

#[test]
fn slots_of_removed_records_are_reused() {
    let mut ranking =
        Ranking::from_records(RankOrder::Ascending, (0..1_000).map(|owner| (RankOwner::from(owner), ZERO)));
    for owner in 0..1_000 {
        ranking.remove(owner.into());
    }
    let emptied = ranking.memory_bytes();
    for round in 1..20u128 {
        for owner in 0..1_000 {
            ranking.set((owner * round).into(), ZERO);
        }
        for owner in 0..1_000 {
            ranking.remove((owner * round).into());
        }
    }
    assert!(ranking.is_empty());
    assert!(ranking.memory_bytes() <= emptied + 4_096, "{emptied}, then {}", ranking.memory_bytes());
}
