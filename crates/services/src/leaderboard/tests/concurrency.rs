//! Memory and database agree under concurrent writes.

use super::*;
use aether_store::SqlValue;
use std::time::Duration;

/// Deterministic random numbers, with one sequence per writer.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Returns the records of the ranking, in the form of the database.
async fn ordered_by_memory(fixture: &Fixture, board: &str) -> Vec<(Uuid, Score)> {
    let records = fixture.all(board, 0).await;
    for (fixture, record) in records.iter().enumerate() {
        assert_eq!(record.rank as usize, fixture + 1);
    }
    records.iter().map(|record| (record.owner, record.score)).collect()
}

/// Writes many records directly to the store.
async fn fill(fixture: &Fixture, records: u128) {
    // Many rows per statement, because each statement is a round trip on PostgreSQL.
    const ROWS: usize = 500;
    let row = |row: usize| format!("('board', 0, ?{}, '', ?{}, 0, 1, 0, 0)", 2 * row + 1, 2 * row + 2);
    let sql = format!(
        "INSERT INTO leaderboard_records (leaderboard_id, expiry, owner_id, username, score, subscore, num_score, \
         created_at, updated_at) VALUES {}",
        (0..ROWS).map(row).collect::<Vec<_>>().join(", ")
    );
    assert_eq!(records % ROWS as u128, 0);
    let filled = fixture.store.write(move |transaction| {
        let numbers: Vec<u128> = (0..records).collect();
        for chunk in numbers.chunks(ROWS) {
            let parameters: Vec<SqlValue<'_>> =
                chunk.iter().flat_map(|&number| [owner(number).into(), ((number % 1_000) as i64).into()]).collect();
            transaction.execute(&sql, &parameters)?;
        }
        Ok::<_, StoreError>(())
    });
    filled.await.unwrap();
}

async fn some_write(boards: &Leaderboards, numbers: &mut Numbers) {
    let owner = owner(u128::from(numbers.below(10)));
    let operators = [None, Some(Operator::Set), Some(Operator::Increment), Some(Operator::Decrement)];
    let operator = operators[numbers.below(4) as usize];
    let score = numbers.below(7) as i64 - 3;
    let write = RecordWrite { operator, ..write(owner, score, numbers.below(3) as i64) };
    if numbers.below(10) == 0 {
        boards.delete_record(&Caller::Server, "board", owner).await.unwrap();
    } else {
        let record = boards.write(&Caller::Server, "board", write).await.unwrap();
        assert!((1..=10).contains(&record.rank), "{}", record.rank);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_writers_to_ten_owners_keep_memory_consistent() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        let board = fixture.boards.create(Definition::new("board")).await.unwrap();
        let writers: Vec<_> = (0..50)
            .map(|writer| {
                let boards = Arc::clone(&fixture.boards);
                tokio::spawn(async move {
                    let mut numbers = Numbers(writer);
                    for _ in 0..40 {
                        some_write(&boards, &mut numbers).await;
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        let expected = fixture.ordered_by_the_database(&board, 0).await;
        assert_eq!(ordered_by_memory(&fixture, "board").await, expected, "{}", database.name);
        let restarted = fixture.reopened().await;
        assert_eq!(ordered_by_memory(&restarted, "board").await, expected, "{}", database.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_of_an_owner_wait_until_memory_has_earlier_commits() {
    // SQLite has one writer, so the order is trivial there.
    let Some(database) = aether_testkit_store::postgres() else { return };
    let fixture = Fixture::at(&database).await;
    fixture.boards.create(Definition::new("board")).await.unwrap();
    let (ann, bob) = (owner(1), owner(2));
    fixture.submit("board", ann, 1).await;
    fixture.submit("board", bob, 1).await;
    for change in 0..3 {
        let (release, waits) = std::sync::mpsc::channel::<()>();
        let (started, is_started) = std::sync::mpsc::channel::<()>();
        let ends = Arc::new(std::sync::Mutex::new((started, waits)));
        let store = fixture.store.clone();
        let earlier = tokio::spawn(async move {
            let earlier = store.write_in_order(Leaderboards::turn(ann), move |transaction| {
                let ends = Arc::clone(&ends);
                transaction.after_commit(move || {
                    let ends = ends.lock().unwrap();
                    ends.0.send(()).unwrap();
                    ends.1.recv().unwrap();
                });
                Ok::<_, StoreError>(())
            });
            earlier.await.unwrap();
        });
        tokio::task::spawn_blocking(move || is_started.recv().unwrap()).await.unwrap();
        let boards = Arc::clone(&fixture.boards);
        let later = tokio::spawn(async move {
            match change {
                0 => drop(boards.write(&Caller::Server, "board", write(ann, 10, 0)).await.unwrap()),
                1 => drop(boards.delete_record(&Caller::Server, "board", ann).await.unwrap()),
                _ => boards.forget_owner(ann).await.unwrap(),
            }
        });
        fixture.submit("board", bob, 10 + change).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!later.is_finished(), "change {change} did not wait");
        release.send(()).unwrap();
        earlier.await.unwrap();
        later.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_of_dropped_requests_still_reach_memory() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        let board = fixture.boards.create(Definition::new("board")).await.unwrap();
        let mut numbers = Numbers(99);
        for _ in 0..300 {
            let patience = Duration::from_micros(numbers.below(400));
            let _ = tokio::time::timeout(patience, some_write(&fixture.boards, &mut numbers)).await;
        }
        // A write of an owner runs after all earlier ones of that owner.
        for number in 0..10 {
            fixture.boards.forget_owner(owner(100 + number)).await.unwrap();
            let set = RecordWrite { operator: Some(Operator::Set), ..write(owner(number), number as i64, 0) };
            fixture.boards.write(&Caller::Server, "board", set).await.unwrap();
        }
        let expected = fixture.ordered_by_the_database(&board, 0).await;
        assert_eq!(ordered_by_memory(&fixture, "board").await, expected, "{}", database.name);
        assert_eq!(expected.len(), 10);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_period_loaded_during_changes_is_complete() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        let board = fixture.boards.create(Definition::new("board")).await.unwrap();
        fill(&fixture, 25_000).await;
        let mut first_read: Vec<Uuid> = (0..25_000).map(owner).collect();
        first_read.sort_unstable();
        for round in 0..4 {
            let fresh = Leaderboards::open(fixture.store.clone(), fixture.clock.clone()).await.unwrap();
            fresh.periods.forget_loaded();
            let boards = Arc::new(fresh);
            let fresh = Fixture { store: fixture.store.clone(), clock: Arc::clone(&fixture.clock), boards };
            // Owners read in the first step are deleted while later steps are read.
            let leaving: Vec<_> = (0..60)
                .map(|number| {
                    let (boards, owner) = (Arc::clone(&fresh.boards), first_read[round * 60 + number]);
                    tokio::spawn(async move {
                        tokio::time::sleep(Duration::from_micros(500 * number as u64)).await;
                        match number % 2 {
                            0 => boards.forget_owner(owner).await.unwrap(),
                            _ => assert!(boards.delete_record(&Caller::Server, "board", owner).await.unwrap()),
                        }
                    })
                })
                .collect();
            fresh.boards.records("board", &[], &limit(1)).await.unwrap();
            for left in leaving {
                left.await.unwrap();
            }
            let count = fresh.boards.records("board", &[], &limit(1)).await.unwrap().rank_count;
            let expected = fixture.ordered_by_the_database(&board, 0).await;
            assert_eq!(count as usize, expected.len(), "{} round {round}", database.name);
        }
        let restarted = fixture.reopened().await;
        assert_eq!(restarted.all("board", 0).await.len(), 25_000 - 240, "{}", database.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_in_order_while_others_write() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        fixture.boards.create(Definition { operator: Operator::Set, ..Definition::new("board") }).await.unwrap();
        for number in 0..20 {
            fixture.submit("board", owner(number), 0).await;
        }
        let boards = Arc::clone(&fixture.boards);
        let writer = tokio::spawn(async move {
            let mut numbers = Numbers(5);
            for _ in 0..400 {
                let write = write(owner(u128::from(numbers.below(20))), numbers.below(1_000) as i64, 0);
                boards.write(&Caller::Server, "board", write).await.unwrap();
            }
        });
        while !writer.is_finished() {
            let list = fixture.boards.records("board", &[], &limit(20)).await.unwrap();
            assert_eq!(list.records.len(), 20);
            assert!(list.records.iter().map(|record| record.rank).eq(1..=20));
            assert!(list.records.is_sorted_by(|one, next| one.score >= next.score), "{}", database.name);
        }
        writer.await.unwrap();
    }
}

#[tokio::test]
async fn uncertain_records_are_read_again() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        let board = fixture.boards.create(Definition::new("board")).await.unwrap();
        for number in 0..4 {
            fixture.submit("board", owner(number), number as i64).await;
        }
        // Effect of a lost answer to a commit: the record is changed, but memory is not updated.
        let lost = |sql: &'static str, number: u128| {
            let doubt = pending::UncertainRecord { board: Arc::clone(&board), expiry: 0, owner: owner(number) };
            drop(pending::Pending::new(&fixture.boards.periods, doubt));
            let store = fixture.store.clone();
            async move {
                let done = store.write(move |transaction| transaction.execute(sql, values![owner(number)]));
                done.await.map_err(|error: StoreError| error).unwrap();
            }
        };
        lost("UPDATE leaderboard_records SET score = 99 WHERE owner_id = ?1", 1).await;
        lost("DELETE FROM leaderboard_records WHERE owner_id = ?1", 2).await;
        lost("UPDATE leaderboard_records SET score = score WHERE owner_id = ?1", 3).await;
        fixture.boards.tick(NOON).await.unwrap();
        let expected = fixture.ordered_by_the_database(&board, 0).await;
        assert_eq!(expected.len(), 3);
        assert_eq!(ordered_by_memory(&fixture, "board").await, expected, "{}", database.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_consistent_after_the_database_was_killed_during_writes() {
    let Some(mut cluster) = aether_testkit_store::cluster() else { return };
    cluster.start().unwrap();
    let database = aether_testkit_store::postgres_at(&cluster.url());
    let fixture = Fixture::at(&database).await;
    let board =
        fixture.boards.create(Definition { operator: Operator::Increment, ..Definition::new("board") }).await.unwrap();
    for round in 0..3 {
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let boards = Arc::clone(&fixture.boards);
                tokio::spawn(async move {
                    let mut numbers = Numbers(round * 100 + writer);
                    loop {
                        let write = write(owner(u128::from(numbers.below(200))), 1 + numbers.below(9) as i64, 0);
                        if let Err(error) = boards.write(&Caller::Server, "board", write).await {
                            return assert_eq!(error.code, GrpcCode::Unavailable, "{error}");
                        }
                    }
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(300)).await;
        cluster.kill().unwrap();
        for writer in writers {
            writer.await.unwrap();
        }
        cluster.start().unwrap();
        // After a failed connection attempt, the store waits before the next.
        for attempt in 0.. {
            match fixture.store.ping().await {
                Ok(()) => break,
                Err(error) => assert!(matches!(error, StoreError::Unavailable(_)) && attempt < 100, "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        fixture.boards.tick(NOON).await.unwrap();
        let expected = fixture.ordered_by_the_database(&board, 0).await;
        assert_eq!(ordered_by_memory(&fixture, "board").await, expected);
    }
}
