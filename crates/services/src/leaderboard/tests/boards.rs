//! Boards are made, found and deleted.

use super::*;

#[tokio::test]
async fn making_the_same_board_again_is_fine_and_another_of_its_id_is_refused() {
    for database in aether_testkit_store::databases() {
        let place = Place::at(&database).await;
        let definition = Definition { metadata: r#"{"a": 1, "b": 2}"#.to_owned(), ..Definition::new("speed") };
        let made = place.boards.create(definition.clone()).await.unwrap();
        let spaced = Definition { metadata: r#"{"b":2,"a":1}"#.to_owned(), ..definition.clone() };
        let again = place.boards.create(spaced).await.unwrap();
        assert!(Arc::ptr_eq(&made, &again));
        let others = [
            Definition { authoritative: true, ..definition.clone() },
            Definition { order: RankOrder::Ascending, ..definition.clone() },
            Definition { operator: Operator::Set, ..definition.clone() },
            Definition { reset_schedule: "0 0 * * *".to_owned(), ..definition.clone() },
            Definition { metadata: "{}".to_owned(), ..definition.clone() },
        ];
        for other in others {
            assert_eq!(place.boards.create(other).await.unwrap_err().code, GrpcCode::AlreadyExists);
        }
        let reopened = place.reopened().await;
        assert_eq!(reopened.boards.board("speed").unwrap().definition, definition, "{}", database.name);
    }
}

#[tokio::test]
async fn what_cannot_be_a_board_is_refused() {
    let place = Place::at(&aether_testkit_store::memory()).await;
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
        let refusal = place.boards.create(definition.clone()).await.unwrap_err();
        assert_eq!(refusal.code, GrpcCode::InvalidArgument, "{definition:?}");
    }
    place.boards.create(Definition::new("x".repeat(BOARD_ID_BYTES_MAX))).await.unwrap();
}

#[tokio::test]
async fn boards_are_listed_by_id_in_pages() {
    let place = Place::at(&aether_testkit_store::memory()).await;
    for id in ["delta", "alpha", "echo", "bravo", "charlie"] {
        place.boards.create(Definition::new(id)).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut cursor = String::new();
    for pages in 1.. {
        let page = place.boards.boards(2, &cursor).unwrap();
        seen.extend(page.boards.iter().map(|board| board.definition.id.clone()));
        cursor = page.cursor;
        if cursor.is_empty() {
            assert_eq!(pages, 3);
            break;
        }
    }
    assert_eq!(seen, ["alpha", "bravo", "charlie", "delta", "echo"]);
    assert_eq!(place.boards.boards(5, "").unwrap().cursor, "");
    for wrong in [0, BOARD_LIMIT_MAX + 1] {
        assert_eq!(place.boards.boards(wrong, "").unwrap_err().code, GrpcCode::InvalidArgument);
    }
    assert_eq!(place.boards.boards(1, "no cursor").unwrap_err().code, GrpcCode::InvalidArgument);
}

#[tokio::test]
async fn a_deleted_board_is_gone_with_its_records_and_may_be_made_anew() {
    for database in aether_testkit_store::databases() {
        let place = Place::at(&database).await;
        place.boards.create(Definition::new("board")).await.unwrap();
        for number in 0..20 {
            place.submit("board", owner(number), 5).await;
        }
        assert!(place.boards.delete("board").await.unwrap());
        assert!(!place.boards.delete("board").await.unwrap());
        let refused = place.boards.write(&Caller::Server, "board", write(owner(1), 1, 0)).await;
        assert_eq!(refused.unwrap_err().code, GrpcCode::NotFound);
        assert_eq!(place.boards.records("board", &[], &limit(1)).await.unwrap_err().code, GrpcCode::NotFound);

        let ascending = Definition { order: RankOrder::Ascending, ..Definition::new("board") };
        place.boards.create(ascending).await.unwrap();
        assert_eq!(place.submit("board", owner(1), 9).await.rank, 1, "{}", database.name);
        assert_eq!(place.submit("board", owner(2), 3).await.rank, 1, "{}", database.name);
        assert_eq!(place.all("board", 0).await.len(), 2);
        assert_eq!(place.reopened().await.all("board", 0).await.len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_that_is_deleted_under_its_writers_leaves_nothing_behind_and_fails_nobody_else() {
    for database in aether_testkit_store::databases() {
        let place = Place::at(&database).await;
        for _ in 0..5 {
            place.boards.create(Definition::new("board")).await.unwrap();
            let writers: Vec<_> = (0..20)
                .map(|number| {
                    let boards = Arc::clone(&place.boards);
                    tokio::spawn(async move {
                        for score in 0..10 {
                            let written = boards.write(&Caller::Server, "board", write(owner(number), score, 0)).await;
                            match written {
                                Ok(_) => {}
                                Err(refusal) => return assert_eq!(refusal.code, GrpcCode::NotFound, "{refusal}"),
                            }
                        }
                    })
                })
                .collect();
            tokio::task::yield_now().await;
            assert!(place.boards.delete("board").await.unwrap());
            for writer in writers {
                writer.await.unwrap();
            }
            place.boards.create(Definition::new("board")).await.unwrap();
            assert_eq!(place.all("board", 0).await, [], "{}", database.name);
            let left = place.ordered_by_the_database(&place.boards.board("board").unwrap(), 0).await;
            assert_eq!(left, [], "{}", database.name);
            place.boards.delete("board").await.unwrap();
        }
    }
}
