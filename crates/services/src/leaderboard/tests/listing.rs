//! Lists: pages, cursors, owners, and records around an owner.

use super::*;

/// Creates a board whose owner `n` has the score `n`, so that owner 30 is the first of 30.
async fn thirty(fixture: &Fixture) {
    fixture.boards.create(Definition::new("board")).await.unwrap();
    for number in 1..=30 {
        fixture.submit("board", owner(number), number as i64).await;
    }
}

fn scores(records: &[Record]) -> Vec<i64> {
    records.iter().map(|record| record.score.score).collect()
}

#[tokio::test]
async fn pages_can_be_read_forward_and_backward() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        thirty(&fixture).await;
        let first = fixture.boards.records("board", &[], &limit(12)).await.unwrap();
        assert_eq!(scores(&first.records), (19..=30).rev().collect::<Vec<_>>(), "{}", database.name);
        assert_eq!(first.records.iter().map(|record| record.rank).collect::<Vec<_>>(), (1..=12).collect::<Vec<_>>());
        assert_eq!((first.prev_cursor.as_str(), first.rank_count), ("", 30));
        let at = |cursor: &str| RecordQuery { cursor: cursor.to_owned(), ..limit(12) };
        let second = fixture.boards.records("board", &[], &at(&first.next_cursor)).await.unwrap();
        let third = fixture.boards.records("board", &[], &at(&second.next_cursor)).await.unwrap();
        assert_eq!(scores(&third.records), [6, 5, 4, 3, 2, 1]);
        assert_eq!(third.next_cursor, "");
        let second_again = fixture.boards.records("board", &[], &at(&third.prev_cursor)).await.unwrap();
        assert_eq!(second_again, second);
        let first_again = fixture.boards.records("board", &[], &at(&second_again.prev_cursor)).await.unwrap();
        assert_eq!(first_again, first);
    }
}

#[tokio::test]
async fn records_are_neither_repeated_nor_omitted_when_others_move() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    thirty(&fixture).await;
    let first = fixture.boards.records("board", &[], &limit(10)).await.unwrap();
    // The last listed record moves up, a new one appears above, and one above is deleted.
    fixture.submit("board", owner(21), 500).await;
    fixture.submit("board", owner(99), 400).await;
    fixture.boards.delete_record(&Caller::Server, "board", owner(25)).await.unwrap();
    let query = RecordQuery { cursor: first.next_cursor, ..limit(10) };
    let second = fixture.boards.records("board", &[], &query).await.unwrap();
    assert_eq!(scores(&second.records), (11..=20).rev().collect::<Vec<_>>());
    assert_eq!(second.records[0].rank, 11, "30 to 26, 24 to 22, and two new records are above");
}

#[tokio::test]
async fn the_default_is_one_record_and_limits_are_enforced() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    thirty(&fixture).await;
    let nothing_said = RecordQuery::default();
    let list = fixture.boards.records("board", &[], &nothing_said).await.unwrap();
    assert_eq!(scores(&list.records), [30]);
    let around = fixture.boards.records_around("board", owner(7), &nothing_said).await.unwrap();
    assert_eq!(scores(&around.records), [7]);
    for wrong in [-1, 0, RECORD_LIMIT_MAX as i64 + 1, i64::MIN, i64::MAX] {
        let error = fixture.boards.records("board", &[], &limit(wrong)).await.unwrap_err();
        assert_eq!(error.code, GrpcCode::InvalidArgument);
    }
    for wrong in [0, AROUND_LIMIT_MAX as i64 + 1] {
        let error = fixture.boards.records_around("board", owner(7), &limit(wrong)).await.unwrap_err();
        assert_eq!(error.code, GrpcCode::InvalidArgument);
    }
    let largest = fixture.boards.records("board", &[], &limit(RECORD_LIMIT_MAX as i64)).await.unwrap();
    assert_eq!(largest.records.len(), 30);
    let owners = vec![owner(1); RECORD_LIMIT_MAX + 1];
    assert_eq!(fixture.boards.records("board", &owners, &limit(1)).await.unwrap_err().code, GrpcCode::InvalidArgument);
}

#[tokio::test]
async fn owners_are_listed_with_their_ranks_alone_or_beside_a_page() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        thirty(&fixture).await;
        let owners = [owner(3), owner(1_000), owner(30), owner(3)];
        let alone = fixture.boards.records("board", &owners, &RecordQuery::default()).await.unwrap();
        assert_eq!(alone.records, []);
        assert_eq!(scores(&alone.owner_records), [3, 30], "{}: as asked, once each", database.name);
        assert_eq!(alone.owner_records.iter().map(|record| record.rank).collect::<Vec<_>>(), [28, 1]);
        assert_eq!((alone.next_cursor.as_str(), alone.prev_cursor.as_str(), alone.rank_count), ("", "", 30));
        let beside = fixture.boards.records("board", &owners, &limit(2)).await.unwrap();
        assert_eq!(scores(&beside.records), [30, 29]);
        assert_eq!(beside.owner_records, alone.owner_records);
        let query = RecordQuery { limit: None, cursor: beside.next_cursor, expiry: 0 };
        let onward = fixture.boards.records("board", &owners, &query).await.unwrap();
        assert_eq!(scores(&onward.records), [28], "a cursor asks for records, also without a limit");
    }
}

#[tokio::test]
async fn records_around_an_owner_include_the_owner_and_can_be_paged() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    thirty(&fixture).await;
    let around = |number, count| {
        let boards = Arc::clone(&fixture.boards);
        async move { boards.records_around("board", owner(number), &limit(count)).await.unwrap() }
    };
    assert_eq!(scores(&around(15, 5).await.records), [17, 16, 15, 14, 13]);
    assert_eq!(scores(&around(30, 5).await.records), [30, 29, 28, 27, 26], "the window moves rather than shrinks");
    assert_eq!(scores(&around(1, 5).await.records), [5, 4, 3, 2, 1]);
    assert_eq!(around(1, 100).await.records.len(), 30);

    let middle = around(15, 5).await;
    let at = |cursor: &str| RecordQuery { cursor: cursor.to_owned(), ..limit(5) };
    let after = fixture.boards.records_around("board", owner(15), &at(&middle.next_cursor)).await.unwrap();
    assert_eq!(scores(&after.records), [12, 11, 10, 9, 8]);
    let before = fixture.boards.records("board", &[], &at(&middle.prev_cursor)).await.unwrap();
    assert_eq!(scores(&before.records), [22, 21, 20, 19, 18], "cursors of one list work in the other");

    let nobody = fixture.boards.records_around("board", owner(1_000), &limit(5)).await.unwrap();
    assert_eq!((nobody.records.len(), nobody.rank_count), (0, 30));
}

#[tokio::test]
async fn cursors_that_are_damaged_or_of_another_list_are_rejected() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    thirty(&fixture).await;
    fixture.boards.create(Definition::new("other")).await.unwrap();
    let cursor = fixture.boards.records("board", &[], &limit(3)).await.unwrap().next_cursor;
    let code = |outcome: Result<RecordList, ServiceError>| outcome.unwrap_err().code;
    let query = RecordQuery { cursor: cursor.clone(), ..limit(3) };
    assert_eq!(code(fixture.boards.records("other", &[], &query).await), GrpcCode::InvalidArgument);
    let of_another_period = RecordQuery { expiry: NOON, ..query.clone() };
    assert_eq!(code(fixture.boards.records("board", &[], &of_another_period).await), GrpcCode::InvalidArgument);
    for damaged in [&cursor[1..], "!", "e30", &"A".repeat(10_000)] {
        let query = RecordQuery { cursor: damaged.to_owned(), ..limit(3) };
        assert_eq!(code(fixture.boards.records("board", &[], &query).await), GrpcCode::InvalidArgument);
    }
    let negative = RecordQuery { expiry: -1, ..limit(3) };
    assert_eq!(code(fixture.boards.records("board", &[], &negative).await), GrpcCode::InvalidArgument);
}

#[tokio::test]
async fn a_cursor_from_a_rank_begins_with_its_record() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        fixture.boards.create(Definition::new("board")).await.unwrap();
        assert_eq!(fixture.boards.cursor_from_rank("board", 3, 0).await.unwrap(), "", "{}", database.name);
        for number in 1..=5 {
            fixture.submit("board", owner(number), number as i64).await;
        }
        for (rank, expected) in
            [(1, vec![5, 4, 3, 2, 1]), (2, vec![4, 3, 2, 1]), (5, vec![1]), (6, vec![]), (99, vec![])]
        {
            let cursor = fixture.boards.cursor_from_rank("board", rank, 0).await.unwrap();
            let query = RecordQuery { cursor, ..limit(9) };
            let page = fixture.boards.records("board", &[], &query).await.unwrap();
            assert_eq!(scores(&page.records), expected, "{}: rank {rank}", database.name);
        }
        for (board, rank, code) in [("board", 0, GrpcCode::InvalidArgument), ("missing", 1, GrpcCode::NotFound)] {
            assert_eq!(fixture.boards.cursor_from_rank(board, rank, 0).await.unwrap_err().code, code);
        }
    }
}
