//! A board against the plainest one that could be written: a list that is sorted anew each time.

use super::*;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Debug)]
enum Step {
    Write { owner: u8, score: i64, subscore: i64, operator: Option<Operator> },
    Delete(u8),
    Forget(u8),
    Page { limit: usize, owners: Vec<u8> },
    Around { owner: u8, limit: usize },
    Restart,
}

#[derive(Clone, Debug)]
struct Plain {
    order: RankOrder,
    operator: Operator,
    records: HashMap<u8, (Score, i64)>,
}

impl Plain {
    /// Whether it fits, and what stands then.
    fn write(&mut self, owner: u8, new: Score, operator: Option<Operator>) -> Option<(Score, i64)> {
        let sum = |one: i64, other: i64, sign: i128| i64::try_from(i128::from(one) + sign * i128::from(other)).ok();
        let old = self.records.get(&owner).copied();
        let base = old.map_or(Score::default(), |(score, _)| score);
        let added = |sign: i128| {
            Some(Score { score: sum(base.score, new.score, sign)?, subscore: sum(base.subscore, new.subscore, sign)? })
        };
        let wanted = match (operator.unwrap_or(self.operator), self.order) {
            (Operator::Set, _) => new,
            (Operator::Best, RankOrder::Ascending) => old.map_or(new, |(old, _)| new.min(old)),
            (Operator::Best, RankOrder::Descending) => old.map_or(new, |(old, _)| new.max(old)),
            (Operator::Increment, _) => added(1)?,
            (Operator::Decrement, _) => {
                // What is written is what is added, so its negative has to exist.
                new.score.checked_neg().and(new.subscore.checked_neg())?;
                added(-1)?
            }
        };
        let stands = match old {
            Some((score, count)) if score == wanted => (score, count),
            Some((_, count)) => (wanted, count + 1),
            None => (wanted, 1),
        };
        self.records.insert(owner, stands);
        Some(stands)
    }

    /// Owners, scores and counts, the best first.
    fn sorted(&self) -> Vec<(Uuid, Score, i64)> {
        let mut all: Vec<_> = self.records.iter().map(|(id, (score, count))| (person(*id), *score, *count)).collect();
        all.sort_by_key(|(owner, score, _)| (*score, owner.into_bytes()));
        if self.order == RankOrder::Descending {
            all.reverse();
        }
        all
    }

    fn rank(&self, owner: u8) -> Option<usize> {
        self.sorted().iter().position(|(id, ..)| *id == person(owner)).map(|place| place + 1)
    }
}

fn person(number: u8) -> Uuid {
    owner(u128::from(number) + 1)
}

fn scores() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => -3_i64..=3,
        2 => any::<i64>(),
        1 => prop::sample::select(vec![i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX]),
    ]
}

fn operators() -> impl Strategy<Value = Operator> {
    prop::sample::select(vec![Operator::Best, Operator::Set, Operator::Increment, Operator::Decrement])
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let people = 0_u8..14;
    let step = prop_oneof![
        14 => (people.clone(), scores(), scores(), prop::option::of(operators()))
            .prop_map(|(owner, score, subscore, operator)| Step::Write { owner, score, subscore, operator }),
        2 => people.clone().prop_map(Step::Delete),
        1 => people.clone().prop_map(Step::Forget),
        2 => (1_usize..6, prop::collection::vec(people.clone(), 0..4))
            .prop_map(|(limit, owners)| Step::Page { limit, owners }),
        2 => (people, 1_usize..8).prop_map(|(owner, limit)| Step::Around { owner, limit }),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 1..60)
}

fn orders() -> impl Strategy<Value = RankOrder> {
    prop::sample::select(vec![RankOrder::Ascending, RankOrder::Descending])
}

fn seen(records: &[Record]) -> Vec<(Uuid, Score, i64)> {
    records.iter().map(|record| (record.owner, record.score, record.num_score)).collect()
}

/// Compares a list with a slice of the plain board that begins at `first`.
fn assert_slice(list: &[Record], sorted: &[(Uuid, Score, i64)], first: usize) {
    assert_eq!(seen(list), sorted[first..first + list.len()]);
    for (place, record) in list.iter().enumerate() {
        assert_eq!(record.rank as usize, first + place + 1);
    }
}

async fn assert_pages(place: &Place, board: &str, plain: &Plain, size: usize) {
    let sorted = plain.sorted();
    let mut query = limit(size as i64);
    let mut shown = 0;
    let mut last_page = loop {
        let page = place.boards.records(board, &[], &query).await.unwrap();
        assert_eq!(page.rank_count as usize, sorted.len());
        assert_eq!(page.records.len(), size.min(sorted.len() - shown));
        assert_slice(&page.records, &sorted, shown);
        shown += page.records.len();
        assert_eq!(page.next_cursor.is_empty(), shown == sorted.len());
        if page.next_cursor.is_empty() {
            break page;
        }
        query.cursor = page.next_cursor;
    };
    shown -= last_page.records.len();
    while !last_page.prev_cursor.is_empty() {
        query.cursor = last_page.prev_cursor;
        last_page = place.boards.records(board, &[], &query).await.unwrap();
        shown -= last_page.records.len();
        assert_slice(&last_page.records, &sorted, shown);
    }
    assert_eq!(shown, 0, "back at the start");
}

async fn check(place: &Place, board: &str, plain: &mut Plain, step: &Step) {
    match step {
        Step::Write { owner, score, subscore, operator } => {
            let write = RecordWrite { operator: *operator, ..write(person(*owner), *score, *subscore) };
            let before = plain.clone();
            match (
                place.boards.write(&Caller::Server, board, write.clone()).await,
                plain.write(*owner, write.score, *operator),
            ) {
                (Ok(record), Some(stands)) => {
                    assert_eq!((record.score, record.num_score), stands);
                    assert_eq!(Some(record.rank as usize), plain.rank(*owner));
                }
                (Err(refusal), None) => {
                    assert_eq!(refusal.code, GrpcCode::InvalidArgument);
                    *plain = before;
                }
                (outcome, expected) => panic!("{write:?}: {outcome:?} where {expected:?} was expected"),
            }
        }
        Step::Delete(owner) => {
            let deleted = place.boards.delete_record(&Caller::Server, board, person(*owner)).await.unwrap();
            assert_eq!(deleted, plain.records.remove(owner).is_some());
        }
        Step::Forget(owner) => {
            place.boards.forget_owner(person(*owner)).await.unwrap();
            plain.records.remove(owner);
        }
        Step::Page { limit, owners } => {
            assert_pages(place, board, plain, *limit).await;
            let ids: Vec<Uuid> = owners.iter().map(|owner| person(*owner)).collect();
            let list = place.boards.records(board, &ids, &RecordQuery::default()).await.unwrap();
            for record in &list.owner_records {
                let standing = plain.sorted()[record.rank as usize - 1];
                assert_eq!((record.owner, record.score, record.num_score), standing);
            }
            let known: std::collections::HashSet<u8> =
                owners.iter().copied().filter(|owner| plain.records.contains_key(owner)).collect();
            assert_eq!(list.owner_records.len(), known.len());
        }
        Step::Around { owner, limit: size } => {
            let list = place.boards.records_around(board, person(*owner), &limit(*size as i64)).await.unwrap();
            let sorted = plain.sorted();
            match plain.rank(*owner) {
                None => assert_eq!(list.records, []),
                Some(rank) => {
                    assert_eq!(list.records.len(), (*size).min(sorted.len()));
                    let first = list.records[0].rank as usize;
                    assert!((first..first + list.records.len()).contains(&rank), "the owner is inside");
                    assert_slice(&list.records, &sorted, first - 1);
                }
            }
        }
        Step::Restart => {}
    }
}

fn a_board_agrees_with_a_plain_one(database: &TestDatabase, cases: u32) {
    static CASE: AtomicU64 = AtomicU64::new(0);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(database.open());
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let seed = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let outcome =
        TestRunner::new_with_rng(config, seed).run(&(orders(), operators(), steps()), |(order, operator, steps)| {
            runtime.block_on(async {
                let board = format!("case-{}", CASE.fetch_add(1, Ordering::Relaxed));
                let mut place = Place::over(store.clone()).await;
                let definition = Definition { order, operator, ..Definition::new(&board) };
                place.boards.create(definition).await.unwrap();
                let mut plain = Plain { order, operator, records: HashMap::new() };
                for step in &steps {
                    if matches!(step, Step::Restart) {
                        place = place.reopened().await;
                    }
                    check(&place, &board, &mut plain, step).await;
                }
                assert_pages(&place, &board, &plain, 4).await;
                // The next case begins with people who have no records anywhere.
                place.boards.delete(&board).await.unwrap();
            });
            Ok(())
        });
    outcome.unwrap_or_else(|failure| panic!("{}: {failure}", database.name));
}

#[test]
fn a_board_in_memory_agrees_with_a_plain_one() {
    a_board_agrees_with_a_plain_one(&aether_testkit_store::memory(), 150);
}

#[test]
fn a_board_in_postgres_agrees_with_a_plain_one() {
    if let Some(database) = aether_testkit_store::postgres() {
        a_board_agrees_with_a_plain_one(&database, 20);
    }
}
