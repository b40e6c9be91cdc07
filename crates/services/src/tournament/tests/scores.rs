//! Scores through all deadlines.

use super::*;

#[tokio::test]
async fn scores_are_accepted_in_the_active_time_of_each_period() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        let night = with(nightly("night"), |terms| {
            terms.start_time = MIDNIGHT;
            terms.end_time = MIDNIGHT + 2 * DAY + HOUR;
        });
        fixture.tournaments.create(night).await.unwrap();
        let before = fixture.find("night").await;
        let deadlines = before.deadlines;
        assert_eq!([deadlines.start_active, deadlines.end_active], [MIDNIGHT, MIDNIGHT + 6 * HOUR]);
        let mut accepted = Vec::new();
        for hours in 0..80 {
            let now = NOON + hours * HOUR;
            fixture.set(now);
            let can_enter = fixture.find("night").await.can_enter;
            match fixture.submit("night", owner(1), hours).await {
                Ok(record) => {
                    assert!(can_enter && record.rank == 1, "{} at {hours}", database.name);
                    accepted.push((hours, (record.expiry - MIDNIGHT) / DAY));
                }
                Err(error) => {
                    assert!(!can_enter, "{} at {hours}", database.name);
                    assert_eq!(error.code, GrpcCode::FailedPrecondition, "{error}");
                }
            }
        }
        let expected: Vec<(i64, i64)> =
            (12..18).map(|hour| (hour, 1)).chain((36..42).map(|hour| (hour, 2))).chain([(60, 3)]).collect();
        assert_eq!(accepted, expected, "{}: hour and period of each score", database.name);

        let restarted = fixture.reopened().await;
        for fixture in [&fixture, &restarted] {
            assert_eq!(fixture.scores("night", MIDNIGHT + DAY).await, [17], "{}", database.name);
            assert_eq!(fixture.scores("night", MIDNIGHT + 2 * DAY).await, [41]);
            assert_eq!(fixture.scores("night", 0).await, [60], "after the end, the last period is shown");
            let shown = fixture.find("night").await;
            assert_eq!((shown.deadlines.prev_reset, shown.deadlines.next_reset), (MIDNIGHT + 2 * DAY, 0));
            assert_eq!((shown.size, shown.can_enter), (1, false));
        }
    }
}

#[tokio::test]
async fn each_score_is_an_attempt_and_more_can_be_added() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        fixture.tournaments.create(with(once("few"), |terms| terms.max_num_score = 2)).await.unwrap();
        let unknown = fixture.tournaments.add_attempt("few", owner(1), 1).await.unwrap_err();
        assert_eq!(unknown.code, GrpcCode::NotFound, "{}: not an entrant", database.name);
        let first = fixture.submit("few", owner(1), 10).await.unwrap();
        assert_eq!((first.num_score, first.max_num_score, first.score.score), (1, 2, 10));
        let worse = fixture.submit("few", owner(1), 5).await.unwrap();
        assert_eq!((worse.num_score, worse.score.score, worse.rank), (2, 10, 1), "a worse score is an attempt");
        let refused = fixture.submit("few", owner(1), 99).await.unwrap_err();
        assert_eq!(refused.code, GrpcCode::FailedPrecondition);

        assert!(fixture.tournaments.delete_record(&Caller::Server, "few", owner(1)).await.unwrap());
        let refused = fixture.submit("few", owner(1), 99).await.unwrap_err();
        assert_eq!(refused.code, GrpcCode::FailedPrecondition, "a deleted record gives no attempts back");
        assert_eq!(fixture.find("few").await.size, 1, "its owner stays an entrant");

        assert_eq!(fixture.tournaments.add_attempt("few", owner(1), 1).await.unwrap(), 3);
        let third = fixture.submit("few", owner(1), 7).await.unwrap();
        assert_eq!((third.num_score, third.max_num_score, third.score.score), (3, 3, 7));
        assert_eq!(fixture.tournaments.add_attempt("few", owner(1), 2).await.unwrap(), 5);
        let listed = fixture.tournaments.records("few", &[owner(1)], &RecordQuery::default()).await.unwrap();
        let record = &listed.owner_records[0];
        assert_eq!((record.num_score, record.max_num_score), (3, 5), "{}", database.name);
        assert_eq!(fixture.tournaments.add_attempt("few", owner(1), -5).await.unwrap(), 0);
        assert!(fixture.submit("few", owner(1), 8).await.is_err(), "none is left");

        fixture.tournaments.create(once("many")).await.unwrap();
        fixture.submit("many", owner(1), 1).await.unwrap();
        let unlimited = fixture.tournaments.add_attempt("many", owner(1), 1).await.unwrap_err();
        assert_eq!(unlimited.code, GrpcCode::FailedPrecondition);
        for count in [0, ATTEMPTS_ADDED_MAX + 1, -ATTEMPTS_ADDED_MAX - 1, i64::MIN + 1] {
            let error = fixture.tournaments.add_attempt("few", owner(1), count).await.unwrap_err();
            assert_eq!(error.code, GrpcCode::InvalidArgument, "{count}");
        }
    }
}

#[tokio::test]
async fn users_write_their_own_records_of_open_tournaments_only() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    fixture.tournaments.create(once("open").open_to_clients()).await.unwrap();
    fixture.tournaments.create(once("closed")).await.unwrap();
    let (ann, tournaments) = (owner(1), &fixture.tournaments);
    tournaments.write(&user(ann), "open", write(ann, 1)).await.unwrap();
    let refused = [
        (tournaments.write(&user(ann), "open", write(owner(2), 1)).await.unwrap_err(), GrpcCode::PermissionDenied),
        (tournaments.write(&user(ann), "closed", write(ann, 1)).await.unwrap_err(), GrpcCode::PermissionDenied),
        (tournaments.write(&Caller::Anonymous, "open", write(ann, 1)).await.unwrap_err(), GrpcCode::Unauthenticated),
        (tournaments.delete_record(&user(ann), "closed", ann).await.unwrap_err(), GrpcCode::PermissionDenied),
        (tournaments.write(&user(ann), "missing", write(ann, 1)).await.unwrap_err(), GrpcCode::NotFound),
    ];
    for (error, code) in refused {
        assert_eq!(error.code, code, "{error}");
    }
    assert!(tournaments.delete_record(&user(ann), "open", ann).await.unwrap());
}

#[tokio::test]
async fn leaderboards_and_tournaments_are_kept_apart() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    fixture.tournaments.create(once("cup")).await.unwrap();
    fixture.boards.create(Definition::new("board")).await.unwrap();
    let as_board = fixture.boards.write(&Caller::Server, "cup", write(owner(1), 1)).await.unwrap_err();
    assert_eq!(as_board.code, GrpcCode::NotFound, "a leaderboard write would pass the rules of the tournament");
    assert_eq!(fixture.submit("board", owner(1), 1).await.unwrap_err().code, GrpcCode::NotFound);
    let listed = fixture.boards.boards(100, "").unwrap();
    assert_eq!(listed.boards.iter().map(|board| board.definition.id.as_str()).collect::<Vec<_>>(), ["board"]);
    assert!(!fixture.boards.delete("cup").await.unwrap());
    assert!(!fixture.tournaments.delete("board").await.unwrap());
    let taken = fixture.tournaments.create(once("board")).await.unwrap_err();
    assert_eq!(taken.code, GrpcCode::AlreadyExists);
    assert_eq!(fixture.boards.create(once("cup")).await.unwrap_err().code, GrpcCode::InvalidArgument);
    assert_eq!(fixture.tournaments.create(Definition::new("none")).await.unwrap_err().code, GrpcCode::InvalidArgument);
}

#[tokio::test]
async fn a_tournament_without_ranks_shows_none() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        fixture.tournaments.create(once("dash")).await.unwrap();
        assert!(!fixture.tournaments.disable_ranks("missing").await.unwrap());
        assert!(!fixture.boards.disable_ranks("dash").await.unwrap(), "a tournament is no board");
        assert_eq!(fixture.submit("dash", owner(1), 5).await.unwrap().rank, 1);
        assert!(fixture.tournaments.disable_ranks("dash").await.unwrap());
        for fixture in [&fixture, &fixture.reopened().await] {
            assert_eq!(fixture.submit("dash", owner(1), 7).await.unwrap().rank, 0, "{}", database.name);
            let query = RecordQuery { limit: Some(5), ..RecordQuery::default() };
            let list = fixture.tournaments.records("dash", &[], &query).await.unwrap();
            assert_eq!((list.records[0].score.score, list.records[0].rank), (7, 0));
            let around = fixture.tournaments.records_around("dash", owner(1), &query).await.unwrap();
            assert_eq!(around.records[0].rank, 0);
        }
    }
}
