//! Creating and listing tournaments.

use super::*;
use crate::tournament::limits::{CATEGORY_MAX, DESCRIPTION_BYTES_MAX, SECONDS_MAX, TITLE_BYTES_MAX};

async fn listed(fixture: &Fixture, query: TournamentQuery) -> Vec<String> {
    let list = fixture.tournaments.list(&query).await.unwrap();
    list.tournaments.iter().map(|tournament| tournament.board.definition.id.clone()).collect()
}

#[tokio::test]
async fn tournaments_are_listed_by_category_and_time() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    let all = [
        ("b", 0, 0, 0),
        ("a", 0, NOON + DAY, 0),
        ("short", 1, 0, NOON + HOUR),
        ("long", 2, NOON + HOUR, NOON + 9 * DAY),
    ];
    for (id, category, start_time, end_time) in all {
        let definition = with(once(id), |terms| {
            (terms.category, terms.start_time, terms.end_time) = (category, start_time, end_time);
        });
        fixture.tournaments.create(definition).await.unwrap();
    }
    let query = TournamentQuery::default;
    assert_eq!(listed(&fixture, query()).await, ["a", "b", "short", "long"]);
    assert_eq!(listed(&fixture, TournamentQuery { category_start: 1, ..query() }).await, ["short", "long"]);
    assert_eq!(listed(&fixture, TournamentQuery { category_end: Some(1), ..query() }).await, ["a", "b", "short"]);
    assert_eq!(listed(&fixture, TournamentQuery { start_time: NOON + 1, ..query() }).await, ["a", "long"]);
    assert_eq!(listed(&fixture, TournamentQuery { end_time: Some(0), ..query() }).await, ["a", "b"], "without an end");
    assert_eq!(listed(&fixture, TournamentQuery { end_time: Some(NOON + DAY), ..query() }).await, ["short"]);
    fixture.set(NOON + HOUR);
    assert_eq!(listed(&fixture, query()).await, ["a", "b", "long"], "ended ones are left out");
    assert_eq!(listed(&fixture, TournamentQuery { end_time: Some(NOON + HOUR), ..query() }).await, ["short"]);

    let mut query = TournamentQuery { limit: Some(2), ..query() };
    let mut pages = Vec::new();
    loop {
        let page = fixture.tournaments.list(&query).await.unwrap();
        pages.push(page.tournaments.len());
        query.cursor = page.cursor;
        if query.cursor.is_empty() {
            break;
        }
    }
    assert_eq!(pages, [2, 1]);
}

#[tokio::test]
async fn queries_outside_the_limits_are_rejected() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    fixture.tournaments.create(once("cup")).await.unwrap();
    let wrong = [
        TournamentQuery { category_start: 3, category_end: Some(2), ..Default::default() },
        TournamentQuery { category_end: Some(CATEGORY_MAX + 1), ..Default::default() },
        TournamentQuery { category_start: CATEGORY_MAX + 1, ..Default::default() },
        TournamentQuery { start_time: 10, end_time: Some(9), ..Default::default() },
        TournamentQuery { limit: Some(0), ..Default::default() },
        TournamentQuery { limit: Some(101), ..Default::default() },
        TournamentQuery { cursor: "?".to_owned(), ..Default::default() },
    ];
    for query in wrong {
        let error = fixture.tournaments.list(&query).await.unwrap_err();
        assert_eq!(error.code, GrpcCode::InvalidArgument, "{query:?}");
    }
    let many = vec![owner(1); RECORD_LIMIT_MAX + 1];
    let error = fixture.tournaments.records("cup", &many, &RecordQuery::default()).await.unwrap_err();
    assert_eq!(error.code, GrpcCode::InvalidArgument);
    for limit in [0, 101] {
        let query = RecordQuery { limit: Some(limit), ..RecordQuery::default() };
        let lists = [
            fixture.tournaments.records("cup", &[], &query).await,
            fixture.tournaments.records_around("cup", owner(1), &query).await,
        ];
        for list in lists {
            assert_eq!(list.unwrap_err().code, GrpcCode::InvalidArgument, "{limit}");
        }
    }
    assert!(fixture.tournaments.find(&vec!["cup".to_owned(); 101]).await.is_err());
}

#[tokio::test]
async fn records_are_listed_in_pages_of_ten_and_around_an_owner() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    fixture.tournaments.create(once("cup")).await.unwrap();
    for number in 0..25 {
        fixture.submit("cup", owner(number), number as i64).await.unwrap();
    }
    let first = fixture.tournaments.records("cup", &[], &RecordQuery::default()).await.unwrap();
    assert_eq!((first.records.len(), first.rank_count), (10, 25));
    let query = RecordQuery { cursor: first.next_cursor, ..RecordQuery::default() };
    let second = fixture.tournaments.records("cup", &[], &query).await.unwrap();
    assert_eq!(second.records[0].rank, 11);
    let around = fixture.tournaments.records_around("cup", owner(12), &RecordQuery::default()).await.unwrap();
    assert_eq!(around.records.len(), 25, "up to a hundred without a limit");
    let query = RecordQuery { limit: Some(3), ..RecordQuery::default() };
    let around = fixture.tournaments.records_around("cup", owner(12), &query).await.unwrap();
    assert_eq!(around.records.iter().map(|record| record.rank).collect::<Vec<_>>(), [12, 13, 14]);
}

#[tokio::test]
async fn a_tournament_is_created_once_and_survives_a_restart() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        let definition = with(nightly("night").open_to_clients(), |terms| {
            *terms = Terms {
                description: "all night".to_owned(),
                category: 127,
                start_time: NOON,
                end_time: NOON + 9 * DAY,
                max_size: 10,
                max_num_score: 3,
                join_required: true,
                ..terms.clone()
            };
        });
        fixture.tournaments.create(definition.clone()).await.unwrap();
        fixture.tournaments.create(definition.clone()).await.unwrap();
        let other = with(definition.clone(), |terms| terms.max_size = 11);
        assert_eq!(fixture.tournaments.create(other).await.unwrap_err().code, GrpcCode::AlreadyExists);
        let restarted = fixture.reopened().await;
        assert_eq!(restarted.find("night").await.board.definition, definition, "{}", database.name);
        restarted.set(NOON + 20 * DAY);
        restarted.tournaments.create(definition).await.expect("a program may still create it after its end");
    }
}

#[tokio::test]
async fn invalid_terms_are_rejected() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    let wrong: [fn(&mut Terms); 13] = [
        |terms| terms.title = "x".repeat(TITLE_BYTES_MAX + 1),
        |terms| terms.title = "nul\0".to_owned(),
        |terms| terms.description = "x".repeat(DESCRIPTION_BYTES_MAX + 1),
        |terms| terms.category = CATEGORY_MAX + 1,
        |terms| terms.duration = 0,
        |terms| terms.duration = -1,
        |terms| terms.duration = SECONDS_MAX + 1,
        |terms| terms.start_time = -1,
        |terms| terms.end_time = SECONDS_MAX + 1,
        |terms| (terms.start_time, terms.end_time) = (NOON + 9, NOON + 9),
        |terms| terms.end_time = NOON,
        |terms| terms.max_size = -1,
        |terms| terms.max_num_score = i64::MAX,
    ];
    for (index, change) in wrong.into_iter().enumerate() {
        let error = fixture.tournaments.create(with(once("cup"), change)).await.unwrap_err();
        assert_eq!(error.code, GrpcCode::InvalidArgument, "{index}");
    }
    assert!(fixture.tournaments.find(&["cup".to_owned()]).await.unwrap().is_empty());
}
