//! Periods: resets, earlier periods, and reset hooks.

use super::*;
use std::sync::Mutex;

const DAY: i64 = 24 * 3_600;
/// Midnight after [`NOON`].
const MIDNIGHT: i64 = NOON + DAY / 2;

fn daily(id: &str) -> Definition {
    Definition { reset_schedule: "0 0 * * *".to_owned(), ..Definition::new(id) }
}

#[tokio::test]
async fn a_reset_begins_a_new_period_and_earlier_ones_stay_readable() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        let board = fixture.boards.create(daily("daily")).await.unwrap();
        assert_eq!(board.expiry(NOON), MIDNIGHT);
        for number in 0..5 {
            assert_eq!(fixture.submit("daily", owner(number), number as i64).await.expiry, MIDNIGHT);
        }
        fixture.clock.advance_ms((MIDNIGHT - NOON) * 1_000 - 1);
        assert_eq!(fixture.submit("daily", owner(9), 100).await.rank, 1, "the last moment belongs to it");
        fixture.clock.advance_ms(1);
        assert_eq!(fixture.all("daily", 0).await, [], "{}", database.name);
        let first = fixture.submit("daily", owner(2), -7).await;
        assert_eq!((first.rank, first.num_score, first.expiry), (1, 1, MIDNIGHT + DAY), "nothing is carried over");

        let restarted = fixture.reopened().await;
        for fixture in [&fixture, &restarted] {
            let before = fixture.all("daily", MIDNIGHT).await;
            let scores: Vec<_> = before.iter().map(|record| record.score.score).collect();
            assert_eq!(scores, [100, 4, 3, 2, 1, 0], "{}", database.name);
            let around = RecordQuery { expiry: MIDNIGHT, ..limit(3) };
            let around = fixture.boards.records_around("daily", owner(2), &around).await.unwrap();
            assert_eq!(around.records.iter().map(|record| record.rank).collect::<Vec<_>>(), [3, 4, 5]);
            assert_eq!(fixture.all("daily", 0).await.len(), 1);
        }
    }
}

#[tokio::test]
async fn a_list_begun_before_a_reset_continues_in_its_period() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    fixture.boards.create(daily("daily")).await.unwrap();
    for number in 0..5 {
        fixture.submit("daily", owner(number), number as i64).await;
    }
    let first = fixture.boards.records("daily", &[], &limit(3)).await.unwrap();
    fixture.clock.advance_ms(DAY * 1_000);
    let query = RecordQuery { cursor: first.next_cursor, ..limit(3) };
    let second = fixture.boards.records("daily", &[], &query).await.unwrap();
    assert_eq!(second.records.iter().map(|record| record.rank).collect::<Vec<_>>(), [4, 5]);
}

#[tokio::test]
async fn many_earlier_periods_can_be_read_in_any_order() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    let minutely = Definition { reset_schedule: "* * * * *".to_owned(), ..Definition::new("minutely") };
    let board = fixture.boards.create(minutely).await.unwrap();
    let mut expiries = Vec::new();
    for minute in 0..600 {
        expiries.push(board.expiry(fixture.clock.now_seconds()));
        fixture.submit("minutely", owner(minute), minute as i64).await;
        fixture.submit("minutely", owner(minute + 1), 5).await;
        fixture.clock.advance_ms(60_000);
    }
    for index in [0, 599, 300, 1, 0, 598, 250, 300].into_iter().chain(0..600) {
        let records = fixture.all("minutely", expiries[index]).await;
        assert_eq!(records.len(), 2, "of minute {index}");
        assert!(records.iter().any(|record| record.owner == owner(index as u128)), "of minute {index}");
    }
    for never in [1, NOON + 1, i64::MAX] {
        let empty = fixture.boards.records("minutely", &[], &RecordQuery { expiry: never, ..limit(1) }).await.unwrap();
        assert_eq!(empty, RecordList::default());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_period_is_loaded_even_if_requests_time_out() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    fixture.boards.create(daily("daily")).await.unwrap();
    let filled = fixture.store.write(|transaction| {
        for number in 0..40_000 {
            transaction.execute(
                "INSERT INTO leaderboard_records (leaderboard_id, expiry, owner_id, username, score, subscore, \
                 num_score, created_at, updated_at) VALUES ('daily', ?1, ?2, '', 1, 0, 1, 0, 0)",
                values![MIDNIGHT, owner(number)],
            )?;
        }
        Ok::<_, StoreError>(())
    });
    filled.await.unwrap();
    fixture.clock.advance_ms(DAY * 1_000);
    let query = RecordQuery { expiry: MIDNIGHT, ..limit(1) };
    for attempts in 1.. {
        let patience = std::time::Duration::from_millis(1);
        let list = tokio::time::timeout(patience, fixture.boards.records("daily", &[], &query)).await;
        if let Ok(list) = list {
            assert_eq!(list.unwrap().rank_count, 40_000);
            break;
        }
        assert!(attempts < 10_000, "loading starts again and again");
    }
}

#[tokio::test]
async fn a_clock_set_back_writes_to_the_period_it_shows() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    fixture.boards.create(daily("daily")).await.unwrap();
    fixture.clock.advance_ms(DAY * 1_000);
    assert_eq!(fixture.submit("daily", owner(1), 1).await.expiry, MIDNIGHT + DAY);
    fixture.clock.advance_ms(-DAY * 1_000);
    assert_eq!(fixture.submit("daily", owner(1), 2).await.expiry, MIDNIGHT);
    assert_eq!(fixture.all("daily", MIDNIGHT).await.len(), 1);
    assert_eq!(fixture.all("daily", MIDNIGHT + DAY).await.len(), 1);
}

#[tokio::test]
async fn boards_know_their_last_and_next_reset() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    let board = fixture.boards.create(daily("daily")).await.unwrap();
    assert_eq!((board.last_reset(NOON), board.expiry(NOON)), (0, MIDNIGHT), "none since it was made");
    assert_eq!((board.last_reset(MIDNIGHT), board.expiry(MIDNIGHT)), (MIDNIGHT, MIDNIGHT + DAY));
    let without = fixture.boards.create(Definition::new("without")).await.unwrap();
    assert_eq!((without.last_reset(MIDNIGHT), without.expiry(MIDNIGHT)), (0, 0));
}

type ReportedResets = Arc<Mutex<Vec<(String, i64)>>>;

/// Opens the boards like a server, with a hook that records resets.
async fn with_hook(fixture: &Fixture) -> (Leaderboards, ReportedResets) {
    let reported = ReportedResets::default();
    let mut boards = Leaderboards::open(fixture.store.clone(), fixture.clock.clone()).await.unwrap();
    let noted = Arc::clone(&reported);
    boards.on_reset(move |reset| {
        let noted = Arc::clone(&noted);
        async move { noted.lock().unwrap().push((reset.board.definition.id.clone(), reset.expiry)) }
    });
    (boards, reported)
}

fn taken(reported: &ReportedResets) -> Vec<(String, i64)> {
    std::mem::take(&mut reported.lock().unwrap())
}

#[tokio::test]
async fn each_reset_is_reported_once_and_in_order_also_after_a_restart() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        let (boards, reported) = with_hook(&fixture).await;
        boards.create(daily("daily")).await.unwrap();
        boards.create(Definition::new("never")).await.unwrap();
        let reset = |expiry: i64| ("daily".to_owned(), expiry);
        for now in [NOON, NOON + 1, MIDNIGHT - 1] {
            boards.tick(now).await.unwrap();
        }
        assert_eq!(taken(&reported), []);
        boards.tick(MIDNIGHT).await.unwrap();
        boards.tick(MIDNIGHT).await.unwrap();
        boards.tick(MIDNIGHT + 1).await.unwrap();
        assert_eq!(taken(&reported), [reset(MIDNIGHT)], "{}", database.name);

        drop(boards);
        let (boards, reported) = with_hook(&fixture).await;
        boards.tick(MIDNIGHT + 2).await.unwrap();
        assert_eq!(taken(&reported), [], "{}: a restart tells nothing again", database.name);
        drop(boards);
        let (boards, reported) = with_hook(&fixture).await;
        boards.tick(MIDNIGHT + 2 * DAY).await.unwrap();
        assert_eq!(taken(&reported), [reset(MIDNIGHT + DAY), reset(MIDNIGHT + 2 * DAY)], "what came while it was off");
    }
}

#[tokio::test]
async fn resets_after_a_long_absence_are_reported_in_parts() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    let (boards, reported) = with_hook(&fixture).await;
    boards.create(daily("daily")).await.unwrap();
    let year_later = NOON + 365 * DAY;
    boards.tick(year_later).await.unwrap();
    let at_once = reported.lock().unwrap().len();
    assert!((1..365).contains(&at_once), "{at_once}");
    for _ in 0..365 {
        boards.tick(year_later).await.unwrap();
    }
    let expected: Vec<_> = (0..365).map(|day| ("daily".to_owned(), MIDNIGHT + day * DAY)).collect();
    assert_eq!(taken(&reported), expected);
}

#[tokio::test]
async fn a_panicking_hook_is_isolated_and_not_repeated() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    let (mut boards, reported) = with_hook(&fixture).await;
    boards.on_reset(|_| async { panic!("on purpose") });
    boards.create(daily("daily")).await.unwrap();
    for _ in 0..3 {
        boards.tick(MIDNIGHT).await.unwrap();
    }
    assert_eq!(taken(&reported), [("daily".to_owned(), MIDNIGHT)]);
}

#[tokio::test]
async fn a_hook_finds_the_records_of_the_period_that_ended() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    fixture.boards.create(daily("daily")).await.unwrap();
    fixture.submit("daily", owner(1), 77).await;
    fixture.clock.advance_ms(DAY * 1_000);
    let found = Arc::new(Mutex::new(Vec::new()));
    let mut boards = Leaderboards::open(fixture.store.clone(), fixture.clock.clone()).await.unwrap();
    let (reader, noted) = (Arc::clone(&fixture.boards), Arc::clone(&found));
    boards.on_reset(move |reset| {
        let (reader, noted) = (Arc::clone(&reader), Arc::clone(&noted));
        async move {
            let query = RecordQuery { expiry: reset.expiry, ..limit(10) };
            let list = reader.records(&reset.board.definition.id, &[], &query).await.unwrap();
            noted.lock().unwrap().extend(list.records.iter().map(|record| record.score.score));
        }
    });
    boards.tick(MIDNIGHT).await.unwrap();
    assert_eq!(*found.lock().unwrap(), [77]);
}
