//! Creating, finding and deleting boards.

use super::*;

#[tokio::test]
async fn creating_a_board_twice_needs_the_same_definition() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        let definition = Definition { metadata: r#"{"a": 1, "b": 2}"#.to_owned(), ..Definition::new("speed") };
        let made = fixture.boards.create(definition.clone()).await.unwrap();
        let spaced = Definition { metadata: r#"{"b":2,"a":1}"#.to_owned(), ..definition.clone() };
        let again = fixture.boards.create(spaced).await.unwrap();
        assert!(Arc::ptr_eq(&made, &again));
        let others = [
            definition.clone().open_to_clients(),
            Definition { order: RankOrder::Ascending, ..definition.clone() },
            Definition { operator: Operator::Set, ..definition.clone() },
            Definition { reset_schedule: "0 0 * * *".to_owned(), ..definition.clone() },
            Definition { metadata: "{}".to_owned(), ..definition.clone() },
        ];
        for other in others {
            assert_eq!(fixture.boards.create(other).await.unwrap_err().code, GrpcCode::AlreadyExists);
        }
        let reopened = fixture.reopened().await;
        assert_eq!(reopened.boards.board("speed").unwrap().definition, definition, "{}", database.name);
    }
}

#[tokio::test]
async fn servers_on_one_database_create_the_same_board() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        // Both were opened before the board existed.
        let other = Leaderboards::open(fixture.store.clone(), fixture.clock.clone()).await.unwrap();
        let definition = Definition::new("shared");
        fixture.boards.create(definition.clone()).await.unwrap();
        fixture.submit("shared", owner(1), 5).await;
        assert_eq!(other.create(definition.clone()).await.unwrap().definition, definition, "{}", database.name);
        let listed = other.records("shared", &[], &RecordQuery { limit: Some(10), ..RecordQuery::default() }).await;
        assert_eq!(listed.unwrap().records.len(), 1, "{}: the ranks are loaded", database.name);
        let different = Definition { operator: Operator::Set, ..definition };
        assert_eq!(other.create(different).await.unwrap_err().code, GrpcCode::AlreadyExists);
    }
}

#[tokio::test]
async fn an_open_board_becomes_authoritative_and_keeps_its_records() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        fixture.boards.create(Definition::new("speed").open_to_clients()).await.unwrap();
        let (ann, bob) = (owner(1), owner(2));
        fixture.boards.write(&user(ann), "speed", write(ann, 7, 0)).await.unwrap();
        let other = Definition { operator: Operator::Set, ..Definition::new("speed") };
        assert_eq!(fixture.boards.create(other).await.unwrap_err().code, GrpcCode::AlreadyExists);
        let closed = fixture.boards.create(Definition::new("speed")).await.unwrap();
        assert!(closed.definition.authoritative);
        for fixture in [&fixture, &fixture.reopened().await] {
            let denied = fixture.boards.write(&user(bob), "speed", write(bob, 9, 0)).await.unwrap_err();
            assert_eq!(denied.code, GrpcCode::PermissionDenied, "{}", database.name);
            let records = fixture.all("speed", 0).await;
            assert_eq!(records.iter().map(|record| (record.owner, record.rank)).collect::<Vec<_>>(), [(ann, 1)]);
        }
        assert_eq!(fixture.submit("speed", bob, 9).await.rank, 1);
    }
}

#[tokio::test]
async fn invalid_boards_are_rejected() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    let wrong = [
        Definition::new(""),
        Definition::new("x".repeat(BOARD_ID_BYTES_MAX + 1)),
        Definition::new("nul\0"),
        Definition { metadata: "[]".to_owned(), ..Definition::new("a") },
        Definition { metadata: String::new(), ..Definition::new("a") },
        Definition { metadata: "{".to_owned(), ..Definition::new("a") },
        Definition {
            metadata: format!(r#"{{"a":"{}"}}"#, "x".repeat(BOARD_METADATA_BYTES_MAX)),
            ..Definition::new("a")
        },
        Definition { reset_schedule: "0 0 31 2 *".to_owned(), ..Definition::new("a") },
    ];
    for definition in wrong {
        let error = fixture.boards.create(definition.clone()).await.unwrap_err();
        assert_eq!(error.code, GrpcCode::InvalidArgument, "{definition:?}");
    }
    fixture.boards.create(Definition::new("x".repeat(BOARD_ID_BYTES_MAX))).await.unwrap();
}

#[tokio::test]
async fn boards_are_listed_by_id_in_pages() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    for id in ["delta", "alpha", "echo", "bravo", "charlie"] {
        fixture.boards.create(Definition::new(id)).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut cursor = String::new();
    for pages in 1.. {
        let page = fixture.boards.boards(2, &cursor).unwrap();
        seen.extend(page.boards.iter().map(|board| board.definition.id.clone()));
        cursor = page.cursor;
        if cursor.is_empty() {
            assert_eq!(pages, 3);
            break;
        }
    }
    assert_eq!(seen, ["alpha", "bravo", "charlie", "delta", "echo"]);
    assert_eq!(fixture.boards.boards(5, "").unwrap().cursor, "");
    for wrong in [0, BOARD_LIMIT_MAX + 1] {
        assert_eq!(fixture.boards.boards(wrong, "").unwrap_err().code, GrpcCode::InvalidArgument);
    }
    assert_eq!(fixture.boards.boards(1, "no cursor").unwrap_err().code, GrpcCode::InvalidArgument);
}

#[tokio::test]
async fn a_deleted_board_loses_its_records_and_may_be_created_again() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        fixture.boards.create(Definition::new("board")).await.unwrap();
        for number in 0..20 {
            fixture.submit("board", owner(number), 5).await;
        }
        assert!(fixture.boards.delete("board").await.unwrap());
        assert!(!fixture.boards.delete("board").await.unwrap());
        let rejected = fixture.boards.write(&Caller::Server, "board", write(owner(1), 1, 0)).await;
        assert_eq!(rejected.unwrap_err().code, GrpcCode::NotFound);
        assert_eq!(fixture.boards.records("board", &[], &limit(1)).await.unwrap_err().code, GrpcCode::NotFound);

        let ascending = Definition { order: RankOrder::Ascending, ..Definition::new("board") };
        fixture.boards.create(ascending).await.unwrap();
        assert_eq!(fixture.submit("board", owner(1), 9).await.rank, 1, "{}", database.name);
        assert_eq!(fixture.submit("board", owner(2), 3).await.rank, 1, "{}", database.name);
        assert_eq!(fixture.all("board", 0).await.len(), 2);
        assert_eq!(fixture.reopened().await.all("board", 0).await.len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_deleted_during_writes_leaves_nothing_behind() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        for _ in 0..5 {
            fixture.boards.create(Definition::new("board")).await.unwrap();
            let writers: Vec<_> = (0..20)
                .map(|number| {
                    let boards = Arc::clone(&fixture.boards);
                    tokio::spawn(async move {
                        for score in 0..10 {
                            let written = boards.write(&Caller::Server, "board", write(owner(number), score, 0)).await;
                            match written {
                                Ok(_) => {}
                                Err(error) => return assert_eq!(error.code, GrpcCode::NotFound, "{error}"),
                            }
                        }
                    })
                })
                .collect();
            tokio::task::yield_now().await;
            assert!(fixture.boards.delete("board").await.unwrap());
            for writer in writers {
                writer.await.unwrap();
            }
            fixture.boards.create(Definition::new("board")).await.unwrap();
            assert_eq!(fixture.all("board", 0).await, [], "{}", database.name);
            let left = fixture.ordered_by_the_database(&fixture.boards.board("board").unwrap(), 0).await;
            assert_eq!(left, [], "{}", database.name);
            fixture.boards.delete("board").await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_board_without_ranks_lists_records_in_their_order() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        fixture.boards.create(Definition::new("speed")).await.unwrap();
        for number in 1..=3 {
            fixture.submit("speed", owner(number), number as i64).await;
        }
        assert!(!fixture.boards.disable_ranks("missing").await.unwrap());
        assert!(fixture.boards.disable_ranks("speed").await.unwrap());
        for fixture in [&fixture, &fixture.reopened().await] {
            let list = fixture.boards.records("speed", &[owner(3)], &limit(2)).await.unwrap();
            let shown: Vec<_> = list.records.iter().map(|record| (record.score.score, record.rank)).collect();
            assert_eq!(shown, [(3, 0), (2, 0)], "{}", database.name);
            assert_eq!((list.owner_records[0].rank, list.rank_count), (0, 3));
            let next = RecordQuery { cursor: list.next_cursor, ..limit(2) };
            assert_eq!(fixture.boards.records("speed", &[], &next).await.unwrap().records[0].score.score, 1);
            let around = fixture.boards.records_around("speed", owner(2), &limit(3)).await.unwrap();
            assert!(around.records.len() == 3 && around.records.iter().all(|record| record.rank == 0));
        }
        assert_eq!(fixture.submit("speed", owner(3), 9).await.rank, 0, "a changed record");
        assert_eq!(fixture.submit("speed", owner(3), 1).await.rank, 0, "an unchanged record");
    }
}
