//! Compares a board with a simple model: a list that is sorted for each query.

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
struct BoardModel {
    order: RankOrder,
    operator: Operator,
    records: HashMap<u8, (Score, i64)>,
}

impl BoardModel {
    /// Returns the new score and count, or `None` on overflow.
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
                // The value is negated before adding, so its negative must exist.
                new.score.checked_neg().and(new.subscore.checked_neg())?;
                added(-1)?
            }
        };
        let current = match old {
            Some((score, count)) if score == wanted => (score, count),
            Some((_, count)) => (wanted, count + 1),
            None => (wanted, 1),
        };
        self.records.insert(owner, current);
        Some(current)
    }

    /// Returns owners, scores and counts, best first.
    fn sorted(&self) -> Vec<(Uuid, Score, i64)> {
        let mut all: Vec<_> = self.records.iter().map(|(id, (score, count))| (person(*id), *score, *count)).collect();
        all.sort_by_key(|(owner, score, _)| (*score, owner.into_bytes()));
        if self.order == RankOrder::Descending {
            all.reverse();
        }
        all
    }

    fn rank(&self, owner: u8) -> Option<usize> {
        self.sorted().iter().position(|(id, ..)| *id == person(owner)).map(|fixture| fixture + 1)
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

/// Compares a list with a slice of the model that begins at `first`.
fn assert_slice(list: &[Record], sorted: &[(Uuid, Score, i64)], first: usize) {
    assert_eq!(seen(list), sorted[first..first + list.len()]);
    for (fixture, record) in list.iter().enumerate() {
        assert_eq!(record.rank as usize, first + fixture + 1);
    }
}

async fn assert_pages(fixture: &Fixture, board: &str, model: &BoardModel, size: usize) {
    let sorted = model.sorted();
    let mut query = limit(size as i64);
    let mut shown = 0;
    let mut last_page = loop {
        let page = fixture.boards.records(board, &[], &query).await.unwrap();
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
        last_page = fixture.boards.records(board, &[], &query).await.unwrap();
        shown -= last_page.records.len();
        assert_slice(&last_page.records, &sorted, shown);
    }
    assert_eq!(shown, 0, "back at the start");
}

async fn check(fixture: &Fixture, board: &str, model: &mut BoardModel, step: &Step) {
    match step {
        Step::Write { owner, score, subscore, operator } => {
            let write = RecordWrite { operator: *operator, ..write(person(*owner), *score, *subscore) };
            let before = model.clone();
            match (
                fixture.boards.write(&Caller::Server, board, write.clone()).await,
                model.write(*owner, write.score, *operator),
            ) {
                (Ok(record), Some(current)) => {
                    assert_eq!((record.score, record.num_score), current);
                    assert_eq!(Some(record.rank as usize), model.rank(*owner));
                }
                (Err(error), None) => {
                    assert_eq!(error.code, GrpcCode::InvalidArgument);
                    *model = before;
                }
                (outcome, expected) => panic!("{write:?}: {outcome:?} where {expected:?} was expected"),
            }
        }
        Step::Delete(owner) => {
            let deleted = fixture.boards.delete_record(&Caller::Server, board, person(*owner)).await.unwrap();
            assert_eq!(deleted, model.records.remove(owner).is_some());
        }
        Step::Forget(owner) => {
            fixture.boards.forget_owner(person(*owner)).await.unwrap();
            model.records.remove(owner);
        }
        Step::Page { limit, owners } => {
            assert_pages(fixture, board, model, *limit).await;
            let ids: Vec<Uuid> = owners.iter().map(|owner| person(*owner)).collect();
            let list = fixture.boards.records(board, &ids, &RecordQuery::default()).await.unwrap();
            for record in &list.owner_records {
                let standing = model.sorted()[record.rank as usize - 1];
                assert_eq!((record.owner, record.score, record.num_score), standing);
            }
            let known: std::collections::HashSet<u8> =
                owners.iter().copied().filter(|owner| model.records.contains_key(owner)).collect();
            assert_eq!(list.owner_records.len(), known.len());
        }
        Step::Around { owner, limit: size } => {
            let list = fixture.boards.records_around(board, person(*owner), &limit(*size as i64)).await.unwrap();
            let sorted = model.sorted();
            match model.rank(*owner) {
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
                let mut fixture = Fixture::over(store.clone()).await;
                let definition = Definition { order, operator, ..Definition::new(&board) };
                fixture.boards.create(definition).await.unwrap();
                let mut model = BoardModel { order, operator, records: HashMap::new() };
                for step in &steps {
                    if matches!(step, Step::Restart) {
                        fixture = fixture.reopened().await;
                    }
                    check(&fixture, &board, &mut model, step).await;
                }
                assert_pages(&fixture, &board, &model, 4).await;
                // The next case begins without records.
                fixture.boards.delete(&board).await.unwrap();
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
