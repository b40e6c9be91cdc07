//! Periods: resets, what came before, and who is told.

use super::*;
use std::sync::Mutex;

const DAY: i64 = 24 * 3_600;
/// The midnight after [`NOON`].
const MIDNIGHT: i64 = NOON + DAY / 2;

fn daily(id: &str) -> Definition {
    Definition { reset_schedule: "0 0 * * *".to_owned(), ..Definition::new(id) }
}

#[tokio::test]
async fn a_reset_begins_a_new_period_and_the_one_before_stays_readable() {
    for database in aether_testkit_store::databases() {
        let place = Place::at(&database).await;
        let board = place.boards.create(daily("daily")).await.unwrap();
        assert_eq!(board.expiry(NOON), MIDNIGHT);
        for number in 0..5 {
            assert_eq!(place.submit("daily", owner(number), number as i64).await.expiry, MIDNIGHT);
        }
        place.clock.advance_ms((MIDNIGHT - NOON) * 1_000 - 1);
        assert_eq!(place.submit("daily", owner(9), 100).await.rank, 1, "the last moment belongs to it");
        place.clock.advance_ms(1);
        assert_eq!(place.all("daily", 0).await, [], "{}", database.name);
        let first = place.submit("daily", owner(2), -7).await;
        assert_eq!((first.rank, first.num_score, first.expiry), (1, 1, MIDNIGHT + DAY), "nothing is carried over");

        let restarted = place.reopened().await;
        for place in [&place, &restarted] {
            let before = place.all("daily", MIDNIGHT).await;
            let scores: Vec<_> = before.iter().map(|record| record.score.score).collect();
            assert_eq!(scores, [100, 4, 3, 2, 1, 0], "{}", database.name);
            let around = RecordQuery { expiry: MIDNIGHT, ..limit(3) };
            let around = place.boards.records_around("daily", owner(2), &around).await.unwrap();
            assert_eq!(around.records.iter().map(|record| record.rank).collect::<Vec<_>>(), [3, 4, 5]);
            assert_eq!(place.all("daily", 0).await.len(), 1);
        }
    }
}

#[tokio::test]
async fn a_list_that_was_begun_before_a_reset_goes_on_in_its_period() {
    let place = Place::at(&aether_testkit_store::memory()).await;
    place.boards.create(daily("daily")).await.unwrap();
    for number in 0..5 {
        place.submit("daily", owner(number), number as i64).await;
    }
    let first = place.boards.records("daily", &[], &limit(3)).await.unwrap();
    place.clock.advance_ms(DAY * 1_000);
    let query = RecordQuery { cursor: first.next_cursor, ..limit(3) };
    let second = place.boards.records("daily", &[], &query).await.unwrap();
    assert_eq!(second.records.iter().map(|record| record.rank).collect::<Vec<_>>(), [4, 5]);
}

#[tokio::test]
async fn many_earlier_periods_can_be_read_in_any_order() {
    let place = Place::at(&aether_testkit_store::memory()).await;
    let minutely = Definition { reset_schedule: "* * * * *".to_owned(), ..Definition::new("minutely") };
    let board = place.boards.create(minutely).await.unwrap();
    let mut expiries = Vec::new();
    for minute in 0..600 {
        expiries.push(board.expiry(place.clock.now_seconds()));
        place.submit("minutely", owner(minute), minute as i64).await;
        place.submit("minutely", owner(minute + 1), 5).await;
        place.clock.advance_ms(60_000);
    }
    for index in [0, 599, 300, 1, 0, 598, 250, 300].into_iter().chain(0..600) {
        let records = place.all("minutely", expiries[index]).await;
        assert_eq!(records.len(), 2, "of minute {index}");
        assert!(records.iter().any(|record| record.owner == owner(index as u128)), "of minute {index}");
    }
    for never in [1, NOON + 1, i64::MAX] {
        let empty = place.boards.records("minutely", &[], &RecordQuery { expiry: never, ..limit(1) }).await.unwrap();
        assert_eq!(empty, RecordList::default());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_period_is_loaded_also_for_those_who_have_no_patience() {
    let place = Place::at(&aether_testkit_store::memory()).await;
    place.boards.create(daily("daily")).await.unwrap();
    let filled = place.store.write(|transaction| {
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
    place.clock.advance_ms(DAY * 1_000);
    let query = RecordQuery { expiry: MIDNIGHT, ..limit(1) };
    for attempts in 1.. {
        let patience = std::time::Duration::from_millis(1);
        let list = tokio::time::timeout(patience, place.boards.records("daily", &[], &query)).await;
        if let Ok(list) = list {
            assert_eq!(list.unwrap().rank_count, 40_000);
            break;
        }
        assert!(attempts < 10_000, "it is begun again and again");
    }
}

#[tokio::test]
async fn a_clock_that_goes_back_writes_to_the_period_it_shows() {
    let place = Place::at(&aether_testkit_store::memory()).await;
    place.boards.create(daily("daily")).await.unwrap();
    place.clock.advance_ms(DAY * 1_000);
    assert_eq!(place.submit("daily", owner(1), 1).await.expiry, MIDNIGHT + DAY);
    place.clock.advance_ms(-DAY * 1_000);
    assert_eq!(place.submit("daily", owner(1), 2).await.expiry, MIDNIGHT);
    assert_eq!(place.all("daily", MIDNIGHT).await.len(), 1);
    assert_eq!(place.all("daily", MIDNIGHT + DAY).await.len(), 1);
}

#[tokio::test]
async fn boards_know_their_last_and_next_reset() {
    let place = Place::at(&aether_testkit_store::memory()).await;
    let board = place.boards.create(daily("daily")).await.unwrap();
    assert_eq!((board.last_reset(NOON), board.expiry(NOON)), (0, MIDNIGHT), "none since it was made");
    assert_eq!((board.last_reset(MIDNIGHT), board.expiry(MIDNIGHT)), (MIDNIGHT, MIDNIGHT + DAY));
    let without = place.boards.create(Definition::new("without")).await.unwrap();
    assert_eq!((without.last_reset(MIDNIGHT), without.expiry(MIDNIGHT)), (0, 0));
}

type Told = Arc<Mutex<Vec<(String, i64)>>>;

/// Opens the boards as a server does, with a hook that notes what it is told.
async fn with_hook(place: &Place) -> (Leaderboards, Told) {
    let told = Told::default();
    let mut boards = Leaderboards::open(place.store.clone(), place.clock.clone()).await.unwrap();
    let noted = Arc::clone(&told);
    boards.on_reset(move |reset| {
        let noted = Arc::clone(&noted);
        async move { noted.lock().unwrap().push((reset.board.definition.id.clone(), reset.expiry)) }
    });
    (boards, told)
}

fn taken(told: &Told) -> Vec<(String, i64)> {
    std::mem::take(&mut told.lock().unwrap())
}

#[tokio::test]
async fn each_reset_is_told_once_and_in_order_also_after_a_restart() {
    for database in aether_testkit_store::databases() {
        let place = Place::at(&database).await;
        let (boards, told) = with_hook(&place).await;
        boards.create(daily("daily")).await.unwrap();
        boards.create(Definition::new("never")).await.unwrap();
        let reset = |expiry: i64| ("daily".to_owned(), expiry);
        for now in [NOON, NOON + 1, MIDNIGHT - 1] {
            boards.tick(now).await.unwrap();
        }
        assert_eq!(taken(&told), []);
        boards.tick(MIDNIGHT).await.unwrap();
        boards.tick(MIDNIGHT).await.unwrap();
        boards.tick(MIDNIGHT + 1).await.unwrap();
        assert_eq!(taken(&told), [reset(MIDNIGHT)], "{}", database.name);

        drop(boards);
        let (boards, told) = with_hook(&place).await;
        boards.tick(MIDNIGHT + 2).await.unwrap();
        assert_eq!(taken(&told), [], "{}: a restart tells nothing again", database.name);
        drop(boards);
        let (boards, told) = with_hook(&place).await;
        boards.tick(MIDNIGHT + 2 * DAY).await.unwrap();
        assert_eq!(taken(&told), [reset(MIDNIGHT + DAY), reset(MIDNIGHT + 2 * DAY)], "what came while it was off");
    }
}

#[tokio::test]
async fn resets_of_a_long_absence_are_told_bit_by_bit() {
    let place = Place::at(&aether_testkit_store::memory()).await;
    let (boards, told) = with_hook(&place).await;
    boards.create(daily("daily")).await.unwrap();
    let year_later = NOON + 365 * DAY;
    boards.tick(year_later).await.unwrap();
    let at_once = told.lock().unwrap().len();
    assert!((1..365).contains(&at_once), "{at_once}");
    for _ in 0..365 {
        boards.tick(year_later).await.unwrap();
    }
    let expected: Vec<_> = (0..365).map(|day| ("daily".to_owned(), MIDNIGHT + day * DAY)).collect();
    assert_eq!(taken(&told), expected);
}

#[tokio::test]
async fn a_hook_that_panics_is_neither_the_server_s_end_nor_told_again() {
    let place = Place::at(&aether_testkit_store::memory()).await;
    let (mut boards, told) = with_hook(&place).await;
    boards.on_reset(|_| async { panic!("on purpose") });
    boards.create(daily("daily")).await.unwrap();
    for _ in 0..3 {
        boards.tick(MIDNIGHT).await.unwrap();
    }
    assert_eq!(taken(&told), [("daily".to_owned(), MIDNIGHT)]);
}

#[tokio::test]
async fn a_hook_finds_the_records_of_the_period_that_ended() {
    let place = Place::at(&aether_testkit_store::memory()).await;
    place.boards.create(daily("daily")).await.unwrap();
    place.submit("daily", owner(1), 77).await;
    place.clock.advance_ms(DAY * 1_000);
    let found = Arc::new(Mutex::new(Vec::new()));
    let mut boards = Leaderboards::open(place.store.clone(), place.clock.clone()).await.unwrap();
    let (reader, noted) = (Arc::clone(&place.boards), Arc::clone(&found));
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
