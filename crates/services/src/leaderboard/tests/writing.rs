//! Effects of single writes.

use super::*;

async fn board(fixture: &Fixture, order: RankOrder, operator: Operator) {
    let definition = Definition { order, operator, ..Definition::new("board").open_to_clients() };
    fixture.boards.create(definition).await.unwrap();
}

async fn written(fixture: &Fixture, write: RecordWrite) -> Record {
    fixture.boards.write(&Caller::Server, "board", write).await.unwrap()
}

#[tokio::test]
async fn score_and_subscore_are_one_value_so_no_record_mixes_two_runs() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        board(&fixture, RankOrder::Descending, Operator::Best).await;
        let ann = owner(1);
        written(&fixture, write(ann, 10, 1)).await;
        let not_better = written(&fixture, write(ann, 9, 100)).await;
        assert_eq!(not_better.score, Score { score: 10, subscore: 1 }, "{}", database.name);
        assert_eq!(not_better.num_score, 1, "a write that changes nothing is not counted");
        let better_by_subscore = written(&fixture, write(ann, 10, 2)).await;
        assert_eq!(better_by_subscore.score, Score { score: 10, subscore: 2 });
        let better_by_score = written(&fixture, write(ann, 11, -5)).await;
        assert_eq!(better_by_score.score, Score { score: 11, subscore: -5 });
        assert_eq!(better_by_score.num_score, 3);
    }
}

#[tokio::test]
async fn a_write_may_override_the_operator_of_the_board() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        board(&fixture, RankOrder::Ascending, Operator::Best).await;
        let ann = owner(1);
        let by = |operator, score, subscore| RecordWrite { operator: Some(operator), ..write(ann, score, subscore) };
        let steps = [
            (write(ann, 50, 5), (50, 5)),
            (write(ann, 60, 1), (50, 5)),
            (by(Operator::Set, 60, 1), (60, 1)),
            (by(Operator::Increment, 7, -3), (67, -2)),
            (by(Operator::Decrement, 100, 1), (-33, -3)),
            (by(Operator::Best, -33, -3), (-33, -3)),
            (by(Operator::Best, -40, 9), (-40, 9)),
        ];
        for (write, (score, subscore)) in steps {
            let record = written(&fixture, write.clone()).await;
            assert_eq!(record.score, Score { score, subscore }, "{} {write:?}", database.name);
        }
    }
}

#[tokio::test]
async fn a_first_decrement_goes_below_zero() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    board(&fixture, RankOrder::Descending, Operator::Decrement).await;
    assert_eq!(written(&fixture, write(owner(1), 5, -2)).await.score, Score { score: -5, subscore: 2 });
}

#[tokio::test]
async fn a_sum_out_of_range_is_rejected_and_changes_nothing() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        board(&fixture, RankOrder::Descending, Operator::Set).await;
        let ann = owner(1);
        let by = |operator, score, subscore| RecordWrite { operator: Some(operator), ..write(ann, score, subscore) };
        let (max, min) = (i64::MAX, i64::MIN);
        let cases = [
            ((max, 0), by(Operator::Increment, 1, 0)),
            ((0, max), by(Operator::Increment, 0, 1)),
            ((min, 0), by(Operator::Increment, -1, 0)),
            ((-1, 0), by(Operator::Increment, min, 0)),
            ((0, -1), by(Operator::Increment, 0, min)),
            ((min, 0), by(Operator::Decrement, 1, 0)),
            ((1, 0), by(Operator::Decrement, -max, 0)),
            ((0, 0), by(Operator::Decrement, min, 0)),
            ((max, max), by(Operator::Increment, max, max)),
        ];
        for ((score, subscore), too_much) in cases {
            written(&fixture, write(ann, score, subscore)).await;
            let error = fixture.boards.write(&Caller::Server, "board", too_much.clone()).await.unwrap_err();
            assert_eq!(error.code, GrpcCode::InvalidArgument, "{} {too_much:?}", database.name);
            let current = fixture.all("board", 0).await.remove(0);
            assert_eq!(current.score, Score { score, subscore }, "{} {too_much:?}", database.name);
        }
        written(&fixture, write(ann, max, min)).await;
        let to_zero = written(&fixture, by(Operator::Increment, min, max)).await;
        assert_eq!(to_zero.score, Score { score: -1, subscore: -1 }, "{}", database.name);
        let to_the_end = written(&fixture, by(Operator::Increment, -max, -max)).await;
        assert_eq!(to_the_end.score, Score { score: min, subscore: min }, "{}", database.name);
    }
}

#[tokio::test]
async fn metadata_and_name_stay_where_none_is_given_and_go_with_the_score_that_counts() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        board(&fixture, RankOrder::Descending, Operator::Best).await;
        let ann = owner(1);
        let with = |score, metadata: Option<&str>, name: &str| RecordWrite {
            metadata: metadata.map(str::to_owned),
            username: name.to_owned(),
            ..write(ann, score, 0)
        };
        let first = written(&fixture, with(5, None, "")).await;
        assert_eq!((first.metadata.as_str(), first.username.as_str()), ("{}", ""));
        let better = written(&fixture, with(6, Some(r#"{"car":"red"}"#), "ann")).await;
        assert_eq!((better.metadata.as_str(), better.username.as_str()), (r#"{"car":"red"}"#, "ann"));
        let worse = written(&fixture, with(1, Some(r#"{"car":"blue"}"#), "anna")).await;
        assert_eq!((worse.metadata.as_str(), worse.username.as_str()), (r#"{"car":"red"}"#, "ann"), "it current whole");
        let unchanged = written(&fixture, with(7, None, "")).await;
        assert_eq!((unchanged.metadata.as_str(), unchanged.username.as_str()), (r#"{"car":"red"}"#, "ann"));

        let set = RecordWrite { operator: Some(Operator::Set), ..with(7, Some(r#"{"car":"blue"}"#), "ann") };
        let replaced = written(&fixture, set.clone()).await;
        assert_eq!((replaced.metadata.as_str(), replaced.num_score), (r#"{"car":"blue"}"#, 4), "it changed something");
        assert_eq!(written(&fixture, set).await.num_score, 4, "it changed nothing");
        let nothing_added = RecordWrite { operator: Some(Operator::Increment), ..write(ann, 0, 0) };
        assert_eq!(written(&fixture, nothing_added).await.num_score, 4, "{}", database.name);
    }
}

#[tokio::test]
async fn times_say_when_a_record_was_made_and_when_it_last_changed() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    board(&fixture, RankOrder::Descending, Operator::Best).await;
    let first = fixture.submit("board", owner(1), 5).await;
    fixture.clock.advance_ms(1_500);
    let unchanged = fixture.submit("board", owner(1), 5).await;
    assert_eq!((unchanged.created_at_ms, unchanged.updated_at_ms), (first.created_at_ms, first.created_at_ms));
    let changed = fixture.submit("board", owner(1), 6).await;
    assert_eq!((changed.created_at_ms, changed.updated_at_ms), (NOON * 1_000, NOON * 1_000 + 1_500));
}

#[tokio::test]
async fn a_write_answers_with_its_new_rank() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    board(&fixture, RankOrder::Descending, Operator::Best).await;
    for number in 0..50 {
        fixture.submit("board", owner(number), 10 * number as i64).await;
    }
    assert_eq!(fixture.submit("board", owner(100), 255).await.rank, 25);
    assert_eq!(fixture.submit("board", owner(100), 1).await.rank, 25, "also when it changes nothing");
    assert_eq!(fixture.submit("board", owner(0), 1_000).await.rank, 1);
    assert_eq!(fixture.submit("board", owner(100), 256).await.rank, 26);
}

#[tokio::test]
async fn users_change_their_own_records_and_never_those_of_an_authoritative_board() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    board(&fixture, RankOrder::Descending, Operator::Best).await;
    fixture.boards.create(Definition::new("strict")).await.unwrap();
    let (ann, bob) = (owner(1), owner(2));
    let code = |outcome: Result<Record, ServiceError>| outcome.unwrap_err().code;
    fixture.boards.write(&user(ann), "board", write(ann, 1, 0)).await.unwrap();
    assert_eq!(code(fixture.boards.write(&user(ann), "board", write(bob, 1, 0)).await), GrpcCode::PermissionDenied);
    assert_eq!(code(fixture.boards.write(&user(ann), "strict", write(ann, 1, 0)).await), GrpcCode::PermissionDenied);
    assert_eq!(
        code(fixture.boards.write(&Caller::Anonymous, "board", write(ann, 1, 0)).await),
        GrpcCode::Unauthenticated
    );
    fixture.boards.write(&Caller::Server, "strict", write(ann, 1, 0)).await.unwrap();

    let denied = [
        fixture.boards.delete_record(&user(bob), "board", ann).await,
        fixture.boards.delete_record(&user(ann), "strict", ann).await,
    ];
    for outcome in denied {
        assert_eq!(outcome.unwrap_err().code, GrpcCode::PermissionDenied);
    }
    assert!(fixture.boards.delete_record(&user(ann), "board", ann).await.unwrap());
    assert!(!fixture.boards.delete_record(&user(ann), "board", ann).await.unwrap(), "deleting twice is fine");
}

#[tokio::test]
async fn what_is_no_record_is_refused() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    board(&fixture, RankOrder::Descending, Operator::Best).await;
    let metadata = |text: &str| RecordWrite { metadata: Some(text.to_owned()), ..write(owner(1), 1, 0) };
    let longest = format!(r#"{{"a":"{}"}}"#, "x".repeat(RECORD_METADATA_BYTES_MAX - 8));
    assert_eq!(longest.len(), RECORD_METADATA_BYTES_MAX);
    written(&fixture, metadata(&longest)).await;
    let deep = "[".repeat(RECORD_METADATA_BYTES_MAX / 2);
    let wrong = [
        metadata(&format!("{longest} ")),
        metadata(""),
        metadata("null"),
        metadata("\"text\""),
        metadata("[1]"),
        metadata("{} {}"),
        metadata("{\"a\":\"\0\"}"),
        metadata(&format!("{{\"a\":{deep}")),
        RecordWrite { username: "x".repeat(129), ..write(owner(1), 1, 0) },
        RecordWrite { username: "nul\0".to_owned(), ..write(owner(1), 1, 0) },
    ];
    for write in wrong {
        let error = fixture.boards.write(&Caller::Server, "board", write.clone()).await.unwrap_err();
        assert_eq!(error.code, GrpcCode::InvalidArgument, "{write:?}");
    }
    let missing = fixture.boards.write(&Caller::Server, "missing", write(owner(1), 1, 0)).await;
    assert_eq!(missing.unwrap_err().code, GrpcCode::NotFound);
}

#[tokio::test]
async fn an_owner_who_is_forgotten_leaves_all_boards_and_periods() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        fixture.boards.create(Definition::new("one")).await.unwrap();
        let daily = Definition { reset_schedule: "0 0 * * *".to_owned(), ..Definition::new("daily") };
        let first_period = fixture.boards.create(daily).await.unwrap().expiry(NOON);
        for number in 0..3 {
            fixture.submit("one", owner(number), number as i64).await;
            fixture.submit("daily", owner(number), number as i64).await;
        }
        fixture.clock.advance_ms(24 * 3_600_000);
        for number in 0..3 {
            fixture.submit("daily", owner(number), number as i64).await;
        }
        fixture.boards.forget_owner(owner(2)).await.unwrap();
        for (board, expiry) in [("one", 0), ("daily", first_period), ("daily", 0)] {
            let left: Vec<_> =
                fixture.all(board, expiry).await.iter().map(|record| (record.owner, record.rank)).collect();
            assert_eq!(left, [(owner(1), 1), (owner(0), 2)], "{} {board} {expiry}", database.name);
        }
        assert_eq!(fixture.submit("one", owner(1), 1).await.rank, 1, "{}", database.name);
    }
}
